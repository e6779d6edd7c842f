"""What a request says of itself in `_meta` (spec: basic, "`_meta`").

All is asked after a good request, so that the server has shown that it knows requests of this form; what is
asked as the first message names its version, so it cannot be one of another era.
"""

from __future__ import annotations

import pytest

from conformance.client.reply import Silence
from conformance.client.session import NO_PARAMS
from conformance.expect import expect, expect_error, require_answer, require_some, skip
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import ABSENT, Kind, kind
from conformance.protocol.methods import FEATURES, LISTS
from conformance.protocol.value import members
from conformance.scenarios.cancellation import cancelled_calls
from conformance.scenarios.client_features import FULL_CLIENT, all_capabilities, run_with_client
from conformance.scenarios.multi_round_trip import ask_with_fewer_capabilities
from conformance.scenarios.request_metadata import (
    ask_bare,
    exchanges,
    plain_method,
    said_of,
    send_bare,
    settled,
    without,
)
from conformance.verdicts import Finding

INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS, LACKS_CAPABILITY = -32600, -32601, -32602, -32021
WRONG = {
    "version-number": {revisions.PROTOCOL_VERSION: 20260728},
    "version-null": {revisions.PROTOCOL_VERSION: None},
    "capabilities-null": {revisions.CLIENT_CAPABILITIES: None},
    "capabilities-array": {revisions.CLIENT_CAPABILITIES: []},
    "client-without-version": {revisions.CLIENT_INFO: {"name": "conformance"}},
}
LACKING = {
    "nothing said": None,
    "no version": (revisions.PROTOCOL_VERSION,),
    "no capabilities": (revisions.CLIENT_CAPABILITIES,),
}


# What has to be there


@pytest.mark.requirement("reqmeta.missing-meta")
@pytest.mark.parametrize("params", [NO_PARAMS, {}, {"_meta": {}}], ids=["no-params", "no-meta", "empty"])
def test_a_request_that_says_nothing_of_itself_is_refused(server, params):
    expect_refusal(ask_bare(settled(server), plain_method(server), params))


@pytest.mark.requirement("reqmeta.missing-protocol-version")
def test_a_request_that_names_no_version_is_refused(server):
    meta = {"_meta": without(settled(server), revisions.PROTOCOL_VERSION)}
    expect_refusal(ask_bare(settled(server), plain_method(server), meta))


@pytest.mark.requirement("reqmeta.missing-client-capabilities")
def test_a_request_that_names_no_capabilities_is_refused(server):
    meta = {"_meta": without(settled(server), revisions.CLIENT_CAPABILITIES)}
    expect_refusal(ask_bare(settled(server), plain_method(server), meta))


@pytest.mark.requirement("reqmeta.missing-client-capabilities")
def test_a_first_request_that_names_no_capabilities_is_refused(server):
    plain = plain_method(server)
    with server.launch() as session:
        sent = send_bare(session, plain, {"_meta": without(session, revisions.CLIENT_CAPABILITIES)})
        expect_refusal(session.await_reply(sent, server.settings.start_timeout))


@pytest.mark.requirement("reqmeta.applies-to-every-request")
@pytest.mark.parametrize("lacking", LACKING)
def test_every_request_has_to_say_it(server, lacking):
    session, names = settled(server), LACKING[lacking]
    meta = {} if names is None else {"_meta": without(session, *names)}
    if ask_bare(session, plain_method(server), meta).code != INVALID_PARAMS:
        skip(f"{plain_method(server)} is not refused either: see reqmeta.missing-meta")
    for method, params, seconds in requests(server):
        reply = ask_bare(settled(server), method, {**params, **meta}, seconds)
        if reply.code != UNKNOWN_METHOD:
            expect_refusal(reply)


# What need not be there


@pytest.mark.requirement("reqmeta.client-info-optional")
def test_a_client_need_not_say_who_it_is(server):
    session = settled(server)
    for method in ("server/discover", *server.served_lists()):
        reply = require_answer(ask_bare(session, method, {"_meta": without(session, revisions.CLIENT_INFO)}))
        if reply.value is None and session.request(method).value is not None:
            raise Finding("a result, as with clientInfo", str(reply), reply.lines)


@pytest.mark.requirement("reqmeta.empty-capabilities")
def test_a_client_need_not_be_able_to_do_anything(server):
    able = {"_meta": {revisions.CLIENT_CAPABILITIES: all_capabilities(server.revision)}}
    for method in [name for name, (feature, _) in LISTS.items() if server.declares(feature)]:
        reply = server.listing(method).replies[0]
        if reply.error is not None and settled(server).request(method, able).value is not None:
            raise Finding("a result, as with capabilities", str(reply), reply.lines)


@pytest.mark.requirement("reqmeta.notifications-exempt")
def test_a_notification_need_not_say_anything_of_itself(server):
    for one in require_some(list(cancelled_calls(server)), skip="no tool could be cancelled under way"):
        if one.answers and not is_answered_when_cancelled_with_meta(server, one):
            expected = "the call to be cancelled, as it is when the notification has _meta"
            raise Finding(expected, str(one.answers[0]), one.answers[0].lines)


