"""Protocol errors: when they are due, codes and messages (spec: basic, "Messages"; JSON-RPC 2.0, 5.1)."""

from __future__ import annotations

import pytest

from mcp_conformance.client.refusals import NO_SUCH_URI
from mcp_conformance.client.reply import Closed, Silence
from mcp_conformance.expect import (
    expect,
    expect_each,
    expect_error,
    is_integer,
    is_object,
    is_string,
    require_answer,
    require_some,
    skip,
)
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import Kind, is_response, show
from mcp_conformance.protocol.methods import LISTS
from mcp_conformance.protocol.text import last_line, shorten
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.client_features import FULL_CLIENT, all_capabilities, run_with_client
from mcp_conformance.scenarios.invalid_requests import (
    call_unknown_method,
    lacks_method,
    misshapen_requests,
    not_found_requests,
    undeclared_requests,
)
from mcp_conformance.scenarios.request_metadata import exchanges, meta_value, modern_messages
from mcp_conformance.scenarios.subscriptions import subscriptions
from mcp_conformance.scenarios.traffic import exercise_everything
from mcp_conformance.verdicts import Finding

JSON_RPC_CODES = (-32700, -32600, -32601, -32602, -32603)
HEADER_MISMATCH, LACKS_CAPABILITY = revisions.HEADER_MISMATCH, revisions.LACKS_CAPABILITY
MCP_CODES = (HEADER_MISMATCH, LACKS_CAPABILITY, revisions.UNSUPPORTED_VERSION)
RETIRED_CODES = (-32002, -32042)
LEGACY, RESERVED_BY_MCP, RESERVED = range(-32019, -31999), range(-32099, -32019), range(-32768, -32099)
"""Codes of older servers, codes that only MCP may define, and all other reserved codes."""
MAX_MESSAGE_LENGTH = 300
SURVIVAL = "jsonrpc.garbage-not-fatal"
OWN_RULES = ("completion/complete", "logging/setLevel")
"""The methods with a rule of their own for results where the feature is not declared."""


@pytest.mark.requirement("errors.parse-error-code", "jsonrpc.parse-error")
def test_a_line_that_is_not_json_is_a_parse_error(server, malformed_session):
    sent = malformed_session.send_raw(b"this line is not JSON")
    answers = answers_after(server, malformed_session, sent)
    require_some(answers, skip="the server does not answer such a line")
    expect_code(answers, -32700)


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
def test_json_that_is_not_a_message_is_an_invalid_request(server, malformed_session, message):
    sent = malformed_session.send_message(message)
    answers = answers_after(server, malformed_session, sent)
    require_some(answers, skip="the server does not answer such a message")
    expect_code(answers, -32600)


@pytest.mark.requirement("errors.method-not-found-code", "jsonrpc.method-not-found")
def test_an_unknown_method_is_method_not_found(server):
    expect_error(call_unknown_method(server), -32601)


@pytest.mark.requirement("errors.undeclared-feature")
def test_the_methods_of_an_undeclared_feature_are_not_found(server, session):
    requests = require_some(undeclared_requests(server), skip="every feature is declared")
    replies = [require_answer(session.request(method, params)) for method, params in requests]
    errors = [reply for reply in replies if reply.error is not None]
    served = served_although_unoffered(replies)
    if served:
        got = "; ".join(f"{reply.method}: {reply}" for reply in served[:3])
        raise Finding("error -32601, since the feature is not declared", got, served[0].lines)
    expect_codes(require_some(errors, skip="the server rejects none of the requests"), -32601)


def served_although_unoffered(replies):
    """Return the replies with a result for a feature that has no items.

    Undeclared lists with items, log levels and completions have rules of their own; empty lists do no harm.
    """
    results = [reply for reply in replies if reply.value is not None and reply.method not in OWN_RULES]
    lists = {one.method: members([one.value], LISTS[one.method][1]) for one in results if one.method in LISTS}
    offered = {LISTS[method][0] for method, items in lists.items() if any(each.json for each in items)}
    return [one for one in results if not lists.get(one.method) and one.method.split("/")[0] not in offered]


@pytest.mark.requirement("errors.invalid-params-code", "jsonrpc.invalid-params")
def test_params_of_the_wrong_shape_are_invalid_params(server, session):
    requests = require_some(misshapen_requests(server), skip="no feature is declared")
    replies = [require_answer(session.request(method, params)) for method, params in requests]
    known = [reply for reply in replies if not lacks_method(server, reply.method)]
    require_some(known, skip="the server has none of the methods")
    expect_codes([reply for reply in known if reply.error is not None], -32602)


