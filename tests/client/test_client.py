"""The client's side of a session: which requests of the server it answers, and how."""

import json
import sys

import pytest

from mcp_conformance.client import handlers, inbox
from mcp_conformance.client.session import Session
from mcp_conformance.protocol.methods import FEATURES
from mcp_conformance.protocol.revisions import LATEST_MODERN
from mcp_conformance.transport.process import Process

ROOTS, SAMPLING, ELICITATION = FEATURES
ICONS = "2025-11-25"
SENDS_ON_DEMAND = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "ask":
        print(json.dumps(message["params"]), flush=True)
    elif "method" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}), flush=True)
"""
ENDS_LATER = """
import json, sys, time
for line in sys.stdin:
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {}}), end="", flush=True)
    time.sleep(0.1)
    print(flush=True)
"""
"""A server that ends its lines a little later."""
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 18},
        "colours": {"type": "array", "items": {"type": "string", "enum": ["red"]}, "minItems": 1},
    },
    "required": ["age"],
}


def answer_to(request, capabilities, answers=handlers.ACCEPTING):
    """Return the answer of a session to a server that sends this request; None if there is none."""
    process = Process([sys.executable, "-c", SENDS_ON_DEMAND])
    with Session(process, revision=ICONS, timeout=30, capabilities=capabilities, client=answers) as session:
        session.send_raw(json.dumps({"method": "ask", "params": request}).encode())
        assert session.drain().fault is None
        sent = [line.message for line in session.lines if line.sent and isinstance(line.message, dict)]
    return next((message for message in sent if "method" not in message), None)


def server_request(method, **params):
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


def test_ping_is_answered_by_every_client():
    assert answer_to({"jsonrpc": "2.0", "id": "p", "method": "ping"}, {}) == {
        "jsonrpc": "2.0",
        "id": "p",
        "result": {},
    }


@pytest.mark.parametrize("method", [*FEATURES, "tasks/list", 5])
def test_a_request_for_an_undeclared_feature_is_refused(method):
    assert answer_to(server_request(method), {})["error"]["code"] == -32601


@pytest.mark.parametrize(
    ("declared", "mode", "accepted"),
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
def test_only_the_declared_modes_of_elicitation_are_accepted(declared, mode, accepted):
    params = {"message": "?", "requestedSchema": FORM} | ({} if mode is None else {"mode": mode})
    answer = answer_to(server_request(ELICITATION, **params), {"elicitation": declared})
    assert answer.get("result", {}).get("action") == ("accept" if accepted else None)
    assert accepted or answer["error"]["code"] == -32602


def test_a_waiting_client_leaves_requests_open():
    assert answer_to(server_request(ROOTS), {"roots": {}}, handlers.WAITING) is None


@pytest.mark.parametrize("id", [float("nan"), float("inf")])
def test_a_request_with_an_id_that_cannot_be_encoded_is_not_answered(id):
    assert answer_to({"jsonrpc": "2.0", "id": id, "method": "ping"}, {}) is None


def test_every_field_of_a_form_is_filled_in():
    answer = handlers.fills_in({"requestedSchema": FORM}, ICONS)["result"]
    assert answer["action"] == "accept"
    assert set(answer["content"]) == set(FORM["properties"])
    assert answer["content"]["age"] >= 18


def test_fills_in_wrongly_changes_one_value():
    right = handlers.fills_in({"requestedSchema": FORM}, ICONS)["result"]["content"]
    wrong = handlers.fills_in_wrongly({"requestedSchema": FORM}, ICONS)["result"]["content"]
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
def test_every_client_answers_any_params(params):
    for answers in (
        handlers.ACCEPTING,
        handlers.DECLINING,
        handlers.CANCELLING,
        handlers.INVALID,
        handlers.TOOL_USING,
    ):
        for answer in answers.values():
            given = answer(params, ICONS)
            assert given is not None
            assert ("result" in given) != ("error" in given)
            json.dumps(given, allow_nan=False)


def test_a_model_stops_after_its_limit_of_tool_uses():
    tools = [
        {
            "name": "t",
            "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        }
    ]
    messages = []
    for rounds in range(handlers.MAX_TOOL_USES + 1):
        answer = handlers.uses_tools({"tools": tools, "messages": messages}, ICONS)["result"]
        assert (answer["stopReason"] == "toolUse") == (rounds < handlers.MAX_TOOL_USES)
        messages.append({"role": "assistant", "content": answer["content"]})
    uses = messages[0]["content"]
    assert [use["input"] for use in uses] == [{"n": 1}, {"n": 1}]
    assert uses[0]["id"] != uses[1]["id"] != messages[1]["content"][0]["id"]
    assert (
        handlers.uses_tools({"tools": tools, "toolChoice": {"mode": "none"}}, ICONS)["result"]["stopReason"]
        == "endTurn"
    )


ECHOES_ERRORS_UNDER_ID_1 = """
import json, sys
for line in sys.stdin:
    try:
        print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {}}), flush=True)
    except ValueError:
        print('{"jsonrpc": "2.0", "id": 1, "error": {"code": -32700, "message": "What?"}}', flush=True)
"""


@pytest.mark.parametrize("revision", [ICONS, LATEST_MODERN])
def test_an_error_under_the_id_of_an_answered_request_is_not_its_answer(revision):
    process = Process([sys.executable, "-c", ECHOES_ERRORS_UNDER_ID_1])
    with Session(process, revision=revision, timeout=30) as session:
        session.drain()
        broken = session.send_raw(b"this line is not JSON")
        session.drain()
        assert [line.message["error"]["code"] for line in session.received.since(broken)] == [-32700]


def test_a_process_that_was_stopped_is_not_waited_for():
    reported = []
    process = Process([sys.executable, "-c", "input()"], on_wait=lambda *seconds: reported.append(seconds))
    session = Session(process, timeout=60.0)
    process.stop()
    assert not session.wait_for(lambda: False, 60.0)
    assert len(reported) <= 2


def test_on_wait_is_called_during_a_wait(monkeypatch):
    monkeypatch.setattr(inbox, "ON_WAIT_SECONDS", 0.05)
    reported = []
    silent = "import sys; sys.stdin.readline(); sys.stdin.read()"
    process = Process([sys.executable, "-c", silent], on_wait=lambda *seconds: reported.append(seconds))
    with Session(process, timeout=0.3) as session:
        assert str(session.request("ping").fault) == "no answer within 0.3 s"
    assert len(reported) > 2
    assert {limit for _, limit in reported} == {0.3}
    assert sorted(reported) == reported
    assert 0 <= reported[0][0] <= reported[-1][0] <= 0.3


def test_a_line_that_ends_late_has_an_end():
    with Session(Process([sys.executable, "-c", ENDS_LATER]), revision=ICONS, timeout=30) as session:
        first = session.send("ping")
        while not session.process.unended.endswith(b"}"):
            session.wait_for(lambda: False, 0.05)
        session.await_reply(first, 0.0)
        assert session.drain().value is not None
        assert session.inbox.unended is None
