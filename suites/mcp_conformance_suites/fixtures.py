"""The fixtures of the checks.  Every check runs once in each revision under test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.expect import require
from mcp_conformance.plugin.execution import server_for
from mcp_conformance.protocol.value import Value
from mcp_conformance.scenarios.traffic import exercise_everything
from mcp_conformance.tap.sessions import Recorded
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Skipped


@pytest.fixture
def revision(request: pytest.FixtureRequest) -> str:
    """Return the revision the check runs in."""
    return str(request.param)


@pytest.fixture
def server(pytestconfig: pytest.Config, revision: str) -> Server:
    """Return the server in this revision: its surface, its sessions, and all answers so far."""
    return server_for(pytestconfig, revision)


@pytest.fixture
def session(server: Server) -> Session:
    """Return the shared session, for checks that do not change the state of the server."""
    return server.session


@pytest.fixture
def malformed_session(server: Server) -> Session:
    """Return the session for malformed lines; checks share it as long as the server survives."""
    return server.malformed_session


@pytest.fixture
def tool(request: pytest.FixtureRequest, server: Server) -> Tool:
    """Return a listed tool; the check runs once for each."""
    return server.tools[request.param]


@pytest.fixture
def call(server: Server, tool: Tool) -> Call:
    """Return the call of the tool with valid arguments; skip the check if it may not be called."""
    return server.call(tool)


@pytest.fixture
def recorded(request: pytest.FixtureRequest, server: Server) -> Recorded:
    """Return a recorded session; the check runs once for each."""
    return server.settings.sessions[request.param]


@pytest.fixture
def callable_tool(server: Server) -> Tool:
    """Return the first tool that may be called and has known arguments; skip the check if there is none."""
    found = next((tool for tool in server.tools if _is_callable(server, tool)), None)
    return require(found, skip="no tool may be called: --call names those that may")


def _is_callable(server: Server, tool: Tool) -> bool:
    try:
        server.call(tool)
    except Skipped:
        return False
    return True


@pytest.fixture
def messages(server: Server) -> Callable[..., list[Value]]:
    """Exercise everything, and return the function of all messages: ``messages(Kind.ERROR)``."""
    exercise_everything(server)
    return server.received
