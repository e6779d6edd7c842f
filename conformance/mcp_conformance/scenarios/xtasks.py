"""Calls that a server answers with a task (extension io.modelcontextprotocol/tasks of 2026-07-28).

Which calls become tasks is the server's decision, so the calls that checks made before are made again with
the extension, those of tools that only read first.  Each task is followed to its end, or else cancelled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_conformance.client.input_required import MAX_ROUNDS, input_responses, replies_in, retry_params
from mcp_conformance.client.refusals import NO_SUCH_NAME
from mcp_conformance.client.reply import Reply, results_of
from mcp_conformance.client.session import Session
from mcp_conformance.client.subscriptions import LISTEN, Listen
from mcp_conformance.client.tool_call import Call
from mcp_conformance.expect import require, require_some, skip
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, Line, kind, show
from mcp_conformance.protocol.methods import CANCELLED
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.client_features import FULL_CLIENT, answers_for
from mcp_conformance.scenarios.task_snapshots import ENDED, status_of, task_id
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Blocked

EXTENSION = "io.modelcontextprotocol/tasks"
STATUS = "notifications/tasks"
METHODS = ("tasks/get", "tasks/update", "tasks/cancel")
NO_SUCH_TASK = -32602
# Not measured: each takes a call that was made before; most servers with tasks have one in some tools.
MAX_TRIED = 40
"""How many calls are made with the extension to find some that become tasks."""
MAX_SLOW = 2
"""How many of them may be of slow tools: one that does not become a task is waited for once more."""
MAX_TASKS = 6
"""How many tools have their task followed: further ones of one server teach little."""
# Not measured: a server that says nothing is asked twice a second, one that wants more time gets so much.
POLL_SECONDS, MAX_POLL_SECONDS = 0.5, 5.0
UNASKED = {NO_SUCH_NAME: {"action": "decline"}}
"""A response under a key that no server gives out."""


@dataclass(frozen=True)
class TaskRun:
    """A call that became a task, and what was seen of it.

    ``rounds`` are the replies to the call, of which the last creates the task; ``looks`` those of
    ``tasks/get``, the first of them at once; ``updates`` those of ``tasks/update`` with valid responses.
    ``late`` is one more look after the end, None without an end.
    """

    call: Call
    rounds: tuple[Reply, ...]
    looks: tuple[Reply, ...]
    updates: tuple[Reply, ...]
    late: Reply | None

    @property
    def created(self) -> Reply:
        """The reply that creates the task."""
        return self.rounds[-1]

    @property
    def task(self) -> Value:
        """The task as it was created."""
        return Value(self.created.result, "result", self.created.lines)

    @property
    def id(self) -> str:
        """The id of the task."""
        return task_id(self.task)

    @property
    def shown(self) -> list[Value]:
        """The task as ``tasks/get`` has shown it until its end."""
        return results_of(self.looks)

    @property
    def status(self) -> Any:
        """The last status, `ABSENT` if there is none."""
        return status_of(self.looks[-1].value)

    @property
    def replies(self) -> tuple[Reply, ...]:
        """All replies."""
        return (*self.rounds, *self.looks, *self.updates, *([self.late] if self.late else []))


@dataclass(frozen=True)
class Answers:
    """The answers to the requests about one task, by their method."""

    before: Reply
    get: Reply
    update: Reply
    cancel: Reply

    @property
    def all(self) -> tuple[Reply, ...]:
        """The answers to the three methods."""
        return self.get, self.update, self.cancel


@dataclass(frozen=True)
class CancelledTask:
    """A task that was cancelled after the look ``before``; ``again`` answers a second cancellation.

    ``undeclared`` are the answers to the three methods without the extension, before.
    """

    run: TaskRun
    undeclared: Answers
    unknown_key: Reply
    before: Reply
    reply: Reply
    again: Reply | None


@dataclass(frozen=True)
class WatchedTask:
    """A task under a subscription; ``undeclared`` is the answer to one without the extension."""

    run: TaskRun
    listen: Listen
    undeclared: Listen

    @property
    def is_agreed(self) -> bool:
        """Whether the server has agreed to announce the status of the task."""
        agreed = self.listen.agreed.get("taskIds")
        return isinstance(agreed, list) and self.run.id in agreed


# Requests with the extension


def declared(session: Session) -> dict[str, Any]:
    """Return the member of ``_meta`` that declares the extension beside the client's features."""
    capabilities = {**session.capabilities, "extensions": {EXTENSION: {}}}
    return {revisions.CLIENT_CAPABILITIES: capabilities}


