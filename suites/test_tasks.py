"""Tasks: how they are declared and created, and what they look like (spec: basic/utilities/tasks)."""

from __future__ import annotations

from datetime import datetime

import pytest

from conformance.expect import expect, expect_each, expect_none, require_answer, require_some
from conformance.protocol.progress import progress_in
from conformance.protocol.value import Value, members
from conformance.scenarios.tasks import (
    ENDED,
    OWN_ID,
    RELATED,
    STATUS,
    STATUSES,
    TTL,
    accepted,
    asking,
    capable,
    chosen,
    conversations,
    histories,
    logs,
    runs,
    seen,
    seen_in,
    signs_of_an_end,
    support,
    takes_tasks,
)
from conformance.verdicts import Finding

FEWEST_IDS = 3
FEWEST_CHARACTERS = 8
SHORT_ID = 16
PARTS = (("list",), ("cancel",), ("requests",), ("requests", "tools"), ("requests", "tools", "call"))
WHOLE = ("taskId", "status", "createdAt", "lastUpdatedAt", "ttl")


# What is declared


@pytest.mark.requirement("tasks.capability-declared")
def test_a_server_that_makes_tasks_declares_them(server):
    replies = (
        []
        if takes_tasks(server)
        else require_some(undeclared(server), skip="no tool gave a result to ask for again")
    )
    for reply in replies:
        made = reply.value is not None and reply.value.get("task", "taskId") is not None
        if made:
            raise Finding("no task, or tasks declared", str(reply), reply.lines)


@pytest.mark.requirement("tasks.capability-shape")
def test_the_tasks_capability_is_made_of_objects(server):
    tasks = require_some(members([server.offers], "tasks"), skip="tasks are not declared")
    parts = [part for names in PARTS for part in members(tasks, *names)]
    expect_each([*tasks, *parts], is_object, "an object")


@pytest.mark.requirement("tasks.undeclared-ignored")
def test_a_task_is_ignored_where_none_is_declared(server):
    replies = prompt_as_task(server) + ([] if takes_tasks(server) else undeclared(server))
    for reply in require_some(replies, skip="no prompt came, and no tool gave a result, to ask for again"):
        if require_answer(reply).value is None or reply.value.get("task") is not None:
            raise Finding("the answer to a plain request", str(reply), reply.lines)


@pytest.mark.requirement("tasks.tool-support-values")
def test_tools_say_how_they_take_tasks(server):
    found = members([tool.definition for tool in server.tools], "execution", "taskSupport")
    said = require_some(found, skip="no tool says whether it may be a task")
    expect_each(
        said, lambda value: value in ("forbidden", "optional", "required"), "forbidden, optional or required"
    )


@pytest.mark.requirement("tasks.tool-required")
def test_a_tool_that_has_to_be_a_task_refuses_a_plain_call(server):
    tools = [tool for tool in capable(server) if support(tool) == "required"]
    replies = [server.call(tool).reply for tool in require_some(tools, skip="no tool has to be a task")]
    expect_refusals(replies)


@pytest.mark.requirement("tasks.tool-forbidden")
def test_a_tool_that_cannot_be_a_task_refuses_to_be_one(server):
    require_some([server] if takes_tasks(server) else [], skip="tasks.requests.tools.call is not declared")
    calls = [
        call for call in server.calls() if support(call.tool) == "forbidden" and not server.is_slow(call)
    ]
    silent = [call for call in calls if call.tool.definition.get("execution", "taskSupport") is None]
    said = [call for call in calls if call not in silent]
    expect_refusals(
        [
            as_task(server, call)
            for call in require_some(silent[:1] + said[:1], skip="every quick tool takes tasks")
        ]
    )


@pytest.mark.requirement("tasks.tool-optional")
def test_a_tool_that_may_be_a_task_works_both_ways(server):
    optional = [run for run in runs(server) if support(run.tool) == "optional"]
    for run in require_some(optional, skip="no tool may be a task or not"):
        plain = server.call(run.tool).reply
        if plain.code in (-32600, -32601) and run.created.error is None:
            raise Finding("an answer to a plain call too", str(plain), plain.lines)
        if plain.error is None and run.created.error is not None:
            raise Finding("a task when one is wanted", str(run.created), run.created.lines)


# Creation


@pytest.mark.requirement("tasks.create-result")
def test_an_accepted_task_is_answered_with_the_task(server):
    answers = [run.created.value for run in runs(server) if run.created.value is not None]
    for result in require_some(answers, skip="every task was refused"):
        found = [result.get("task", name) for name in ("taskId", "status")]
        expect(result, None not in found, "a task with taskId and status")


