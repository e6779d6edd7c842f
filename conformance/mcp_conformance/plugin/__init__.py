"""The pytest plugin: its options and fixtures; it loads the rest only if the user asks for the suites."""

from __future__ import annotations

from importlib import import_module
from inspect import iscoroutinefunction, signature
from typing import TYPE_CHECKING, Any

import pytest

from mcp_conformance.plugin import options
from mcp_conformance.plugin.node_ids import take_node_ids

if TYPE_CHECKING:
    from mcp_conformance.plugin.own_tests import OwnServer
    from mcp_conformance.testing import AsyncMcpServer, McpServer

FIXTURES = frozenset({"conformance_server", "conformance_session"})
OWN_SERVER: pytest.StashKey[OwnServer] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options."""
    options.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the rest of the plugin if this run collects the suites."""
    config.addinivalue_line("markers", "requirement(id, ...): the specification clauses a check tests")
    config.addinivalue_line("markers", "capability(name, ...): the path of the capability a check needs")
    config.addinivalue_line("markers", "stage(name): when a check of the suites runs")
    config.addinivalue_line("markers", "conformance: a check of the conformance suites")
    config.addinivalue_line(
        "markers", "skip_tools(pattern, ..., reason): tools that for_each_tool leaves out"
    )
    take_node_ids(config)
    chosen = options.chosen_for_suites(config)
    if chosen is not None:
        from mcp_conformance.options.run_options import read_options  # noqa: PLC0415  (loads jsonschema, which a run without the suites does not need)

        with options.usage_errors():
            config.stash[options.RUN_OPTIONS] = read_options(chosen)
        from mcp_conformance.plugin.early import EARLY, Early  # noqa: PLC0415

        config.stash[EARLY] = Early(config, config.stash[options.RUN_OPTIONS])  # what follows loads slowly
        modules = (
            "collection",
            "since",
            "junit",
            "execution",
            "deferral",
            "one_at_a_time",
            "outcomes",
            "output",
        )
        for name in modules:
            config.pluginmanager.register(
                import_module(f"mcp_conformance.plugin.{name}"), f"mcp_conformance.{name}"
            )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Return a hint if the command line names a server, but does not ask for the suites."""
    is_idle = config.getoption("conformance_server") and options.RUN_OPTIONS not in config.stash
    return "MCP conformance: not asked for (--conformance runs the suites)" if is_idle else None


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print which options on the command line had no effect, as the suites did not run."""
    if options.RUN_OPTIONS not in config.stash and (idle := options.idle_flags(config)):
        terminalreporter.write_line(f"{', '.join(idle)}: the suites did not run; --conformance runs them")


@pytest.fixture(scope="session")
def conformance_server(pytestconfig: pytest.Config) -> McpServer:
    """Return the running server that the user names, for the project's own tests."""
    return _own_server(pytestconfig)


@pytest.fixture
def conformance_session(conformance_server: McpServer) -> AsyncMcpServer:
    """Return the same server for async tests, which await what it answers."""
    from mcp_conformance.testing import AsyncMcpServer  # noqa: PLC0415  (as above)

    return AsyncMcpServer(conformance_server)


def _own_server(config: pytest.Config) -> McpServer:
    """Return the server of the project's own tests, started the first time."""
    from mcp_conformance.plugin.own_tests import OwnServer  # noqa: PLC0415  (loads hypothesis, which only a test with the fixture needs)

    if OWN_SERVER not in config.stash:
        config.stash[OWN_SERVER] = OwnServer(config)
    with options.usage_errors():
        return config.stash[OWN_SERVER].server


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test made by ``for_each_tool`` once for each tool that is listed."""
    own = getattr(metafunc.function, "mcp_own_test", None)
    if own is not None and own.each_tool in metafunc.fixturenames:
        from mcp_conformance.plugin.own_tests import each_tool  # noqa: PLC0415  (as above)

        try:
            found = list(each_tool(metafunc.definition, _own_server(metafunc.config)))
        except pytest.fail.Exception:  # the fixture says why, and reports have that
            found = [pytest.param("", id="no server")]
        metafunc.parametrize(own.each_tool, found)


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an async test of the server in an event loop if no other plugin has one for it."""
    if not iscoroutinefunction(pyfuncitem.obj) or FIXTURES.isdisjoint(pyfuncitem.fixturenames):
        return None
    import asyncio  # noqa: PLC0415  (slow, and only such a test needs it)

    values = {name: pyfuncitem.funcargs[name] for name in signature(pyfuncitem.obj).parameters}
    asyncio.run(pyfuncitem.obj(**values))
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the server of the project's own tests."""
    if OWN_SERVER in session.config.stash:
        session.config.stash[OWN_SERVER].close()
