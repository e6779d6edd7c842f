"""The client's side of a conversation: what it takes, and what it answers."""

import json
import sys

import pytest

from conformance.client import handlers as client
from conformance.client import session as session_module
from conformance.client.session import Session
from conformance.protocol.methods import FEATURES
from conformance.transport.process import Process

ROOTS, SAMPLING, ELICITATION = FEATURES
ICONS = "2025-11-25"
ASKING = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "ask":
        print(json.dumps(message["params"]), flush=True)
    elif "method" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}), flush=True)
"""
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 18},
        "colours": {"type": "array", "items": {"type": "string", "enum": ["red"]}, "minItems": 1},
    },
    "required": ["age"],
}


def answer_to(request, capabilities, answers=client.ACCEPTING):
    """What a session answers a server that sends this; None if nothing."""
    process = Process([sys.executable, "-c", ASKING])
    with Session(process, revision=ICONS, timeout=30, capabilities=capabilities, client=answers) as session:
        session.send_raw(json.dumps({"method": "ask", "params": request}).encode())
        assert session.drain().fault is None
        sent = [line.message for line in session.lines if line.sent and isinstance(line.message, dict)]
    return next((message for message in sent if "method" not in message), None)


def asked(method, **params):
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


def test_ping_is_answered_by_every_client():
    assert answer_to({"jsonrpc": "2.0", "id": "p", "method": "ping"}, {}) == {
        "jsonrpc": "2.0",
        "id": "p",
        "result": {},
    }


@pytest.mark.parametrize("method", [*FEATURES, "tasks/list", 5])
def test_what_is_not_declared_is_refused(method):
    assert answer_to(asked(method), {})["error"]["code"] == -32601


@pytest.mark.parametrize(
    ("declared", "mode", "taken"),
    [
        ({}, None, True),
        ({}, "form", True),
        ({}, "url", False),
        ({"form": {}}, "url", False),
        ({"url": {}}, None, False),
        ({"url": {}}, "url", True),
        ({"form": {}, "url": {}}, "dialog", False),
        ({"form": {}, "url": {}}, ["form"], False),
    ],
)
def test_only_the_declared_modes_of_elicitation_are_taken(declared, mode, taken):
    params = {"message": "?", "requestedSchema": FORM} | ({} if mode is None else {"mode": mode})
    answer = answer_to(asked(ELICITATION, **params), {"elicitation": declared})
    assert answer.get("result", {}).get("action") == ("accept" if taken else None)
    assert taken or answer["error"]["code"] == -32602


def test_a_request_may_be_left_open():
    assert answer_to(asked(ROOTS), {"roots": {}}, client.WAITING) is None


@pytest.mark.parametrize("id", [float("nan"), float("inf")])
def test_an_id_that_cannot_be_written_does_no_harm(id):
    assert answer_to({"jsonrpc": "2.0", "id": id, "method": "ping"}, {}) is None


def test_every_field_of_a_form_is_filled_in():
    answer = client.fills_in({"requestedSchema": FORM}, ICONS)["result"]
    assert answer["action"] == "accept"
    assert set(answer["content"]) == set(FORM["properties"])
    assert answer["content"]["age"] >= 18


def test_a_careless_client_lets_one_wrong_value_through():
    right = client.fills_in({"requestedSchema": FORM}, ICONS)["result"]["content"]
    wrong = client.fills_in_wrongly({"requestedSchema": FORM}, ICONS)["result"]["content"]
    assert [name for name in right if right[name] != wrong[name]] == ["name"]
    assert isinstance(wrong["name"], int)


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        {},
        {"requestedSchema": None},
        {"requestedSchema": {"type": "object", "properties": [1]}},
        {
            "requestedSchema": {
                "type": "object",
                "properties": {"a": {"$ref": "#/nowhere"}},
                "required": ["a"],
            }
        },
        {"requestedSchema": {"type": "string"}},
        {"tools": 5, "messages": "x"},
        {"tools": [{"name": 1}], "messages": [5]},
    ],
)
def test_whatever_a_server_asks_there_is_an_answer(params):
    for answers in (
        client.ACCEPTING,
        client.DECLINING,
        client.CANCELLING,
        client.INVALID,
        client.TOOL_USING,
    ):
        for answer in answers.values():
            given = answer(params, ICONS)
            assert ("result" in given) != ("error" in given)
            json.dumps(given, allow_nan=False)


def test_a_model_uses_tools_for_a_long_time_but_not_for_ever():
    tools = [
        {
            "name": "t",
            "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        }
    ]
    messages = []
    for rounds in range(client.MAX_TOOL_USES + 1):
        answer = client.uses_tools({"tools": tools, "messages": messages}, ICONS)["result"]
        assert (answer["stopReason"] == "toolUse") == (rounds < client.MAX_TOOL_USES)
        messages.append({"role": "assistant", "content": answer["content"]})
    uses = messages[0]["content"]
    assert [use["input"] for use in uses] == [{"n": 1}, {"n": 1}]
    assert uses[0]["id"] != uses[1]["id"] != messages[1]["content"][0]["id"]
    assert (
        client.uses_tools({"tools": tools, "toolChoice": {"mode": "none"}}, ICONS)["result"]["stopReason"]
        == "endTurn"
    )


MUMBLING = """
import json, sys
for line in sys.stdin:
    try:
        print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {}}), flush=True)
    except ValueError:
        print('{"jsonrpc": "2.0", "id": 1, "error": {"code": -32700, "message": "What?"}}', flush=True)
"""


@pytest.mark.parametrize("revision", [ICONS, "2026-07-28"])
def test_an_error_under_the_id_of_an_old_pulse_does_not_answer_that(revision):
    process = Process([sys.executable, "-c", MUMBLING])
    with Session(process, revision=revision, timeout=30) as session:
        session.drain()
        broken = session.send_raw(b"this line is not JSON")
        session.drain()
        assert [line.message["error"]["code"] for line in session.received_since(broken)] == [-32700]


def test_on_wait_is_called_during_a_wait(monkeypatch):
    monkeypatch.setattr(session_module, "ON_WAIT_SECONDS", 0.05)
    told = []
    deaf = "import sys; sys.stdin.readline(); sys.stdin.read()"
    process = Process([sys.executable, "-c", deaf], on_wait=lambda *seconds: told.append(seconds))
    with Session(process, timeout=0.3) as session:
        assert str(session.request("ping").fault) == "no answer within 0.3 s"
    assert len(told) > 2
    assert {of for _, of in told} == {0.3}
    assert sorted(told) == told
    assert 0 <= told[0][0] <= told[-1][0] <= 0.3