@pytest.mark.requirement("tasks.create-result-soon")
def test_a_task_is_told_of_before_its_work_is_done(server):
    signs = [sign for session in conversations(server) for sign in signs_of_an_end(session)]
    for created, at, sign in require_some(signs, skip="nothing shows when the work of a task is done"):
        lines = (*sign.lines, *created.task.lines)
        if at < created.told:
            raise Finding("the task first, then the end of its work", str(sign), lines)


@pytest.mark.requirement("tasks.initial-working")
def test_a_task_begins_as_working(server):
    statuses = members([one.task for one in created(server)], "status")
    expect_each(statuses, lambda status: status == "working", "working")


@pytest.mark.requirement("tasks.id-string")
def test_the_id_of_a_task_is_a_string(server):
    runs(server)
    shown = [one.task for session in server.sessions for one in seen_in(session.lines)]
    ids = members(require_some(shown, skip="no task came"), "taskId")
    expect_each(ids, is_string, "a string")


@pytest.mark.requirement("tasks.id-by-receiver")
def test_the_client_cannot_choose_the_id(server):
    tasks = [run.task for run in [chosen(server)] if run.task is not None]
    ids = members(require_some(tasks, skip="a task with an id of the client's is refused"), "taskId")
    expect_each(ids, lambda given: given != OWN_ID, "an id of the server's own")


@pytest.mark.requirement("tasks.id-unique")
def test_no_two_tasks_have_the_same_id(server):
    for session in conversations(server):
        ids = members([task.created.task for task in histories(session)], "taskId")
        for index, id in enumerate(ids):
            expect(id, id.json not in [other.json for other in ids[:index]], "an id that no other task has")


@pytest.mark.requirement("tasks.id-unguessable")
def test_the_id_of_a_task_cannot_be_guessed(server):
    lines = {one.id: one.task.lines for one in created(server)}
    ids = sorted(
        require_some(
            lines if len(lines) >= FEWEST_IDS else [], skip=f"fewer than {FEWEST_IDS} tasks were made"
        )
    )
    middle = max(map(len, ids)) - same(ids) - same([id[::-1] for id in ids])
    got = ", ".join(ids[:FEWEST_IDS])
    if middle < FEWEST_CHARACTERS:
        raise Finding(f"ids in which at least {FEWEST_CHARACTERS} characters differ", got, lines[ids[0]])
    if len(ids[0]) < SHORT_ID:
        raise Finding(f"ids of at least {SHORT_ID} characters", got, lines[ids[0]], advisory=True)


# What a task looks like


@pytest.mark.requirement("tasks.transitions")
def test_the_status_of_a_task_is_known(server):
    statuses = members([one.task for one in seen(server)], "status")
    expect_each(statuses, lambda status: status in STATUSES, f"one of {', '.join(STATUSES)}")


@pytest.mark.requirement("tasks.terminal-final", "tasks.transitions")
def test_a_task_that_has_ended_stays_as_it_is(server):
    for task in [task for session in conversations(server) for task in histories(session)]:
        for one in task.shown:
            later = [each for each in task.shown if each.asked > one.told and one.status in ENDED]
            for each in later:
                expect(each.task, each.status == one.status, f"{one.status}, as before")


@pytest.mark.requirement("tasks.created-at")
def test_a_task_says_when_it_was_created(server):
    tasks = [one.task for one in seen(server)]
    expect_each(tasks, lambda task: is_time(task.get("createdAt")), "an ISO 8601 time in createdAt")
    for task in [task for session in conversations(server) for task in histories(session)]:
        before = task.created.task.json["createdAt"]
        for one in [one.task for one in task.shown if one.task.json["createdAt"] != before]:
            raise Finding(f"createdAt {before}, as before", str(one), one.lines, advisory=True)


@pytest.mark.requirement("tasks.last-updated-at")
def test_a_task_says_when_it_was_updated(server):
    tasks = [one.task for one in seen(server)]
    expect_each(tasks, lambda task: is_time(task.get("lastUpdatedAt")), "an ISO 8601 time in lastUpdatedAt")


@pytest.mark.requirement("tasks.ttl-present")
def test_a_task_says_how_long_it_is_kept(server):
    tasks = [one.task for one in seen(server) if one.method != STATUS]
    expect_each(tasks, has_ttl, "ttl, a number or null")


@pytest.mark.requirement("tasks.poll-interval")
def test_a_poll_interval_is_a_number(server):
    found = members([one.task for one in seen(server)], "pollInterval")
    expect_each(
        require_some(found, skip="no task says how often to ask"), is_number, "a number of milliseconds"
    )