@pytest.mark.requirement("errors.internal-error-code")
def test_a_failed_request_has_a_defined_code(server, session):
    replies = [call.reply for call in server.calls()] + server.prompts() + server.resources()
    replies += [session.request(method, params) for method, params in not_found_requests(server)]
    failed = [reply for reply in replies if reply.error is not None]
    require_some(failed, skip="no well-formed request failed")
    wrong = [reply for reply in failed if is_undefined(reply.code)]
    if wrong:
        got = "; ".join(f"{reply.method}: {reply}" for reply in wrong[:3])
        raise Finding("-32603, or a code that is defined", got, wrong[0].lines)


@pytest.mark.requirement("errors.code-integer", "jsonrpc.error-code-integer")
def test_the_code_of_an_error_is_an_integer(messages):
    errors = require_some(messages(Kind.ERROR), skip="no request was rejected")
    expect_each(members(errors, "error", "code"), is_integer, "an integer")


@pytest.mark.requirement("errors.code-and-message", "jsonrpc.error-object")
def test_an_error_has_a_code_and_a_message(messages):
    errors = members(require_some(messages(Kind.ERROR), skip="no request was rejected"), "error")
    expect_each(errors, lambda error: is_object(error) and "code" in error, "an object with a code")
    expect_each(errors, lambda error: is_string(error.get("message")), "a string in message")


@pytest.mark.requirement("errors.message-concise", "jsonrpc.error-message-concise")
def test_the_message_of_an_error_is_concise(messages):
    errors = require_some(messages(Kind.ERROR), skip="no request was rejected")
    expect_each(
        members(errors, "error", "message"),
        is_concise,
        f"one line of at most {MAX_MESSAGE_LENGTH} characters",
    )


@pytest.mark.requirement(
    "errors.url-elicitation-required-only",
    "clientfeature.elicitation.required-error",
    "clientfeature.elicitation.required-error-entries",
)
def test_the_code_for_url_elicitation_lists_elicitations(server):
    replies = [call.reply for call in run_with_client(server, FULL_CLIENT).calls]
    rejected = [reply for reply in replies if reply.code == -32042]
    expected = "data.elicitations: an array of objects with mode url, elicitationId, url and message"
    for reply in require_some(rejected, skip="no tool answers -32042"):
        expect(reply.error_value, lists_elicitations(reply.error), expected)


# The meaning of codes since 2026-07-28


@pytest.mark.requirement("errors.defined-meaning", "errors.defined-codes-meaning")
def test_a_code_of_the_protocol_has_its_defined_meaning(server):
    exercise_everything(server)
    run_with_client(server, FULL_CLIENT)
    errors = [(request, error) for request, reply in exchanges(server) for error in members([reply], "error")]
    for request, error in require_some(errors, skip="no request was rejected"):
        mistake = misused_code(request, error, server.revision)
        expect(error, mistake == "", f"another code, as {mistake}")


@pytest.mark.requirement("errors.reserved-range")
def test_a_code_reserved_by_mcp_is_a_defined_one(server):
    undefined = [code for code in RESERVED_BY_MCP if code not in (*MCP_CODES, *RETIRED_CODES)]
    expect_no_codes(require_errors(server), undefined)


@pytest.mark.requirement("errors.retired-codes")
def test_a_retired_code_is_not_used(server):
    if server.declares("resources"):
        server.read(NO_SUCH_URI)
    run_with_client(server, FULL_CLIENT)
    expect_no_codes(require_errors(server), RETIRED_CODES)


@pytest.mark.requirement("errors.application-range", "errors.app-codes-outside")
def test_a_code_of_the_server_is_outside_the_reserved_range(server):
    undefined = [code for code in RESERVED if code not in JSON_RPC_CODES]
    expect_no_codes(require_errors(server), undefined)


@pytest.mark.requirement("errors.legacy-range")
def test_a_code_of_the_legacy_range_is_not_used(server):
    codes = [code for code in LEGACY if code not in RETIRED_CODES]
    expect_no_codes(require_errors(server), codes, advisory=True)


def require_errors(server):
    """Return every error so far, those at the end of a process included; skip if there are none."""
    exercise_everything(server)
    subscriptions(server)
    return members(require_some(modern_messages(server, Kind.ERROR), skip="no request was rejected"), "error")


