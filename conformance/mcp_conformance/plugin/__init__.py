"""The pytest plugin: its options and fixtures; it loads the rest only if the user asks for the suites."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from mcp_conformance.plugin import flags, option_values, options
from mcp_conformance.plugin.node_ids import take_node_ids
from mcp_conformance.project.files import CONFIGURATION_PLACES

if TYPE_CHECKING:
    from mcp_conformance.testing import McpServer


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options."""
    flags.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the rest of the plugin if this run collects the suites."""
    config.addinivalue_line("markers", "requirement(id, ...): the specification clauses a check tests")
    config.addinivalue_line("markers", "capability(name, ...): the path of the capability a check needs")
    config.addinivalue_line("markers", "stage(name): when a check of the suites runs")
    config.addinivalue_line("markers", "conformance: a check of the conformance suites")
    take_node_ids(config)
    if option_values.wants_suites(config):
        options.validate(config)
        for name in ("collection", "since", "execution", "deferral", "outcomes", "output"):
            config.pluginmanager.register(
                import_module(f"mcp_conformance.plugin.{name}"), f"mcp_conformance.{name}"
            )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Return a hint if the command line names a server, but does not ask for the suites."""
    is_idle = config.getoption("conformance_server") and not option_values.wants_suites(config)
    return "MCP conformance: not asked for (--conformance runs the suites)" if is_idle else None


@pytest.fixture(scope="session")
def conformance_server(pytestconfig: pytest.Config) -> Iterator[McpServer]:
    """Return the running server that the user names, for the project's own tests."""
    if not option_values.is_server_named(pytestconfig):
        places = f"--conformance-server, or command in {CONFIGURATION_PLACES}"
        pytest.fail(f"no server is named: {places}", pytrace=False)
    from mcp_conformance.plugin.own_tests import serving  # noqa: PLC0415  (loads hypothesis, which only a test with the fixture needs)

    with serving(
        pytestconfig, options.settings(pytestconfig), options.wanted_revisions(pytestconfig)
    ) as server:
        yield server
