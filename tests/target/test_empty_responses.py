"""Responses over HTTP without an answer are told apart from requests that were cancelled."""

from types import SimpleNamespace

import pytest

from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.methods import CANCELLED
from mcp_conformance.target.empty_responses import met_in
from mcp_conformance.transport.interface import Empty, NoAnswer
from mcp_conformance.verdicts import Blocked

REQUEST = Line.sending({"jsonrpc": "2.0", "id": 5, "method": "ping"})


def cancellation(**params):
    return Line.sending({"jsonrpc": "2.0", "method": CANCELLED, **params})


@pytest.mark.parametrize(
    ("cancelled", "is_met"),
    [
        ({}, True),
        ({"params": []}, True),
        ({"params": {}}, True),
        ({"params": {"requestId": 4}}, True),
        ({"params": {"requestId": 5}}, False),
    ],
)
def test_only_a_cancelled_request_may_stay_without_an_answer(cancelled, is_met):
    """Checks send cancellations that are wrong on purpose."""
    missing = NoAnswer(5, "HTTP 202", 202, empty=Empty.NO_MESSAGE)
    inbox = SimpleNamespace(no_answer=lambda line: missing if line is REQUEST else None)
    session = SimpleNamespace(lines=[cancellation(**cancelled), REQUEST], inbox=inbox)
    sessions = SimpleNamespace(every=[session], with_request=lambda _: session)
    assert (met_in(Blocked("no answer", [REQUEST]), sessions) is not None) == is_met
