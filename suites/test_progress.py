"""Progress of requests that ask to be told of it (spec: basic/utilities/progress)."""

from __future__ import annotations

import pytest

from conformance.client.handlers import WAITING
from conformance.expect import expect, expect_each, require_some
from conformance.protocol.jsonrpc import id_key
from conformance.protocol.methods import FEATURES
from conformance.protocol.progress import progress_in
from conformance.protocol.value import Value, members
from conformance.scenarios.client_features import FULL_CLIENT, all_capabilities, run_with_client
from conformance.verdicts import Finding

MOST_A_SECOND = 1000


@pytest.mark.requirement("progress.token-known")
def test_progress_has_the_token_of_a_request(server):
    for one in told(server):
        expect(one.notification, one.request is not None, "a progressToken that a request gave, of its type")


@pytest.mark.requirement("progress.none-without-token")
def test_no_progress_is_told_unasked(server):
    for call in tellers(server):
        params = {"name": call.tool.name, "arguments": call.arguments}
        for one in progress_during(server, call, params):
            expect(one.notification, one.request is not None, "no progress, as the request gave no token")


@pytest.mark.requirement("progress.token-types")
@pytest.mark.parametrize("token", [0, "1", ""], ids=["number-0", "text-1", "empty"])
def test_a_token_comes_back_as_it_was_given(server, token):
    call = tellers(server)[0]
    params = {"name": call.tool.name, "arguments": call.arguments, "_meta": {"progressToken": token}}
    for one in require_some(
        progress_during(server, call, params), skip="with this token no progress is told"
    ):
        expect(one.notification, one.request is not None, f"the progressToken {token!r}")


@pytest.mark.requirement("progress.increasing")
def test_progress_grows_with_every_notification(server):
    last = {}
    for one in told(server):
        value = one.notification.get("params", "progress")
        if one.request is not None and value is not None and value.is_a(int, float):
            before = last.get(id(one.request))
            grown = before is None or value.json > before
            expect(value, grown, f"more than {before}, which came before with the same token")
            last[id(one.request)] = value.json


@pytest.mark.requirement("progress.stops-at-completion")
def test_no_progress_is_told_after_the_end(server):
    for one in told(server):
        is_task = one.request is not None and Value(one.request).get("params", "task") is not None
        expect(one.notification, is_task or not one.late, "no progress after the answer to the request")


@pytest.mark.requirement("progress.numbers")
def test_progress_and_total_are_numbers(server):
    params = [one.notification.get("params") or Value({}, "params") for one in told(server)]
    expect_each(
        params,
        lambda each: isinstance(each, dict) and is_number(each.get("progress")),
        "a number in progress",
    )
    expect_each(members(params, "total"), is_number, "a number, or no total")


@pytest.mark.requirement("progress.message-string")
def test_the_message_of_progress_is_text(server):
    messages = members([one.notification for one in told(server)], "params", "message")
    expect_each(
        require_some(messages, skip="no progress has a message"),
        lambda message: isinstance(message, str),
        "a string",
    )


@pytest.mark.requirement("progress.rate-limit")
def test_progress_is_told_at_a_bearable_rate(server):
    told(server)
    for session in server.sessions:
        lines = [line for one in progress_in(session.lines) for line in one.notification.lines]
        for first, later in zip(lines, lines[MOST_A_SECOND:], strict=False):
            if later.at - first.at < 1:
                raise Finding(f"fewer than {MOST_A_SECOND} notifications a second", "more", (first, later))


@pytest.mark.requirement("progress.own-tokens")
def test_the_server_tells_its_own_requests_apart(server):
    asking = [
        call
        for call in run_with_client(server, FULL_CLIENT).calls
        if members(list(call.asked), "params", "_meta", "progressToken")
    ]
    call = require_some(asking, skip="no request of the server wants to be told of its progress")[0]
    with server.fresh(all_capabilities(server.revision), WAITING) as session:
        params = {"name": call.tool.name, "arguments": call.arguments}
        for _ in range(2):
            session.send("tools/call", params)
        patience = session.scaled_timeout(1.0) + 2 * call.reply.seconds
        session.wait_for(lambda: len(session.server_requests(*FEATURES)) > 1, patience)
        tokens = members(session.server_requests(*FEATURES), "params", "_meta", "progressToken")
    expect_each(tokens, is_token, "a string or an integer")
    for token in tokens:
        others = [other for other in tokens if id_key(other.json) == id_key(token.json)]
        expect(token, len(others) == 1, "a token that no other open request has")


def told(server):
    """Every progress notification so far; all tools that may be called were asked for it."""
    server.calls()
    found = [one for session in server.sessions for one in progress_in(session.lines)]
    return require_some(found, skip="no tool that may be called tells its progress")


def tellers(server):
    """The calls of tools that tell their progress, and may be called again."""
    calls = [call for call in server.calls() if call.progress and not server.is_slow(call)]
    return require_some(calls, skip="no quick tool that may be called tells its progress")


def progress_during(server, call, params):
    """The progress that is told while a tool is called once more."""
    reply = server.call_again(call, params)
    lines = server.shared("calls").lines
    known = len(list(progress_in(lines[: lines.index(reply.request)])))
    return [one for one in list(progress_in(lines))[known:] if one.notification.lines[0].at <= reply.line.at]


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_token(value):
    return isinstance(value, str) or (is_number(value) and value % 1 == 0)
