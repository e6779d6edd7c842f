"""Tool calls made as tasks (2025-11-25): created, awaited, listed, cancelled, and asking the client."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.handlers import DECLINING, WAITING
from mcp_conformance.client.listing import Listing, fetch_list
from mcp_conformance.client.refusals import NO_SUCH_NAME
from mcp_conformance.client.reply import Reply, Silence
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.expect import require, require_some, skip
from mcp_conformance.generation import NoExample
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, id_key, kind
from mcp_conformance.protocol.methods import FEATURES
from mcp_conformance.protocol.progress import Progress, progress_in, token_of
from mcp_conformance.protocol.value import Value
from mcp_conformance.scenarios.client_features import FULL_CLIENT, all_capabilities, run_with_client
from mcp_conformance.scenarios.task_snapshots import (
    ENDED,
    TaskSnapshot,
    has_tasks,
    snapshots_in,
    status_of,
    task_id,
)
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import CALLS
from mcp_conformance.verdicts import Blocked, Skipped

RELATED = "io.modelcontextprotocol/related-task"
CLIENTS_OWN_ID = "conformance-8f14e45fceea167a"
"""A task id that the client sends, and that the server must not use."""
TTL = 60_000
"""The time to live that the client requests, in milliseconds."""
MAX_TASK_TOOLS = 5
BROKEN_RULES = {"tools/call": "tasks.create-result", "tasks/result": "tasks.result-terminal"}
"""The rule that a request without an answer breaks."""
REQUESTS_OF_TASKS = tuple(method for method in FEATURES if method != "roots/list")
"""The requests that a server sends to the client only while a tool runs."""


@dataclass(frozen=True)
class TaskRun:
    """A tool called as a task, and the reply."""

    tool: Tool
    params: dict[str, Any]
    created: Reply

    @property
    def task(self) -> Value | None:
        """The task that was created, None if there was none."""
        return self.created.value.get("task") if self.created.value is not None else None

    @property
    def id(self) -> str:
        """The id of the task; empty if there is none."""
        return task_id(self.task)

    @property
    def replies(self) -> list[Reply]:
        """All replies."""
        return [self.created]


@dataclass(frozen=True)
class AwaitedTask(TaskRun):
    """A task that was created, with the replies in the order of their requests.

    ``result`` was requested before the task had ended, ``state`` after the result came; ``again`` and
    ``later`` are the result and the state once more, or the same replies if the result did not come.
    """

    result: Reply
    state: Reply
    again: Reply
    later: Reply

    @property
    def status(self) -> Any:
        """The status of the task in ``state``."""
        return status_of(self.state.value)

    @property
    def replies(self) -> list[Reply]:
        """All replies."""
        return [self.created, self.result, self.state, self.again, self.later]

    @property
    def unfinished(self) -> Reply | None:
        """The reply for the result of a task that takes longer than the timeout of a request, else None."""
        silent = isinstance(self.result.fault, Silence)
        return self.result if silent and self.status in ("working", "input_required") else None


@dataclass(frozen=True)
class CancelledTask:
    """A task that was cancelled as soon as it was created, and a ``twin`` that was left to end.

    ``state`` was requested at once, ``later`` after the twin's end; ``again`` answers a second cancellation.
    """

    run: TaskRun
    reply: Reply
    state: Reply
    twin: TaskRun
    later: Reply
    again: Reply

    @property
    def is_cancelled(self) -> bool:
        """Whether the answer to the cancellation shows it; the task may have ended before."""
        return bool(status_of(self.reply.value) == "cancelled")


@dataclass(frozen=True)
class AskingTask:
    """A task that sent requests to the client: its state while these were open, and after its result."""

    run: TaskRun
    requests: list[Value]
    while_open: Reply
    after_result: Reply


# Which tools may be tasks


def takes_tasks(server: Server) -> bool:
    """Return whether the server declares that tools may be called as tasks."""
    return server.declares("tasks", "requests", "tools", "call")


def task_tools(server: Server) -> list[Tool]:
    """Return the tools that may be called, and called as tasks; skip if there are none."""
    found = [tool for tool in server.tools if tool.task_support in ("optional", "required")]
    require_some(found, skip="no tool supports tasks")
    allowed = [tool for tool in found if server.settings.may_call(tool)]
    return require_some(allowed, skip="no tool that supports tasks may be called")


# Running


def task_runs(server: Server) -> tuple[TaskRun, ...]:
    """Call some tools as tasks, each once; skip if no arguments are known for any.

    Raises `Blocked` for the first check that meets a request without an answer.
    """
    task_tools(server)
    runs = _task_runs(server)
    for run in runs:
        unfinished = run.unfinished if isinstance(run, AwaitedTask) else None
        _raise_unanswered(server, run.tool, [reply for reply in run.replies if reply is not unfinished])
    return require_some(runs, skip="no valid arguments are known for a tool that supports tasks")


@scenario
def _task_runs(server: Server) -> tuple[TaskRun, ...]:
    runs: list[TaskRun] = []
    for tool, arguments in _arguments(server, task_tools(server)):
        session = server.shared("tasks")
        runs.append(_finished(session, _create(session, tool, arguments, {"ttl": TTL})))
        if any(reply.fault is not None for reply in runs[-1].replies):
            break
    return tuple(runs)


def _arguments(server: Server, tools: list[Tool]) -> Iterator[tuple[Tool, dict[str, Any]]]:
    """Yield some tools with valid arguments, then the user's failing call if its tool is among them."""
    for tool in tools[:MAX_TASK_TOOLS]:
        with suppress(NoExample):
            yield tool, server.arguments.valid(tool)
    failing = server.settings.failing_call
    for tool in tools:
        if failing is not None and tool.name == failing.tool:
            yield tool, dict(failing.arguments)