def ask(session: Session, method: str, params: dict[str, Any], *, declares: bool = True) -> Reply:
    """Send a request that declares the extension, or does not, and return the reply."""
    return session.request(method, {**params, "_meta": declared(session) if declares else {}})


def extension_session(server: Server) -> Session:
    """Return the session of the requests about tasks: that of a client with every feature."""
    capabilities = FULL_CLIENT.declares(server.revision)
    return server.shared("full client", capabilities, answers_for(server, FULL_CLIENT))


def result_type(reply: Reply) -> Any:
    """Return the type of a result, `ABSENT` if there is none."""
    return reply.result.get("resultType", ABSENT) if isinstance(reply.result, dict) else ABSENT


def is_task(reply: Reply) -> bool:
    """Return whether a result creates a task, whatever it says of itself."""
    value = reply.value
    if value is None or not value.is_a(dict) or "content" in value.json:
        return False
    return bool(task_id(value)) and status_of(value) is not ABSENT


# Finding calls that become tasks


def task_runs(server: Server) -> tuple[TaskRun, ...]:
    """Return the tasks of some tools, each followed to its end; skip if no call becomes one.

    Raises `Blocked` for the first check that meets a request without an answer.
    """
    if not server.declares("tools"):
        skip("the server has no tools, whose calls alone may become tasks")
    runs, tried = _task_runs(server)
    for run in runs:
        raise_unanswered(server, *run.replies)
    return require_some(runs, skip=f"none of {tried} permitted calls became a task with the extension")


@scenario
def _task_runs(server: Server) -> tuple[tuple[TaskRun, ...], int]:
    made: list[Following] = []
    tried = 0
    for calls in _candidates(server):
        for call in calls[: MAX_TRIED - tried]:
            if len(made) < MAX_TASKS and not extension_session(server).closed:
                tried += 1
                rounds = create(server, call)
                made += [Following(server, call, rounds)] if is_task(rounds[-1]) else []
        if made:
            break
    runs = followed(made)
    for run in runs:
        _count(server, run)
    return runs, tried


def _count(server: Server, run: TaskRun) -> None:
    """Count the result of a task that completed as an outcome of its tool."""
    if run.status == "completed":
        outcome = {"result": run.shown[-1].json.get("result")}
        reply = Reply(run.created.request, run.looks[-1].line, outcome)
        server.tool_calls.exercise.count(run.call.tool, reply)


def _candidates(server: Server) -> Iterator[list[Call]]:
    """Yield the calls to try: those of tools that only read, or need the extension, then the others."""
    calls = {call.tool.name: call for call in server.calls()}
    calls = {call.tool.name: call for call in server.tool_calls.wanting_input()} | calls
    failing = _failing_call(server)
    found = sorted([*calls.values(), *([failing] if failing else [])], key=_rank)
    slow = [call for call in found if call.is_slow][MAX_SLOW:]
    found = [call for call in found if call not in slow]
    yield [call for call in found if call.tool.read_only or needs_extension(call.reply)]
    yield [call for call in found if not (call.tool.read_only or needs_extension(call.reply))]


def _failing_call(server: Server) -> Call | None:
    """Return the call that fails by the user's word, as if it had been made."""
    sample = server.settings.failing_call
    tool = server.tool(sample.tool) if sample is not None else None
    if sample is None or tool is None or not server.settings.may_call(tool):
        return None
    session = extension_session(server)
    params = {"name": tool.name, "arguments": dict(sample.arguments)}
    return Call(tool, dict(sample.arguments), session.request("tools/call", params))


def _rank(call: Call) -> int:
    """Return the place of a call: first those that need the extension, then those that ask or fail."""
    if needs_extension(call.reply):
        return 0
    return 1 if call.asked or call.failed or call.reply.needs_input else 2


def needs_extension(reply: Reply) -> bool:
    """Return whether a request was refused because it did not declare the extension."""
    return reply.code == revisions.LACKS_CAPABILITY and named_extension(reply)


def named_extension(reply: Reply) -> bool:
    """Return whether an error names the extension as a required one."""
    named = reply.error_value.get("data", "requiredCapabilities", "extensions", EXTENSION)
    return named is not None and named.is_a(dict)


