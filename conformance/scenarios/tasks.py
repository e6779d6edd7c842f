"""Tool calls that are made as tasks (2025-11-25), each watched from its creation to its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from conformance.client.handlers import DECLINING, WAITING
from conformance.client.listing import Listing, fetch_list
from conformance.client.reply import Reply, Silence
from conformance.client.session import Session
from conformance.client.tool_call import Tool
from conformance.expect import require_some, skip
from conformance.generation import NoExample
from conformance.protocol.jsonrpc import ABSENT, Kind, Line, id_key, kind
from conformance.protocol.methods import FEATURES
from conformance.protocol.progress import Progress, progress_in, token_of
from conformance.protocol.value import Value
from conformance.scenarios.client_features import FULL_CLIENT, all_capabilities, run_with_client
from conformance.target.server import Server
from conformance.verdicts import Blocked, Skipped

RELATED = "io.modelcontextprotocol/related-task"
STATUS = "notifications/tasks/status"
ENDED = ("completed", "failed", "cancelled")
STATUSES = ("working", "input_required", *ENDED)
OWN_ID = "conformance-8f14e45fceea167a"
"""A task id that a client wants and cannot have."""
TTL = 60_000
MOST_TOOLS = 5
RULES = {"tools/call": "tasks.create-result", "tasks/result": "tasks.result-terminal"}
"""The rule that is broken when a request is not answered."""
ASKING = tuple(method for method in FEATURES if method != "roots/list")
"""What a server asks of a client only while a tool of its runs."""


@dataclass(frozen=True)
class Seen:
    """A task as the server showed it.

    ``method`` is that of the request which it answers, or of the notification.  ``asked`` and ``told`` are
    the places of the two lines in the conversation; a notification is asked for by nothing (-1).
    """

    method: str
    task: Value
    asked: int
    told: int

    @property
    def id(self) -> str:
        """The id of the task; empty if it has none that is a string."""
        return task_id(self.task)

    @property
    def status(self) -> Any:
        """The status of the task, `ABSENT` if it has none."""
        return status_of(self.task)


@dataclass(frozen=True)
class History:
    """All that was shown of one task in a conversation, from the ``request`` that made it on."""

    request: Any
    created: Seen
    shown: list[Seen]

    @property
    def end(self) -> float:
        """The place of the first line that shows the task ended."""
        return min((one.told for one in self.shown if one.status in ENDED), default=float("inf"))


@dataclass(frozen=True)
class Run:
    """A tool that was called as a task: each reply in the order of the requests.

    ``result`` was asked for before the task had ended, ``state`` after it was there; ``again`` and ``later``
    are both once more.  They are None where they could not be asked for.
    """

    tool: Tool
    params: dict[str, Any]
    created: Reply
    result: Reply | None = None
    state: Reply | None = None
    again: Reply | None = None
    later: Reply | None = None

    @property
    def task(self) -> Value | None:
        """The task that was created, None if there was none."""
        return self.created.value.get("task") if self.created.value is not None else None

    @property
    def id(self) -> str:
        """The id of the task; empty if there is none."""
        return task_id(self.task)

    @property
    def status(self) -> Any:
        """The status that the task had when its result was there."""
        return status_of(self.state.value) if self.state is not None else ABSENT

    @property
    def lasts(self) -> bool:
        """Whether the task takes longer than this tool waits."""
        silent = self.result is not None and isinstance(self.result.fault, Silence)
        return silent and self.status in ("working", "input_required")

    @property
    def replies(self) -> list[Reply]:
        """All that was asked for."""
        return [one for one in (self.created, self.result, self.state, self.again, self.later) if one]


@dataclass(frozen=True)
class Cancelled:
    """A task that was cancelled as soon as it was there, and a twin of it that was left to end.

    ``state`` was asked for at once, ``later`` when the twin had ended, ``again`` is a second cancellation.
    """

    run: Run
    reply: Reply
    state: Reply
    twin: Run
    later: Reply
    again: Reply

    @property
    def is_cancelled(self) -> bool:
        """Whether the task was seen to be cancelled; it may also have been quicker."""
        return bool(status_of(self.reply.value) == "cancelled")


@dataclass(frozen=True)
class Asking:
    """A task that asked the client: its state while that was open, and when its result was there."""

    run: Run
    asked: list[Value]
    open: Reply
    closed: Reply


def task_id(task: Value | None) -> str:
    """The id of a task; empty if it has none that is a string."""
    id = task.get("taskId") if task is not None else None
    return id.json if id is not None and id.is_a(str) else ""


def status_of(task: Value | None) -> Any:
    """The status of a task, `ABSENT` if it has none."""
    status = task.get("status") if task is not None else None
    return ABSENT if status is None else status.json


def support(tool: Tool) -> Any:
    """How a tool takes tasks; forbidden if it does not say."""
    said = tool.definition.get("execution", "taskSupport")
    return "forbidden" if said is None else said.json


def takes_tasks(server: Server) -> bool:
    """Whether the server declares that tools may be called as tasks."""
    return server.declares("tasks", "requests", "tools", "call")


def capable(server: Server) -> list[Tool]:
    """The tools that may be called, and that say they may be called as tasks; skips the check without any."""
    if not takes_tasks(server):
        skip("tasks.requests.tools.call is not declared")
    found = require_some(
        [tool for tool in server.tools if support(tool) in ("optional", "required")],
        skip="no tool takes tasks",
    )
    return require_some(
        [tool for tool in found if server.settings.may_call(tool)],
        skip="no tool that takes tasks may be called",
    )


# Running


def runs(server: Server) -> list[Run]:
    """Some tools called as tasks, once each; skips the check if none was accepted.

    Raises `Blocked` for the check that first meets a request without an answer.
    """
    tools = capable(server)
    made: list[Run] = server.once("task runs", lambda: list(_runs(server, tools)))
    for run in made:
        _charge(
            server, run.tool, [reply for reply in run.replies if reply is not run.result or not run.lasts]
        )
    return require_some(made, skip="no valid arguments are known for a tool that takes tasks")


def _charge(server: Server, tool: Tool, replies: list[Reply]) -> None:
    """Raise `Blocked` for the first request without an answer."""
    for reply in replies:
        if reply.fault is not None:
            reason = f"{reply.method} for a task of {tool.name} was not answered: {reply.fault}"
            rule = RULES.get(reply.method, "")
            server.raise_once("tasks", Blocked(reason, reply.lines, reply.fault.stderr, rule, tool.name))


def accepted(server: Server) -> list[Run]:
    """The calls that were accepted as tasks."""
    refused = "no call was accepted as a task"
    return require_some([run for run in runs(server) if run.id], skip=refused)


def ended(server: Server, *statuses: str) -> list[Run]:
    """The tasks that came to an end."""
    wanted = statuses or ENDED
    found = [run for run in accepted(server) if run.status in wanted and run.again is not None]
    return require_some(found, skip=f"no task was seen to end as {' or '.join(wanted)}")


def _runs(server: Server, tools: list[Tool]) -> Iterator[Run]:
    for tool, arguments in _arguments(server, tools):
        run = _run(server.shared("tasks"), tool, arguments)
        yield run
        if any(reply.fault is not None for reply in run.replies):
            return


def _arguments(server: Server, tools: list[Tool]) -> Iterator[tuple[Tool, dict[str, Any]]]:
    """Some tools with valid arguments, and the one that the user knows to fail with those that make it."""
    for tool in tools[:MOST_TOOLS]:
        with suppress(NoExample):
            yield tool, server.arguments(tool)
    failing = server.settings.failing_call
    for tool in tools:
        if failing is not None and tool.name == failing.tool:
            yield tool, dict(failing.arguments)


def _run(session: Session, tool: Tool, arguments: dict[str, Any]) -> Run:
    created = _create(session, tool, arguments, {"ttl": TTL})
    return _finished(session, created)


def _create(session: Session, tool: Tool, arguments: dict[str, Any], task: dict[str, Any]) -> Run:
    meta = {"progressToken": f"task-{len(session.lines)}"}
    params = {"name": tool.name, "arguments": arguments, "task": task, "_meta": meta}
    return Run(tool, params, session.request("tools/call", params))


def _finished(session: Session, run: Run) -> Run:
    """The same task with its result, which is waited for, and its state after that; each of them twice."""
    if not run.id:
        return run
    name = {"taskId": run.id}
    result, state = session.request("tasks/result", name), session.request("tasks/get", name)
    if result.fault is not None:
        return replace(run, result=result, state=state)
    again, later = session.request("tasks/result", name), session.request("tasks/get", name)
    return replace(run, result=result, state=state, again=again, later=later)


def chosen(server: Server) -> Run:
    """A task whose client wanted another id for it than the server's."""
    made: Run = server.once("chosen task", lambda: _chosen(server))
    _charge(server, made.tool, made.replies)
    return made


