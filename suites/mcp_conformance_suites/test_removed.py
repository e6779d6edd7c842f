"""Features that the revision removed (spec: changelog of 2026-07-28)."""

from __future__ import annotations

import json

import pytest

from mcp_conformance.client.refusals import NO_SUCH_NAME, NO_SUCH_URI
from mcp_conformance.expect import expect_none, require_answer, require_some, skip
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import Kind, is_response
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.client_features import FULL_CLIENT, run_with_client
from mcp_conformance.scenarios.invalid_requests import expect_removed
from mcp_conformance.scenarios.request_metadata import handshake_result, modern_session, simple_method
from mcp_conformance.scenarios.traffic import exercise_everything
from mcp_conformance.scenarios.unserved_methods import require_served
from mcp_conformance.verdicts import Finding

REMOVED_NOTIFICATIONS = ("notifications/initialized", "notifications/roots/list_changed")
COMPLETE = "notifications/elicitation/complete"


# The handshake


@pytest.mark.requirement("removed.initialize")
def test_a_handshake_is_answered(server):
    opening, _ = handshake_result(server, revisions.LATEST_HANDSHAKE)
    if opening.fault is not None:
        expected = "an error, or a result if the server accepts a handshake too"
        raise Finding(expected, str(opening), opening.lines)


@pytest.mark.requirement("removed.initialize-names-versions")
def test_a_rejected_handshake_names_the_versions(server, revision):
    opening, _ = handshake_result(server, revisions.LATEST_HANDSHAKE)
    listed = json.dumps(server.surface.result.json.get("supportedVersions"))
    if opening.error is None or any(one in listed for one in revisions.HANDSHAKE):
        skip("the server accepts a handshake too")
    if revision not in json.dumps(opening.error):
        expected = f"the name of a version that is supported, such as {revision}"
        raise Finding(expected, str(opening), opening.lines)


# Methods


@pytest.mark.requirement("removed.ping")
def test_ping_is_an_unknown_method(server):
    expect_removed_method(server, "ping", {})


@pytest.mark.requirement("removed.logging-set-level")
def test_setting_a_log_level_is_an_unknown_method(server):
    expect_removed_method(server, "logging/setLevel", {"level": "info"})


@pytest.mark.requirement("removed.resource-subscribe")
@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
def test_subscribing_to_one_resource_is_an_unknown_method(server, method):
    uris = [uri.json for uri in members(server.listed("resources/list"), "uri") if uri.is_a(str)]
    expect_removed_method(server, method, {"uri": next(iter(uris), NO_SUCH_URI)})


@pytest.mark.requirement("removed.core-tasks")
@pytest.mark.parametrize("method", ["tasks/list", "tasks/result"])
def test_core_tasks_are_unknown_methods(server, method):
    expect_removed_method(server, method, {"taskId": NO_SUCH_NAME} if method == "tasks/result" else {})


@pytest.mark.requirement("removed.core-tasks")
def test_a_call_with_the_member_task_is_not_a_task(server, callable_tool):
    require_served(server, "tools/call")
    call = server.call(callable_tool)
    if call.failed:
        skip(f"the tool fails without the member task too: {call.reply}")
    params = {"name": callable_tool.name, "arguments": call.arguments, "task": {"ttl": 60_000}}
    reply = server.call_again(call, params)
    if reply.value is not None and reply.value.get("task") is not None:
        raise Finding("the result of the tool, as without the member task", str(reply), reply.lines)


# Notifications


@pytest.mark.requirement("removed.notifications-silent")
@pytest.mark.parametrize("method", REMOVED_NOTIFICATIONS)
def test_a_removed_notification_has_no_effect(server, method):
    session = modern_session(server)
    sent = session.notify(method)
    after = require_answer(session.request(simple_method(server)))
    session.drain()
    answers = [line for line in session.received.since(sent) if line is not after.line and is_answer(line)]
    if answers or after.value is None:
        got = answers[0].text if answers else f"{after.method}: {after}"
        raise Finding("no answer, and all as before", got, (sent, *answers[:1], *after.lines))


@pytest.mark.requirement("removed.elicitation-complete")
def test_a_completed_url_elicitation_is_not_notified(server):
    exercise_everything(server)
    elicitations = run_with_client(server, FULL_CLIENT).server_requests("elicitation/create")
    sent = [each for each in server.received(Kind.NOTIFICATION) if each.json["method"] == COMPLETE]
    if sent:
        raise Finding(f"no {COMPLETE}", str(sent[0]), sent[0].lines)
    pages = [one for one in elicitations if is_by_url(one)]
    require_some(pages, skip="the server requested no URL elicitation")
    ids = [one for one in pages if one.get("params", "elicitationId") is not None]
    expect_none(ids, "no elicitationId")


def expect_removed_method(server, method, params):
    """Expect that a method is unknown to a server that has just served a modern request."""
    expect_removed(server, modern_session(server).request(method, params))


def is_answer(line):
    """Return whether a line has a result or an error."""
    return any(map(is_response, line.parts()))


def is_by_url(elicitation):
    """Return whether an elicitation is one by URL."""
    mode = elicitation.get("params", "mode")
    return mode is not None and mode.json == "url"
