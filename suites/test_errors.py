"""Protocol errors: when one is due, its code and its message (spec: basic, "Messages"; JSON-RPC 2.0, 5.1)."""

from __future__ import annotations

import pytest

from conformance.client.refusals import NO_SUCH_URI
from conformance.expect import expect, expect_each, expect_error, require_answer, require_some
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import Kind, kind, show
from conformance.protocol.value import members
from conformance.scenarios.client_features import FULL_CLIENT, all_capabilities, run_with_client
from conformance.scenarios.invalid_requests import misshapen_requests, not_found_requests, undeclared_requests
from conformance.scenarios.request_metadata import exchanges, modern_messages, said_of
from conformance.scenarios.subscriptions import listening
from conformance.verdicts import Blocked, Finding

JSON_RPC_CODES = (-32700, -32600, -32601, -32602, -32603)
HEADER_MISMATCH, LACKS_CAPABILITY = -32020, -32021
MCP_CODES = (HEADER_MISMATCH, LACKS_CAPABILITY, revisions.UNSUPPORTED_VERSION)
RETIRED_CODES = (-32002, -32042)
LEGACY, RESERVED_BY_MCP, RESERVED = range(-32019, -31999), range(-32099, -32019), range(-32768, -32099)
"""Codes of older servers, those that only MCP may define, and the rest that nobody may choose."""
LONGEST_MESSAGE = 300


@pytest.mark.requirement("errors.parse-error-code", "jsonrpc.parse-error")
def test_a_line_that_is_no_json_is_a_parse_error(malformed_session):
    sent = malformed_session.send_raw(b"this line is not JSON")
    answers = answers_after(malformed_session, sent)
    expect_codes(require_some(answers, skip="the server does not answer such a line"), -32700)


@pytest.mark.requirement("errors.invalid-request-code", "jsonrpc.invalid-request")
@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 77},
        {"jsonrpc": "1.0", "id": 77, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 77, "method": 1},
        {},
        42,
    ],
    ids=["no-method", "version-1.0", "method-1", "empty", "number"],
)
def test_json_that_is_no_request_is_an_invalid_request(malformed_session, message):
    sent = malformed_session.send_message(message)
    answers = answers_after(malformed_session, sent)
    expect_codes(require_some(answers, skip="the server does not answer such a message"), -32600)


@pytest.mark.requirement("errors.method-not-found-code", "jsonrpc.method-not-found")
def test_an_unknown_method_is_method_not_found(session):
    expect_error(session.request("conformance/no-such-method", {}), -32601)


@pytest.mark.requirement("errors.undeclared-feature")
def test_the_methods_of_an_undeclared_feature_are_not_found(server, session):
    asked = require_some(undeclared_requests(server), skip="every feature is declared")
    replies = [session.request(method, params) for method, params in asked]
    errors = [reply for reply in replies if require_answer(reply).error is not None]
    wrong = [reply for reply in require_some(errors, skip="none is refused") if reply.code != -32601]
    if wrong:
        raise Finding(
            "error -32601", f"{', '.join(reply.method for reply in wrong)}: {wrong[0]}", wrong[0].lines
        )


@pytest.mark.requirement("errors.invalid-params-code", "jsonrpc.invalid-params")
def test_params_of_the_wrong_shape_are_invalid_params(server, session):
    asked = require_some(misshapen_requests(server), skip="no feature is declared")
    replies = [require_answer(session.request(method, params)) for method, params in asked]
    wrong = [reply for reply in replies if reply.error is not None and reply.code != -32602]
    if wrong:
        raise Finding(
            "error -32602", f"{', '.join(reply.method for reply in wrong)}: {wrong[0]}", wrong[0].lines
        )


@pytest.mark.requirement("errors.internal-error-code")
def test_an_error_has_a_code_that_means_something(server, session):
    replies = [call.reply for call in server.calls()] + server.prompts() + server.resources()
    replies += [session.request(method, params) for method, params in not_found_requests(server)]
    failed = require_some(
        [reply for reply in replies if reply.error is not None], skip="no well-formed request failed"
    )
    wrong = [reply for reply in failed if is_meaningless(reply.code)]
    if wrong:
        got = "; ".join(f"{reply.method}: {reply}" for reply in wrong[:3])
        raise Finding("-32603, or a code that is defined", got, wrong[0].lines)


@pytest.mark.requirement("errors.code-integer", "jsonrpc.error-code-integer")
def test_the_code_of_an_error_is_an_integer(traffic):
    codes = members(require_some(traffic(Kind.ERROR), skip="no request was refused"), "error", "code")
    expect_each(codes, is_integer, "an integer")


@pytest.mark.requirement("errors.code-and-message", "jsonrpc.error-object")
def test_an_error_has_a_code_and_a_message(traffic):
    errors = members(require_some(traffic(Kind.ERROR), skip="no request was refused"), "error")
    expect_each(errors, lambda error: isinstance(error, dict) and "code" in error, "an object with a code")
    expect_each(errors, lambda error: isinstance(error.get("message"), str), "a string in message")


@pytest.mark.requirement("errors.message-concise", "jsonrpc.error-message-concise")
def test_the_message_of_an_error_is_one_sentence(traffic):
    messages = members(require_some(traffic(Kind.ERROR), skip="no request was refused"), "error", "message")
    expect_each(messages, is_concise, f"one line of at most {LONGEST_MESSAGE} characters")


