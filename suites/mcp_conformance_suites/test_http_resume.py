"""Event ids and resumed streams (spec: basic/transports#resumability-and-redelivery)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect, skip
from mcp_conformance.protocol.jsonrpc import show
from mcp_conformance.scenarios.http_gets import is_stream
from mcp_conformance.scenarios.http_resume import (
    CUT,
    OTHER,
    event_ids,
    has_answer,
    is_answered_by_first_event,
    messages_of,
    resumption,
    streams_by_session,
)
from mcp_conformance.verdicts import Finding


@pytest.mark.requirement("http.resume.id-unique")
def test_event_ids_are_unique_within_a_session(server):
    for streams in streams_by_session(server):
        seen = {}
        for stream in streams:
            for id in event_ids(stream.exchange):
                if id in seen:
                    lines = (*seen[id].lines, *stream.lines)
                    raise Finding("another id for each event of a session", f"the id {id} twice", lines)
                seen[id] = stream


@pytest.mark.requirement("http.resume.replays")
def test_a_resumed_stream_brings_what_was_missed(server):
    found = resumption(server)
    if found.resumed.status != 200:
        skip(f"streams are not resumed: {found.resumed}")
    if not is_stream(found.resumed):
        skip(f"a GET is not answered with an event stream: {found.resumed}")
    if messages_of(found.resumed, OTHER):
        skip("another stream is resumed: see http.resume.only-own-stream")
    if not has_answer(found.resumed, CUT) and has_answer(found.replayed, OTHER):
        skip("the end of another call is sent again: see http.resume.disconnect-is-not-cancel")
    if is_answered_by_first_event(found.cut):
        skip("the first event with an id is the response, so nothing was missed")
    expect(found.resumed, has_answer(found.resumed, CUT), "the response, which was missed")


@pytest.mark.requirement("http.resume.disconnect-is-not-cancel")
def test_a_cut_connection_does_not_cancel_the_request(server):
    found = resumption(server)
    if not found.cut.exchange.aborted or has_answer(found.cut, CUT):
        skip("the call was answered before its connection was cut")
    if messages_of(found.resumed, OTHER) and not messages_of(found.resumed, CUT):
        skip("another stream is resumed: see http.resume.only-own-stream")
    if found.resumed.status != 200 or not has_answer(found.replayed, OTHER):
        skip("the server does not send missed responses again, so the end of the call is not seen")
    expected, got = "the response to the call, as to the one beside it", f"{found.resumed}, without it"
    expect(found.resumed, has_answer(found.resumed, CUT), expected, got=got)


@pytest.mark.requirement("http.resume.only-own-stream")
def test_a_resumed_stream_has_nothing_of_another_stream(server):
    expect_no_messages_of(resumption(server).resumed, [OTHER], "only messages of the stream that was cut")


@pytest.mark.requirement("http.resume.other-session")
def test_an_event_of_another_session_brings_nothing(server):
    expect_no_messages_of(resumption(server).elsewhere, [CUT, OTHER], "no messages of another session")


@pytest.mark.requirement("http.resume.unknown-id")
def test_an_unknown_event_is_no_failure_of_the_server(server):
    reply = resumption(server).unknown
    holds = reply.status is not None and reply.status < 500
    strays = [*messages_of(reply, CUT), *messages_of(reply, OTHER)]
    expect(reply, holds and not strays, "an error status from 400 to 499, or a stream without old events")


def expect_no_messages_of(reply, ids, expected):
    """Expect that a stream has no message that belongs to one of these requests."""
    strays = [message for id in ids for message in messages_of(reply, id)]
    if strays:
        raise Finding(expected, f"{reply}, and in it {show(strays[0])}", reply.lines)
