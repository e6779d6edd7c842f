"""A tool that is not there is called with arguments that do no harm if the server runs one all the same."""

import sys

import pytest

from conformance.scenarios.invalid_requests import unknown_calls
from conformance.target.probe import probe
from conformance.target.server import Server
from conformance.target.settings import Settings

REFERENCE = (sys.executable, "-m", "conformance.fixtures.reference")


@pytest.fixture
def served(request):
    settings = Settings(REFERENCE, call=request.param)
    server = Server(settings, probe(settings, "2025-06-18", exactly=True))
    yield server
    server.close()


def sent(server):
    return [reply.request.message["params"]["arguments"] for reply in unknown_calls(server)]


@pytest.mark.parametrize("served", [("all",)], indirect=True)
def test_a_tool_that_there_is_not_gets_the_arguments_of_those_there_are(served):
    assert {"a", "b"} in [set(arguments) for arguments in sent(served)]


@pytest.mark.parametrize("served", [("add",), ()], indirect=True)
def test_what_fits_a_tool_that_may_not_be_called_is_not_sent(served):
    assert sent(served) == [{}]
