"""What the revision no longer has (spec: changelog of 2026-07-28)."""

from __future__ import annotations

import json

import pytest

from conformance.client.refusals import NO_SUCH_NAME, NO_SUCH_URI
from conformance.expect import expect_error, require_answer, require_some, skip
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import Kind, kind
from conformance.protocol.value import members
from conformance.scenarios.client_features import FULL_CLIENT, run_with_client
from conformance.scenarios.request_metadata import plain_method, settled, shaken
from conformance.verdicts import Finding

UNKNOWN_METHOD = -32601
DEAF = ("notifications/initialized", "notifications/roots/list_changed")
COMPLETE = "notifications/elicitation/complete"


# The handshake


@pytest.mark.requirement("removed.initialize")
def test_a_handshake_is_answered_at_all(server):
    hello, _ = shaken(server, revisions.LATEST_HANDSHAKE)
    if hello.fault is not None:
        raise Finding("an error, or a result if the server shakes hands too", str(hello), hello.lines)


@pytest.mark.requirement("removed.initialize-names-versions")
def test_who_wants_to_shake_hands_is_told_the_versions(server, revision):
    hello, _ = shaken(server, revisions.LATEST_HANDSHAKE)
    listed = json.dumps(server.surface.result.json.get("supportedVersions"))
    if hello.error is None or any(one in listed for one in revisions.HANDSHAKE):
        skip("the server shakes hands too")
    if revision not in json.dumps(hello.error):
        raise Finding(f"the name of a version that is supported, such as {revision}", str(hello), hello.lines)


# Methods


@pytest.mark.requirement("removed.ping")
def test_there_is_no_ping(server):
    expect_unknown(server, "ping", {})


@pytest.mark.requirement("removed.logging-set-level")
def test_there_is_no_log_level_to_be_set(server):
    expect_unknown(server, "logging/setLevel", {"level": "info"})


@pytest.mark.requirement("removed.resource-subscribe")
@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
def test_there_is_no_subscription_to_one_resource(server, method):
    uris = [uri.json for uri in members(server.listed("resources/list"), "uri") if uri.is_a(str)]
    expect_unknown(server, method, {"uri": next(iter(uris), NO_SUCH_URI)})


@pytest.mark.requirement("removed.core-tasks")
@pytest.mark.parametrize("method", ["tasks/list", "tasks/result"])
def test_there_are_no_tasks(server, method):
    expect_unknown(server, method, {"taskId": NO_SUCH_NAME} if method == "tasks/result" else {})


@pytest.mark.requirement("removed.core-tasks")
def test_a_call_cannot_become_a_task_by_its_params(server, callable_tool):
    call = server.call(callable_tool)
    params = {"name": callable_tool.name, "arguments": call.arguments, "task": {"ttl": 60_000}}
    reply = server.call_again(call, params)
    if reply.value is not None and reply.value.get("task") is not None:
        raise Finding("the result of the tool, as without the member task", str(reply), reply.lines)


# Notifications


@pytest.mark.requirement("removed.notifications-silent")
@pytest.mark.parametrize("method", DEAF)
def test_a_notification_that_is_gone_has_no_effect(server, method):
    session = settled(server)
    sent = session.notify(method)
    after = require_answer(session.request(plain_method(server)))
    session.drain()
    answers = [line for line in session.received_since(sent) if line is not after.line and is_answer(line)]
    if answers or after.value is None:
        got = answers[0].text if answers else f"{after.method}: {after}"
        raise Finding("no answer, and all as before", got, (sent, *answers[:1], *after.lines))


@pytest.mark.requirement("removed.elicitation-complete")
def test_it_is_not_told_when_a_page_is_done_with(server, traffic):
    pages = [asked for asked in run_with_client(server, FULL_CLIENT).server_requests("elicitation/create") if is_page(asked)]
    told = [each for each in server.received(Kind.NOTIFICATION) if each.json["method"] == COMPLETE]
    if told:
        raise Finding(f"no {COMPLETE}", str(told[0]), told[0].lines)
    for asked in require_some(pages, skip="the server sends nobody to a page"):
        if asked.get("params", "elicitationId") is not None:
            raise Finding("no elicitationId", str(asked), asked.lines)


def expect_unknown(server, method, params):
    expect_error(settled(server).request(method, params), UNKNOWN_METHOD)


def is_answer(line):
    return any(kind(message) in (Kind.RESULT, Kind.ERROR) for message in line.parts())


def is_page(asked):
    mode = asked.get("params", "mode")
    return mode is not None and mode.json == "url"
