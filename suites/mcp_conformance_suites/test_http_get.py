"""The streams that a GET opens: what comes on them (spec: basic/transports)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect, require_some, skip
from mcp_conformance.protocol.jsonrpc import Kind, is_response, kind, show
from mcp_conformance.scenarios.http_gets import is_stream, on_both, standing_streams
from mcp_conformance.scenarios.http_requests import get, post
from mcp_conformance.scenarios.http_variants import first_get, session_without_stream

PROGRESS = "notifications/progress"
LISTEN = "subscriptions/listen"


@pytest.mark.requirement("http.get.no-response-on-it")
def test_no_response_comes_on_a_stream_without_a_request(server):
    for reply in standing_streams(server).opened:
        found = [one for one in reply.messages if is_response(one)]
        got = show(found[0]) if found else ""
        expect(reply, not found, "no response, as the stream resumes no request", got=got)


@pytest.mark.requirement("http.get.unrelated")
def test_messages_of_a_running_request_do_not_come_on_a_get_stream(server):
    streams = standing_streams(server)
    require_some(list(streams.sent), skip="no tool may be called that could report progress")
    for reply in streams.opened:
        found = [one for one in reply.messages if progress_token(one) in streams.sent]
        got = show(found[0]) if found else ""
        expect(reply, not found, "no progress of a running request", got=got)


@pytest.mark.requirement("http.get.two-streams")
def test_a_message_comes_on_one_stream_only(server):
    streams = standing_streams(server)
    if not is_stream(streams.second):
        skip(f"the server offers no second stream: {streams.second}")
    require_some([*streams.first.messages, *streams.second.messages], skip="no message comes on a stream")
    both = on_both(streams)
    got = show(both[0]) if both else ""
    expect(streams.second, not both, "no message that came on the first stream too", got=got)


@pytest.mark.requirement("http.get.second-get")
def test_a_second_get_is_answered(server):
    reply = standing_streams(server).second
    is_answered = reply.status is not None and reply.status < 500
    expect(reply, is_answered, "a second stream, or a refusal such as 409")


@pytest.mark.requirement("http.get.survives-client-close")
def test_a_session_outlives_its_streams(server):
    for reply in standing_streams(server).after:
        expect(reply, reply.was_served, "a result, as the session goes on without a stream")


@pytest.mark.requirement("http.get.accept-needed")
def test_only_a_client_that_accepts_a_stream_gets_one(server):
    if not is_stream(first_get(server)):
        skip("the server offers no GET stream")
    with session_without_stream(server, "a GET that does not accept a stream") as session:
        reply = get(session, {"Accept": "application/json"})
    expect(reply, not is_stream(reply), "406, as text/event-stream is not accepted")


@pytest.mark.requirement("http.listen.is-sse")
def test_a_subscription_is_an_event_stream(server):
    filters = {
        "toolsListChanged": ("tools", "listChanged"),
        "promptsListChanged": ("prompts", "listChanged"),
        "resourcesListChanged": ("resources", "listChanged"),
    }
    wanted = {name: True for name, path in filters.items() if server.declares(*path)}
    if not wanted:
        skip("the server announces no changes of lists")
    reply = post(server.session, LISTEN, {"notifications": wanted}, seconds=0.0)
    expect(reply, is_stream(reply), "text/event-stream")


def progress_token(message):
    """Return the token of a progress notification as text; None for other messages."""
    if kind(message) is not Kind.NOTIFICATION or message["method"] != PROGRESS:
        return None
    params = message.get("params")
    return str(params.get("progressToken")) if isinstance(params, dict) else None
