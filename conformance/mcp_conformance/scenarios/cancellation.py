"""Cancellations: those that a server has to ignore, and those of calls that are running."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.handlers import ACCEPTING, WAITING
from mcp_conformance.client.reply import Closed, Reply, Silence
from mcp_conformance.client.session import PING_SECONDS, Session
from mcp_conformance.client.subscriptions import listens_in
from mcp_conformance.client.tool_call import SLOW_SECONDS, Call, Tool
from mcp_conformance.expect import require_answer, skip
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT, IdKey, Kind, Line, id_key, is_response, kind
from mcp_conformance.protocol.methods import CANCELLED, FEATURES
from mcp_conformance.protocol.progress import progress_in, token_of
from mcp_conformance.protocol.value import Value
from mcp_conformance.scenarios.client_features import FULL_CLIENT, all_capabilities, run_with_client
from mcp_conformance.scenarios.log_messages import MESSAGE, with_log_level
from mcp_conformance.scenarios.subscriptions import subscriptions
from mcp_conformance.target.scenario import scenario, start_early
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import ANSWERED, Blocked, Finding

MAX_CROSSINGS = 50
MAX_CROSSING_BYTES = 10_000_000
"""How long the answers of all crossing requests may be together."""
MAX_CROSSING_SECONDS = 5.0
"""How long the round trips of all crossing requests may take together."""
MIN_PROGRESS = 3
"""How many progress notifications a call must send to be cancelled between two of them."""
LAST_ANSWER_SECONDS = 2.0
"""The least time for the answer of a call that has reported all its progress."""
MAX_CALL_SECONDS = 15.0
"""How long a call may take that is made again to be cancelled."""


# Cancellations to be ignored ---------------------------------------------------------------------


@dataclass(frozen=True)
class SentCancellation:
    """A cancellation with its ``params``, and the replies to two pings after it.

    ``before`` is the number of lines in the log when it was sent.
    """

    session: Session
    line: Line
    params: Any
    before: int
    pings: tuple[Reply, Reply]


def harmless_method(server: Server) -> str:
    """Return a method that can be requested any number of times."""
    return (server.served_lists() or [server.session.liveness_method])[0]


def responsive_session(server: Server) -> Session:
    """Return the session for cancellations; skip if the server does not answer pings in it.

    A modern server answers a request first: it need not recognise the era by a notification.
    """
    session = server.shared("unusual requests")
    if session.is_modern:
        require_answer(session.request(harmless_method(server)))
    pong = session.drain()
    if isinstance(pong.fault, Silence):
        skip("the server does not answer pings, so there is no sign of what it ignores")
    require_answer(pong)
    return session


def send_cancellation(session: Session, params: Any) -> SentCancellation:
    """Send a cancellation and two pings: answers may overtake one another, but hardly two in a row."""
    before = len(session.lines)
    line = session.notify(CANCELLED, params)
    return SentCancellation(session, line, params, before, (session.drain(), session.drain()))


def expect_ignored(server: Server, sent: SentCancellation) -> None:
    """Raise `Finding` if the cancellation was answered, or ended the server.

    A second answer to a request is not reported here.  Raises `Blocked` if the server ended but does not
    when a new process gets the same cancellation.
    """
    first, second = sent.pings
    if second.fault is not None:
        if _is_ignored_alone(server, sent.params):
            require_answer(second)
        lines, fault = (sent.line, *first.lines), second.fault
        raise Finding("a server that ignores this and goes on", str(fault), lines, fault=fault)
    requests = [
        line.message for line in sent.session.lines if line.sent and kind(line.message) is Kind.REQUEST
    ]
    named = sent.params.get("requestId", ABSENT) if isinstance(sent.params, dict) else ABSENT
    others = {str(one["id"]) for one in requests if one["id"] != named}
    for answer in _answers_in(sent.session.lines[sent.before :]):
        if str(answer.message.get("id")) not in others:
            got = str(Value(answer.message))
            raise Finding("no answer to a notification", got, (sent.line, answer))


def _is_ignored_alone(server: Server, params: Any) -> bool:
    """Return whether a new process goes on after the cancellation."""
    with server.fresh("reproductions") as session:
        if session.is_modern:
            require_answer(session.request(harmless_method(server)))
        return send_cancellation(session, params).pings[1].fault is None


def max_crossings(fast: Reply) -> int:
    """Return how many requests may be cancelled at once if each answer is like this one."""
    size, seconds = len(fast.lines[-1].raw), max(fast.seconds, 1e-3)
    return max(1, min(MAX_CROSSINGS, MAX_CROSSING_BYTES // size, int(MAX_CROSSING_SECONDS / seconds)))


def cancel_at_once(session: Session, method: str, times: int) -> Iterator[Sequence[Line]]:
    """Send requests, each in one write with its cancellation; yield the two lines of each."""
    for _ in range(times):
        request = session.request_of(method)
        yield session.send_together(request, _cancellation_of(request))


def cancel_in_reverse(session: Session, method: str, times: int) -> Iterator[Sequence[Line]]:
    """Send requests, then their cancellations, the last first, in one write; yield the two lines of each."""
    requests = [session.request_of(method) for _ in range(times)]
    lines = session.send_together(*requests, *map(_cancellation_of, reversed(requests)))
    return zip(lines[:times], reversed(lines[times:]), strict=True)


def _cancellation_of(request: dict[str, Any]) -> dict[str, Any]:
    params = {"requestId": request["id"], "reason": "It crosses the answer."}
    return {"jsonrpc": "2.0", "method": CANCELLED, "params": params}


def require_answers(server: Server, method: str, times: int) -> None:
    """Send the requests of both ways to a new process, without cancelling.

    Raises the `Finding` that so many at once end the process, or `Blocked` if the last one has no answer.
    """
    with server.fresh("reproductions") as session:
        sent = [session.send(method) for _ in range(times)]
        sent += session.send_together(*(session.request_of(method) for _ in range(times)))
        last = [session.await_reply(line) for line in sent][-1]
    if isinstance(last.fault, Closed):
        wanted = f"an answer to each of {len(sent)} requests that come without a wait"
        fix = "Read no further while the queue of requests is full, or answer with an error; do not end."
        raise Finding(wanted, str(last.fault), last.lines, ANSWERED, fault=last.fault, fatal=True, fix=fix)
    require_answer(last)


def answers_to(session: Session, request: Line) -> list[Line]:
    """Return the answers to a request so far."""
    wanted = id_key(request.message["id"])
    return [line for line in _answers_in(session.lines) if id_key(line.message.get("id", ABSENT)) == wanted]


def _answers_in(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if not line.sent and is_response(line.message)]


# Cancellations by the server ---------------------------------------------------------------------


def cancellations(session: Session) -> Iterator[tuple[Value, frozenset[IdKey]]]:
    """Yield the id of each request that the server cancels, and the ids of its requests until then."""
    requested: set[IdKey] = set()
    for line, message in session.received.messages(Kind.REQUEST, Kind.NOTIFICATION):
        requested |= {id_key(message["id"])} if "id" in message else set()
        id = Value(message, "", (line,)).get("params", "requestId")
        if message["method"] == CANCELLED and id is not None:
            yield id, frozenset(requested)


def subscription_cancellations(server: Server) -> list[tuple[Value, set[IdKey]]]:
    """Return the id of each request that the server cancels, and the ids of the session's listen requests."""
    subscriptions(server)
    return [
        (id, {id_key(listen.id) for listen in listens_in(session)})
        for session in server.sessions
        for id, _ in cancellations(session)
    ]


