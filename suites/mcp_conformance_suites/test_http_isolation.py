"""What one client of an HTTP server gets of another: nothing (spec: basic/transports)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect, require_some, skip
from mcp_conformance.protocol.jsonrpc import ABSENT, show
from mcp_conformance.scenarios.http_isolation import (
    foreign_progress,
    is_of_first_client,
    levels,
    low_messages,
    meetings,
    streams_of_a_change,
    updates,
)
from mcp_conformance.verdicts import Finding


@pytest.mark.requirement("http.isolation.responses")
def test_two_clients_may_use_the_same_id_at_once(server):
    found = [one for one in meetings(server).rounds if shape(one.alone[0]) != shape(one.alone[1])]
    for one in require_some(found, skip="the results of both clients have the same members"):
        shapes = [shape(reply) for reply in one.alone]
        for own, foreign, reply in zip(shapes, reversed(shapes), one.both, strict=True):
            if shape(reply) == foreign != own:
                lines = [line for each in one.both for line in each.lines]
                raise Finding(
                    "its own result for each client", f"that of the other client: {reply}", lines, fatal=True
                )
        expect_both_answered(one)


@pytest.mark.requirement("http.isolation.notifications")
def test_progress_reaches_only_the_client_that_asked_for_it(server):
    found = meetings(server)
    seconds = [found.stream, *(one.both[1] for one in found.rounds)]
    for reply in foreign_progress(seconds):
        got = show(next(filter(is_of_first_client, reply.messages)))
        expect(reply, False, "no progress of a request of another client", got=got)
    firsts = [found.rounds[0].alone[0], *(one.both[0] for one in found.rounds)]
    if not any(is_of_first_client(message) for reply in firsts for message in reply.messages):
        skip("no permitted call reports progress")


@pytest.mark.requirement("http.isolation.log-level")
def test_the_log_level_of_one_client_is_not_that_of_another(server):
    for reply in levels(server).low:
        expected = "no log messages below the level that this client has set"
        expect(reply, False, expected, got=show(low_messages(reply)[0]))


@pytest.mark.requirement("http.isolation.subscriptions")
def test_updates_reach_only_the_client_that_has_subscribed(server):
    found = streams_of_a_change(server)
    wanted = "no updates of resources that another client has subscribed to"
    got = show(updates(found.other)[0]) if updates(found.other) else ""
    expect(found.other, not updates(found.other), wanted, got=got)
    if not any(map(updates, found.own)):
        skip("no call brought an update to the client that has subscribed")


def expect_both_answered(meeting):
    """Expect two answers, if the first request has one when it is sent alone again."""
    lost = [reply for reply in meeting.both if reply.answer is None and is_open(reply)]
    if lost and meeting.again is not None and meeting.again.answer is not None:
        lines = [line for each in meeting.both for line in each.lines]
        raise Finding("an answer for each client", "no answer in time for one of them", lines, fatal=True)


def is_open(reply):
    """Return whether a request was accepted, but not answered: an error of HTTP is an answer, too."""
    return reply.status is None or reply.status < 400


def shape(reply):
    """Return the names of the members of a result; None if there is no result."""
    result = reply.result
    return frozenset(result) - {"_meta"} if result is not ABSENT and isinstance(result, dict) else None
