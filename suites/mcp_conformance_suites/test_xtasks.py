"""Tasks of 2026-07-28 (extension io.modelcontextprotocol/tasks): calls that are answered with a handle.

The server decides which calls become tasks: the calls of the other checks are made again with the extension.
Judged only on servers that advertise it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import pytest

from mcp_conformance.expect import (
    expect,
    expect_each,
    expect_error,
    expect_none,
    is_integer,
    is_object,
    is_string,
    require,
    require_answer,
    require_some,
    skip,
)
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, id_key, kind, show
from mcp_conformance.protocol.methods import FEATURES
from mcp_conformance.protocol.revisions import LACKS_CAPABILITY
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.http_modern import is_mismatch
from mcp_conformance.scenarios.http_requests import post
from mcp_conformance.scenarios.task_ids import expect_unguessable
from mcp_conformance.scenarios.task_snapshots import ENDED, status_of, task_id
from mcp_conformance.scenarios.xtasks import (
    EXTENSION,
    METHODS,
    NO_SUCH_TASK,
    calls_with_task_param,
    cancelled_task,
    declared,
    every_run,
    extension_session,
    ids_of,
    input_requests_by_key,
    is_task,
    looks_with,
    messages_beside,
    named_extension,
    replies_to,
    result_type,
    shown_tasks,
    task_notifications,
    task_runs,
    undeclared_calls,
    undeclared_unknown_requests,
    unknown_task_requests,
    watched_task,
)
from mcp_conformance.verdicts import Finding, Skipped

STATUSES = ("working", "input_required", *ENDED)
ENVELOPE = {"resultType", "_meta"}
"""The members that any result may have."""
RELATED = "io.modelcontextprotocol/related-task"
OLDER = ("task", "ttl", "pollInterval", "requestState")


def is_time(value):
    """Return whether a value is an ISO 8601 timestamp."""
    try:
        return isinstance(value, str) and "T" in value and bool(datetime.fromisoformat(value))
    except ValueError:
        return False


SHAPE: Mapping[str, tuple] = {
    "taskId": (is_string, "a string"),
    "status": (lambda value: value in STATUSES, f"one of {', '.join(STATUSES)}"),
    "createdAt": (is_time, "an ISO 8601 timestamp"),
    "lastUpdatedAt": (is_time, "an ISO 8601 timestamp"),
    "ttlMs": (lambda value: value is None or is_integer(value), "a whole number of milliseconds, or null"),
    "pollIntervalMs": (is_integer, "a whole number of milliseconds"),
    "statusMessage": (is_string, "a string"),
}
OPTIONAL = ("pollIntervalMs", "statusMessage")


# Whom the server answers with a task


@pytest.mark.requirement("xtasks.undeclared-no-task")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_call_without_the_extension_is_not_a_task(server):
    for run, reply in undeclared_calls(server):
        made = is_task(reply) or (reply.value is not None and result_type(reply) == "task")
        lines = (*run.created.lines, *reply.lines)
        if made:
            raise Finding(
                "the result of the tool, or an error: the extension is not declared", str(reply), lines
            )


@pytest.mark.requirement("xtasks.needs-extension")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_call_that_needs_the_extension_says_so(server):
    refused = [reply for _, reply in undeclared_calls(server) if reply.error is not None]
    for reply in require_some(refused, skip="every call that became a task works without it too"):
        expect_error(reply, LACKS_CAPABILITY)


@pytest.mark.requirement("xtasks.names-extension")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_the_error_for_a_lacking_extension_names_it(server):
    replies = [*undeclared_unknown_requests(server).all]
    if _can_make_tasks(server):
        replies += [reply for _, reply in undeclared_calls(server)] + [*cancelled_task(server).undeclared.all]
    lacking = [reply for reply in replies if reply.code == LACKS_CAPABILITY]
    for reply in require_some(lacking, skip=f"no request was refused with {LACKS_CAPABILITY}"):
        expect(reply, named_extension(reply), f"{EXTENSION} in data.requiredCapabilities.extensions")


@pytest.mark.requirement("xtasks.methods-undeclared")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_requests_about_tasks_need_the_extension(server):
    if _can_make_tasks(server):
        for reply in cancelled_task(server).undeclared.all:
            expect_error(reply, LACKS_CAPABILITY)
    for reply in undeclared_unknown_requests(server).all:
        expect_error(reply, LACKS_CAPABILITY, NO_SUCH_TASK)


@pytest.mark.requirement("xtasks.task-param-ignored")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_the_member_task_of_a_call_is_ignored(server):
    for without, reply in require_some(calls_with_task_param(server), skip="no call succeeds"):
        if require_answer(without).value is None:
            skip(f"the call fails without the member task too: {without}")
        expect(require_answer(reply), reply.error is None, "no error, as without the member task")


# The task that is created


@pytest.mark.requirement("xtasks.result-type-task")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_result_that_creates_a_task_says_so(server):
    for one in [run.task for run in every_run(server)]:
        found = one.get("resultType") or Value(None, "result.resultType", one.lines)
        expect(found, found.json == "task", "task, as the result is one")


@pytest.mark.requirement("xtasks.result-type-only-there")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_no_other_result_is_called_a_task(server):
    for reply in replies_to(server, "tools/call", *METHODS):
        is_right = is_task(reply) and reply.method == "tools/call"
        is_called = result_type(reply) == "task"
        expected = f"another resultType than task in answer to {reply.method}"
        expect(reply, is_right or not is_called, expected, got="the resultType task")


@pytest.mark.requirement("xtasks.task-members")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_task_has_its_members(server):
    task_runs(server)
    expect_members(shown_tasks(server))


def expect_members(tasks):
    """Expect that tasks have the members of a task, of their types."""
    for name, (holds, expected) in SHAPE.items():
        for task in tasks:
            value = task.get(name)
            if value is None:
                expect(task, name in OPTIONAL, f"{name}: {expected}", got=f"a task without {name}")
            else:
                expect(value, holds(value.json), expected)


@pytest.mark.requirement("xtasks.older-members")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_task_has_no_older_members(server):
    task_runs(server)
    for name in OLDER:
        expect_none(members(shown_tasks(server), name), f"no {name} in a task")
    related = members(shown_tasks(server), "result", "_meta", RELATED)
    expect_none(related, "no related task in the result of a task")


@pytest.mark.requirement("xtasks.id-unguessable")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_the_id_of_a_task_cannot_be_guessed(server):
    expect_unguessable(ids_of(list(every_run(server))))


@pytest.mark.requirement("xtasks.durable")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_task_can_be_had_at_once(server):
    for run in task_runs(server):
        look = run.looks[0]
        if look.code == NO_SUCH_TASK:
            got = f"{look} for a task that was just created"
            raise Finding("the task", got, (*run.created.lines, *look.lines))


@pytest.mark.requirement("xtasks.mrtr-first")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_input_is_gathered_before_the_task_or_in_it(server):
    runs = list(every_run(server))
    results = members([task for run in runs for task in run.shown], "result")
    asking = [one for one in results if one.is_a(dict) and is_asking(one)]
    expect_none(asking, "the final result of the tool: its input is gathered before, or by the task's status")
    created = [run.task for run in runs]
    for name in ("inputRequests", "requestState"):
        expect_none(members(created, name), f"no {name} in a result that creates a task")
    require_some(
        [run for run in runs if len(run.rounds) > 1], skip="no call that became a task needed input first"
    )


def is_asking(result):
    """Return whether a result is one of the type input_required."""
    return result.json.get("resultType") == "input_required"


# tasks/get


@pytest.mark.requirement("xtasks.get-status")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_look_shows_the_task_in_its_status(server):
    for run in task_runs(server):
        for look in require_some(run.shown, skip=f"tasks/get is refused: {run.looks[0]}"):
            got = f"the taskId {show(task_id(look))}" if task_id(look) else "a result without a taskId"
            expect(look, task_id(look) == run.id, f"the task with the taskId {run.id}", got=got)
            expect(look, status_of(look) is not ABSENT, "a task with its status")


@pytest.mark.requirement("xtasks.get-result-type")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_the_result_of_a_look_is_complete(server):
    task_runs(server)
    expect_complete(server, "tasks/get")


def expect_complete(server, method):
    """Expect the resultType complete in all results of a method."""
    for reply in replies_to(server, method):
        found = result_type(reply)
        got = f"the resultType {show(found)}" if found is not ABSENT else "no resultType"
        expect(reply, found == "complete", f"the resultType complete in the result of {method}", got=got)


@pytest.mark.requirement("xtasks.get-input-requests")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_task_that_needs_input_says_which(server):
    for task in looks_with(server, "input_required"):
        requests = task.get("inputRequests") or Value(None, "result.inputRequests", task.lines)
        expect(requests, requests.is_a(dict), "an object of requests")
        expect_each(requests.each(), is_request, f"a request with one of {', '.join(FEATURES)}")


def is_request(value):
    """Return whether a value is a request to a client."""
    return isinstance(value, dict) and value.get("method") in tuple(FEATURES)


@pytest.mark.requirement("xtasks.get-result")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_completed_task_has_its_result(server):
    for task in looks_with(server, "completed"):
        result = task.get("result") or Value(None, "result.result", task.lines)
        expect(result, result.is_a(dict), "a completed task with its result")
        if not is_asking(result):  # xtasks.mrtr-first
            content = result.get("content")
            is_right = content is not None and content.is_a(list)
            expect(result, is_right, "the result of the tool, with its content")


@pytest.mark.requirement("xtasks.get-error")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_failed_task_has_its_error(server):
    for task in looks_with(server, "failed"):
        error = task.get("error")
        if error is None and task.get("result") is not None:
            continue  # xtasks.iserror-completes
        given = error.json if error is not None and is_object(error.json) else {}
        is_right = is_integer(given.get("code")) and is_string(given.get("message"))
        got = "no error" if error is None else str(error)
        expect(task, is_right, "a failed task with error, which has a code and a message", got=got)


@pytest.mark.requirement("xtasks.status-message")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_failed_task_says_why(server):
    for task in looks_with(server, "failed"):
        message = task.get("statusMessage")
        said = message is not None and message.is_a(str) and bool(message.json.strip())
        expect(task, said, "a failed task with a statusMessage", got="one without")


@pytest.mark.requirement("xtasks.iserror-completes")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_tool_error_completes_its_task(server):
    seen = 0
    for run in task_runs(server):
        errors = members(run.shown[-1:], "result", "isError")
        has_tool_error = any(one.json is True for one in errors)
        is_tool_error = run.call.reply.is_tool_error
        if run.status == "failed" and (has_tool_error or is_tool_error):
            if not has_tool_error and not _still_fails(server, run):
                continue
            expected = "a completed task, with the result whose isError is true"
            lines = (*run.call.reply.lines, *run.looks[-1].lines)
            raise Finding(expected, "a failed task", lines, advisory=not has_tool_error)
        seen += has_tool_error
    if not seen:
        skip("no task of the run ended with a result that has isError")


def _still_fails(server, run):
    """Return whether a call without the extension still gives a result with isError."""
    reply = extension_session(server).request("tools/call", run.call.params)
    return reply.is_tool_error


@pytest.mark.requirement("xtasks.get-unknown-id")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_look_at_an_unknown_task_is_refused(server):
    expect_error(unknown_task_requests(server).get, NO_SUCH_TASK)


@pytest.mark.requirement("xtasks.terminal-final")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_task_that_has_ended_keeps_its_status(server):
    ended = [
        (run, run.late) for run in every_run(server) if run.late is not None and run.late.value is not None
    ]
    for run, late in require_some(ended, skip="no task could be had after its end"):
        later = status_of(late.value)
        if later != run.status:
            lines = (*run.looks[-1].lines, *late.lines)
            raise Finding(f"the status {run.status}, as before", f"the status {show(later)}", lines)


@pytest.mark.requirement("xtasks.kept-until-ttl")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_task_is_kept_until_its_time_is_over(server):
    ended = [(run, run.late) for run in task_runs(server) if run.late is not None]
    in_time = [(run, late) for run, late in ended if is_in_time(run, late)]
    for run, late in require_some(in_time, skip="no task was looked at within its ttlMs after its end"):
        if late.code == NO_SUCH_TASK:
            lines = (*run.looks[-1].lines, *late.lines)
            raise Finding("the task, whose ttlMs is not over", str(late), lines)


def is_in_time(run, late):
    """Return whether a look at a task was answered within its time to live."""
    found = members(run.shown[-1:], "ttlMs")
    if not found or found[0].json is None:
        return bool(found)
    passed = late.request.at + late.seconds - run.created.request.at
    return is_integer(found[0].json) and passed < found[0].json / 1000


# tasks/update


@pytest.mark.requirement("xtasks.input-keys-unique")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_key_stands_for_one_request(server):
    looks_with(server, "input_required")
    for run in every_run(server):
        for key, requests in input_requests_by_key(run).items():
            if len(requests) > 1:
                got = f"{show(key)} for {show(requests[0].json, 80)} and for {show(requests[1].json, 80)}"
                lines = (*requests[0].lines, *requests[1].lines)
                raise Finding("a key for each request of a task", got, lines)


@pytest.mark.requirement("xtasks.update-ack")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_an_update_is_acknowledged(server):
    updates = [update for run in task_runs(server) for update in run.updates]
    for update in require_some(updates, skip="no task asked for input that this client gives"):
        if update.code == NO_SUCH_TASK:
            skip(f"the task, or its request, may have ended meanwhile: {update}")
        expect_empty(update, "valid responses")


def expect_empty(reply, what):
    """Expect an empty result."""
    expected = f"an empty result in answer to {what}"
    value = require_answer(reply).value
    expect(reply, value is not None and value.is_a(dict) and set(value.json) <= ENVELOPE, expected)


@pytest.mark.requirement("xtasks.update-result-type")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_the_result_of_an_update_is_complete(server):
    task_runs(server)
    expect_complete(server, "tasks/update")


@pytest.mark.requirement("xtasks.update-effective")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_task_goes_on_with_its_input(server):
    asked = [run for run in task_runs(server) if run.updates and was_seen_since(run)]
    for run in require_some(asked, skip="no task was seen after it got the input that it asked for"):
        if run.status == "input_required" and set(input_requests_by_key(run)) <= answered_keys(run):
            got = "the status input_required, although each request has its response"
            lines = (*run.updates[-1].lines, *run.looks[-1].lines)
            raise Finding("another status, or another request", got, lines)


def was_seen_since(run):
    """Return whether a task was looked at after its last update, which was acknowledged."""
    return run.updates[-1].value is not None and run.looks[-1].request.at > run.updates[-1].request.at


def answered_keys(run):
    """Return the keys for which responses were sent and acknowledged."""
    sent = [one.request.message["params"]["inputResponses"] for one in run.updates if one.value is not None]
    return {key for responses in sent for key in responses}


@pytest.mark.requirement("xtasks.update-unknown-id")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_an_update_of_an_unknown_task_is_refused(server):
    expect_error(unknown_task_requests(server).update, NO_SUCH_TASK)


@pytest.mark.requirement("xtasks.update-unknown-key")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_response_that_nobody_wants_is_ignored(server):
    found = cancelled_task(server)
    if status_of(found.before.value) not in ("working", "input_required"):
        skip("the task had ended, so that it need not be known any more")
    expect(found.unknown_key, found.unknown_key.error is None, "an acknowledgment, and no effect")


# tasks/cancel


@pytest.mark.requirement("xtasks.cancel-ack")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_cancellation_is_acknowledged(server):
    found = cancelled_task(server)
    if status_of(found.before.value) not in ("working", "input_required"):
        skip("the task had ended before it was cancelled")
    expect_empty(found.reply, "tasks/cancel")


@pytest.mark.requirement("xtasks.cancel-result-type")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_the_result_of_a_cancellation_is_complete(server):
    cancelled_task(server)
    expect_complete(server, "tasks/cancel")


@pytest.mark.requirement("xtasks.cancel-unknown-id")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_the_cancellation_of_an_unknown_task_is_refused(server):
    expect_error(unknown_task_requests(server).cancel, NO_SUCH_TASK)


@pytest.mark.requirement("xtasks.cancel-ended")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_the_cancellation_of_a_task_that_has_ended_is_acknowledged(server):
    again = require(cancelled_task(server).again, skip="the task did not end")
    if again.code == NO_SUCH_TASK:
        skip("the server has discarded the task")
    expect(again, again.error is None, "an acknowledgment, without an effect")


# Subscriptions


@pytest.mark.requirement("xtasks.listen-undeclared")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_subscription_to_tasks_needs_the_extension(server):
    found = watched_task(server)
    if not found.is_agreed:
        skip("the server announces no status of tasks")
    one = found.undeclared
    errors = [answer for answer in one.answers if kind(answer.json) is Kind.ERROR]
    shown = one.acknowledgment or (
        one.answers[0] if one.answers else Value(None, "no answer", (one.request,))
    )
    codes = [answer.json["error"].get("code") for answer in errors if is_object(answer.json["error"])]
    expect(shown, codes == [LACKS_CAPABILITY] and one.acknowledgment is None, f"error {LACKS_CAPABILITY}")
    named = errors[0].get("error", "data", "requiredCapabilities", "extensions", EXTENSION)
    expect(shown, named is not None, f"{EXTENSION} in data.requiredCapabilities.extensions")


@pytest.mark.requirement("xtasks.notification-task")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_notification_has_the_whole_task(server):
    watched_task(server)
    sent = require_some(task_notifications(server), skip="no status of a task was announced")
    tasks = require_some(members(sent, "params"), skip="no notification has params")
    expect_members(tasks)
    needed = {"completed": "result", "failed": "error", "input_required": "inputRequests"}
    for task in tasks:
        name = needed.get(task.json["status"], "status")
        expect(task, task.get(name) is not None, f"{name} in a task that is {task.json['status']}")


@pytest.mark.requirement("xtasks.notification-agreed")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_task_is_announced_to_those_who_asked(server):
    found = watched_task(server)
    for one in require_some(task_notifications(server), skip="no status of a task was announced"):
        tag = one.get("params", "_meta", "io.modelcontextprotocol/subscriptionId")
        is_ours = tag is not None and id_key(tag.json) == id_key(found.listen.id)
        is_known = found.is_agreed and task_id(one.get("params")) == found.run.id
        expect(
            one, is_ours and is_known, f"the task {found.run.id} and the subscription {show(found.listen.id)}"
        )


@pytest.mark.requirement("xtasks.no-progress-on-listen")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_subscription_to_a_task_brings_no_progress(server):
    found = watched_task(server)
    if not found.is_agreed:
        skip("the server announces no status of tasks")
    beside = messages_beside(found, "notifications/progress", "notifications/message")
    expect_none(beside, "no progress and no log message on the subscription to a task")


# HTTP


@pytest.mark.requirement("xtasks.name-header")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_look_with_the_id_in_its_header_is_served(server):
    reply, _ = looks_by_header(server)
    expect(reply, reply.was_served or reply.code == NO_SUCH_TASK, "the task, as Mcp-Name has its taskId")


@pytest.mark.requirement("xtasks.name-header-mismatch")
@pytest.mark.capability("extensions", "io.modelcontextprotocol/tasks")
def test_a_look_with_another_id_in_its_header_is_refused(server):
    right, wrong = looks_by_header(server)
    if not right.was_served:
        skip(f"tasks/get is not served with the right header either: {right}")
    expect(wrong, is_mismatch(wrong), "the status 400 and error -32020, as Mcp-Name has another id")


def looks_by_header(server):
    """Return the responses to a look at a task with its id in the header, and with another."""
    run, session = task_runs(server)[0], extension_session(server)
    params = {"taskId": run.id, "_meta": declared(session)}
    return (
        post(session, "tasks/get", params),
        post(session, "tasks/get", params, headers={"Mcp-Name": "another-task"}),
    )


def _can_make_tasks(server):
    """Return whether some call becomes a task."""
    try:
        return bool(task_runs(server))
    except Skipped:
        return False