@pytest.mark.requirement(
    "errors.url-elicitation-required-only",
    "clientfeature.elicitation.required-error",
    "clientfeature.elicitation.required-error-entries",
)
def test_the_code_for_an_elicitation_by_url_lists_it(server):
    replies = [call.reply for call in run_with_client(server, FULL_CLIENT).calls]
    for reply in require_some(
        [reply for reply in replies if reply.code == -32042], skip="no tool answers -32042"
    ):
        wanted = "data.elicitations: an array of objects with mode url, elicitationId, url and message"
        expect(reply.error_value, lists_elicitations(reply.error), wanted)


# What a code stands for since 2026-07-28


@pytest.mark.requirement("errors.defined-meaning", "errors.defined-codes-meaning")
def test_the_codes_of_the_protocol_have_their_meaning(server, traffic):
    run_with_client(server, FULL_CLIENT)
    errors = [(request, error) for request, reply in exchanges(server) for error in members([reply], "error")]
    for request, error in require_some(errors, skip="no request was refused"):
        expected = what_would_fit(request, error)
        if expected:
            raise Finding(expected, str(error), error.lines)


@pytest.mark.requirement("errors.reserved-range")
def test_a_code_that_is_reserved_is_a_defined_one(server, traffic):
    expect_no_codes(server, [code for code in RESERVED_BY_MCP if code not in (*MCP_CODES, *RETIRED_CODES)])


@pytest.mark.requirement("errors.retired-codes")
def test_a_code_that_is_retired_is_not_used(server, traffic):
    if server.declares("resources"):
        server.read(NO_SUCH_URI)
    run_with_client(server, FULL_CLIENT)
    expect_no_codes(server, RETIRED_CODES)


@pytest.mark.requirement("errors.application-range", "errors.app-codes-outside")
def test_a_code_of_the_server_is_outside_of_what_is_reserved(server, traffic):
    expect_no_codes(server, [code for code in RESERVED if code not in JSON_RPC_CODES])


@pytest.mark.requirement("errors.legacy-range")
def test_a_code_of_older_servers_is_not_used(server, traffic):
    codes = [code for code in LEGACY if code not in RETIRED_CODES]
    expect_no_codes(server, codes, advisory=True)


def expect_no_codes(server, codes, *, advisory=False):
    """Raise a `Finding` if an error has one of these codes, also where the server is about to end."""
    listening(server)
    found = members(require_some(modern_messages(server, Kind.ERROR), skip="no request was refused"), "error")
    wrong = [error for error in found if (code := error.get("code")) is not None and code.json in codes]
    if wrong:
        raise Finding("a code that is free or defined", str(wrong[0]), wrong[0].lines, advisory=advisory)


def what_would_fit(request, error):
    """What is expected instead of an error whose code means something else; empty if it fits."""
    code = error.get("code")
    lacking = error.get("data", "requiredCapabilities")
    version = said_of(request, revisions.PROTOCOL_VERSION)
    if code is None or code.json not in MCP_CODES:
        return ""
    if code.json == HEADER_MISMATCH:
        return "another code, as there are no headers on stdio"
    if code.json == revisions.UNSUPPORTED_VERSION and request["method"] != "initialize":
        return "another code, as this version is served" if version in revisions.MODERN else ""
    if code.json == LACKS_CAPABILITY and lacking is not None and lacking.is_a(dict):
        able, declared = all_capabilities(revisions.LATEST_MODERN), said_of(request, revisions.CLIENT_CAPABILITIES)
        nothing_lacks = has_all(declared, able) and lacking.json.keys() <= able.keys()
        return "another code, as the request declares all there is" if nothing_lacks else ""
    return ""


def has_all(declared, wanted):
    """Whether each member of an object is there in another, with all that is in it."""
    given = isinstance(declared, dict)
    return given and all(name in declared and has_all(declared[name], wanted[name]) for name in wanted)


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


def answers_after(session, sent):
    """The answers that followed a broken line, but not those to pings; the server must have survived it."""
    session.drain()
    after = session.drain()  # answers may overtake one another, but hardly two pings in a row
    if after.fault is not None:
        lines = (sent, *after.lines)
        raise Blocked(f"after {sent.text}: {after.fault}", lines, after.fault.stderr, fault=after.fault)
    replies = [(sent, line, part) for line in session.received_since(sent) for part in line.parts()]
    return [reply for reply in replies if kind(reply[2]) in (Kind.RESULT, Kind.ERROR)]


def expect_codes(answers, code):
    for sent, line, answer in answers:
        error = answer.get("error")
        got = error.get("code") if isinstance(error, dict) else None
        if got != code:
            raise Finding(f"error code {code}", show(error or answer), (sent, line))


def is_meaningless(code):
    if not isinstance(code, int | float):
        return False
    return code == 0 or (-32768 <= code <= -32100 and code not in JSON_RPC_CODES)


def is_integer(code):
    whole = isinstance(code, int) or (isinstance(code, float) and code.is_integer())
    return whole and not isinstance(code, bool)


def is_concise(message):
    return not isinstance(message, str) or (len(message) <= LONGEST_MESSAGE and "\n" not in message.strip())
