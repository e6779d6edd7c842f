"""Cancellations of requests (spec: basic/utilities/cancellation)."""

from __future__ import annotations

import pytest

from mcp_conformance.client.session import NO_PARAMS
from mcp_conformance.expect import expect, require_answer, require_some, skip
from mcp_conformance.protocol.jsonrpc import Kind, id_key, kind
from mcp_conformance.protocol.methods import CANCELLED
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.cancellation import (
    answers_to,
    cancel_at_once,
    cancel_in_reverse,
    cancellations,
    cancelled_calls,
    expect_ignored,
    harmless_method,
    max_crossings,
    require_answers,
    responsive_session,
    send_cancellation,
    subscription_cancellations,
)
from mcp_conformance.scenarios.task_snapshots import task_id
from mcp_conformance.scenarios.tasks import created_tasks
from mcp_conformance.verdicts import Finding

NOT_CANCELLED = "no tool that may be called could be cancelled while its call was running"
NO_PROGRESS = "no tool that reports its progress could be cancelled while its call was running"

# Cancellations to be ignored


@pytest.mark.requirement("cancel.unknown-ignored")
@pytest.mark.parametrize("id", [999999, "conformance-no-such-request"], ids=["number", "text"])
def test_a_cancellation_of_an_unknown_request_is_ignored(server, id):
    session = responsive_session(server)
    expect_ignored(server, send_cancellation(session, {"requestId": id, "reason": "It was never sent."}))


@pytest.mark.requirement("cancel.completed-ignored")
def test_a_cancellation_that_comes_too_late_is_ignored(server):
    method = harmless_method(server)
    session = responsive_session(server)
    first = require_answer(session.request(method))
    params = {"requestId": first.request.message["id"], "reason": "Too late."}
    expect_ignored(server, send_cancellation(session, params))
    again = session.request(method)
    is_same = again.fault is None and (first.error is None) == (again.error is None)
    expect(Value(str(again), method, again.lines), is_same, f"an answer as before: {first}")


@pytest.mark.requirement("cancel.malformed-ignored")
@pytest.mark.parametrize(
    "params",
    [NO_PARAMS, {}, {"requestId": {"a": 1}}, {"requestId": None}, []],
    ids=["no-params", "empty", "object", "null", "array"],
)
def test_a_malformed_cancellation_is_ignored(server, params):
    if params == {} and server.revision == "2025-11-25":
        skip("a cancellation without requestId is well-formed in this revision")
    session = responsive_session(server)
    expect_ignored(server, send_cancellation(session, params))


@pytest.mark.requirement("cancel.race-graceful")
def test_a_cancellation_that_crosses_the_answer_does_no_harm(server):
    method = harmless_method(server)
    session = responsive_session(server)
    times = max_crossings(require_answer(session.request(method)))
    crossed = [*cancel_at_once(session, method, times), *cancel_in_reverse(session, method, times)]
    after = session.request(method)
    unanswered = [lines for lines in crossed if not answers_to(session, lines[0])]
    if after.fault is not None:  # reported before second answers, as some servers do either
        require_answers(server, method, times)
        lines = (*(unanswered or crossed)[0], *after.lines)
        raise Finding("a server that goes on", str(after.fault), lines, fault=after.fault)
    for request, cancellation in crossed:
        answers = answers_to(session, request)
        count = Value(len(answers), "the number of answers", (request, cancellation, *answers))
        expect(count, len(answers) < 2, "one answer or none")


@pytest.mark.requirement("cancel.tasks-own-mechanism")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_task_is_not_cancelled_with_the_request_that_made_it(server):
    run = created_tasks(server)[0]
    with server.fresh("a cancelled task") as session:
        created = require_answer(session.request("tools/call", run.params))
        session.notify(CANCELLED, {"requestId": created.request.message["id"], "reason": "It is a task."})
        name = {"taskId": task_id(created.value.get("task") if created.value is not None else None)}
        state = require_answer(session.request("tasks/get", name))
    statuses = members([state.value or state.error_value], "status")
    require_some(statuses, skip="the task is no longer there")
    for status in statuses:
        expect(status, status.json != "cancelled", "another status, as only tasks/cancel cancels a task")


# Calls that are cancelled while they run


@pytest.mark.stage("late")
@pytest.mark.requirement("cancel.no-response")
def test_a_cancelled_request_is_not_answered(server):
    """An answer informs: a server may ignore the cancellation of what cannot be cancelled."""
    calls = [one for one in cancelled_calls(server) if one.held or one.read is not None]
    require_some(calls, skip=NOT_CANCELLED)
    for answer in [answer for one in calls for answer in one.answers]:
        raise Finding("no answer to a cancelled request", str(answer), answer.lines, advisory=True)


@pytest.mark.stage("late")
@pytest.mark.requirement("cancel.stops-work")
def test_work_on_a_cancelled_request_stops(server):
    calls = [one for one in cancelled_calls(server) if one.reports_progress and one.read is not None]
    require_some(calls, skip=NO_PROGRESS)
    for one in calls:
        if len(one.progress) > 1:
            got = f"{len(one.progress)} more of them"
            raise Finding("no progress of a cancelled request", got, (one.request, *one.progress[-1].lines))


@pytest.mark.stage("late")
@pytest.mark.requirement("cancel.no-further-messages")
def test_no_more_messages_follow_for_a_cancelled_request(server):
    calls = [one for one in cancelled_calls(server) if one.reports_progress and one.read is not None]
    require_some(calls, skip=NO_PROGRESS)
    stopped = [one for one in calls if not any(kind(answer.json) is Kind.RESULT for answer in one.answers)]
    require_some(stopped, skip="the cancellation was ignored, which the page on cancellation permits")
    for one in stopped:
        more = one.progress + one.logged
        if len(more) > 1:
            raise Finding("no more messages", f"{len(more)}, {more[0]}", (one.request, *more[0].lines))


# Cancellations by the server


@pytest.mark.stage("late")
@pytest.mark.requirement("cancel.server-only-own")
def test_the_server_cancels_only_its_own_requests(server):
    cancelled_calls(server)
    found = [one for session in server.sessions for one in cancellations(session)]
    require_some(found, skip="the server cancels nothing")
    for id, requests in found:
        expect(id, id_key(id.json) in requests, "the requestId of a request that the server sent")


@pytest.mark.stage("late")
@pytest.mark.requirement("cancel.server-only-subscription")
def test_the_server_cancels_nothing_but_subscriptions(server):
    cancelled_calls(server)
    found = subscription_cancellations(server)
    require_some(found, skip="the server cancels nothing")
    for id, listens in found:
        expect(id, id_key(id.json) in listens, "the requestId of a listen request")
