"""Several messages on one line, as only 2025-03-26 has it (spec: basic, "Batching"; JSON-RPC 2.0, 6)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import skip
from mcp_conformance.protocol.jsonrpc import EVENT, Kind, is_response, kind
from mcp_conformance.protocol.text import shorten
from mcp_conformance.scenarios.traffic import exercise_everything
from mcp_conformance.target.scenario import scenario
from mcp_conformance.verdicts import Finding

ANSWER_SECONDS = 2.0
NOTIFICATION = {
    "jsonrpc": "2.0",
    "method": "notifications/cancelled",
    "params": {"requestId": "requests 1"},
}
IDS = {name: [f"{name} {number}" for number in (1, 2)] for name in ("requests", "mixed")}
PINGS = {name: [{"jsonrpc": "2.0", "id": id, "method": "ping"} for id in ids] for name, ids in IDS.items()}
BATCHES = {
    "requests": PINGS["requests"],
    "mixed": [PINGS["mixed"][0], NOTIFICATION, PINGS["mixed"][1]],
}


@pytest.mark.requirement("batch.receive")
@pytest.mark.parametrize("batch", BATCHES)
def test_each_request_of_a_batch_is_answered(server, batch):
    sent, replies, fault = send_batch(server, batch)
    missing = [id for id in IDS[batch] if id not in answered_ids(replies)]
    if missing:
        got = f"none to {' and '.join(missing)}" + (f": {fault}" if fault else "")
        raise Finding("an answer to each request in the array", got, (sent, *replies), fault=fault)


@pytest.mark.requirement("batch.reply-array")
@pytest.mark.parametrize("batch", BATCHES)
def test_a_batch_is_answered_with_one_array(server, batch):
    require_answered_batch(server, batch)
    sent, replies, _ = send_batch(server, batch)
    arrays = [reply.message for reply in replies if kind(reply.message) is Kind.BATCH]
    if replies and not arrays and all(reply.carried_by.endswith(EVENT) for reply in replies):
        skip("each answer is an event of its own, as an event stream may have it")
    if len(replies) > 1 or [len(array) for array in arrays] != [len(IDS[batch])]:
        got = " and ".join(shorten(reply.text, 200) for reply in replies)
        raise Finding("one array with an answer for each request and nothing else", got, (sent, *replies))


@pytest.mark.requirement("batch.notifications-only-silent")
def test_a_batch_of_notifications_is_not_answered(server):
    require_answered_batch(server, "requests")
    sent, replies, fault = replies_to(server.shared("batch"), [NOTIFICATION])
    if replies or fault:
        got = str(fault) if fault else shorten(replies[0].text)
        raise Finding("no answer to an array of one notification", got, (sent, *replies), fault=fault)


@pytest.mark.requirement("batch.empty-array")
def test_an_empty_batch_is_an_invalid_request(server):
    sent, replies, fault = replies_to(server.shared("batch"), [])
    wrong = [reply for reply in replies if not is_invalid_request(reply.message)]
    if wrong or fault:
        got = shorten(wrong[0].text) if wrong else str(fault)
        raise Finding("one error -32600, or no answer", got, (sent, *wrong), fault=fault)


@pytest.mark.requirement("batch.not-sent")
def test_the_server_sends_no_batch(server):
    exercise_everything(server)
    lines = [line for session in server.sessions for line in session.received.kept_lines]
    arrays = [line for line in lines if isinstance(line.message, list)]
    if arrays:
        raise Finding("one message on each line", f"an array: {shorten(arrays[0].text)}", arrays[:1])


@scenario
def send_batch(server, batch):
    """Send one of `BATCHES`; return its line, the lines that answer it, and the fault of a later ping."""
    return replies_to(server.shared("batch"), BATCHES[batch], len(IDS[batch]))


def require_answered_batch(server, batch):
    """Skip the check unless the server answers each request of a batch."""
    _, replies, _ = send_batch(server, batch)
    came = answered_ids(replies)
    if any(id not in came for id in IDS[batch]):
        skip("the server does not answer the requests in an array: see batch.receive")


def replies_to(session, message, expected_answers=0):
    """Send a message and wait for as many answers; return its line, the reply lines, and a ping's fault."""
    sent = session.send_message(message)
    session.drain()
    last = session.drain()  # answers may overtake one another, but hardly two pings in a row

    def is_answered():
        return len(answered_ids(session.received.since(sent))) >= expected_answers

    session.wait_for(is_answered, session.scaled_timeout(ANSWER_SECONDS))
    came = session.received.since(sent)
    replies = [line for line in came if is_response(line.message) or kind(line.message) is Kind.BATCH]
    return sent, replies, last.fault


def answered_ids(lines):
    """Return the ids of the answers on these lines."""
    parts = [part for line in lines for part in line.parts()]
    return [part.get("id") for part in parts if is_response(part)]


def is_invalid_request(message):
    error = message.get("error") if isinstance(message, dict) else None
    return isinstance(error, dict) and error.get("code") == -32600
