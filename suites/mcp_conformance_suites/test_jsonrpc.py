"""The form of messages (spec: basic, "Messages"; JSON-RPC 2.0)."""

from __future__ import annotations

import pytest

from mcp_conformance import remedies
from mcp_conformance.expect import expect_each, is_integer, is_string, require_answer, require_some
from mcp_conformance.protocol.jsonrpc import ABSENT, REPEATED, Kind, id_key, is_response, kind, show
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.client_features import FULL_CLIENT, run_with_client
from mcp_conformance.scenarios.traffic import exercise_everything, repeat_of
from mcp_conformance.verdicts import Finding


@pytest.mark.requirement("jsonrpc.notification-no-id")
def test_a_notification_has_no_id(messages):
    sent = messages(Kind.NOTIFICATION, Kind.REQUEST)
    notifications = [each for each in sent if is_notification(each.json["method"])]
    require_some(notifications, skip="the server sent no notification")
    expect_each(notifications, lambda message: "id" not in message, "a notification without id")


@pytest.mark.stage("last")
@pytest.mark.requirement("jsonrpc.members-unique")
def test_no_object_has_two_members_of_one_name(server):
    exercise_everything(server)
    lines = [line for session in server.sessions.every for line in session.received.kept_lines]
    repeated = [line for line in lines if REPEATED in line.oddities]
    if repeated:
        got = f"{len(repeated)} lines with repeated members"
        lines = server.sessions.after_request(repeated[0])
        raise Finding("each name once in an object", got, lines, repeat=repeat_of(server, lines))


@pytest.mark.requirement("jsonrpc.response-id-echo")
def test_a_response_is_not_answered(server):
    """Judge a session in which all messages of ours are right, so nothing else explains an answer."""
    waiting, given = set(), {}
    for line in run_with_client(server, FULL_CLIENT).session.lines:
        for part in (one for one in line.parts() if isinstance(one, dict)):
            key = id_key(part.get("id", ABSENT))
            if line.sent and kind(part) is Kind.REQUEST:
                waiting.add(key)
            elif line.sent and is_response(part):
                given[key] = line
            elif is_response(part) and key in waiting:
                waiting.discard(key)
            elif is_response(part) and key in given:
                fix = remedies.RESPONSE
                raise Finding("no answer to a response", show(part), (given[key], line), fix=fix)
    require_some(given, skip="the server sent no request that was answered")


@pytest.mark.requirement("jsonrpc.request-id-type")
def test_the_id_of_a_request_is_a_string_or_an_integer(server):
    ids = members(require_server_requests(server), "id")
    expect_each(
        ids, lambda value: value is None or is_string(value) or is_integer(value), "a string or an integer"
    )


@pytest.mark.requirement("jsonrpc.request-id-not-null")
def test_the_id_of_a_request_is_not_null(server):
    ids = members(require_server_requests(server), "id")
    expect_each(ids, lambda value: value is not None, "a string or an integer")


@pytest.mark.requirement("jsonrpc.request-id-unused")
def test_the_id_of_a_request_is_new(server):
    require_server_requests(server)
    for session in server.sessions:
        seen = {}
        for line, message in session.received.messages(Kind.REQUEST):
            first = seen.setdefault(id_key(message["id"]), line)
            if first is not line and not is_notification(message["method"]):
                got = f"{show(message['id'])} for {message['method']} a second time"
                raise Finding("an id that was not used before", got, (first, line))


@pytest.mark.requirement("jsonrpc.params-optional")
def test_params_may_be_left_out(server, session):
    answered = [one.method for one in server.listings() if one.replies[0].fault is None]
    for method in ["ping", *answered]:
        without, empty = require_answer(session.request(method)), require_answer(session.request(method, {}))
        if without.value is None and empty.value is not None:
            raise Finding("a result, as with params {}", f"{method}: {without}", without.lines)


def require_server_requests(server):
    """Return the server's requests to any client, without notifications that have an id; skip if none."""
    exercise_everything(server)
    run_with_client(server, FULL_CLIENT)
    found = [each for each in server.received(Kind.REQUEST) if not is_notification(each.json["method"])]
    return require_some(found, skip="the server sent no request")


def is_notification(method):
    """Return whether a method is that of a notification."""
    return is_string(method) and method.startswith("notifications/")
