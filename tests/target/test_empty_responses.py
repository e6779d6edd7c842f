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


def of_one_session(lines, missing):
    """Return the sessions of a server with one, in which some of these lines get no answer."""
    session = SimpleNamespace(
        lines=lines, inbox=SimpleNamespace(no_answer=lambda line: missing.get(id(line)))
    )
    return SimpleNamespace(every=[session], with_request=lambda _: session)


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
    sessions = of_one_session([cancellation(**cancelled), REQUEST], {id(REQUEST): missing})
    assert (met_in(Blocked("no answer", [REQUEST]), sessions) is not None) == is_met


ALIKE = Line.sending({"jsonrpc": "2.0", "id": "5", "method": "tools/list"})
"""A request whose id reads as that of `REQUEST`."""


@pytest.mark.parametrize(("beside", "is_met"), [([], True), ([ALIKE], False)])
def test_a_request_beside_one_whose_id_reads_the_same_is_its_own_matter(beside, is_met):
    """A FastMCP 3 server answers one of the two, and was said to end streams early."""
    missing = {id(REQUEST): NoAnswer(5, "the end", 200, empty=Empty.ENDED_STREAM)}
    sessions = of_one_session([REQUEST, *beside], missing)
    assert (met_in(Blocked("no answer", [REQUEST]), sessions) is not None) == is_met


def test_a_cancelled_request_is_not_among_the_methods():
    cancelled = Line.sending({"jsonrpc": "2.0", "id": 6, "method": "tools/list"})
    lines = [REQUEST, cancelled, cancellation(params={"requestId": 6})]
    ends = {
        id(line): NoAnswer(line.message["id"], "the end", 200, empty=Empty.ENDED_STREAM) for line in lines[:2]
    }
    finding = met_in(Blocked("no answer", [REQUEST]), of_one_session(lines, ends))
    assert finding.got == "the end (for ping)"
