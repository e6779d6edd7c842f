"""The pytest plugin: its options and fixtures; it loads the rest only if the user names a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from conformance.plugin import options

if TYPE_CHECKING:
    from conformance.testing import McpServer


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options."""
    options.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the rest of the plugin if the user names a server."""
    config.addinivalue_line("markers", "requirement(id, ...): the specification clauses a check tests")
    config.addinivalue_line("markers", "stage(name): when a check of the suites runs")
    if options.server_named(config):
        options.validate(config)
        from conformance.transport.process_tree import terminable  # noqa: PLC0415  (a run without a server does not need it)

        stack = ExitStack()
        stack.enter_context(terminable())
        config.add_cleanup(stack.close)
        for name in ("collection", "since", "execution", "outcomes", "output"):
            config.pluginmanager.register(
                import_module(f"conformance.plugin.{name}"), f"mcp_conformance.{name}"
            )


@pytest.fixture(scope="session")
def mcp_conformance_server(pytestconfig: pytest.Config) -> Iterator[McpServer]:
    """Return the same as `mcp_server`, under a name that no other plugin and no conftest has."""
    if not options.server_named(pytestconfig):
        pytest.fail(
            "no server is named: --mcp-server, or mcp_server in pytest's configuration", pytrace=False
        )
    from conformance.plugin.own_tests import serving  # noqa: PLC0415  (loads hypothesis, which only a test with the fixture needs)

    with serving(
        pytestconfig, options.settings(pytestconfig), options.wanted_revisions(pytestconfig)
    ) as server:
        yield server


if not options.is_taken():

    @pytest.fixture(scope="session")
    def mcp_server(mcp_conformance_server: McpServer) -> McpServer:
        """Return the running server of ``--mcp-server``, for your own tests."""
        return mcp_conformance_server
