"""The members of a request's `_meta` (spec: basic, "`_meta`").

The requests follow a good one, so that the server has shown that it serves modern requests.  A request that
is the first message names its version, so that it cannot be of the handshake era.
"""

from __future__ import annotations

from typing import Any

import pytest

from mcp_conformance.client.reply import Silence
from mcp_conformance.client.session import NO_PARAMS
from mcp_conformance.expect import expect, expect_error, require_answer, require_some, skip
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, kind
from mcp_conformance.protocol.methods import CANCELLED, FEATURES, LISTS
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.cancellation import cancelled_calls
from mcp_conformance.scenarios.client_features import FULL_CLIENT, all_capabilities, run_with_client
from mcp_conformance.scenarios.multi_round_trip import ask_with_fewer_capabilities
from mcp_conformance.scenarios.request_metadata import (
    exchanges,
    first_request_without_capabilities,
    meta_value,
    meta_without,
    modern_session,
    request_as_is,
    simple_method,
)
from mcp_conformance.scenarios.traffic import exercise_everything
from mcp_conformance.verdicts import Finding

INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS, LACKS_CAPABILITY = -32600, -32601, -32602, -32021
WRONG: dict[str, dict[str, Any]] = {
    "version-number": {revisions.PROTOCOL_VERSION: 20260728},
    "version-null": {revisions.PROTOCOL_VERSION: None},
    "capabilities-null": {revisions.CLIENT_CAPABILITIES: None},
    "capabilities-array": {revisions.CLIENT_CAPABILITIES: []},
    "client-without-version": {revisions.CLIENT_INFO: {"name": "conformance"}},
}
LACKING = {
    "no meta": None,
    "no version": (revisions.PROTOCOL_VERSION,),
    "no capabilities": (revisions.CLIENT_CAPABILITIES,),
}


# Required members


@pytest.mark.requirement("reqmeta.missing-meta")
@pytest.mark.parametrize("params", [NO_PARAMS, {}, {"_meta": {}}], ids=["no-params", "no-meta", "empty"])
def test_a_request_without_meta_is_rejected(server, params):
    expect_refusal(request_as_is(modern_session(server), simple_method(server), params))


@pytest.mark.requirement("reqmeta.missing-protocol-version")
def test_a_request_without_a_version_is_rejected(server):
    meta = {"_meta": meta_without(modern_session(server), revisions.PROTOCOL_VERSION)}
    expect_refusal(request_as_is(modern_session(server), simple_method(server), meta))


@pytest.mark.requirement("reqmeta.missing-client-capabilities")
def test_a_request_without_capabilities_is_rejected(server):
    meta = {"_meta": meta_without(modern_session(server), revisions.CLIENT_CAPABILITIES)}
    expect_refusal(request_as_is(modern_session(server), simple_method(server), meta))


@pytest.mark.requirement("reqmeta.missing-client-capabilities")
def test_a_first_request_without_capabilities_is_rejected(server):
    expect_refusal(first_request_without_capabilities(server))


@pytest.mark.requirement("reqmeta.applies-to-every-request")
@pytest.mark.parametrize("lacking", LACKING)
def test_a_request_of_any_method_without_meta_is_rejected(server, lacking):
    session, names = modern_session(server), LACKING[lacking]
    meta = {} if names is None else {"_meta": meta_without(session, *names)}
    if request_as_is(session, simple_method(server), meta).code != INVALID_PARAMS:
        skip(f"{simple_method(server)} is not rejected either: see reqmeta.missing-meta")
    for method, params, seconds in requests(server):
        reply = request_as_is(modern_session(server), method, {**params, **meta}, seconds)
        if reply.code != UNKNOWN_METHOD:
            expect_refusal(reply)


# Optional members


@pytest.mark.requirement("reqmeta.client-info-optional")
def test_client_info_is_optional(server):
    session = modern_session(server)
    for method in ("server/discover", *server.served_lists()):
        reply = require_answer(
            request_as_is(session, method, {"_meta": meta_without(session, revisions.CLIENT_INFO)})
        )
        if reply.value is None and session.request(method).value is not None:
            raise Finding("a result, as with clientInfo", str(reply), reply.lines)


@pytest.mark.requirement("reqmeta.empty-capabilities")
def test_the_capabilities_may_be_empty(server):
    full = {"_meta": {revisions.CLIENT_CAPABILITIES: all_capabilities(server.revision)}}
    for method in [name for name, (feature, _) in LISTS.items() if server.declares(feature)]:
        reply = server.listing(method).replies[0]
        if reply.error is not None and modern_session(server).request(method, full).value is not None:
            raise Finding("a result, as with capabilities", str(reply), reply.lines)


@pytest.mark.requirement("reqmeta.notifications-exempt")
def test_a_notification_needs_no_meta(server):
    for one in require_some(list(cancelled_calls(server)), skip="no running tool call could be cancelled"):
        if one.answers and not is_answered_when_cancelled_with_meta(server, one):
            expected = "the call to be cancelled, as it is when the notification has _meta"
            raise Finding(expected, str(one.answers[0]), one.answers[0].lines)


# Members of a wrong form


