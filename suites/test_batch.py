"""Several messages on one line, as only 2025-03-26 has it (spec: basic, "Batching"; JSON-RPC 2.0, 6)."""

from __future__ import annotations

import pytest

from conformance.expect import skip
from conformance.protocol.jsonrpc import Kind, kind
from conformance.protocol.text import shorten
from conformance.verdicts import Finding

GRACE = 2.0
ANSWERS = (Kind.RESULT, Kind.ERROR)
NOTICE = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "requests 1"}}
IDS = {what: [f"{what} {number}" for number in (1, 2)] for what in ("requests", "mixed")}
PINGS = {what: [{"jsonrpc": "2.0", "id": id, "method": "ping"} for id in ids] for what, ids in IDS.items()}
BATCHES = {"requests": PINGS["requests"], "mixed": [PINGS["mixed"][0], NOTICE, PINGS["mixed"][1]]}


@pytest.mark.requirement("batch.receive")
@pytest.mark.parametrize("batch", BATCHES)
def test_each_request_of_a_batch_is_answered(server, batch):
    sent, replies, fault = batch_talk(server, batch)
    missing = [id for id in IDS[batch] if id not in answered(replies)]
    if missing:
        got = f"none to {' and '.join(missing)}" + (f": {fault}" if fault else "")
        raise Finding("an answer to each request in the array", got, (sent, *replies))


@pytest.mark.requirement("batch.reply-array")
@pytest.mark.parametrize("batch", BATCHES)
def test_a_batch_is_answered_with_one_array(server, batch):
    sent, replies, _ = received_batch(server, batch)
    arrays = [reply.message for reply in replies if kind(reply.message) is Kind.BATCH]
    if len(replies) > 1 or [len(array) for array in arrays] != [len(IDS[batch])]:
        got = " and ".join(shorten(reply.text, 200) for reply in replies)
        raise Finding("one array with an answer for each request and nothing else", got, (sent, *replies))


@pytest.mark.requirement("batch.notifications-only-silent")
def test_a_batch_of_notifications_is_not_answered(server):
    received_batch(server, "requests")
    sent, replies, fault = replies_to(server.shared("batch"), [NOTICE])
    if replies or fault:
        got = str(fault) if fault else shorten(replies[0].text)
        raise Finding("no answer to an array of one notification", got, (sent, *replies))


@pytest.mark.requirement("batch.empty-array")
def test_an_empty_batch_is_an_invalid_request(server):
    sent, replies, fault = replies_to(server.shared("batch"), [])
    wrong = [reply for reply in replies if not is_invalid_request(reply.message)]
    if wrong or fault:
        got = shorten(wrong[0].text) if wrong else str(fault)
        raise Finding("one error -32600, or no answer", got, (sent, *wrong))


@pytest.mark.requirement("batch.not-sent")
def test_a_line_is_never_an_array(server, traffic):
    arrays = [line for session in server.sessions for line in session.received_lines if isinstance(line.message, list)]
    if arrays:
        raise Finding("one message on each line", f"an array: {shorten(arrays[0].text)}", arrays[:1])


def batch_talk(server, batch):
    """The line with the array, the lines that answer it, and what became of the server if it is gone."""
    key = f"batch of {batch}"
    return server.once(key, lambda: replies_to(server.shared("batch"), BATCHES[batch], len(IDS[batch])))


def received_batch(server, batch):
    """The same, if the server answers such an array at all."""
    talk = batch_talk(server, batch)
    came = answered(talk[1])
    if any(id not in came for id in IDS[batch]):
        skip("the server does not answer the requests in an array: see batch.receive")
    return talk


def replies_to(session, message, wanted=0):
    """What came in reply to a line, waiting a little for as many answers as are wanted."""
    sent = session.send_message(message)
    session.drain()
    last = session.drain()  # answers may overtake one another, but hardly two pings in a row
    session.wait_for(lambda: len(answered(session.received_since(sent))) >= wanted, session.scaled_timeout(GRACE))
    came = session.received_since(sent)
    return sent, [line for line in came if kind(line.message) in (*ANSWERS, Kind.BATCH)], last.fault


def answered(replies):
    """The ids of the answers on these lines."""
    parts = [part for reply in replies for part in reply.parts()]
    return [part.get("id") for part in parts if kind(part) in ANSWERS]


def is_invalid_request(message):
    error = message.get("error") if isinstance(message, dict) else None
    return isinstance(error, dict) and error.get("code") == -32600
