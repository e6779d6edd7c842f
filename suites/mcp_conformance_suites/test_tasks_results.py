"""Tasks: their results, their list, and their cancellation (spec: basic/utilities/tasks)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import (
    expect,
    expect_error,
    expect_result,
    require,
    require_answer,
    require_some,
    skip,
)
from mcp_conformance.scenarios.invalid_requests import require_known_method
from mcp_conformance.scenarios.task_snapshots import ENDED, status_of, task_id
from mcp_conformance.scenarios.tasks import (
    RELATED,
    cancelled_task,
    created_tasks,
    ended_tasks,
    late_cancellation,
    list_with_forged_cursor,
    listed_tasks,
    progress_of,
    run_with_clients_id,
    session_of,
    unknown_task_requests,
)
from mcp_conformance.verdicts import Finding

NOT_ENDED = ("working", "input_required")


# Results


@pytest.mark.requirement("tasks.result-terminal")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_the_result_of_a_task_is_a_tool_result(server):
    for run in ended_tasks(server, "completed", "failed"):
        if run.status == "completed" or run.again.value is not None:
            result = expect_result(run.again)
            expect(result, is_call_result(result.json), "the result of a tool")


@pytest.mark.requirement("tasks.result-blocks", "tasks.result-terminal")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_the_result_of_a_task_comes_after_its_end(server):
    answered = [run for run in created_tasks(server) if run.result.fault is None]
    for run in require_some(answered, skip="no task came to an end in time"):
        if run.status in NOT_ENDED:
            got = f"{run.result}, and then {run.status}"
            lines = (*run.result.lines, *run.state.lines)
            raise Finding("no answer before the end of the task", got, lines)
        if content_of(run.result) != content_of(run.again):
            lines = (*run.result.lines, *run.again.lines)
            raise Finding(f"the answer that came later: {run.again}", str(run.result), lines)


@pytest.mark.requirement("tasks.result-exact")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_the_result_of_a_task_is_that_of_a_plain_call(server):
    runs = [run for run in ended_tasks(server, "completed", "failed") if run.tool.task_support == "optional"]
    calls = [(run, plain_call(server, run), plain_call(server, run)) for run in runs]
    steady = [(run, one) for run, one, other in calls if content_of(one) == content_of(other)]
    for run, plain in require_some(steady, skip="no tool gives the same result twice in plain calls"):
        if content_of(run.again) != content_of(plain):
            lines = (*plain.lines, *run.again.lines)
            raise Finding(f"{plain}, as in a plain call", str(run.again), lines)


@pytest.mark.requirement("tasks.result-related-meta")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_the_result_of_a_task_names_the_task(server):
    runs = [run for run in ended_tasks(server) if run.again.value is not None]
    for run in require_some(runs, skip="no task had a result"):
        result = expect_result(run.again)
        related = result.get("_meta", RELATED, "taskId")
        named = related is not None and related.json == run.id
        expect(result, named, f"{RELATED} in _meta, with taskId {run.id}")


@pytest.mark.requirement("tasks.iserror-means-failed")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_task_whose_tool_reports_an_error_has_failed(server):
    runs = [run for run in ended_tasks(server) if run.again.is_tool_error]
    for run in require_some(runs, skip="no tool reported an error in a task"):
        expect(expect_result(run.state), run.status == "failed", "status failed")


@pytest.mark.requirement("tasks.failed-message")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_failed_task_has_a_status_message(server):
    for run in ended_tasks(server, "failed"):
        state = expect_result(run.state)
        message = state.get("statusMessage")
        expect(state, message is not None and has_text(message.json), "a statusMessage")


@pytest.mark.requirement("tasks.param-wins")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_the_task_id_in_params_wins_over_related_task(server):
    run, other = created_tasks(server)[0], run_with_clients_id(server)
    if not other.id:
        skip("no second task was accepted")
    session = session_of(server, run.created)
    if session is None or session.closed or session is not session_of(server, other.created):
        skip("the process with the tasks has ended")
    reply = session.request("tasks/get", {"taskId": run.id, "_meta": {RELATED: {"taskId": other.id}}})
    if reply.fault is not None:
        lines = require_answer(session.request("tasks/get", {"taskId": run.id})).lines
        raise Finding(f"the task {run.id}, as without {RELATED}", str(reply), (*reply.lines, *lines))
    expect(expect_result(reply), task_id(reply.value) == run.id, f"the task {run.id}")


def plain_call(server, run):
    """Call the tool of a task with the same arguments, though not as a task."""
    params = {"name": run.tool.name, "arguments": run.params["arguments"]}
    return server.call_again(server.call(run.tool), params)


def content_of(reply):
    """Return the result of a reply without ``_meta``, or the code and message of its error."""
    if reply.value is None:
        return "error", reply.code, reply.error_message
    result = reply.value.json
    return {name: result[name] for name in result if name != "_meta"} if isinstance(result, dict) else result


def is_call_result(value):
    """Return whether a value has a member that tool results have and tasks have not."""
    found = ("content", "structuredContent", "isError")
    return isinstance(value, dict) and any(name in value for name in found)


def has_text(value):
    return isinstance(value, str) and value.strip() != ""


# The list


@pytest.mark.requirement("tasks.list-next-cursor", "tasks.list-complete")
@pytest.mark.capability("tasks", "list")
def test_every_task_is_listed(server):
    listing = listed_tasks(server)
    if listing.failure:
        raise Finding("the list of tasks", listing.failure, listing.replies[-1].lines)
    session = require(session_of(server, listing.replies[0]), skip="the session was too long to keep")
    runs = [*created_tasks(server), run_with_clients_id(server)]
    ids = {run.id for run in runs if run.id and session_of(server, run.created) is session}
    for missing in sorted(ids - {task_id(item) for item in listing.items}):
        reply = session.request("tasks/get", {"taskId": missing})
        if reply.value is not None:
            lines = (*reply.lines, *listing.replies[-1].lines)
            raise Finding("every task in the list", f"{missing} is missing, which tasks/get knows", lines)


@pytest.mark.requirement("tasks.list-bad-cursor")
@pytest.mark.capability("tasks", "list")
def test_a_forged_cursor_for_tasks_is_refused(server):
    expect_error(list_with_forged_cursor(server), -32602)


# Cancellation


@pytest.mark.requirement("tasks.cancel-effective")
@pytest.mark.capability("tasks", "cancel")
def test_a_cancelled_task_has_status_cancelled(server):
    cancelled = cancelled_task(server)
    status = status_of(cancelled.state.value)
    if cancelled.reply.error is not None and status in ENDED:
        skip(f"the task was {status} before it could be cancelled")
    expect(expect_result(cancelled.reply), cancelled.is_cancelled, "status cancelled")
    if cancelled.state.value is not None:
        expect(cancelled.state.value, status == "cancelled", "status cancelled")


@pytest.mark.requirement("tasks.cancel-sticky")
@pytest.mark.capability("tasks", "cancel")
def test_a_cancelled_task_stays_cancelled(server):
    cancelled = require_cancelled(server)
    task = require(cancelled.later.value, skip="the task was deleted")
    expected = "status cancelled, also after the work would have been done"
    expect(task, status_of(task) == "cancelled", expected)


@pytest.mark.requirement("tasks.cancel-stops")
@pytest.mark.capability("tasks", "cancel")
def test_the_work_of_a_cancelled_task_stops(server):
    cancelled = require_cancelled(server)
    whole = [one.notification.get("params", "progress") for one in progress_of(server, cancelled.twin)]
    require_some(whole, skip="the task reports no progress")
    partial = [one.notification.get("params", "progress") for one in progress_of(server, cancelled.run)]
    late = [one for one in partial if one is not None and one.lines[0].at > cancelled.reply.line.at]
    for one in late:
        if whole[-1] is not None and one.json == whole[-1].json:
            got = f"it went on to {one.json}, its end"
            raise Finding("no more work", got, (*cancelled.reply.lines, *one.lines))


@pytest.mark.requirement("tasks.cancel-terminal")
@pytest.mark.capability("tasks", "cancel")
def test_a_task_that_has_ended_cannot_be_cancelled(server):
    expect_error(late_cancellation(server), -32602)


@pytest.mark.requirement("tasks.cancel-terminal")
@pytest.mark.capability("tasks", "cancel")
def test_a_task_cannot_be_cancelled_twice(server):
    expect_error(require_cancelled(server).again, -32602)


def require_cancelled(server):
    """Cancel a task; skip unless the answer shows it cancelled."""
    cancelled = cancelled_task(server)
    if not cancelled.is_cancelled:
        skip("no task could be cancelled")
    return cancelled


# Errors


@pytest.mark.requirement("tasks.unknown-id")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_an_unknown_task_is_refused(server):
    for reply in unknown_task_requests(server):
        expect_error(require_known_method(server, reply), -32602)


@pytest.mark.requirement("tasks.error-informative")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_refusal_of_a_task_has_a_message(server):
    replies = [*unknown_task_requests(server)]
    if server.declares("tasks", "list"):
        replies.append(list_with_forged_cursor(server))
    refused = [reply for reply in replies if reply.error is not None]
    for reply in require_some(refused, skip="nothing was refused"):
        if not has_text(reply.error_message) or reply.error_message.strip(" .").lower() == "error":
            raise Finding("a message that says what is wrong", str(reply), reply.lines, advisory=True)