def raise_unanswered(server: Server, *replies: Reply | None) -> None:
    """Raise `Blocked`, once, for the first request without an answer."""
    for reply in replies:
        if reply is not None and reply.fault is not None:
            reason = f"{reply.method} was not answered to a client with the extension: {reply.fault}"
            blocked = Blocked(reason, reply.lines, reply.fault.stderr, fault=reply.fault)
            server.reported.raise_once("xtasks", blocked)


# Following a task


def create(server: Server, call: Call, meta: dict[str, Any] | None = None) -> tuple[Reply, ...]:
    """Make a call with the extension, and the rounds that it needs; return the replies."""
    session = extension_session(server)
    params = {**call.params, "_meta": {**declared(session), **(meta or {})}}
    replies = [session.request("tools/call", params)]
    while replies[-1].needs_input and len(replies) < MAX_ROUNDS:
        responses = input_responses(session, replies[-1])
        if responses is None:
            break
        replies.append(session.request("tools/call", retry_params(replies[-1], responses or ABSENT)))
    return tuple(replies)


class Following:
    """A task that is looked at, at once and when it is ``due``, until it has ended or takes too long.

    The client answers each of its requests once; after that it may take as long as an answer of its tool
    again.  The times are those of the session's clock.
    """

    def __init__(self, server: Server, call: Call, rounds: tuple[Reply, ...]):
        self.call, self.rounds = call, rounds
        self.looks = list[Reply]()
        self.updates = list[Reply]()
        self._session = extension_session(server)
        self._params = {"taskId": task_id(rounds[-1].value)}
        self._answered = set[str]()
        self._seconds = server.settings.timeout_of(call.tool.name)
        self._until = self._session.clock.monotonic() + self._seconds
        self.due = 0.0
        self.look()

    @property
    def is_over(self) -> bool:
        """Whether nothing more is seen of the task: it has ended, cannot be had, or takes too long."""
        is_running = status_of(self.looks[-1].value) in ("working", "input_required")
        takes_too_long = self.due > self._until or len(self.updates) > MAX_ROUNDS
        return not is_running or takes_too_long or self._session.closed

    def look(self) -> None:
        """Look at the task, and answer what it asks."""
        session = self._session
        self.looks.append(ask(session, "tasks/get", self._params))
        task = self.looks[-1].value
        if task is None:
            return
        responses = responses_to(session, task)
        responses = {key: one for key, one in responses.items() if key not in self._answered}
        if responses and status_of(task) == "input_required":
            self._answered |= set(responses)
            self.updates.append(ask(session, "tasks/update", {**self._params, "inputResponses": responses}))
            self._until = session.clock.monotonic() + self._seconds
        self.due = session.clock.monotonic() + pause_of(task)

    def wait(self) -> None:
        """Wait until the task is due, and look at it."""
        left = self.due - self._session.clock.monotonic()
        self._session.wait_for(lambda: self._session.closed, max(0.0, left))
        self.look()

    def end(self) -> TaskRun:
        """Cancel a task that has not ended, look once more at one that has; return what was seen."""
        has_ended = status_of(self.looks[-1].value) in ENDED
        method = "tasks/get" if has_ended else "tasks/cancel"
        last = ask(self._session, method, self._params)
        late = last if has_ended else None
        return TaskRun(self.call, self.rounds, tuple(self.looks), tuple(self.updates), late)


def followed(tasks: Sequence[Following]) -> tuple[TaskRun, ...]:
    """Follow tasks, all at the same time, and return what was seen of each."""
    while running := [one for one in tasks if not one.is_over]:
        min(running, key=lambda one: one.due).wait()
    return tuple(one.end() for one in tasks)


def responses_to(session: Session, look: Value) -> dict[str, Any]:
    """Return the client's responses to the input requests of a task, by their keys."""
    requests = look.get("inputRequests")
    responses = {}
    for key, request in requests.json.items() if requests is not None and requests.is_a(dict) else ():
        asked = request if isinstance(request, dict) else {}
        answer = session.answer_to(asked.get("method"), asked.get("params"))
        if answer is not None and "result" in answer:
            responses[key] = answer["result"]
    return responses


def pause_of(task: Value) -> float:
    """Return the seconds to wait before the next look at a task."""
    interval = task.get("pollIntervalMs")
    given = interval.json if interval is not None and interval.is_a(int, float) else None
    seconds = POLL_SECONDS if given is None or isinstance(given, bool) else max(0.0, given / 1000)
    return min(seconds, MAX_POLL_SECONDS)


