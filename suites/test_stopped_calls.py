"""Calls that were cancelled under way, and what a server cancels (spec: basic/utilities/cancellation)."""

from __future__ import annotations

import pytest

from conformance.client.subscriptions import listens_in
from conformance.expect import expect, require_some, skip
from conformance.protocol.jsonrpc import Kind, id_key, kind
from conformance.protocol.value import Value
from conformance.scenarios.cancellation import cancelled_calls
from conformance.scenarios.subscriptions import listening
from conformance.verdicts import Finding

CANCELLED = "notifications/cancelled"


@pytest.mark.requirement("cancel.no-response")
def test_a_cancelled_request_is_not_answered(server):
    calls = [one for one in cancelled_calls(server) if one.held or one.read is not None]
    for one in require_some(
        calls, skip="no tool that may be called could be cancelled while it was under way"
    ):
        for answer in one.answers:
            raise Finding("no answer to a cancelled request", str(answer), answer.lines)


@pytest.mark.requirement("cancel.stops-work")
def test_work_on_a_cancelled_request_stops(server):
    calls = [one for one in cancelled_calls(server) if one.tells and one.read is not None]
    for one in require_some(
        calls, skip="no tool that tells its progress could be cancelled while it was under way"
    ):
        if len(one.progress) > 1:
            got = f"{len(one.progress)} more of them"
            raise Finding("no progress of a cancelled request", got, (one.request, *one.progress[-1].lines))


@pytest.mark.requirement("cancel.no-further-messages")
def test_nothing_more_is_said_of_a_cancelled_request(server):
    calls = [one for one in cancelled_calls(server) if one.tells and one.read is not None]
    for one in require_some(
        calls, skip="no tool that tells its progress could be cancelled while it was under way"
    ):
        if any(kind(answer.json) is Kind.RESULT for answer in one.answers):
            skip("the cancellation was ignored, which the page on cancellation permits")
        more = one.progress + one.logged
        if len(more) > 1:
            raise Finding("no more messages", f"{len(more)}, {more[0]}", (one.request, *more[0].lines))


@pytest.mark.requirement("cancel.server-only-own")
def test_the_server_cancels_only_what_it_asked_for(server):
    list(cancelled_calls(server))
    told = [one for session in server.sessions for one in cancellations(session)]
    for id, known in require_some(told, skip="the server cancels nothing"):
        expect(id, id_key(id.json) in known, "the requestId of a request that the server sent")


@pytest.mark.requirement("cancel.server-only-subscription")
def test_the_server_cancels_nothing_but_subscriptions(server):
    list(cancelled_calls(server))
    listening(server)
    told = [one for session in server.sessions for one in ended_by_server(session)]
    for id, listens in require_some(told, skip="the server cancels nothing"):
        expect(id, id_key(id.json) in listens, "the requestId of a listen request")


def ended_by_server(session):
    """The id of each request that the server cancels, and the ids of the session's listen requests."""
    listens = {id_key(listen.id) for listen in listens_in(session)}
    return [(id, listens) for id, _ in cancellations(session)]


def cancellations(session):
    """The id of each request that the server cancels, and the ids of all it had asked for by then."""
    known = set()
    for line, message in session.received(Kind.REQUEST, Kind.NOTIFICATION):
        known |= {id_key(message["id"])} if "id" in message else set()
        id = Value(message, "", (line,)).get("params", "requestId")
        if message["method"] == CANCELLED and id is not None:
            yield id, frozenset(known)
