"""Cancellations that are to be ignored (spec: basic/utilities/cancellation)."""

from __future__ import annotations

import pytest

from conformance.client.reply import Silence
from conformance.client.session import NO_PARAMS
from conformance.expect import expect, require_answer, require_some, skip
from conformance.protocol.jsonrpc import ABSENT, Kind, id_key, kind
from conformance.protocol.value import Value, members
from conformance.scenarios.tasks import accepted, task_id
from conformance.verdicts import Finding

CANCELLED = "notifications/cancelled"
CROSSINGS = 50
MOST_BYTES = 10_000_000
"""How long the answers of all crossings may be together."""


@pytest.mark.requirement("cancel.unknown-ignored")
@pytest.mark.parametrize("id", [999999, "conformance-no-such-request"], ids=["number", "text"])
def test_a_cancellation_of_an_unknown_request_is_ignored(server, id):
    expect_ignored(server, {"requestId": id, "reason": "It was never sent."})


@pytest.mark.requirement("cancel.completed-ignored")
def test_a_cancellation_that_comes_too_late_is_ignored(server):
    session, method = server.shared("cancel"), harmless(server)
    done = require_answer(session.request(method))
    expect_ignored(server, {"requestId": done.request.message["id"], "reason": "Too late."})
    again = session.request(method)
    expect(Value(str(again), method, again.lines), same_kind(done, again), f"an answer as before: {done}")


@pytest.mark.requirement("cancel.malformed-ignored")
@pytest.mark.parametrize(
    "params",
    [NO_PARAMS, {}, {"requestId": {"a": 1}}, {"requestId": None}, []],
    ids=["no-params", "empty", "object", "null", "array"],
)
def test_a_malformed_cancellation_is_ignored(server, params):
    if params == {} and server.revision == "2025-11-25":
        skip("a cancellation without requestId is well-formed in this revision")
    expect_ignored(server, params)


@pytest.mark.requirement("cancel.race-graceful")
def test_a_cancellation_that_crosses_the_answer_does_no_harm(server):
    method = harmless(server)
    with server.fresh() as session:
        size = len(require_answer(session.request(method)).line.raw)
        times = max(1, min(CROSSINGS, MOST_BYTES // size))
        crossed = [*cancelled_at_once(session, method, times), *cancelled_backwards(session, method, times)]
        after = session.request(method)
        for request, cancellation in crossed:
            answers = answers_to(session, request)
            got = Value(len(answers), "the number of answers", (request, cancellation, *answers))
            expect(got, len(answers) < 2, "one answer or none")
        open = [lines for lines in crossed if not answers_to(session, lines[0])]
    if after.fault is not None:
        expect_answers(server, method, len(crossed) + 2)
        raise Finding("a server that goes on", str(after.fault), (open or crossed)[0])


@pytest.mark.requirement("cancel.tasks-own-mechanism")
def test_a_task_is_not_cancelled_with_the_request_that_made_it(server):
    run = accepted(server)[0]
    with server.fresh() as session:
        created = require_answer(session.request("tools/call", run.params))
        session.notify(CANCELLED, {"requestId": created.request.message["id"], "reason": "It is a task."})
        name = {"taskId": task_id(created.value.get("task") if created.value is not None else None)}
        state = require_answer(session.request("tasks/get", name))
    for status in require_some(
        members([state.value or state.error_value], "status"), skip="the task is not there again"
    ):
        expect(status, status.json != "cancelled", "another status, as only tasks/cancel cancels a task")


def harmless(server):
    """A method whose request can be sent any number of times."""
    return (server.served_lists() or [server.session.liveness_method])[0]


def expect_ignored(server, params):
    """Send a cancellation that is to be ignored: no answer to it may come, and the server goes on.

    A modern server is asked for something before: a notification must not be what it tells the era by.
    """
    session = server.shared("cancel")
    if session.is_modern:
        require_answer(session.request(harmless(server)))
    ready = session.drain()
    if isinstance(ready.fault, Silence):
        skip("the server does not answer pings, so what it ignores cannot be told")
    require_answer(ready)
    before = len(session.lines)
    line = session.notify(CANCELLED, params)
    pings = [session.drain(), session.drain()]  # answers may overtake one another, but hardly two in a row
    if pings[1].fault is not None:
        if is_ignored_alone(server, params):
            require_answer(pings[1])
        raise Finding("a server that ignores this and goes on", str(pings[1].fault), (line, *pings[0].lines))
    sent = [one.message for one in session.lines if one.sent and kind(one.message) is Kind.REQUEST]
    named = params.get("requestId", ABSENT) if isinstance(params, dict) else ABSENT
    others = {str(one["id"]) for one in sent if one["id"] != named}  # two answers are told elsewhere
    for answer in answers_in(session.lines[before:]):
        got = Value(answer.message, "", (line, answer))
        expect(got, str(answer.message.get("id")) in others, "no answer to a notification")


def is_ignored_alone(server, params):
    """Whether a new process goes on after the cancellation: then it is something else that ends others."""
    with server.fresh() as session:
        if session.is_modern:
            require_answer(session.request(harmless(server)))
        session.notify(CANCELLED, params)
        return [session.drain(), session.drain()][1].fault is None


def expect_answers(server, method, times):
    """Ask a new process the same without cancelling it: where that has no answer either, this is told."""
    with server.fresh() as session:
        for _ in range(times):
            require_answer(session.request(method))


def answers_in(lines):
    return [line for line in lines if not line.sent and kind(line.message) in (Kind.RESULT, Kind.ERROR)]


def answers_to(session, request):
    wanted = id_key(request.message["id"])
    return [line for line in answers_in(session.lines) if id_key(line.message.get("id", ABSENT)) == wanted]


def same_kind(one, other):
    return other.fault is None and (one.error is None) == (other.error is None)


def cancelled_at_once(session, method, times):
    """Requests, each in one write with its cancellation: a server reads both in one go."""
    for _ in range(times):
        request = session.request_of(method)
        yield session.send_together(request, cancellation(request))


def cancelled_backwards(session, method, times):
    """Requests, and their cancellations, the last first, all in one write: most wait for their turn."""
    requests = [session.request_of(method) for _ in range(times)]
    lines = session.send_together(*requests, *map(cancellation, reversed(requests)))
    return zip(lines[:times], reversed(lines[times:]), strict=True)


def cancellation(request):
    params = {"requestId": request["id"], "reason": "It crosses the answer."}
    return {"jsonrpc": "2.0", "method": CANCELLED, "params": params}