def _chosen(server: Server) -> Run:
    run = accepted(server)[0]
    task = {"taskId": OWN_ID, "ttl": TTL}
    return _create(server.shared("tasks"), run.tool, run.params["arguments"], task)


def listed(server: Server) -> Listing:
    """The list of tasks, fetched once when there are some; skips the check if it is not declared."""
    if not server.declares("tasks", "list"):
        skip("tasks.list is not declared")
    walk: Listing = server.once("list of tasks", lambda: _listed(server))
    return walk


def _listed(server: Server) -> Listing:
    chosen(server)
    return fetch_list(server.shared("tasks"), "tasks/list", "tasks")


# Cancelling


def cancelled(server: Server) -> Cancelled:
    """A task that was cancelled; skips the check if that could not be exercised."""
    if not server.declares("tasks", "cancel"):
        skip("tasks.cancel is not declared")
    made: Cancelled | None = server.once("cancelled task", lambda: _cancelled(server))
    if made is None:
        skip("no further task was accepted")
    _charge(server, made.run.tool, [made.run.created, made.reply, made.state, made.later, made.again])
    return made


def cancelled_late(server: Server) -> Reply:
    """The answer to the cancellation of a task that has ended, whose state is asked for once more."""
    if not server.declares("tasks", "cancel"):
        skip("tasks.cancel is not declared")
    run = ended(server, "completed", "failed")[0]
    session = held_in(server, run.created)
    if session is None or session.closed:
        skip("the process with the task has ended")
    reply: Reply = server.once("cancelled late", lambda: _cancelled_late(session, run))
    _charge(server, run.tool, [reply])
    return reply


