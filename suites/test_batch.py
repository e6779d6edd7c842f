"""Several messages on one line, as only 2025-03-26 has it (spec: basic, "Batching"; JSON-RPC 2.0, 6)."""

from __future__ import annotations

import pytest

from conformance.verdict import Finding, not_exercised
from conformance.wire import Kind, kind, shorten

GRACE = 2.0
NOTICE = {"jsonrpc": "2.0", "method": "notifications/conformance"}
IDS = ("conformance batch 1", "conformance batch 2")
ANSWERS = (Kind.RESULT, Kind.ERROR)
BATCH = [*({"jsonrpc": "2.0", "id": id, "method": "ping"} for id in IDS), NOTICE]


@pytest.mark.requirement("batch.receive")
def test_each_request_of_a_batch_is_answered(server):
    sent, replies, fault = batch_talk(server)
    missing = [id for id in IDS if id not in answered(replies)]
    if missing:
        got = f"none to {' and '.join(missing)}" + (f": {fault}" if fault else "")
        raise Finding("an answer to each request in the array", got, (sent, *replies))


@pytest.mark.requirement("batch.reply-array")
def test_a_batch_is_answered_with_one_array(server):
    sent, replies, _ = received_batch(server)
    if [kind(reply.message) for reply in replies] != [Kind.BATCH] or len(replies[0].message) != len(IDS):
        got = " and ".join(shorten(reply.text, 200) for reply in replies)
        raise Finding("one array with an answer for each request and nothing else", got, (sent, *replies))


@pytest.mark.requirement("batch.notifications-only-silent")
def test_a_batch_of_notifications_is_not_answered(server):
    received_batch(server)
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
    arrays = [line for session in server.sessions for line in session.said if isinstance(line.message, list)]
    if arrays:
        raise Finding("one message on each line", f"an array: {shorten(arrays[0].text)}", arrays[:1])


def batch_talk(server):
    """The line with the array, the lines that answer it, and what became of the server if it is gone."""
    return server.once("batch talk", lambda: replies_to(server.shared("batch"), BATCH, len(IDS)))


def received_batch(server):
    """The same, if the server answers such an array at all."""
    talk = batch_talk(server)
    if not set(IDS) <= set(answered(talk[1])):
        not_exercised("the server does not answer the requests in an array: see batch.receive")
    return talk


def replies_to(session, message, wanted=0):
    """What came in reply to a line, waiting a little for as many answers as are wanted."""
    sent = session.send_message(message)
    session.settle()
    last = session.settle()  # answers may overtake one another, but hardly two pings in a row
    session.wait_for(lambda: len(answered(session.said_since(sent))) >= wanted, GRACE)
    came = session.said_since(sent)
    return sent, [line for line in came if kind(line.message) in (*ANSWERS, Kind.BATCH)], last.fault


def answered(replies):
    """The ids of the answers on these lines."""
    parts = [part for reply in replies for part in reply.parts()]
    return [part.get("id") for part in parts if kind(part) in ANSWERS]


def is_invalid_request(message):
    error = message.get("error") if isinstance(message, dict) else None
    return isinstance(error, dict) and error.get("code") == -32600
