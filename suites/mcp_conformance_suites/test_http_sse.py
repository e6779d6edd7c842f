"""An answer as an event stream: its events, their messages, its end (spec: basic/transports)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect, require_some, skip
from mcp_conformance.protocol.jsonrpc import Kind, decode, id_key, is_message, kind, show
from mcp_conformance.protocol.text import named
from mcp_conformance.scenarios.http_requests import http_session, post, without_answer
from mcp_conformance.scenarios.http_streams import (
    GRACE_SECONDS,
    all_streams,
    cancelled_ids,
    is_near,
    post_streams,
)
from mcp_conformance.scenarios.http_variants import serves_handshakes

PROGRESS = "notifications/progress"
SUBSCRIBED = ("notifications/resources/updated",)


@pytest.mark.requirement("http.sse.data-is-message")
def test_each_event_with_data_is_a_message(server):
    for stream in every_stream(server):
        for _, event in stream.events:
            if event.data and event.name == "message":
                message, _, _ = decode(event.data.encode("utf-8", "surrogatepass"))
                parts = (
                    message if isinstance(message, list) and server.revision == "2025-03-26" else [message]
                )
                expected = "events whose data is a JSON-RPC message"
                expect(stream.reply, all(map(is_message, parts)), expected, got=f"data: {named(event.data)}")


@pytest.mark.requirement("http.sse.wellformed")
def test_the_last_event_is_ended(server):
    for stream in every_stream(server):
        parser = stream.reply.exchange.event_parser
        is_right = parser.is_utf8 and not (stream.is_over and parser.is_unfinished)
        got = "an event that has no end" if parser.is_utf8 else "bytes that are not UTF-8"
        expect(stream.reply, is_right, "UTF-8, and a blank line after the last event", got=got)


@pytest.mark.requirement("http.sse.event-name")
def test_events_have_no_name_of_their_own(server):
    for stream in every_stream(server):
        names = [event.name for _, event in stream.events if event.data and event.name != "message"]
        got = f"event: {named(''.join(names[:1]))}"
        expect(stream.reply, not names, "no event field, or event: message", got=got)


@pytest.mark.requirement("http.sse.response-comes")
def test_a_stream_has_the_response(server):
    for stream in ended_streams(server):
        may_be_resumed = stream.has_ids and not server.surface.is_modern
        is_fine = stream.answered_at is not None or may_be_resumed
        if not is_fine:
            raise without_answer(stream.reply)


@pytest.mark.requirement("http.sse.not-closed-early")
def test_a_stream_is_not_closed_before_the_response(server):
    for stream in ended_streams(server):
        expected, got = "the response before the stream is closed", "a stream that ends without it"
        expect(stream.reply, stream.answered_at is not None, expected, got=got)


@pytest.mark.requirement("http.sse.response-is-last")
def test_a_stream_ends_with_the_response(server):
    grace = server.session.scaled_timeout(GRACE_SECONDS)
    for stream in answered_streams(server):
        got = f"after it {show(stream.after_answer[0])}" if stream.after_answer else ""
        expect(stream.reply, not stream.after_answer, "no message after the response", got=got)
        expected, got = "the end of the stream after the response", "a stream that stays open"
        expect(stream.reply, stream.ends_after_answer(grace), expected, got=got)


@pytest.mark.requirement("http.sse.related")
@pytest.mark.requirement("http.sse.related-modern")
def test_messages_before_the_response_belong_to_the_request(server):
    is_modern = server.surface.is_modern
    for stream in streams(server):
        if stream.is_listening or stream.method.startswith("tasks/") or not stream.method:
            continue
        for _, message in stream.messages:
            is_other = is_progress_of_another(message, stream)
            is_change = is_modern and is_for_subscribers(message)
            expected = f"messages that belong to this request ({stream.method})"
            expect(stream.reply, not (is_other or is_change), expected, got=show(message))


@pytest.mark.requirement("http.sse.no-requests-modern")
def test_no_stream_has_a_request(server):
    for stream in streams(server):
        asked = [one for _, one in stream.messages if kind(one) is Kind.REQUEST]
        expected = "no request of the server, as input_required results have them"
        expect(stream.reply, not asked, expected, got=show(asked[0]) if asked else "")


@pytest.mark.requirement("http.sse.priming-event")
def test_a_stream_begins_with_an_id_and_no_data(server):
    agreed = [one for one in streams(server) if one.events and one.method != "initialize"]
    require_some(agreed, skip="only the handshake is answered with event streams")
    numbered = [one for one in agreed if one.has_ids]
    for stream in require_some(numbered, skip="the events have no ids, which the server may leave out"):
        _, first = stream.events[0]
        is_priming = bool(first.id) and not first.data
        got = f"an event with the id {named(first.id or '')!r} and the data {named(first.data)!r} first"
        expect(stream.reply, is_priming, "an event with an id and empty data first", got=got)


@pytest.mark.requirement("http.sse.retry-before-close")
def test_a_client_that_has_to_come_back_learns_when(server):
    cut = [one for one in ended_streams(server) if one.has_ids and one.answered_at is None]
    for stream in require_some(cut, skip="no stream is closed before its response"):
        has_retry = any(event.retry is not None for _, event in stream.events)
        expected, got = "an event with retry before the connection is closed", "no such event"
        expect(stream.reply, has_retry, expected, got=got)


@pytest.mark.requirement("http.sse.accel-buffering")
def test_proxies_do_not_buffer_a_stream(server):
    if not is_near(server):
        skip("a proxy may have taken the header away, as nginx does")
    for stream in streams(server):
        values = [value.lower() for value in stream.reply.header("X-Accel-Buffering")]
        got = stream.reply.with_header("X-Accel-Buffering")
        expect(stream.reply, values == ["no"], "the header X-Accel-Buffering: no", got=got)


@pytest.mark.requirement("http.sse.no-cache")
def test_no_cache_keeps_a_stream(server):
    for stream in streams(server):
        values = ",".join(stream.reply.header("Cache-Control")).lower()
        is_kept_out = "no-cache" in values or "no-store" in values
        got = stream.reply.with_header("Cache-Control")
        expect(stream.reply, is_kept_out, "Cache-Control with no-cache or no-store", got=got)


@pytest.mark.requirement("http.sse.no-resume-modern")
def test_last_event_id_is_ignored(server):
    if serves_handshakes(server):
        skip("the server also serves earlier revisions")
    session = http_session(server)
    reply = post(session, session.liveness_method, headers={"Last-Event-ID": "1-1"})
    expect(reply, reply.was_served, "a result, as without Last-Event-ID")


def streams(server):
    """Return the event streams that answered a POST; skip if there are none."""
    return require_some(post_streams(server), skip="no request is answered with an event stream")


def every_stream(server):
    """Return the event streams that answered a POST or a GET; skip if there are none."""
    return require_some(all_streams(server), skip="no request is answered with an event stream")


def ended_streams(server):
    """Return those that the server has ended, without those of cancelled requests and of subscriptions."""
    cancelled = cancelled_ids(server)
    found = [one for one in streams(server) if one.is_over and not one.is_listening]
    kept = [one for one in found if "id" in one.sent and id_key(one.sent["id"]) not in cancelled]
    return require_some(kept, skip="no event stream has ended")


def answered_streams(server):
    """Return those that have the response."""
    found = [one for one in streams(server) if one.answered_at is not None]
    return require_some(found, skip="no event stream has a response")


def is_progress_of_another(message, stream):
    """Return whether a message is progress with another token than that of the request."""
    if kind(message) is not Kind.NOTIFICATION or message["method"] != PROGRESS:
        return False
    params = message.get("params")
    has_token = isinstance(params, dict) and "progressToken" in params
    return has_token and str(params["progressToken"]) != str(stream.token)


def is_for_subscribers(message):
    """Return whether a message is a notification that only subscriptions get."""
    if kind(message) is not Kind.NOTIFICATION:
        return False
    method = str(message["method"])
    return method in SUBSCRIBED or method.endswith("/list_changed")