def _cancelled_late(session: Session, run: Run) -> Reply:
    reply = session.request("tasks/cancel", {"taskId": run.id})
    session.request("tasks/get", {"taskId": run.id})
    return reply


def _cancelled(server: Server) -> Cancelled | None:
    """Cancel a task that tells its progress, or takes long; its twin tells when it would have ended."""
    session = server.shared("tasks")
    run = max(
        ended(server, "completed", "failed"),
        key=lambda run: (len(progress_of(server, run)), run.result.seconds if run.result else 0.0),
    )
    short = _create(session, run.tool, run.params["arguments"], {})
    if not short.id:
        return None
    name = {"taskId": short.id}
    reply, state = session.request("tasks/cancel", name), session.request("tasks/get", name)
    twin = _finished(session, _create(session, run.tool, run.params["arguments"], {}))
    later, again = session.request("tasks/get", name), session.request("tasks/cancel", name)
    return Cancelled(short, reply, state, twin, later, again)


def progress_of(server: Server, run: Run) -> list[Progress]:
    """The progress that was told of a task."""
    session, token = held_in(server, run.created), id_key(token_of(run.created.request.message))
    return [one for one in progress_in(session.lines if session is not None else []) if one.token == token]


def held_in(server: Server, reply: Reply) -> Session | None:
    """The conversation in which something was asked; no other process knows of the tasks that it made."""
    held = (session for session in server.sessions if any(line is reply.request for line in session.lines))
    return next(held, None)


# Asking


def asking(server: Server) -> Asking:
    """A task that asked the client for something; skips the check if no tool does."""
    made: Asking | None = server.once("asking task", lambda: _asking(server))
    if made is None:
        skip("no task asked the client for something")
    _charge(server, made.run.tool, [made.open, made.closed])
    return made


def _asking(server: Server) -> Asking | None:
    tools = [tool for tool in capable(server) if accepted(server)]
    asked = {call.tool.name for call in run_with_client(server, FULL_CLIENT).calls if call.asked}
    likely = [tool for tool in tools if tool.name in asked or support(tool) == "required"]
    for tool in likely[:MOST_TOOLS]:
        with suppress(NoExample), server.fresh(all_capabilities(server.revision), WAITING) as session:
            made = _asked(session, tool, server.arguments(tool))
            if made is not None:
                return made
    return None


def _asked(session: Session, tool: Tool, arguments: dict[str, Any]) -> Asking | None:
    run = _create(session, tool, arguments, {"ttl": TTL})
    if not run.id:
        return None
    name = {"taskId": run.id}
    result = session.send("tasks/result", name)
    session.wait_for(lambda: session.server_requests(*ASKING) or session.is_answered(result), session.timeout)
    asked = [one for one in session.server_requests(*ASKING) if not _is_refused(session, one)]
    if not asked:
        return None
    open = session.request("tasks/get", name)
    session.client = DECLINING
    for one in asked:
        answer = DECLINING[one.json["method"]](one.json.get("params"), session.revision)
        session.send_message({"jsonrpc": "2.0", "id": one.json["id"], **(answer or {})})
    reply = session.await_reply(result)
    closed = session.request("tasks/get", name)
    run = replace(run, result=reply, state=closed)
    return Asking(run, session.server_requests(*ASKING), open, closed)


