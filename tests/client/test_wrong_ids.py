"""Answers with an id that no request has: they end the wait for the right answer."""

import pytest

from mcp_conformance.client.inbox import WRONG_ID_SECONDS
from mcp_conformance.client.session import Session
from mcp_conformance_fixtures.reference import SILENCE
from support.in_memory import MemorySettings, VirtualClock, mutated

TIMEOUT = 30.0


def session_with(mutate):
    settings = MemorySettings(("in-memory",), serve=mutated(mutate), clock=VirtualClock())
    session = Session(settings.start(), timeout=TIMEOUT)
    session.open()
    return session


def with_wrong_ids(server, request, reply):
    """Answer ``tools/list`` with another id."""
    if isinstance(request, dict) and request.get("method") == "tools/list":
        return {**reply, "id": f"not {request['id']}"}
    return None


def test_a_wrong_id_ends_the_wait_for_each_request():
    session = session_with(with_wrong_ids)
    for _ in range(3):
        reply = session.request("tools/list")
        assert reply.fault.strays[-1] == f"not {reply.request.message['id']}"
        assert reply.fault.seconds < 2 * WRONG_ID_SECONDS
    assert session.drain().fault is None


@pytest.mark.parametrize(
    "wrong", [lambda _: None, lambda _: 1, lambda own: own - 1], ids=["null", "one", "last"]
)
def test_a_result_with_no_id_or_an_older_one_is_the_answer_that_lacks_its_own(wrong):
    def mangles(server, request, reply):
        is_list = isinstance(request, dict) and request.get("method") == "tools/list"
        return {**reply, "id": wrong(request["id"])} if is_list else None

    session = session_with(mangles)
    session.request("ping")
    reply = session.await_reply(session.send("tools/list"))
    ((request, answer),) = session.inbox.wrong_answers
    assert request is reply.request
    assert "tools" in answer.message["result"]


def test_a_second_answer_is_not_that_of_the_next_request():
    def twice(server, request, reply):
        if isinstance(request, dict) and request.get("method") == "ping":
            server.schedule(0.5, lambda: server.send(reply))
        return SILENCE if isinstance(request, dict) and request.get("method") == "tools/list" else None

    session = session_with(twice)
    session.request("ping")
    slow = session.send("tools/list")
    session.send("prompts/list")
    session.send("resources/list")
    session.await_reply(slow)
    assert session.inbox.wrong_answers == []


def test_one_wrong_id_does_not_end_the_wait_while_two_requests_are_open():
    def late(server, request, reply):
        if isinstance(request, dict) and request.get("method") == "prompts/list":
            server.schedule(5.0, lambda: server.send(reply))
            return SILENCE
        return with_wrong_ids(server, request, reply)

    session = session_with(late)
    slow = session.send("prompts/list")
    session.send("tools/list")
    assert session.await_reply(slow).value is not None


def test_an_answer_before_the_first_request_ends_its_wait():
    def greets(out, errors):
        out.write(b'{"jsonrpc": "2.0", "id": 9, "result": {}}\n')
        return mutated(lambda server, request, reply: SILENCE)(out, errors)

    session = Session(
        MemorySettings(("in-memory",), serve=greets, clock=VirtualClock()).start(), timeout=TIMEOUT
    )
    opening = session.open()
    assert opening.fault.strays == (9,)
    assert opening.fault.seconds < 2 * WRONG_ID_SECONDS


def test_a_second_parse_error_for_one_line_is_not_the_answer_to_the_next_request():
    error = {"jsonrpc": "2.0", "error": {"code": -32700, "message": "not JSON"}}

    def splits(server, request, reply):
        """Answer ``prompts/list`` with two errors without an id, the second one later."""
        if isinstance(request, dict) and request.get("method") == "prompts/list":
            server.send(error)
            server.schedule(0.01, lambda: server.send(error))
            return SILENCE
        server.schedule(0.02, lambda: server.send(reply))
        return SILENCE

    session = session_with(splits)
    assert session.await_reply(session.send("prompts/list"), alone=True).error == error["error"]
    assert session.await_reply(session.send("tools/list"), alone=True).value is not None


def test_an_answer_to_an_earlier_line_is_not_told_of_a_later_silence():
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "not JSON"}}

    def mutate(server, request, reply):
        """Answer ``prompts/list`` with an error for a line that was not read, ``tools/list`` with nothing."""
        name = request.get("method") if isinstance(request, dict) else None
        if name == "prompts/list":
            server.send(error)
        return SILENCE if name == "tools/list" else None

    session = session_with(mutate)
    assert session.request("prompts/list").value is not None
    assert session.await_reply(session.send("tools/list"), 2.0).fault.strays == ()