@pytest.mark.requirement("tasks.status-notification")
def test_a_notification_tells_the_whole_task(server):
    told = [one.task for one in seen(server) if one.method == STATUS]
    expect_each(require_some(told, skip="no notification of a status came"), is_whole, ", ".join(WHOLE))


# What a task says on its way


@pytest.mark.requirement("tasks.input-required-used")
def test_a_task_that_asks_the_client_says_so(server):
    state = asking(server).open
    expect(shown_by(state), status_in(state) == "input_required", "status input_required")


@pytest.mark.requirement("tasks.input-required-left")
def test_a_task_goes_on_once_it_was_answered(server):
    state = asking(server).closed
    expect(shown_by(state), status_in(state) != "input_required", "another status than input_required")


@pytest.mark.requirement("tasks.input-related-meta", "tasks.related-meta-everywhere")
def test_what_a_task_asks_the_client_names_the_task(server):
    expect_related(asking(server).asked, asking(server).run)


@pytest.mark.requirement("tasks.related-meta-everywhere")
def test_what_a_task_logs_names_the_task(server):
    written = {run.id: (logs(server, run), run) for run in accepted(server)}
    require_some(
        [log for found, _ in written.values() for log in found],
        skip="no task writes a log message as a plain call does",
    )
    for found, run in written.values():
        expect_related(found, run)


@pytest.mark.requirement("tasks.no-related-meta-in-status")
def test_what_is_about_a_task_is_not_tagged_with_it(server):
    shown = [one.task for one in seen(server) if one.method in ("tasks/get", "tasks/cancel", STATUS)]
    tags = [tag for tag in members(shown, "_meta") if tag.is_a(dict) and RELATED in tag.json]
    expect_none(tags, f"no {RELATED}")


@pytest.mark.requirement("tasks.progress-lifetime")
def test_the_progress_of_a_task_is_told_until_its_end(server):
    told = [(session, one) for session in conversations(server) for one in progress_in(session.lines)]
    told = [(session, one) for session, one in told if one.request is None or is_of_a_task(one)]
    for session, one in require_some(told, skip="no task tells its progress"):
        expect(one.notification, one.request is not None, "the progressToken of the call")
        end = min((task.end for task in histories(session) if task.request is one.request), default=0)
        late = end and session.lines.index(one.notification.lines[0]) > end
        expect(one.notification, not late, "no progress after the end of the task")


def is_of_a_task(progress):
    return Value(progress.request).get("params", "task") is not None


def undeclared(server):
    """Requests as tasks, by a client that does not care what is declared."""
    return prompt_as_task(server) + server.once("tool as task", lambda: tool_as_task(server))


def tool_as_task(server):
    calls = [call for call in server.calls() if not call.failed and not server.is_slow(call)]
    return [
        as_task(server, call) for call in sorted(calls, key=lambda call: support(call.tool) != "optional")[:1]
    ]


def as_task(server, call):
    params = {"name": call.tool.name, "arguments": call.arguments, "task": {"ttl": TTL}}
    return server.call_again(call, params)


def prompt_as_task(server):
    """A prompt that came, asked for as a task, which no server can declare."""
    came = [reply.request.message["params"] for reply in server.prompts() if reply.value is not None]
    asked = [{**params, "task": {"ttl": TTL}} for params in came[:1]]
    session = server.shared("calls")
    return server.once("prompt as task", lambda: [session.request("prompts/get", params) for params in asked])


def created(server):
    return [one for one in seen(server) if one.method == "tools/call"]


def expect_refusals(replies):
    for reply in replies:
        if reply.code != -32601:
            raise Finding("error -32601", str(reply), reply.lines)


def expect_related(messages, run):
    for message in messages:
        related = message.get("params", "_meta", RELATED, "taskId")
        expect(
            message,
            related is not None and related.json == run.id,
            f"{RELATED} in _meta, with taskId {run.id}",
        )


def shown_by(reply):
    return reply.value if reply.value is not None else reply.error_value


def status_in(reply):
    status = shown_by(reply).get("status")
    return None if status is None else status.json


def same(texts):
    """How many characters all texts begin with."""
    columns = [len(set(column)) == 1 for column in zip(*texts, strict=False)]
    return [*columns, False].index(False)


def is_object(value):
    return isinstance(value, dict)


def is_string(value):
    return isinstance(value, str)


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_time(value):
    try:
        return isinstance(value, str) and "T" in value and datetime.fromisoformat(value) is not None
    except ValueError:
        return False


def has_ttl(task):
    return "ttl" in task and (task["ttl"] is None or is_number(task["ttl"]))


def is_whole(task):
    return all(name in task for name in WHOLE)
