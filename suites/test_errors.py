"""Protocol errors: when one is due, its code and its message (spec: basic, "Messages"; JSON-RPC 2.0, 5.1)."""

from __future__ import annotations

import pytest

from conformance.value import members
from conformance.verdict import (
    Blocked,
    Finding,
    expect,
    expect_each,
    expect_error,
    heard,
    some,
)
from conformance.wire import Kind

JSON_RPC_CODES = (-32700, -32600, -32601, -32602, -32603)
LONGEST_MESSAGE = 300


@pytest.mark.requirement("errors.parse-error-code")
def test_a_line_that_is_no_json_is_a_parse_error(rough_session):
    sent = rough_session.send_raw(b"this line is not JSON")
    answers = errors_after(rough_session, sent)
    expect_codes(some(answers, "the server does not answer such a line"), -32700)


@pytest.mark.requirement("errors.invalid-request-code")
@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 77},
        {"jsonrpc": "1.0", "id": 77, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 77, "method": 1},
    ],
    ids=["no-method", "version-1.0", "method-1"],
)
def test_json_that_is_no_request_is_an_invalid_request(rough_session, message):
    sent = rough_session.send_message(message)
    answers = errors_after(rough_session, sent, 77)
    expect_codes(some(answers, "the server does not answer such a message with an error"), -32600)


@pytest.mark.requirement("errors.method-not-found-code")
def test_an_unknown_method_is_method_not_found(session):
    expect_error(session.request("conformance/no-such-method", {}), -32601)


@pytest.mark.requirement("errors.undeclared-feature")
def test_the_methods_of_an_undeclared_feature_are_not_found(server, session):
    asked = some(server.undeclared_requests(), "every feature is declared")
    replies = [session.request(method, params) for method, params in asked]
    errors = [reply for reply in replies if heard(reply).error is not None]
    wrong = [reply for reply in some(errors, "none is refused") if reply.code != -32601]
    if wrong:
        raise Finding(
            "error -32601", f"{', '.join(reply.method for reply in wrong)}: {wrong[0]}", wrong[0].lines
        )


@pytest.mark.requirement("errors.invalid-params-code")
def test_params_of_the_wrong_shape_are_invalid_params(server, session):
    asked = some(server.misshapen_requests(), "no feature is declared")
    replies = [heard(session.request(method, params)) for method, params in asked]
    wrong = [reply for reply in replies if reply.error is not None and reply.code != -32602]
    if wrong:
        raise Finding(
            "error -32602", f"{', '.join(reply.method for reply in wrong)}: {wrong[0]}", wrong[0].lines
        )


@pytest.mark.requirement("errors.internal-error-code")
def test_an_error_has_a_code_that_means_something(server, session):
    replies = [call.reply for call in server.calls()] + server.prompts() + server.resources()
    replies += [session.request(method, params) for method, params in server.not_found_requests()]
    failed = some([reply for reply in replies if reply.error is not None], "no well-formed request failed")
    wrong = [reply for reply in failed if is_meaningless(reply.code)]
    if wrong:
        got = "; ".join(f"{reply.method}: {reply}" for reply in wrong[:3])
        raise Finding("-32603, or a code that is defined", got, wrong[0].lines)


@pytest.mark.requirement("errors.code-integer")
def test_the_code_of_an_error_is_an_integer(traffic):
    codes = members(some(traffic(Kind.ERROR), "no request was refused"), "error", "code")
    expect_each(codes, is_integer, "an integer")


@pytest.mark.requirement("errors.code-and-message")
def test_an_error_has_a_code_and_a_message(traffic):
    errors = members(some(traffic(Kind.ERROR), "no request was refused"), "error")
    expect_each(errors, lambda error: isinstance(error, dict) and "code" in error, "an object with a code")
    expect_each(errors, lambda error: isinstance(error.get("message"), str), "a string in message")


@pytest.mark.requirement("errors.message-concise")
def test_the_message_of_an_error_is_one_sentence(traffic):
    messages = members(some(traffic(Kind.ERROR), "no request was refused"), "error", "message")
    expect_each(messages, is_concise, f"one line of at most {LONGEST_MESSAGE} characters")


@pytest.mark.requirement("errors.url-elicitation-required-only")
def test_the_code_for_an_elicitation_by_url_lists_it(server):
    failed = [call for call in server.calls() if call.reply.error is not None or call.reply.is_tool_error]
    some(failed, "no tool failed that might want an elicitation")
    with server.fresh({"elicitation": {"form": {}, "url": {}}}) as session:
        asked = [{"name": call.tool.name, "arguments": call.arguments} for call in failed]
        replies = [session.request("tools/call", params) for params in asked]
    for reply in some([reply for reply in replies if reply.code == -32042], "no tool answers -32042"):
        wanted = "data.elicitations: an array of objects with mode url, elicitationId, url and message"
        expect(reply.error_value, lists_elicitations(reply.error), wanted)


def lists_elicitations(error):
    data = error.get("data")
    asked = data.get("elicitations") if isinstance(data, dict) else None
    return isinstance(asked, list) and asked != [] and all(map(is_url_elicitation, asked))


def is_url_elicitation(asked):
    names = ("elicitationId", "url", "message")
    return (
        isinstance(asked, dict)
        and asked.get("mode") == "url"
        and all(isinstance(asked.get(n), str) for n in names)
    )


def errors_after(session, sent, id=None):
    """The errors that followed a broken line, with no id or its own; the server must have survived it."""
    session.settle()
    after = session.settle()  # answers may overtake one another, but hardly two pings in a row
    if after.fault is not None:
        raise Blocked(f"after {sent.text}: {after.fault}", (sent, *after.lines), after.fault.stderr)
    errors = [(line, error) for line, error in session.received(Kind.ERROR) if line.at >= sent.at]
    return [(line, error) for line, error in errors if error.get("id") in (None, id)]


def expect_codes(answers, code):
    for line, error in answers:
        got = error["error"].get("code") if isinstance(error["error"], dict) else None
        if got != code:
            raise Finding(f"error code {code}", f"code {got}", (line,))


def is_meaningless(code):
    if not isinstance(code, int | float):
        return False
    return code == 0 or (-32768 <= code <= -32100 and code not in JSON_RPC_CODES)


def is_integer(code):
    return isinstance(code, int | float) and not isinstance(code, bool) and code == int(code)


def is_concise(message):
    return not isinstance(message, str) or (len(message) <= LONGEST_MESSAGE and "\n" not in message.strip())
