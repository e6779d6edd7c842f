"""Tasks: their results, their list, and their cancellation (spec: basic/utilities/tasks)."""

from __future__ import annotations

import pytest

from conformance.client.refusals import NO_SUCH_NAME
from conformance.expect import expect, expect_error, expect_result, require_answer, require_some, skip
from conformance.scenarios.tasks import (
    ENDED,
    RELATED,
    accepted,
    cancelled,
    cancelled_late,
    chosen,
    ended,
    held_in,
    listed,
    progress_of,
    status_of,
    support,
    takes_tasks,
    task_id,
)
from conformance.verdicts import Finding

OPEN = ("working", "input_required")


# Results


@pytest.mark.requirement("tasks.result-terminal")
def test_the_result_of_a_task_is_what_its_tool_gave(server):
    for run in ended(server, "completed", "failed"):
        if run.status == "completed" or run.again.value is not None:
            expect(expect_result(run.again), is_call_result(run.again.value.json), "the result of a tool")


@pytest.mark.requirement("tasks.result-blocks", "tasks.result-terminal")
def test_the_result_of_a_task_is_waited_for(server):
    answered = [run for run in accepted(server) if run.result.fault is None]
    for run in require_some(answered, skip="no task came to an end in time"):
        if run.status in OPEN:
            lines = (*run.result.lines, *run.state.lines)
            raise Finding(
                "no answer before the end of the task", f"{run.result}, and then {run.status}", lines
            )
        if plain(run.result) != plain(run.again):
            lines = (*run.result.lines, *run.again.lines)
            raise Finding(f"what was the answer later: {run.again}", str(run.result), lines)


@pytest.mark.requirement("tasks.result-exact")
def test_the_result_of_a_task_is_that_of_a_plain_call(server):
    runs = [run for run in ended(server, "completed", "failed") if support(run.tool) == "optional"]
    known = [(run, again_and_again(server, run)) for run in runs]
    steady = [(run, one) for run, (one, other) in known if plain(one) == plain(other)]
    for run, one in require_some(steady, skip="no tool gives the same result twice in plain calls"):
        if plain(run.again) != plain(one):
            raise Finding(f"{one}, as in a plain call", str(run.again), (*one.lines, *run.again.lines))


@pytest.mark.requirement("tasks.result-related-meta")
def test_the_result_of_a_task_names_the_task(server):
    came = [run for run in ended(server) if run.again.value is not None]
    for run in require_some(came, skip="no task had a result"):
        related = run.again.value.get("_meta", RELATED, "taskId")
        named = related is not None and related.json == run.id
        expect(run.again.value, named, f"{RELATED} in _meta, with taskId {run.id}")


@pytest.mark.requirement("tasks.iserror-means-failed")
def test_a_task_whose_tool_reports_an_error_has_failed(server):
    wrong = [run for run in ended(server) if run.again.is_tool_error]
    for run in require_some(wrong, skip="no tool reported an error in a task"):
        expect(run.state.value, run.status == "failed", "status failed")


@pytest.mark.requirement("tasks.failed-message")
def test_a_failed_task_says_why(server):
    for run in ended(server, "failed"):
        why = run.state.value.get("statusMessage")
        expect(run.state.value, why is not None and is_words(why.json), "a statusMessage")


@pytest.mark.requirement("tasks.param-wins")
def test_the_task_that_is_asked_for_is_the_one_in_the_params(server):
    run, other = accepted(server)[0], chosen(server)
    require_some([other.id] if other.id else [], skip="no second task was accepted")
    params = {"taskId": run.id, "_meta": {RELATED: {"taskId": other.id}}}
    session = held_in(server, run.created)
    if session.closed or session is not held_in(server, other.created):
        skip("the process with the tasks has ended")
    reply = session.request("tasks/get", params)
    if reply.fault is not None:
        lines = require_answer(session.request("tasks/get", {"taskId": run.id})).lines
        raise Finding(f"the task {run.id}, as without {RELATED}", str(reply), (*reply.lines, *lines))
    expect(expect_result(reply), task_id(reply.value) == run.id, f"the task {run.id}")


# The list


@pytest.mark.requirement("tasks.list-next-cursor", "tasks.list-complete")
def test_every_task_is_listed(server):
    walk = listed(server)
    if walk.failure:
        raise Finding("the list of tasks", walk.failure, walk.replies[-1].lines)
    session = held_in(server, walk.replies[0])
    runs = [run for run in (*accepted(server), chosen(server)) if held_in(server, run.created) is session]
    for missing in sorted({run.id for run in runs if run.id} - {task_id(item) for item in walk.items}):
        reply = session.request("tasks/get", {"taskId": missing})
        if reply.value is not None:
            lines = (*reply.lines, *walk.replies[-1].lines)
            raise Finding("every task in the list", f"{missing} is missing, which tasks/get knows", lines)


