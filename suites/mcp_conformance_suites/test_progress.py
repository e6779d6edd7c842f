"""Progress notifications for requests with a progress token (spec: basic/utilities/progress)."""

from __future__ import annotations

import pytest

from mcp_conformance.client.handlers import WAITING
from mcp_conformance.expect import (
    expect,
    expect_each,
    is_integer,
    is_number,
    is_object,
    is_string,
    require_some,
)
from mcp_conformance.protocol.jsonrpc import id_key
from mcp_conformance.protocol.methods import FEATURES
from mcp_conformance.protocol.progress import progress_in
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.client_features import FULL_CLIENT, all_capabilities, run_with_client
from mcp_conformance.verdicts import Finding

MAX_A_SECOND = 1000
REQUEST_SECONDS = 1.0


@pytest.mark.requirement("progress.token-known")
def test_progress_has_the_token_of_a_request(server):
    for one in require_progress(server):
        expect(one.notification, one.request is not None, "a progressToken that a request gave, of its type")


@pytest.mark.requirement("progress.none-without-token")
def test_no_progress_is_sent_without_a_token(server):
    for call in require_reporting_calls(server):
        params = call.params
        for one in progress_during(server, call, params):
            expect(one.notification, one.request is not None, "no progress, as the request gave no token")


@pytest.mark.requirement("progress.token-types")
@pytest.mark.parametrize("token", [0, "1", ""], ids=["number-0", "text-1", "empty"])
def test_a_token_comes_back_as_it_was_given(server, token):
    call = require_reporting_calls(server)[0]
    params = {**call.params, "_meta": {"progressToken": token}}
    sent = progress_during(server, call, params)
    for one in require_some(sent, skip="no progress is sent with this token"):
        expect(one.notification, one.request is not None, f"the progressToken {token!r}")


@pytest.mark.requirement("progress.increasing")
def test_progress_grows_with_every_notification(server):
    last = {}
    for one in require_progress(server):
        value = one.notification.get("params", "progress")
        if one.request is not None and value is not None and value.is_a(int, float):
            before = last.get(id(one.request))
            grown = before is None or value.json > before
            expect(value, grown, f"more than {before}, which came before with the same token")
            last[id(one.request)] = value.json


@pytest.mark.requirement("progress.stops-at-completion")
def test_no_progress_is_sent_after_the_answer(server):
    for one in require_progress(server):
        is_task = one.request is not None and Value(one.request).get("params", "task") is not None
        expect(one.notification, is_task or not one.late, "no progress after the answer to the request")


@pytest.mark.requirement("progress.numbers")
def test_progress_and_total_are_numbers(server):
    params = [one.notification.get("params") or Value({}, "params") for one in require_progress(server)]
    expect_each(
        params, lambda each: is_object(each) and is_number(each.get("progress")), "a number in progress"
    )
    expect_each(members(params, "total"), is_number, "a number, or no total")


@pytest.mark.requirement("progress.message-string")
def test_the_message_of_progress_is_text(server):
    messages = members([one.notification for one in require_progress(server)], "params", "message")
    require_some(messages, skip="no progress has a message")
    expect_each(messages, is_string, "a string")


@pytest.mark.requirement("progress.rate-limit")
def test_progress_is_sent_at_a_limited_rate(server):
    require_progress(server)
    for session in server.sessions:
        lines = [line for one in progress_in(session.lines) for line in one.notification.lines]
        for first, later in zip(lines, lines[MAX_A_SECOND:], strict=False):
            if later.at - first.at < 1:
                raise Finding(f"fewer than {MAX_A_SECOND} notifications a second", "more", (first, later))


@pytest.mark.requirement("progress.own-tokens")
def test_open_requests_of_the_server_have_different_tokens(server):
    calls = run_with_client(server, FULL_CLIENT).calls
    asking = [call for call in calls if members(list(call.asked), "params", "_meta", "progressToken")]
    call = require_some(asking, skip="no request of the server has a progress token")[0]
    with server.fresh(
        "requests of the server side by side", all_capabilities(server.revision), WAITING
    ) as session:
        params = call.params
        for _ in range(2):
            session.send("tools/call", params)
        seconds = session.scaled_timeout(REQUEST_SECONDS) + 2 * call.reply.seconds
        session.wait_for(lambda: len(session.received.requests(*FEATURES)) > 1, seconds)
        tokens = members(session.received.requests(*FEATURES), "params", "_meta", "progressToken")
    expect_each(tokens, lambda token: is_string(token) or is_integer(token), "a string or an integer")
    for token in tokens:
        others = [other for other in tokens if id_key(other.json) == id_key(token.json)]
        expect(token, len(others) == 1, "a token that no other open request has")


def require_progress(server):
    """Call the tools with a progress token, and return every progress notification; skip if none came."""
    server.calls()
    found = [one for session in server.sessions for one in progress_in(session.lines)]
    return require_some(found, skip="no tool that may be called reports progress")


def require_reporting_calls(server):
    """Return the calls of quick tools that report progress; skip if there are none."""
    calls = [call for call in server.quick_calls() if call.progress]
    return require_some(calls, skip="no quick tool that may be called reports progress")


def progress_during(server, call, params):
    """Call a tool once more, and return the progress notifications that come before the answer."""
    reply = server.call_again(call, params)
    lines = server.shared("calls").lines
    known = len(list(progress_in(lines[: lines.index(reply.request)])))
    return [one for one in list(progress_in(lines))[known:] if one.notification.lines[0].at <= reply.line.at]
