"""A replay of a conversation with a server that asks its client, numbers its things, or gets batches."""

import json
from dataclasses import replace

import pytest

from mcp_conformance.client.replaying import Manner, replay
from mcp_conformance.client.transcript import Transcript
from mcp_conformance.protocol.jsonrpc import Line
from support.in_memory import MemoryTransport, VirtualClock


class Server:
    """A server in memory that says ``said(message)`` for each message, and keeps what it got."""

    def __init__(self, said, out):
        self.said, self.out, self.got, self.modern = said, out, [], self

    def take(self, line):
        """Answer a line."""
        message = json.loads(line)
        self.got.append(message)
        for one in self.said(message):
            self.out.write(json.dumps(one).encode() + b"\n")

    def around(self, phase):
        """Do nothing at the start and at the end."""

    def end(self):
        """Do nothing at the end of stdin."""


def played(rows, said, **manner):
    """Replay rows of (sent, message) on a server; return the steps, and what the server got."""
    lines = tuple(replace(Line.sending(one, float(at)), sent=sent) for at, (sent, one) in enumerate(rows))
    servers, clock = [], VirtualClock()

    def serve(out, _):
        servers.append(Server(said, out))
        return servers[-1]

    transcript = Transcript(("server",), "2025-11-25", "about", lines)
    steps = list(replay(transcript, MemoryTransport(serve, clock), 5, Manner(**manner)))
    return steps, servers[0].got, clock


def call(id, /, **arguments):
    return {
        "jsonrpc": "2.0",
        "id": id,
        "method": "tools/call",
        "params": {"name": "t", "arguments": arguments},
    }


def result(id, /, **result):
    return {"jsonrpc": "2.0", "id": id, "result": result}


ROOTS = {"jsonrpc": "2.0", "id": "then", "method": "roots/list"}


def test_the_server_gets_the_recorded_answers_under_its_new_ids():
    rows = [(True, call(1)), (False, ROOTS), (True, result("then", roots=["mine"])), (False, result(1, n=1))]

    def said(message):
        if "method" in message:
            return [{**ROOTS, "id": "now"}]
        return [result(1, n=len(message["result"]["roots"]))] if message["id"] == "now" else []

    (step,), got, _ = played(rows, said)
    assert got == [call(1), result("now", roots=["mine"])]
    assert not step.differs


def test_a_request_that_was_not_recorded_is_refused():
    (step,), got, _ = played(
        [(True, call(1)), (False, result(1))],
        lambda message: [ROOTS] if "method" in message else [result(1)],
    )
    assert got[1]["error"]["code"] == -32601
    assert not step.differs


def test_a_number_that_names_something_is_sent_as_it_is_now():
    rows = [(True, call(1, limit=17)), (False, result(1, id=17, n=17)), (True, call(2, note_id=17, n=5))]
    steps, got, _ = played([*rows, (False, result(2, id=17))], lambda one: [result(one["id"], id=23, n=17)])
    assert got[1] == call(2, note_id=23, n=5)
    assert [json.loads(one.recalled.raw)["result"]["id"] for one in steps] == [17, 17]


def test_a_number_that_was_sent_before_names_nothing():
    rows = [(True, call(1, id=17)), (False, result(1, id=17)), (True, call(2, id=17)), (False, result(2))]
    _, got, _ = played(rows, lambda one: [result(one["id"], id=23)])
    assert got[1] == call(2, id=17)


def test_each_request_of_a_batch_is_a_step():
    rows = [(True, [call(1), call(2)]), (False, [result(2, n=2), result(1, n=1)])]
    steps, _, _ = played(rows, lambda batch: [[result(one["id"], n=one["id"]) for one in batch]])
    assert [(one.number, one.differs) for one in steps] == [(2, False), (1, False)]


@pytest.mark.parametrize("awaits_all", [True, False])
def test_a_request_in_flight_at_the_end_need_not_be_awaited(awaits_all):
    steps, got, _ = played([(True, call(1))], lambda _: [], awaits_all=awaits_all)
    assert len(got) >= 1
    assert len(steps) == awaits_all


def test_the_client_pauses_as_it_did():
    rows = [(True, call(1)), (False, result(1)), (True, call(2)), (False, result(2))]
    _, _, clock = played(rows, lambda one: [result(one["id"])])
    assert clock.now < 1000.5
    _, _, clock = played(rows, lambda one: [result(one["id"])], max_pause=0.75)
    assert clock.now > 1000.75