def expect_no_codes(errors, codes, *, advisory=False):
    """Expect that no error has one of these codes."""
    wrong = [error for error in errors if (code := error.get("code")) is not None and code.json in codes]
    if wrong:
        raise Finding("a code that is free or defined", str(wrong[0]), wrong[0].lines, advisory=advisory)


def misused_code(request, error, revision):
    """Return why the code of an error does not fit its request; empty if it fits.

    Only of the revision under test it is known that the server serves it.
    """
    code = error.get("code")
    lacking = error.get("data", "requiredCapabilities")
    version = meta_value(request, revisions.PROTOCOL_VERSION)
    if code is None or code.json not in MCP_CODES:
        return ""
    if code.json == HEADER_MISMATCH:  # over HTTP a request that lacks its name lacks a header too
        is_over_http = any(line.carried_by for line in error.lines)
        return "" if is_over_http else "there are no headers on stdio"
    if code.json == revisions.UNSUPPORTED_VERSION and request["method"] != "initialize":
        return "this version is served" if version == revision else ""
    if code.json == LACKS_CAPABILITY and lacking is not None and lacking.is_a(dict):
        known = all_capabilities(revision)
        declared = meta_value(request, revisions.CLIENT_CAPABILITIES)
        nothing_lacks = has_all(declared, known) and lacking.json.keys() <= known.keys()
        return "the request declares every capability" if nothing_lacks else ""
    return ""


def has_all(declared, wanted):
    """Return whether an object has each member of another, with all the members of that."""
    given = isinstance(declared, dict)
    return given and all(name in declared and has_all(declared[name], wanted[name]) for name in wanted)


def lists_elicitations(error):
    """Return whether the data of an error list URL elicitations."""
    data = error.get("data")
    listed = data.get("elicitations") if isinstance(data, dict) else None
    return isinstance(listed, list) and listed != [] and all(map(is_url_elicitation, listed))


def is_url_elicitation(value):
    """Return whether a value is an elicitation by URL, with all its members."""
    names = ("elicitationId", "url", "message")
    has_mode = is_object(value) and value.get("mode") == "url"
    return has_mode and all(is_string(value.get(name)) for name in names)


def answers_after(server, session, sent):
    """Return the answers to a malformed line, with their lines.

    Raises a `Finding` of another rule if the server did not survive it.  A process that falls silent may be
    one that ends slowly on a busy machine: then what a new process does counts.
    """
    after = pong_after(session)
    if type(after.fault) is Silence:
        with server.sessions.reproduction_session() as other:
            sent = other.send_raw(sent.raw, sent.message)
            after = pong_after(other)
        if after.fault is None:
            skip("a request after the line was not answered once, and answered by another process")
    if after.fault is not None:
        more = after.fault.last_line if isinstance(after.fault, Closed) else last_line(after.fault.stderr)
        how = f"{after.fault}{more}"
        got = f"no answer after the line {shorten(sent.text, 100)}: {how}"
        lines = (sent, *after.lines)
        raise Finding("an answer to the next request", got, lines, SURVIVAL, fault=after.fault)
    replies = [(sent, line, part) for line in session.received.since(sent) for part in line.parts()]
    return [reply for reply in replies if is_response(reply[2])]


def pong_after(session):
    """Return the reply to the second ping: an answer may overtake another, but hardly two pings in a row."""
    session.drain()
    return session.drain()


def expect_code(answers, code):
    """Expect errors of this code alone among answers to a malformed line."""
    for sent, line, answer in answers:
        error = answer.get("error")
        got = error.get("code") if isinstance(error, dict) else None
        if got != code:
            raise Finding(f"error code {code}", show(error or answer), (sent, line))


def expect_codes(errors, code):
    """Expect this code of each reply; one finding names the methods of all others."""
    wrong = [reply for reply in errors if reply.code != code]
    if wrong:
        got = f"{', '.join(reply.method for reply in wrong)}: {wrong[0]}"
        raise Finding(f"error {code}", got, wrong[0].lines)


def is_undefined(code):
    """Return whether a code is 0, or reserved by JSON-RPC without a meaning."""
    if not isinstance(code, int | float):
        return False
    return code == 0 or (-32768 <= code <= -32100 and code not in JSON_RPC_CODES)


def is_concise(message):
    """Return whether a message is one short line; what is not a string is judged elsewhere."""
    return not isinstance(message, str) or (
        len(message) <= MAX_MESSAGE_LENGTH and "\n" not in message.strip()
    )