# Calls that are cancelled while they run ---------------------------------------------------------


@dataclass(frozen=True)
class CancelledCall:
    """A call that was cancelled while it ran.

    ``usual`` is the same call without cancellation.  ``read`` is the number of lines in the log when the
    server had read the cancellation, None if unknown.  ``held``: the call was waiting for the client's
    answer, which came only after the cancellation.
    """

    session: Session
    request: Line
    cancellation: Line
    usual: Call
    held: bool
    read: int | None

    @property
    def reports_progress(self) -> bool:
        """Whether the tool sends several progress notifications."""
        return len(self.usual.progress) >= MIN_PROGRESS

    @property
    def answers(self) -> list[Value]:
        """The answers to the request, without one that may have crossed the cancellation."""
        wanted = id_key(self.request.message["id"])
        return [
            Value(message, "", (self.request, line))
            for number, line in enumerate(self.session.lines)
            for message in line.parts()
            if not line.sent
            and is_response(message)
            and id_key(message.get("id", ABSENT)) == wanted
            and self._is_caused(number, line, message)
        ]

    def _is_caused(self, number: int, line: Line, message: Any) -> bool:
        """Return whether an answer came because of the cancellation, or in spite of it."""
        if self.held or self.read is None or number >= self.read:
            return True
        failed = kind(message) is Kind.ERROR and self.usual.reply.error is None
        before = self._progress_in(self.session.lines[:number])
        return line.at > self.cancellation.at and (failed or len(before) < len(self.usual.progress))

    def _progress_in(self, lines: Sequence[Line]) -> list[Value]:
        token = id_key(token_of(self.request.message))
        return [one.notification for one in progress_in(lines) if one.token == token]

    @property
    def progress(self) -> list[Value]:
        """The progress notifications after the server had read the cancellation."""
        return self._progress_in(self.session.lines[self.read :])

    @property
    def has_ended(self) -> bool:
        """Whether as much progress came as without the cancellation."""
        return len(self._progress_in(self.session.lines)) >= len(self.usual.progress)

    @property
    def logged(self) -> list[Value]:
        """The log messages after that; in a modern session no other request asks for any."""
        later = self.session.lines[self.read :]
        found = (Value(message, "", (line,)) for line in later if not line.sent for message in line.parts())
        return [one for one in found if kind(one.json) is Kind.NOTIFICATION and one.json["method"] == MESSAGE]