def longest(server: Server) -> TaskRun:
    """Return the task that was at work for the longest time, as its tool will be again."""
    return max(task_runs(server), key=_seconds_at_work)


def _seconds_at_work(run: TaskRun) -> tuple[float, float]:
    """Return how long a task was seen at work, then how long it took until its end was seen."""
    before_end = [look for look in run.looks if status_of(look.value) not in ENDED]
    begun = run.created.request.at
    return (before_end[-1].request.at - begun if before_end else 0.0), run.looks[-1].request.at - begun


# Requests about tasks


@scenario
def unknown_task_requests(server: Server) -> Answers:
    """Send the three requests with an id that no task has."""
    session = extension_session(server)
    return _requests(session, NO_SUCH_NAME, declares=True, before=session.drain())


def _requests(session: Session, id: str, *, declares: bool, before: Reply) -> Answers:
    params: dict[str, dict[str, Any]] = {method: {"taskId": id} for method in METHODS}
    params["tasks/update"]["inputResponses"] = {}
    get, update, cancel = (ask(session, method, params[method], declares=declares) for method in METHODS)
    return Answers(before, get, update, cancel)


@scenario
def undeclared_unknown_requests(server: Server) -> Answers:
    """Send the three requests with an unknown id and without the extension."""
    session = extension_session(server)
    return _requests(session, NO_SUCH_NAME, declares=False, before=session.drain())


def cancelled_task(server: Server) -> CancelledTask:
    """Cancel a task that runs; skip if no further call becomes a task."""
    found = require(_cancelled_task(server), skip="no further call became a task")
    raise_unanswered(server, *found.undeclared.all, found.unknown_key, found.before, found.reply, found.again)
    return found


@scenario
def _cancelled_task(server: Server) -> CancelledTask | None:
    """Create the task that takes longest again, send it what it ignores or refuses, and cancel it."""
    call, session = longest(server).call, extension_session(server)
    rounds = create(server, call)
    if not is_task(rounds[-1]):
        return None
    id = task_id(rounds[-1].value)
    params = {"taskId": id}
    undeclared = _requests(session, id, declares=False, before=rounds[-1])
    unknown_key = ask(session, "tasks/update", {**params, "inputResponses": UNASKED})
    before = ask(session, "tasks/get", params)
    reply = ask(session, "tasks/cancel", params)
    (run,) = followed([Following(server, call, rounds)])
    again = ask(session, "tasks/cancel", params) if run.status in ENDED else None
    late = ask(session, "tasks/get", params) if run.status in ENDED else run.late
    return CancelledTask(replace(run, late=late), undeclared, unknown_key, before, reply, again)


# Calls without the extension


@scenario
def undeclared_calls(server: Server) -> tuple[tuple[TaskRun, Reply], ...]:
    """Make the calls that became tasks again without the extension; those of slow tools were made before."""
    session = extension_session(server)
    return tuple(
        (run, run.call.reply if run.call.is_slow else session.request("tools/call", run.call.params))
        for run in task_runs(server)
    )


@scenario
def calls_with_task_param(server: Server) -> tuple[tuple[Reply, Reply], ...]:
    """Make a call that succeeded with the extension, and with the member ``task`` of 2025-11-25 too."""
    session = extension_session(server)
    calls = [call for call in server.quick_calls() if not call.failed]
    pairs = []
    for call in sorted(calls, key=lambda call: not call.tool.read_only)[:1]:
        params = {**call.params, "_meta": declared(session)}
        without = session.request("tools/call", params)
        pairs.append((without, session.request("tools/call", {**params, "task": {"ttl": 60_000}})))
        _end(session, *pairs[-1])
    return tuple(pairs)


def _end(session: Session, *replies: Reply) -> None:
    """Cancel the tasks that some replies have created."""
    for reply in filter(is_task, replies):
        ask(session, "tasks/cancel", {"taskId": task_id(reply.value)})


# Subscriptions


def watched_task(server: Server) -> WatchedTask:
    """Subscribe to a task that runs; skip if no further call becomes a task, or nobody can subscribe."""
    found = require(_watched_task(server), skip="no further call became a task")
    raise_unanswered(server, *found.run.replies)
    if found.listen.acknowledgment is None:
        codes = [one.json for one in members(found.listen.answers, "error", "code")]
        got = f"error {show(codes[0])}" if codes else "no error"
        skip(f"the server acknowledges no subscription to a task: {got}")
    return found