def _create(session: Session, tool: Tool, arguments: dict[str, Any], task: dict[str, Any]) -> TaskRun:
    meta = {"progressToken": f"task-{len(session.lines)}"}
    params = {"name": tool.name, "arguments": arguments, "task": task, "_meta": meta}
    return TaskRun(tool, params, session.request("tools/call", params))


def _finished(session: Session, run: TaskRun) -> TaskRun:
    """Return the task with its result, for which it waits, and the state after it; each twice."""
    if not run.id:
        return run
    params = {"taskId": run.id}
    result, state = session.request("tasks/result", params), session.request("tasks/get", params)
    again, later = result, state
    if result.fault is None:
        again, later = session.request("tasks/result", params), session.request("tasks/get", params)
    return AwaitedTask(run.tool, run.params, run.created, result, state, again, later)


def _raise_unanswered(server: Server, tool: Tool, replies: Sequence[Reply]) -> None:
    """Raise `Blocked`, once, for the first request without an answer."""
    for reply in replies:
        if reply.fault is not None:
            reason = f"{reply.method} for a task of {tool.name} was not answered: {reply.fault}"
            rule = BROKEN_RULES.get(reply.method, "")
            blocked = Blocked(reason, reply.lines, reply.fault.stderr, rule, tool.name)
            server.reported.raise_once("tasks", blocked)


def created_tasks(server: Server) -> list[AwaitedTask]:
    """Return the runs that created a task; skip if there are none."""
    created = [run for run in task_runs(server) if isinstance(run, AwaitedTask)]
    return require_some(created, skip="no call was accepted as a task")


def ended_tasks(server: Server, *statuses: str) -> list[AwaitedTask]:
    """Return the tasks that ended with one of these statuses (any if none are named); skip without any."""
    wanted = statuses or ENDED
    found = [run for run in created_tasks(server) if run.status in wanted and run.result.fault is None]
    return require_some(found, skip=f"no task ended as {' or '.join(wanted)}")


def run_with_clients_id(server: Server) -> TaskRun:
    """Create a task with a request that names an id of the client's own."""
    run = _run_with_clients_id(server)
    _raise_unanswered(server, run.tool, run.replies)
    return run


@scenario
def _run_with_clients_id(server: Server) -> TaskRun:
    run = created_tasks(server)[0]
    task = {"taskId": CLIENTS_OWN_ID, "ttl": TTL}
    return _create(server.shared("tasks"), run.tool, run.params["arguments"], task)


