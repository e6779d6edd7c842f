"""Calls of an unknown tool: their arguments are harmless if the server runs another tool."""

import sys

import pytest

from mcp_conformance.scenarios.invalid_requests import unknown_calls
from mcp_conformance.target.probe import probe
from mcp_conformance.target.server import Server
from mcp_conformance.target.settings import Settings

REFERENCE = (sys.executable, "-m", "mcp_conformance_fixtures.reference")


@pytest.fixture
def server(request):
    settings = Settings(REFERENCE, call=request.param)
    server = Server(settings, probe(settings, "2025-06-18", exactly=True))
    yield server
    server.close()


def sent_arguments(server):
    """Return the arguments of each call of an unknown tool."""
    return [reply.request.message["params"]["arguments"] for reply in unknown_calls(server)]


@pytest.mark.parametrize("server", [("all",)], indirect=True)
def test_an_unknown_tool_gets_the_arguments_of_listed_tools(server):
    assert {"a", "b"} in [set(arguments) for arguments in sent_arguments(server)]


@pytest.mark.parametrize("server", [("add",), ()], indirect=True)
def test_arguments_of_a_forbidden_tool_are_not_sent(server):
    assert sent_arguments(server) == [{}]