@pytest.mark.requirement("reqmeta.wrong-types")
@pytest.mark.parametrize("wrong", WRONG)
def test_a_member_of_the_wrong_type_is_rejected(server, wrong):
    session, codes = modern_session(server), [INVALID_PARAMS]
    codes += [revisions.UNSUPPORTED_VERSION] if revisions.PROTOCOL_VERSION in WRONG[wrong] else []
    meta = {"_meta": session.envelope | WRONG[wrong]}
    expect_refusal(request_as_is(session, simple_method(server), meta), *codes)


@pytest.mark.requirement("reqmeta.wrong-types")
def test_meta_of_the_wrong_type_is_rejected(server):
    reply = request_as_is(modern_session(server), simple_method(server), {"_meta": []})
    expect_refusal(reply, INVALID_PARAMS, INVALID_REQUEST)


# The capabilities of the client


@pytest.mark.requirement(
    "mrtr.respect-capabilities", "reqmeta.undeclared-not-relied-on", "errors.missing-client-capability"
)
def test_only_declared_capabilities_are_used(server):
    exercise_everything(server)
    run_with_client(server, FULL_CLIENT)
    expect_declared_capabilities(server)
    ask_with_fewer_capabilities(server)
    expect_declared_capabilities(server)


@pytest.mark.requirement("reqmeta.missing-capability-error", "errors.missing-client-capability")
def test_a_call_that_needs_a_missing_capability_has_its_own_code(server):
    asking = {call.tool.name: call for call in run_with_client(server, FULL_CLIENT).calls if call.asked}
    calls = [call for call in server.tool_calls.wanting_input() if call.tool.name in asking]
    for call in require_some(calls, skip="no tool sends a request to the client"):
        fails_anyway = asking[call.tool.name].failed
        if call.reply.error is not None or (call.reply.is_tool_error and not fails_anyway):
            expect_error(call.reply, LACKS_CAPABILITY)


@pytest.mark.requirement("reqmeta.missing-capability-error")
def test_the_error_names_the_missing_capabilities(server):
    exercise_everything(server)
    errors = members([reply for _, reply in exchanges(server)], "error")
    rejected = [error for error in errors if code_of(error) == LACKS_CAPABILITY]
    for error in require_some(rejected, skip="no request is rejected with -32021"):
        lacking = error.get("data", "requiredCapabilities")
        named = list(lacking.each()) if lacking is not None and lacking.is_a(dict) else []
        is_right = named != [] and all(one.is_a(dict) for one in named)
        expect(error, is_right, "an object of client capabilities in data.requiredCapabilities")


def expect_refusal(reply, *codes):
    """Expect an error with one of the codes, -32602 by default; no answer is a finding, too."""
    codes = codes or (INVALID_PARAMS,)
    if isinstance(reply.fault, Silence):
        expected = f"error {' or '.join(map(str, codes))}"
        raise Finding(expected, f"{reply.method}: {reply}", reply.lines, fault=reply.fault)
    expect_error(reply, *codes)


def requests(server):
    """Yield a request of each served method, with the seconds it takes; tools only if they may be called."""
    calls = [call.reply for call in server.quick_calls()]
    replies = [listing.replies[0] for listing in server.listings()]
    for found in (calls, server.prompts(), server.resources()):
        replies += served(found)[:1]
    if not server.surface.found_features:
        yield "server/discover", {}, 0.0
    for reply in served(replies):
        params = reply.request.message.get("params", {})
        yield reply.method, {name: params[name] for name in params if name != "_meta"}, reply.seconds
    yield "subscriptions/listen", {"notifications": {}}, 0.0


def served(replies):
    """Return the replies that are results."""
    return [reply for reply in replies if reply.value is not None]


def is_answered_when_cancelled_with_meta(server, one):
    """Return whether a call is answered although a notification with a complete `_meta` cancelled it."""
    with server.fresh("a cancellation with _meta") as session:
        request = session.send("tools/call", one.request.message["params"])
        progress = "notifications/progress"
        session.wait_for(
            lambda: session.received.notifications(progress) or session.is_answered(request), session.timeout
        )
        params = {"requestId": request.message["id"], "_meta": session.envelope}
        session.notify(CANCELLED, params)
        session.drain()
        return session.wait_for(lambda: session.is_answered(request), one.answers[0].lines[-1].at)


def expect_declared_capabilities(server):
    """Expect that no input request needs a capability that its request does not declare."""
    for request, reply in exchanges(server):
        for each in input_requests(reply):
            method = each.get("method")
            feature = FEATURES.get(method.json) if method is not None and method.is_a(str) else None
            if feature is not None and feature not in capabilities_of(request):
                expected = f"nothing that needs {feature}, which the request does not declare"
                raise Finding(expected, str(each), each.lines)


def input_requests(reply):
    """Return the input requests of a result."""
    found = reply.get("result", "inputRequests") if kind(reply.json) is Kind.RESULT else None
    return [each for each in found.each() if each.is_a(dict)] if found is not None else []


def capabilities_of(request):
    """Return the capabilities that a request declares; none if they are not an object."""
    declared = meta_value(request, revisions.CLIENT_CAPABILITIES)
    return declared if isinstance(declared, dict) else {}


def code_of(error):
    """Return the code of an error, `ABSENT` if it has none."""
    code = error.get("code")
    return code.json if code is not None else ABSENT
