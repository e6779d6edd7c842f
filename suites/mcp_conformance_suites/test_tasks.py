"""Tasks: how they are declared and created, and what they contain (spec: basic/utilities/tasks)."""

from __future__ import annotations

from datetime import datetime

import pytest

from mcp_conformance.client.reply import results_of
from mcp_conformance.expect import (
    expect,
    expect_each,
    expect_none,
    is_number,
    is_object,
    is_string,
    require,
    require_answer,
    require_some,
)
from mcp_conformance.protocol.jsonrpc import id_key
from mcp_conformance.protocol.progress import progress_in
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.invalid_requests import require_known_method, require_own_refusal
from mcp_conformance.scenarios.task_ids import expect_unguessable
from mcp_conformance.scenarios.task_snapshots import (
    ENDED,
    STATUS,
    signs_of_an_end,
    snapshots_in,
    task_histories,
)
from mcp_conformance.scenarios.tasks import (
    CLIENTS_OWN_ID,
    RELATED,
    asking_task,
    call_as_task,
    created_tasks,
    logs_of,
    prompts_as_task,
    run_with_clients_id,
    takes_tasks,
    task_runs,
    task_sessions,
    task_snapshots,
    task_tools,
    tools_as_task,
)
from mcp_conformance.scenarios.unserved_methods import require_served
from mcp_conformance.verdicts import Finding

STATUSES = ("working", "input_required", *ENDED)
PARTS = (("list",), ("cancel",), ("requests",), ("requests", "tools"), ("requests", "tools", "call"))
TASK_MEMBERS = ("taskId", "status", "createdAt", "lastUpdatedAt", "ttl")


# Declaration


@pytest.mark.requirement("tasks.capability-declared")
@pytest.mark.stage("listed")
def test_a_server_that_makes_tasks_declares_them(server):
    if takes_tasks(server):
        return
    replies = [*prompts_as_task(server), *tools_as_task(server)]
    for reply in require_some(replies, skip="no tool gave a result to request again as a task"):
        if reply.value is not None and reply.value.get("task", "taskId") is not None:
            raise Finding("no task, or tasks declared", str(reply), reply.lines)


@pytest.mark.requirement("tasks.capability-shape")
@pytest.mark.capability("tasks")
@pytest.mark.stage("listed")
def test_the_tasks_capability_is_made_of_objects(server):
    tasks = require_some(members([server.offers], "tasks"), skip="tasks are not declared")
    parts = [part for names in PARTS for part in members(tasks, *names)]
    expect_each([*tasks, *parts], is_object, "an object")


@pytest.mark.requirement("tasks.undeclared-ignored")
def test_a_task_is_ignored_where_none_is_declared(server):
    require_served(server, "tools/call")
    replies = [*prompts_as_task(server), *([] if takes_tasks(server) else tools_as_task(server))]
    for reply in require_some(replies, skip="no prompt or tool gave a result to request again as a task"):
        result = require_answer(reply).value
        if result is None or result.get("task") is not None:
            raise Finding("the answer to a plain request", str(reply), reply.lines)


@pytest.mark.requirement("tasks.tool-support-values")
@pytest.mark.stage("listed")
def test_the_task_support_of_a_tool_is_a_known_one(server):
    found = members([tool.definition for tool in server.tools], "execution", "taskSupport")
    require_some(found, skip="no tool has taskSupport")
    known = ("forbidden", "optional", "required")
    expect_each(found, lambda value: value in known, "forbidden, optional or required")


@pytest.mark.requirement("tasks.tool-required")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_tool_that_requires_a_task_refuses_a_plain_call(server):
    tools = [tool for tool in task_tools(server) if tool.task_support == "required"]
    require_some(tools, skip="no tool requires tasks")
    created = {run.tool.name: run.created for run in task_runs(server)}
    expect_refusals(server, [(server.call(one).reply, created.get(one.name)) for one in tools])


@pytest.mark.requirement("tasks.tool-forbidden")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_tool_that_forbids_tasks_refuses_one(server):
    calls = [call for call in server.quick_calls() if call.tool.task_support == "forbidden"]
    silent = [call for call in calls if call.tool.definition.get("execution", "taskSupport") is None]
    explicit = [call for call in calls if call not in silent]
    calls = require_some(silent[:1] + explicit[:1], skip="every quick tool supports tasks")
    expect_refusals(server, [(call_as_task(server, call), call.reply) for call in calls])