@pytest.mark.requirement("tasks.list-bad-cursor")
def test_a_forged_cursor_for_tasks_is_refused(server):
    expect_error(forged(server), -32602)


# Cancellation


@pytest.mark.requirement("tasks.cancel-effective")
def test_a_cancelled_task_is_cancelled(server):
    made = cancelled(server)
    if made.reply.error is not None and status_of(made.state.value) in ENDED:
        skip(f"the task was {status_of(made.state.value)} before it could be cancelled")
    expect(expect_result(made.reply), made.is_cancelled, "status cancelled")
    if made.state.value is not None:
        expect(made.state.value, status_of(made.state.value) == "cancelled", "status cancelled")


@pytest.mark.requirement("tasks.cancel-sticky")
def test_a_cancelled_task_stays_cancelled(server):
    made = exercised(server)
    task = require_some([made.later.value] if made.later.value is not None else [], skip="it was deleted")[0]
    expect(task, status_of(task) == "cancelled", "status cancelled, also when the work would have been done")


@pytest.mark.requirement("tasks.cancel-stops")
def test_the_work_of_a_cancelled_task_is_not_done(server):
    made = exercised(server)
    whole = [one.notification.get("params", "progress") for one in progress_of(server, made.twin)]
    require_some(whole, skip="the task tells no progress")
    told = [one.notification.get("params", "progress") for one in progress_of(server, made.run)]
    late = [one for one in told if one is not None and one.lines[0].at > made.reply.line.at]
    done = [one for one in late if whole[-1] is not None and one.json == whole[-1].json]
    for one in done:
        raise Finding("no more work", f"it went on to {one.json}, its end", (*made.reply.lines, *one.lines))


@pytest.mark.requirement("tasks.cancel-terminal")
def test_a_task_that_has_ended_cannot_be_cancelled(server):
    expect_error(cancelled_late(server), -32602)


@pytest.mark.requirement("tasks.cancel-terminal")
def test_a_task_cannot_be_cancelled_twice(server):
    expect_error(exercised(server).again, -32602)


# Errors


@pytest.mark.requirement("tasks.unknown-id")
def test_an_unknown_task_is_refused(server):
    for reply in about_nothing(server):
        expect_error(reply, -32602)


@pytest.mark.requirement("tasks.error-informative")
def test_a_refusal_says_what_is_wrong(server):
    replies = [*about_nothing(server), *([forged(server)] if server.declares("tasks", "list") else [])]
    for reply in require_some([one for one in replies if one.error is not None], skip="nothing was refused"):
        if not is_words(reply.error_message) or reply.error_message.strip(" .").lower() == "error":
            raise Finding("a message that says what is wrong", str(reply), reply.lines, advisory=True)


def again_and_again(server, run):
    """Two plain calls with the arguments of a task."""
    params = {"name": run.tool.name, "arguments": run.params["arguments"]}
    return [server.call_again(server.call(run.tool), params) for _ in range(2)]


def plain(reply):
    """What a reply says, but for its metadata."""
    if reply.value is None:
        return "error", reply.code, reply.error_message
    result = reply.value.json
    return {name: result[name] for name in result if name != "_meta"} if isinstance(result, dict) else result


def exercised(server):
    made = cancelled(server)
    require_some([made] if made.is_cancelled else [], skip="no task could be cancelled")
    return made


def forged(server):
    listed(server)
    params = {"cursor": f"forged-{NO_SUCH_NAME}"}
    return server.once("forged list of tasks", lambda: server.shared("tasks").request("tasks/list", params))


def about_nothing(server):
    """The answers to requests about a task that does not exist."""
    require_some([server] if takes_tasks(server) else [], skip="tasks.requests.tools.call is not declared")
    methods = ["tasks/get", "tasks/result", *(["tasks/cancel"] if server.declares("tasks", "cancel") else [])]
    session, params = server.shared("tasks"), {"taskId": NO_SUCH_NAME}
    return server.once("no task", lambda: [session.request(method, params) for method in methods])


def is_call_result(value):
    """Whether it has what no task has; what is wrong with it is for the rules on results to say."""
    found = ("content", "structuredContent", "isError")
    return isinstance(value, dict) and any(name in value for name in found)


def is_words(value):
    return isinstance(value, str) and value.strip() != ""