def _is_refused(session: Session, asked: Value) -> bool:
    """Whether the client has refused a request of the server's, which it could not take."""
    wanted = id_key(asked.json["id"])
    answers = (line.message for line in session.lines if line.sent and kind(line.message) is Kind.ERROR)
    return any(id_key(answer["id"]) == wanted for answer in answers)


# What was seen


def conversations(server: Server) -> list[Session]:
    """Every conversation with tasks in it, once all that can be done with tasks is done."""
    accepted(server)
    for look in (chosen, listed, cancelled, cancelled_late, asking):
        with suppress(Skipped):
            look(server)
    found: list[Session] = server.once("task conversations", lambda: _with_tasks(server.sessions))
    return found


def _with_tasks(sessions: list[Session]) -> list[Session]:
    return [session for session in sessions if any(_requests(session.lines))]


def seen(server: Server) -> list[Seen]:
    """Every task that the server showed, in every conversation; skips the check if there is none."""
    return [one for session in conversations(server) for one in seen_in(session.lines)]


def histories(session: Session) -> list[History]:
    """The tasks that were made in a conversation; an id that comes again is another task's from then on."""
    shown = list(seen_in(session.lines))
    created = [one for one in shown if one.method == "tools/call"]
    return [History(session.lines[one.asked].message, one, _shown_of(one, created, shown)) for one in created]


def _shown_of(task: Seen, created: list[Seen], shown: list[Seen]) -> list[Seen]:
    next_ones = (other.asked for other in created if other.id == task.id and other.asked > task.asked)
    end = min(next_ones, default=float("inf"))
    return [one for one in shown if one.id == task.id and task.asked < one.told < end]


def signs_of_an_end(session: Session) -> Iterator[tuple[Seen, int, Value]]:
    """For each task, the places where its work is told to be done other than by an answer, and by what."""
    for task in histories(session):
        for one in task.shown:
            if one.method == STATUS and one.status in ENDED:
                yield task.created, one.told, one.task
        for progress in progress_in(session.lines):
            told = progress.notification
            done, total = (told.get("params", name) for name in ("progress", "total"))
            if progress.request is task.request and done and total and done.json == total.json:
                yield task.created, session.lines.index(told.lines[0]), told


def logs(server: Server, run: Run) -> list[Value]:
    """The log messages of a task that a plain call of its tool writes too."""
    if support(run.tool) == "required":
        return []
    call = server.call(run.tool)
    plain = [log.get("params", "data") for log in _logged(server, call.reply, call.reply)]
    known = [data.json for data in plain if data is not None]
    found = _logged(server, run.created, run.result or run.created)
    return [log for log in found if getattr(log.get("params", "data"), "json", ABSENT) in known]


def _logged(server: Server, first: Reply, last: Reply) -> list[Value]:
    """The log messages between a request and an answer."""
    session = held_in(server, first)
    if session is None or last.line is None:
        return []
    between = session.lines[session.lines.index(first.request) : session.lines.index(last.line)]
    found = (Value(message, "", (line,)) for line in between if not line.sent for message in line.parts())
    return [one for one in found if getattr(one.get("method"), "json", "") == "notifications/message"]


def seen_in(lines: list[Line]) -> Iterator[Seen]:
    """Every task that was shown in a conversation, in order."""
    asked: dict[tuple[str, str], tuple[int, str]] = {}
    for told, line in enumerate(lines):
        if line.sent:
            asked |= {key: (told, method) for key, method in _requests([line])}
            continue
        for message in line.parts():
            if kind(message) is Kind.RESULT:
                at, method = asked.pop(id_key(message.get("id", ABSENT)), (-1, ""))
                result = Value(message["result"], "result", (lines[at], line))
                for task in _tasks_in(method, result):
                    yield Seen(method, task, at, told)
            elif kind(message) is Kind.NOTIFICATION and message["method"] == STATUS:
                task = Value(message.get("params", {}), "params", (line,))
                yield from [Seen(STATUS, task, -1, told)] if task.is_a(dict) else []


def _requests(lines: list[Line]) -> Iterator[tuple[tuple[str, str], str]]:
    for line in lines:
        if line.sent and kind(line.message) is Kind.REQUEST:
            method = line.message["method"]
            is_task = Value(line.message).get("params", "task") is not None and method == "tools/call"
            if is_task or method in ("tasks/get", "tasks/cancel", "tasks/list"):
                yield id_key(line.message["id"]), method


def _tasks_in(method: str, result: Value) -> list[Value]:
    """The tasks that the answer to a request shows."""
    if method == "tasks/list":
        found = result.get("tasks")
        return [task for task in found.each() if task.is_a(dict)] if found is not None else []
    task = result.get("task") if method == "tools/call" else result
    return [task] if method and task is not None and task.is_a(dict) else []