@pytest.mark.requirement("tasks.tool-optional")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_tool_with_optional_tasks_works_both_ways(server):
    require_served(server, "tools/call")
    runs = [run for run in task_runs(server) if run.tool.task_support == "optional"]
    for run in require_some(runs, skip="no tool has optional tasks"):
        plain = server.call(run.tool).reply
        if plain.code in (-32600, -32601) and run.created.error is None:
            raise Finding("an answer to a plain call too", str(plain), plain.lines)
        if plain.error is None and run.created.error is not None:
            raise Finding("a task when one is requested", str(run.created), run.created.lines)
    served = [run for run in runs if run.created.error is None]
    require_some(served, skip="no tool with optional tasks can be called in either way")


def expect_refusals(server, replies):
    """Expect the error of an unknown method for each reply, if the reply to a right call differs from it."""
    for reply, right in replies:
        require_own_refusal(reply, [] if right is None else [right])
        if require_known_method(server, reply).code != -32601:
            raise Finding("error -32601", str(reply), reply.lines)


# Creation


@pytest.mark.requirement("tasks.create-result")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_an_accepted_task_is_answered_with_the_task(server):
    results = results_of(run.created for run in task_runs(server))
    for result in require_some(results, skip="every task was refused"):
        found = [result.get("task", name) for name in ("taskId", "status")]
        expect(result, None not in found, "a task with taskId and status")


@pytest.mark.requirement("tasks.create-result-soon")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_task_is_answered_before_its_work_is_done(server):
    signs = [sign for session in task_sessions(server) for sign in signs_of_an_end(session)]
    for created, index, sign in require_some(signs, skip="nothing shows when the work of a task is done"):
        if index < created.shown:
            lines = (*sign.lines, *created.task.lines)
            raise Finding("the task first, then the end of its work", str(sign), lines)


@pytest.mark.requirement("tasks.initial-working")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_task_begins_as_working(server):
    statuses = members([one.task for one in creations(server)], "status")
    expect_each(statuses, lambda status: status == "working", "working")


@pytest.mark.requirement("tasks.id-string")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_the_id_of_a_task_is_a_string(server):
    task_runs(server)
    tasks = [one.task for session in server.sessions for one in snapshots_in(session.lines)]
    ids = members(require_some(tasks, skip="no task was created"), "taskId")
    expect_each(ids, is_string, "a string")


@pytest.mark.requirement("tasks.id-by-receiver")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_the_client_cannot_choose_the_id(server):
    task = require(run_with_clients_id(server).task, skip="a task with an id of the client's is refused")
    expect_each(members([task], "taskId"), lambda given: given != CLIENTS_OWN_ID, "an id of the server's own")


@pytest.mark.requirement("tasks.id-unique")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_no_two_tasks_have_the_same_id(server):
    for session in task_sessions(server):
        ids = members([task.created.task for task in task_histories(session)], "taskId")
        for index, id in enumerate(ids):
            earlier = [other.json for other in ids[:index]]
            expect(id, id.json not in earlier, "an id that no other task has")


@pytest.mark.requirement("tasks.id-unguessable")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_the_id_of_a_task_cannot_be_guessed(server):
    expect_unguessable({one.id: one.task.lines for one in creations(server)})


def creations(server):
    """Return the snapshot of each task in the answer to its creation."""
    return [one for one in task_snapshots(server) if one.method == "tools/call"]


# The members of a task


@pytest.mark.requirement("tasks.transitions")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_the_status_of_a_task_is_known(server):
    statuses = members([one.task for one in task_snapshots(server)], "status")
    expect_each(statuses, lambda status: status in STATUSES, f"one of {', '.join(STATUSES)}")


@pytest.mark.requirement("tasks.terminal-final", "tasks.transitions")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_task_that_has_ended_stays_as_it_is(server):
    for task in histories(server):
        for one in task.snapshots:
            later = [each for each in task.snapshots if each.requested > one.shown and one.status in ENDED]
            for each in later:
                expect(each.task, each.status == one.status, f"{one.status}, as before")


@pytest.mark.requirement("tasks.created-at")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_task_has_the_time_of_its_creation(server):
    tasks = [one.task for one in task_snapshots(server)]
    expect_each(tasks, lambda task: is_time(task.get("createdAt")), "an ISO 8601 time in createdAt")
    for task in histories(server):
        before = task.created.task.json["createdAt"]
        for one in [one.task for one in task.snapshots if one.task.json["createdAt"] != before]:
            raise Finding(f"createdAt {before}, as before", str(one), one.lines, advisory=True)


@pytest.mark.requirement("tasks.last-updated-at")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_task_has_the_time_of_its_last_update(server):
    tasks = [one.task for one in task_snapshots(server)]
    expect_each(tasks, lambda task: is_time(task.get("lastUpdatedAt")), "an ISO 8601 time in lastUpdatedAt")


