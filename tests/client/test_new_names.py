"""A replay sends the names that a server gives its things this time, such as random ids."""

import json

import pytest

from mcp_conformance.client.new_names import NewNames
from mcp_conformance.client.replaying import replay
from mcp_conformance.client.session import Session
from mcp_conformance.client.transcript import Transcript
from mcp_conformance.protocol.jsonrpc import Line
from support.in_memory import MemoryTransport, VirtualClock
from support.state import REVISION, state_in_memory

RANDOM = "ids_are_random"


def start(name):
    return MemoryTransport(state_in_memory(name), VirtualClock())


def recorded(name):
    """Return the conversation of a client that makes, reads and deletes a note, and reads it again."""
    session = Session(start(name), revision=REVISION, timeout=5)
    session.open(5)

    def call(tool, **arguments):
        reply = session.request("tools/call", {"name": tool, "arguments": arguments})
        return reply.result.get("structuredContent")

    folder = call("create_folder", name="plans")["id"]
    note = call("create_note", folder=folder, title="title", text="text")["id"]
    for tool in ("get_note", "delete_note", "get_note"):
        call(tool, id=note)
    session.request("resources/read", {"uri": f"note://{note}"})
    lines = tuple(session.lines)
    session.close()
    return Transcript(("server",), REVISION, "about", lines)


def test_a_sequence_of_calls_is_replayed_with_new_ids():
    steps = list(replay(recorded(RANDOM), start(RANDOM), 5))
    calls = [step for step in steps if b"tools/call" in step.line.raw]
    assert [b'"isError":true' in step.now.raw for step in calls] == [False] * 4 + [True]
    assert [step.line.text for step in steps if step.differs] == []


def test_an_answer_that_differs_otherwise_is_shown():
    steps = list(replay(recorded("a_deleted_note_can_be_read"), start(RANDOM), 5))
    assert [step.line.message["method"] for step in steps if step.differs] == ["tools/call", "resources/read"]


def line(message, *, sent=False):
    raw = json.dumps(message).encode()
    return Line.sending(message) if sent else Line.received(raw)


@pytest.mark.parametrize(
    ("then", "now", "sent"),
    [
        ({"id": "ab12"}, {"id": "cd34"}, {"id": "cd34"}),
        ([{"a": "ab12"}], [{"a": "cd34"}], {"id": "cd34"}),
        ({"text": '{"id": "ab12"}'}, {"text": '{"id": "cd34"}'}, {"id": "cd34"}),
        ({"text": "Created ab12."}, {"text": "Created cd34."}, {"id": "cd34"}),
        ({"text": "Created ab12."}, {"text": "It was not created: cd34"}, {"id": "ab12"}),
        ({"id": "ab12"}, {"key": "cd34"}, {"id": "ab12"}),
        ({"id": "mine"}, {"id": "cd34"}, {"id": "ab12"}),
        ([{"name": "ab12"}, {"name": "x"}], [{"name": "cd34"}, {"name": "x"}], {"id": "ab12"}),
        ([{"name": "x", "uri": "ab12"}], [{"name": "x", "uri": "cd34"}], {"id": "cd34"}),
        (["ab12"], ["cd34", "x"], {"id": "ab12"}),
        ({"tools": [{"name": "ab12"}]}, {"tools": [{"name": "cd34"}]}, {"id": "ab12"}),
        ({"a": "ab12", "b": "x"}, {"a": "cd34", "b": "ab12"}, {"id": "ab12"}),
    ],
)
def test_a_name_is_what_stands_in_its_place(then, now, sent):
    lines = [line({"name": "mine"}, sent=True), line({"id": "ab12"}, sent=True)]
    names = NewNames(lines)
    names.of(lines[:1])
    names.learn(line(then), line(now))
    (again,) = names.of(lines[1:])
    assert (again.message, again.sent) == (sent, True)


def test_a_part_of_a_word_is_no_name():
    lines = [line({"id": "xab12", "other": "ab12-b", "uri": "note://ab12/c"}, sent=True)]
    names = NewNames(lines)
    names.learn(line({"id": "ab12"}), line({"id": "n"}))
    assert names.of(lines)[0].message == {"id": "xab12", "other": "ab12-b", "uri": "note://n/c"}