@scenario
def listed_tasks(server: Server) -> Listing:
    """Fetch the list of tasks once, when there are some."""
    run_with_clients_id(server)
    return fetch_list(server.shared("tasks"), "tasks/list", "tasks")


# Requests that make no task


@scenario
def prompts_as_task(server: Server) -> tuple[Reply, ...]:
    """Fetch a prompt that came before as a task, which no server can declare; empty if none came."""
    fetched = [reply.request.message["params"] for reply in server.prompts() if reply.value is not None]
    session = server.shared(CALLS)
    return tuple(session.request("prompts/get", {**params, "task": {"ttl": TTL}}) for params in fetched[:1])


@scenario
def tools_as_task(server: Server) -> tuple[Reply, ...]:
    """Call a tool that gave a result as a task, whatever is declared; empty if none gave one."""
    calls = [call for call in server.quick_calls() if not call.failed]
    calls.sort(key=lambda call: call.tool.task_support != "optional")
    return tuple(call_as_task(server, call) for call in calls[:1])


def call_as_task(server: Server, call: Call) -> Reply:
    """Make a call again as a task."""
    params = {**call.params, "task": {"ttl": TTL}}
    return server.call_again(call, params)


@scenario
def list_with_forged_cursor(server: Server) -> Reply:
    """Request the list of tasks with a cursor that the server never sent."""
    listed_tasks(server)
    return server.shared("tasks").request("tasks/list", {"cursor": f"forged-{NO_SUCH_NAME}"})


@scenario
def unknown_task_requests(server: Server) -> tuple[Reply, ...]:
    """Send the requests about one task with an unknown id."""
    methods = ["tasks/get", "tasks/result", *(["tasks/cancel"] if server.declares("tasks", "cancel") else [])]
    session = server.shared("tasks")
    return tuple(session.request(method, {"taskId": NO_SUCH_NAME}) for method in methods)


# Cancelling


def cancelled_task(server: Server) -> CancelledTask:
    """Cancel a task; skip if that could not be exercised."""
    cancelled = require(_cancelled_task(server), skip="no further task was accepted")
    replies = [cancelled.run.created, cancelled.reply, cancelled.state, cancelled.later, cancelled.again]
    _raise_unanswered(server, cancelled.run.tool, replies)
    return cancelled


@scenario
def _cancelled_task(server: Server) -> CancelledTask | None:
    """Cancel the task with the most progress, else the slowest; its twin shows when it would have ended."""
    session = server.shared("tasks")
    run = max(
        ended_tasks(server, "completed", "failed"),
        key=lambda run: (len(progress_of(server, run)), run.result.seconds),
    )
    second = _create(session, run.tool, run.params["arguments"], {})
    if not second.id:
        return None
    params = {"taskId": second.id}
    reply, state = session.request("tasks/cancel", params), session.request("tasks/get", params)
    twin = _finished(session, _create(session, run.tool, run.params["arguments"], {}))
    later, again = session.request("tasks/get", params), session.request("tasks/cancel", params)
    return CancelledTask(second, reply, state, twin, later, again)


def late_cancellation(server: Server) -> Reply:
    """Cancel a task that has ended, then request its state; return the answer to the cancellation."""
    run = ended_tasks(server, "completed", "failed")[0]
    session = session_of(server, run.created)
    if session is None or session.closed:
        skip("the process with the task has ended")
    reply = _late_cancellation(server, session, run.id)
    _raise_unanswered(server, run.tool, [reply])
    return reply


@scenario
def _late_cancellation(server: Server, session: Session, id: str) -> Reply:  # noqa: ARG001
    reply = session.request("tasks/cancel", {"taskId": id})
    session.request("tasks/get", {"taskId": id})
    return reply


# Tasks that send requests to the client


def asking_task(server: Server) -> AskingTask:
    """Run a task that sends requests to the client; skip if no tool does."""
    asking = require(_asking_task(server), skip="no task sent a request to the client")
    _raise_unanswered(server, asking.run.tool, [asking.while_open, asking.after_result])
    return asking