@scenario
def _watched_task(server: Server) -> WatchedTask | None:
    """Subscribe to a new task, with the extension and without it, and follow the task to its end."""
    call, session = longest(server).call, extension_session(server)
    meta = {"progressToken": f"task-{len(session.lines)}", revisions.LOG_LEVEL: "debug"}
    rounds = create(server, call, meta)
    if not is_task(rounds[-1]):
        return None
    params = {"notifications": {"taskIds": [task_id(rounds[-1].value)]}}
    undeclared = _listen(session, params)
    listen = _listen(session, {**params, "_meta": declared(session)})
    following = Following(server, call, rounds)
    (run,) = followed([following]) if listen.acknowledgment is not None else (following.end(),)
    session.drain()
    for one in (undeclared, listen):
        if not one.ends:
            session.notify(CANCELLED, {"requestId": one.id, "reason": "Nobody listens any more."})
    session.drain()
    return WatchedTask(run, listen, undeclared)


def _listen(session: Session, params: dict[str, Any]) -> Listen:
    listen = Listen(session, session.send(LISTEN, params))
    session.wait_for(lambda: listen.is_answered, session.timeout)
    return listen


# All that was seen


def every_run(server: Server) -> Iterator[TaskRun]:
    """Yield the tasks of all scenarios that were made so far, and make those."""
    yield from task_runs(server)
    others = (_cancelled_task(server), _watched_task(server))
    yield from (one.run for one in others if one is not None)


def looks_with(server: Server, *statuses: str) -> list[Value]:
    """Return the tasks that ``tasks/get`` has shown in one of these statuses; skip if there are none."""
    looks = [
        look for run in every_run(server) for look in (*run.shown, *results_of(filter(None, [run.late])))
    ]
    found = [look for look in looks if status_of(look) in statuses]
    return require_some(found, skip=f"no task was seen {' or '.join(statuses)}")


def shown_tasks(server: Server) -> list[Value]:
    """Return all results that create or show a task."""
    return [task for run in every_run(server) for task in (run.task, *run.shown)]


def replies_to(server: Server, *methods: str) -> list[Reply]:
    """Return the results of requests by these methods to clients with the extension; skip without any."""
    list(every_run(server))
    unknown_task_requests(server)
    found = [one for session in server.sessions for one in replies_in(session) if one.method in methods]
    results = [one for one in found if one.value is not None and declares_tasks(one.request)]
    return require_some(results, skip=f"no {' or '.join(methods)} was answered with a result")


def declares_tasks(request: Line) -> bool:
    """Return whether a request declares the extension."""
    path = ("params", "_meta", revisions.CLIENT_CAPABILITIES, "extensions", EXTENSION)
    return Value(request.message).get(*path) is not None


def task_notifications(server: Server) -> list[Value]:
    """Return every ``notifications/tasks`` of the run."""
    list(every_run(server))
    return [one for one in server.received(Kind.NOTIFICATION) if one.json["method"] == STATUS]


def input_requests_by_key(run: TaskRun) -> dict[str, list[Value]]:
    """Return the different requests that a task has had under each key, in their order."""
    found: dict[str, list[Value]] = {}
    for requests in members(run.shown, "inputRequests"):
        for key in requests.json if requests.is_a(dict) else ():
            one = Value(requests.json[key], f"{requests.path}[{show(key, 40)}]", requests.lines)
            if all(one.json != other.json for other in found.setdefault(key, [])):
                found[key].append(one)
    return found


def ids_of(runs: Sequence[TaskRun]) -> dict[str, Sequence[Line]]:
    """Return the ids of tasks, each with the lines that show it."""
    return {run.id: run.created.lines for run in runs}


def messages_beside(watched: WatchedTask, *methods: str) -> list[Value]:
    """Return the notifications of these methods with the id, or on the stream, of a subscription."""
    tagged = [one for one in watched.listen.notifications if one.json["method"] in methods]
    acknowledged = watched.listen.acknowledgment
    stream = acknowledged.lines[0].carried_by if acknowledged is not None else ""
    lines = [line for line in watched.listen.session.lines if stream and line.carried_by == stream]
    on_stream = [
        Value(part, "", (line,)) for line in lines for part in line.parts() if is_one_of(part, methods)
    ]
    return list({id(one.json): one for one in (*tagged, *on_stream)}.values())


def is_one_of(message: Any, methods: Sequence[str]) -> bool:
    """Return whether a message is a notification of one of these methods."""
    return kind(message) is Kind.NOTIFICATION and message["method"] in methods