@dataclass(frozen=True)
class StartedCancellation:
    """A call that was cancelled, and a ``ping`` after that; nothing was waited for yet."""

    session: Session
    request: Line
    cancellation: Line
    ping: Line
    held: bool

    def end(self, usual: Call) -> CancelledCall:
        """Wait as long as the same call takes without cancellation, and return what came."""
        session = self.session
        pong = session.await_reply(self.ping, min(session.timeout, session.scaled_timeout(PING_SECONDS)))
        read = len(session.lines) if pong.fault is None else None
        for asked in _open(session, FEATURES):
            answer = ACCEPTING[asked.json["method"]](asked.json.get("params"), session.revision)
            session.send_message({"jsonrpc": "2.0", "id": asked.json["id"], **(answer or {})})
        session.drain()
        one = CancelledCall(session, self.request, self.cancellation, usual, self.held, read)
        left = self.cancellation.at + usual.reply.seconds - session.process.age
        session.wait_for(lambda: session.closed or one.answers, max(0.0, left))
        if one.progress:  # it goes on: wait for its end, however slow the machine is
            session.wait_for(lambda: session.closed or one.answers or one.has_ended, session.timeout)
            last = usual.progress[-1].lines[-1].at if usual.progress else usual.reply.request.at
            rest = 2 * (usual.reply.request.at + usual.reply.seconds - last) + LAST_ANSWER_SECONDS
            passed = session.process.age - one.progress[-1].lines[-1].at
            left = max(0.0, session.scaled_timeout(rest) - passed)
            session.wait_for(lambda: session.closed or one.answers, left)
        session.begin_close()
        return one