# What has the wrong form


@pytest.mark.requirement("reqmeta.wrong-types")
@pytest.mark.parametrize("wrong", WRONG)
def test_a_member_of_the_wrong_type_is_refused(server, wrong):
    session, codes = settled(server), [INVALID_PARAMS]
    codes += [revisions.UNSUPPORTED_VERSION] if revisions.PROTOCOL_VERSION in WRONG[wrong] else []
    meta = {"_meta": session.envelope | WRONG[wrong]}
    expect_refusal(ask_bare(session, plain_method(server), meta), *codes)


@pytest.mark.requirement("reqmeta.wrong-types")
def test_meta_of_the_wrong_type_is_refused(server):
    reply = ask_bare(settled(server), plain_method(server), {"_meta": []})
    expect_refusal(reply, INVALID_PARAMS, INVALID_REQUEST)


# What the client can do


@pytest.mark.requirement(
    "mrtr.respect-capabilities", "reqmeta.undeclared-not-relied-on", "errors.missing-client-capability"
)
def test_nothing_is_asked_of_a_client_that_cannot_do_it(server, traffic):
    run_with_client(server, FULL_CLIENT)
    expect_able_clients(server)
    ask_with_fewer_capabilities(server)
    expect_able_clients(server)


@pytest.mark.requirement("reqmeta.missing-capability-error", "errors.missing-client-capability")
def test_a_call_for_which_the_client_lacks_something_is_refused_as_such(server):
    able = {call.tool.name: call for call in run_with_client(server, FULL_CLIENT).calls if call.asked}
    wanting = [call for call in server.calls_wanting_input() if call.tool.name in able]
    for call in require_some(wanting, skip="no tool asks the client for something"):
        fails_anyway = able[call.tool.name].failed
        if call.reply.error is not None or (call.reply.is_tool_error and not fails_anyway):
            expect_error(call.reply, LACKS_CAPABILITY)


@pytest.mark.requirement("reqmeta.missing-capability-error")
def test_the_refusal_says_what_the_client_lacks(server, traffic):
    errors = members([reply for _, reply in exchanges(server)], "error")
    refused = [error for error in errors if code_of(error) == LACKS_CAPABILITY]
    for error in require_some(refused, skip="no request is refused with -32021"):
        lacking = error.get("data", "requiredCapabilities")
        right = lacking is not None and lacking.is_a(dict) and lacking.json != {}
        right = right and all(one.is_a(dict) for one in lacking.each())
        expect(error, right, "an object of client capabilities in data.requiredCapabilities")


def expect_refusal(reply, *codes):
    """Raise a `Finding` unless the request is refused with one of the codes; silence is no refusal."""
    codes = codes or (INVALID_PARAMS,)
    if isinstance(reply.fault, Silence):
        raise Finding(f"error {' or '.join(map(str, codes))}", f"{reply.method}: {reply}", reply.lines)
    expect_error(reply, *codes)


def requests(server):
    """A request of each method that is served, with how long it takes; tools only if they may be called."""
    replies = [walk.replies[0] for walk in server.listings()]
    for ask in (lambda: [call.reply for call in server.calls() if not server.is_slow(call)], server.prompts):
        replies += served(ask())[:1]
    replies += served(server.resources())[:1]
    if not server.surface.found_features:
        yield "server/discover", {}, 0.0
    for reply in served(replies):
        params = reply.request.message.get("params", {})
        yield reply.method, {name: params[name] for name in params if name != "_meta"}, reply.seconds
    yield "subscriptions/listen", {"notifications": {}}, 0.0


def served(replies):
    return [reply for reply in replies if reply.value is not None]


def is_answered_when_cancelled_with_meta(server, one):
    """Whether a call is answered although it is cancelled by a notification that says all of itself."""
    with server.fresh() as session:
        request = session.send("tools/call", one.request.message["params"])
        told = "notifications/progress"
        session.wait_for(lambda: session.notifications(told) or session.is_answered(request), session.timeout)
        params = {"requestId": request.message["id"], "_meta": session.envelope}
        session.notify("notifications/cancelled", params)
        session.drain()
        return session.wait_for(lambda: session.is_answered(request), one.answers[0].lines[-1].at)


def expect_able_clients(server):
    """Raise a `Finding` if a client was ever asked for what its request does not declare."""
    for request, reply in exchanges(server):
        for each in questions(reply):
            method = each.get("method")
            feature = FEATURES.get(method.json) if method is not None and method.is_a(str) else None
            if feature is not None and feature not in capabilities_of(request):
                expected = f"nothing that needs {feature}, which the request does not declare"
                raise Finding(expected, str(each), each.lines)


def questions(reply):
    """What a result asks the client for."""
    wanted = reply.get("result", "inputRequests") if kind(reply.json) is Kind.RESULT else None
    return [each for each in wanted.each() if each.is_a(dict)] if wanted is not None else []


def capabilities_of(request):
    declared = said_of(request, revisions.CLIENT_CAPABILITIES)
    return declared if isinstance(declared, dict) else {}


def code_of(error):
    code = error.get("code")
    return code.json if code is not None else ABSENT