@pytest.mark.requirement("tasks.ttl-present")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_task_has_a_time_to_live(server):
    tasks = [one.task for one in task_snapshots(server) if one.method != STATUS]
    expect_each(tasks, has_ttl, "ttl, a number or null")


@pytest.mark.requirement("tasks.poll-interval")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_poll_interval_is_a_number(server):
    found = members([one.task for one in task_snapshots(server)], "pollInterval")
    require_some(found, skip="no task has a pollInterval")
    expect_each(found, is_number, "a number of milliseconds")


@pytest.mark.requirement("tasks.status-notification")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_status_notification_has_the_whole_task(server):
    tasks = [one.task for one in task_snapshots(server) if one.method == STATUS]
    require_some(tasks, skip="no status notification came")
    expect_each(tasks, has_all_members, ", ".join(TASK_MEMBERS))


def histories(server):
    return [task for session in task_sessions(server) for task in task_histories(session)]


def is_time(value):
    try:
        return isinstance(value, str) and "T" in value and datetime.fromisoformat(value) is not None
    except ValueError:
        return False


def has_ttl(task):
    return "ttl" in task and (task["ttl"] is None or is_number(task["ttl"]))


def has_all_members(task):
    return all(name in task for name in TASK_MEMBERS)


# While the task runs


@pytest.mark.requirement("tasks.input-required-used")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_task_that_asks_the_client_is_input_required(server):
    state = result_or_error(asking_task(server).while_open)
    expect(state, has_status(state, "input_required"), "status input_required")


@pytest.mark.requirement("tasks.input-required-left")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_task_that_was_answered_is_not_input_required(server):
    state = result_or_error(asking_task(server).after_result)
    expect(state, not has_status(state, "input_required"), "another status than input_required")


@pytest.mark.requirement("tasks.input-related-meta", "tasks.related-meta-everywhere")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_request_of_a_task_names_the_task(server):
    asking = asking_task(server)
    expect_related(asking.requests, asking.run)


@pytest.mark.requirement("tasks.related-meta-everywhere")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_a_log_message_of_a_task_names_the_task(server):
    logs = {run.id: (logs_of(server, run), run) for run in created_tasks(server)}
    messages = [message for found, _ in logs.values() for message in found]
    require_some(messages, skip="no task writes a log message as a plain call does")
    for found, run in logs.values():
        expect_related(found, run)


@pytest.mark.requirement("tasks.no-related-meta-in-status")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_the_status_of_a_task_has_no_related_task(server):
    methods = ("tasks/get", "tasks/cancel", STATUS)
    states = [one.task for one in task_snapshots(server) if one.method in methods]
    tags = [tag for tag in members(states, "_meta") if tag.is_a(dict) and RELATED in tag.json]
    expect_none(tags, f"no {RELATED}")


@pytest.mark.requirement("tasks.progress-lifetime")
@pytest.mark.capability("tasks", "requests", "tools", "call")
def test_progress_of_a_task_stops_at_its_end(server):
    found = [(session, one) for session in task_sessions(server) for one in progress_of_tasks(session)]
    for session, progress in require_some(found, skip="no task reports its progress"):
        expect(progress.notification, progress.request is not None, "the progressToken of the call")
        tasks = [task for task in task_histories(session) if task.request is progress.request]
        ends = [task.end for task in tasks if task.end is not None]
        line = progress.notification.lines[0]
        for end in ends[:1]:
            late = session.lines.index(line) > end and line.is_after(session.lines[end])
            expect(progress.notification, not late, "no progress after the end of the task")


def result_or_error(reply):
    return reply.value if reply.value is not None else reply.error_value


def has_status(state, status):
    found = state.get("status")
    return found is not None and found.json == status


def expect_related(messages, run):
    """Expect that each message names the run's task in its ``_meta``."""
    for message in messages:
        related = message.get("params", "_meta", RELATED, "taskId")
        named = related is not None and related.json == run.id
        expect(message, named, f"{RELATED} in _meta, with taskId {run.id}")


def progress_of_tasks(session):
    """Yield the progress that belongs to a task: by its request, else by the task that it names."""
    ids = {id_key(one.created.id) for one in task_histories(session)}
    for progress in progress_in(session.lines):
        if progress.request is not None:
            is_of_a_task = Value(progress.request).get("params", "task") is not None
        else:
            related = progress.notification.get("params", "_meta", RELATED)
            is_of_a_task = related is not None or progress.token in ids
        if is_of_a_task:
            yield progress