@scenario
def _asking_task(server: Server) -> AskingTask | None:
    created_tasks(server)
    asked = {call.tool.name for call in run_with_client(server, FULL_CLIENT).calls if call.asked}
    likely = [tool for tool in task_tools(server) if tool.name in asked or tool.task_support == "required"]
    for tool in likely[:MAX_TASK_TOOLS]:
        with (
            suppress(NoExample),
            server.fresh("a task that asks", all_capabilities(server.revision), WAITING) as session,
        ):
            asking = _asking(session, tool, server.arguments.valid(tool))
            if asking is not None:
                return asking
    return None


def _asking(session: Session, tool: Tool, arguments: dict[str, Any]) -> AskingTask | None:
    run = _create(session, tool, arguments, {"ttl": TTL})
    if not run.id:
        return None
    methods, params = REQUESTS_OF_TASKS, {"taskId": run.id}
    result = session.send("tasks/result", params)
    session.wait_for(
        lambda: session.received.requests(*methods) or session.is_answered(result), session.timeout
    )
    open_requests = [one for one in session.received.requests(*methods) if not _is_refused(session, one)]
    if not open_requests:
        return None
    while_open = session.request("tasks/get", params)
    session.client = DECLINING
    for one in open_requests:
        answer = DECLINING[one.json["method"]](one.json.get("params"), session.revision)
        session.send_message({"jsonrpc": "2.0", "id": one.json["id"], **(answer or {})})
    session.await_reply(result)
    after_result = session.request("tasks/get", params)
    return AskingTask(run, session.received.requests(*methods), while_open, after_result)


def _is_refused(session: Session, request: Value) -> bool:
    """Return whether the client refused a request of the server as one that it does not support."""
    wanted = id_key(request.json["id"])
    answers = (line.message for line in session.lines if line.sent and kind(line.message) is Kind.ERROR)
    return any(id_key(answer["id"]) == wanted for answer in answers)


# The record of all of them


def task_sessions(server: Server) -> tuple[Session, ...]:
    """Exercise everything about tasks, and return the sessions with tasks in them."""
    created_tasks(server)
    exercises: list[Callable[[Server], Any]] = [run_with_clients_id, asking_task]
    if server.declares("tasks", "list"):
        exercises.append(listed_tasks)
    if server.declares("tasks", "cancel"):
        exercises += [cancelled_task, late_cancellation]
    for exercise in exercises:
        with suppress(Skipped):
            exercise(server)
    return _task_sessions(server)


@scenario
def _task_sessions(server: Server) -> tuple[Session, ...]:
    return tuple(session for session in server.sessions if has_tasks(session))


def task_snapshots(server: Server) -> list[TaskSnapshot]:
    """Return every snapshot of a task in any session."""
    return [one for session in task_sessions(server) for one in snapshots_in(session.lines)]


def session_of(server: Server, reply: Reply) -> Session | None:
    """Return the session of a request; no other process knows the tasks that it created."""
    found = (session for session in server.sessions if any(line is reply.request for line in session.lines))
    return next(found, None)


def progress_of(server: Server, run: TaskRun) -> list[Progress]:
    """Return the progress notifications of a task."""
    session, token = session_of(server, run.created), id_key(token_of(run.created.request.message))
    return [one for one in progress_in(session.lines if session is not None else []) if one.token == token]


def logs_of(server: Server, run: AwaitedTask) -> list[Value]:
    """Return the log messages of a task that a plain call of its tool writes too."""
    if run.tool.task_support == "required":
        return []
    call = server.call(run.tool)
    plain = [log.get("params", "data") for log in _logs_between(server, call.reply, call.reply)]
    known = [data.json for data in plain if data is not None]
    found = _logs_between(server, run.created, run.result)
    return [log for log in found if getattr(log.get("params", "data"), "json", ABSENT) in known]


def _logs_between(server: Server, first: Reply, last: Reply) -> list[Value]:
    """Return the log messages between the request of one reply and the line of another, if both are kept."""
    session = session_of(server, first)
    if session is None or last.line is None or last.line not in session.lines:
        return []
    between = session.lines[session.lines.index(first.request) : session.lines.index(last.line)]
    found = (Value(message, "", (line,)) for line in between if not line.sent for message in line.parts())
    return [one for one in found if getattr(one.get("method"), "json", "") == "notifications/message"]