def cancelled_calls(server: Server) -> list[CancelledCall]:
    """Call some tools again and cancel each call while it runs; leave out those that ended before.

    These are a tool that asks the client (a modern server does not wait for the answer), and one that reports
    its progress, else a slow one.  Raises `Blocked` for the first check that meets a server that did not
    survive.
    """
    found = [_cancelled(server, call, seconds) for call, seconds in _cancellable(server)]
    calls = [one for one in found if one is not None]
    for one in calls:
        if one.session.closed:
            lines, stderr = one.session.lines[-6:], one.session.process.stderr
            reason = f"the server ended when a call of {one.usual.tool.name} was cancelled"
            server.reported.raise_once("cancelled", Blocked(reason, lines, stderr))
    return calls


def _cancellable(server: Server) -> Iterator[tuple[Call, float]]:
    """Yield calls, and how many seconds to wait for a sign that they run."""
    timeout, is_modern = server.settings.timeout, revisions.is_modern(server.revision)
    asking = (
        [] if is_modern else [call for call in run_with_client(server, FULL_CLIENT).calls if _questions(call)]
    )
    yield from [(call, timeout) for call in asking[:1]]
    calls = [call for call in server.calls() if call.reply.seconds <= MAX_CALL_SECONDS]
    reporting = [(call, timeout) for call in calls if len(call.progress) >= MIN_PROGRESS]
    slow = [(call, call.reply.seconds / 4) for call in calls if call.is_slow]
    yield from (reporting or sorted(slow, key=lambda one: one[1]))[:1]


def _questions(call: Call) -> set[str]:
    """Return the methods a call asks for, without roots: a server may ask for them at any time."""
    return {asked.json["method"] for asked in call.asked} - {"roots/list"}


@scenario
def _cancelled(server: Server, call: Call, seconds: float) -> CancelledCall | None:
    """Call a tool, cancel the call, and wait as long as the tool takes."""
    early = early_cancellation(server)
    if call.tool.name in early:
        started = early[call.tool.name]
    else:
        started = _start(server, call.tool, call.arguments, _questions(call), seconds)
    return None if started is None else started.end(call)


@start_early
@scenario
def early_cancellation(server: Server) -> Mapping[str, StartedCancellation | None]:
    """Call a tool whose call is pending once more, and cancel that; the record is under the tool's name."""
    slow = next(iter(server.tool_calls.pending), None)
    if slow is None:
        return {}
    started = _start(server, slow.tool, slow.arguments, (), SLOW_SECONDS / 4)
    if started is not None:
        server.sessions.keep(started.session)
    return {slow.tool.name: started}


def _start(
    server: Server, tool: Tool, arguments: dict[str, Any], questions: Collection[str], seconds: float
) -> StartedCancellation | None:
    """Call a tool, and cancel the call once it runs, or after ``seconds``; return None if it ended before."""
    session = server.sessions.connect("a cancelled call", all_capabilities(server.revision), WAITING)
    meta = {"progressToken": "progress-of-cancelled"}
    params = {"name": tool.name, "arguments": arguments, "_meta": meta}
    request = session.send("tools/call", with_log_level(params, "debug") if session.is_modern else params)

    def is_under_way() -> object:
        return _open(session, questions) or session.received.notifications("notifications/progress")

    session.wait_for(lambda: is_under_way() or session.is_answered(request), seconds)
    if session.is_answered(request) or session.closed:
        session.begin_close()
        return None
    held = bool(_open(session, questions))
    reason = {"requestId": request.message["id"], "reason": "The user does not want it any more."}
    cancellation = session.notify(CANCELLED, reason)
    return StartedCancellation(session, request, cancellation, session.send(session.liveness_method), held)


def _open(session: Session, methods: Collection[str]) -> list[Value]:
    """Return the open requests of the server by these methods: neither cancelled nor answered."""
    cancelled = [message for _, message in session.received.notifications(CANCELLED)]
    ids = [Value(message).get("params", "requestId") for message in cancelled]
    ids += [
        Value(line.message).get("id") for line in session.lines if line.sent and is_response(line.message)
    ]
    done = {id_key(id.json) for id in ids if id is not None}
    requests = [asked for asked in session.received.requests(*methods) if "id" in asked.json]
    return [asked for asked in requests if id_key(asked.json["id"]) not in done]
