"""Messages by the letter of JSON-RPC (spec: basic, "Messages"; JSON-RPC 2.0)."""

from __future__ import annotations

import pytest

from conformance.expect import expect_each, require_answer, require_some
from conformance.protocol.jsonrpc import Kind, id_key, show
from conformance.protocol.methods import LISTS
from conformance.protocol.value import members
from conformance.scenarios.client_features import FULL_CLIENT, run_with_client
from conformance.verdicts import Finding

ANNOUNCED = "notifications/"


@pytest.mark.requirement("jsonrpc.notification-no-id")
def test_a_notification_has_no_id(traffic):
    told = [each for each in traffic(Kind.NOTIFICATION, Kind.REQUEST) if is_announcement(each)]
    require_some(told, skip="the server sent no notification")
    expect_each(told, lambda message: "id" not in message, "a notification without id")


@pytest.mark.requirement("jsonrpc.request-id-type")
def test_the_id_of_a_request_is_a_string_or_an_integer(server, traffic):
    ids = members(asked(server, traffic), "id")
    expect_each(ids, lambda value: value is None or is_id(value), "a string or an integer")


@pytest.mark.requirement("jsonrpc.request-id-not-null")
def test_the_id_of_a_request_is_not_null(server, traffic):
    ids = members(asked(server, traffic), "id")
    expect_each(ids, lambda value: value is not None, "a string or an integer")


@pytest.mark.requirement("jsonrpc.request-id-unused")
def test_the_id_of_a_request_is_new(server, traffic):
    asked(server, traffic)
    for session in server.sessions:
        seen = {}
        for line, message in session.received(Kind.REQUEST):
            first = seen.setdefault(id_key(message["id"]), line)
            if first is not line and not is_announced(message["method"]):
                got = f"{show(message['id'])} for {message['method']} a second time"
                raise Finding("an id that was not used before", got, (first, line))


@pytest.mark.requirement("jsonrpc.params-optional")
def test_params_may_be_left_out(server, session):
    for method in ["ping", *(one for one, (feature, _) in LISTS.items() if server.declares(feature))]:
        without, empty = require_answer(session.request(method)), require_answer(session.request(method, {}))
        if without.value is None and empty.value is not None:
            raise Finding("a result, as with params {}", f"{method}: {without}", without.lines)


def asked(server, traffic):
    """The requests that the server made of any client; a notification with an id is none."""
    run_with_client(server, FULL_CLIENT)
    found = [each for each in traffic(Kind.REQUEST) if not is_announcement(each)]
    return require_some(found, skip="the server asked nothing")


def is_announcement(message):
    return is_announced(message.json["method"])


def is_announced(method):
    return isinstance(method, str) and method.startswith(ANNOUNCED)


def is_id(value):
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, str) or (whole and not isinstance(value, bool))
