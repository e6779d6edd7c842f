"""What a check may ask for.  Every check runs once in each revision under test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from conformance.client.session import Session
from conformance.client.tool_call import Call, Tool
from conformance.expect import skip
from conformance.plugin.execution import server_for
from conformance.protocol.value import Value
from conformance.scenarios.traffic import exercise_everything
from conformance.target.server import Server
from conformance.verdicts import Skipped


@pytest.fixture
def revision(request: pytest.FixtureRequest) -> str:
    """The revision the check runs in."""
    return str(request.param)


@pytest.fixture
def server(pytestconfig: pytest.Config, revision: str) -> Server:
    """The subject in this revision: its surface, its sessions, and all answers seen so far."""
    return server_for(pytestconfig, revision)


@pytest.fixture
def session(server: Server) -> Session:
    """The shared conversation, for checks that leave no trace."""
    return server.session


@pytest.fixture
def fresh_session(server: Server) -> Iterator[Session]:
    """A conversation with a process of its own, for checks that may disturb it."""
    with server.fresh() as session:
        yield session


@pytest.fixture
def malformed_session(server: Server) -> Session:
    """A conversation for checks that send broken lines, shared by them as long as the server survives."""
    return server.malformed_session


@pytest.fixture
def tool(request: pytest.FixtureRequest, server: Server) -> Tool:
    """Each tool the server lists, one test apiece."""
    return server.tools[request.param]


@pytest.fixture
def call(server: Server, tool: Tool) -> Call:
    """The tool, called once with valid arguments if the user lets it run."""
    return server.call(tool)


@pytest.fixture
def callable_tool(server: Server) -> Tool:
    """The first tool that may be called and for which arguments are known."""
    for tool in server.tools:
        try:
            server.call(tool)
        except Skipped:
            continue
        return tool
    skip("no tool may be called: --mcp-call names those that may")
    return None


@pytest.fixture
def traffic(server: Server) -> Callable[..., list[Value]]:
    """``traffic(Kind.ERROR)``: every message of that kind that any conversation brought."""
    exercise_everything(server)
    return server.received
