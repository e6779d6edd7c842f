"""Calls that are cancelled while they are under way."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.client.handlers import ACCEPTING, WAITING
from conformance.client.session import PING_SECONDS, Session
from conformance.client.tool_call import Call, Tool
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import ABSENT, Kind, Line, id_key, kind
from conformance.protocol.methods import FEATURES
from conformance.protocol.progress import progress_in, token_of
from conformance.protocol.value import Value
from conformance.scenarios.client_features import FULL_CLIENT, all_capabilities, run_with_client
from conformance.scenarios.log_messages import MESSAGE, with_level
from conformance.target.scenario import scenario, start_early
from conformance.target.server import SLOW_SECONDS, Server
from conformance.verdicts import Blocked

MIN_PROGRESS = 3
"""How many progress notifications a call must send to be cancelled between two of them."""
MAX_CALL_SECONDS = 15.0
"""How long a call may take that is made again to be cancelled."""


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
            and kind(message) in (Kind.RESULT, Kind.ERROR)
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
            session.wait_for(lambda: session.closed or one.answers, session.timeout)
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
            server.raise_once("cancelled", Blocked(reason, lines, stderr))
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
    slow = [(call, call.reply.seconds / 4) for call in calls if server.is_slow(call)]
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
def early_cancellation(server: Server) -> dict[str, StartedCancellation | None]:
    """Call the tool whose call is pending once more, and cancel that; the record is under the tool's name."""
    slow = server.pending_call
    if slow is None:
        return {}
    return {slow.tool.name: _start(server, slow.tool, slow.arguments, (), SLOW_SECONDS / 4)}


def _start(
    server: Server, tool: Tool, arguments: dict[str, Any], questions: Collection[str], seconds: float
) -> StartedCancellation | None:
    """Call a tool, and cancel the call at a sign that it runs, or after ``seconds``; None if it ended
    before.
    """
    session = server.connect(all_capabilities(server.revision), WAITING)
    meta = {"progressToken": "progress-of-cancelled"}
    params = {"name": tool.name, "arguments": arguments, "_meta": meta}
    request = session.send("tools/call", with_level(params, "debug") if session.is_modern else params)

    def is_under_way() -> object:
        return _open(session, questions) or session.notifications("notifications/progress")

    session.wait_for(lambda: is_under_way() or session.is_answered(request), seconds)
    if session.is_answered(request) or session.closed:
        session.begin_close()
        return None
    held = bool(_open(session, questions))
    reason = {"requestId": request.message["id"], "reason": "The user does not want it any more."}
    cancellation = session.notify("notifications/cancelled", reason)
    return StartedCancellation(session, request, cancellation, session.send(session.liveness_method), held)


def _open(session: Session, methods: Collection[str]) -> list[Value]:
    """Return the open requests of the server by these methods: neither cancelled nor answered."""
    cancelled = [message for _, message in session.notifications("notifications/cancelled")]
    ids = [Value(message).get("params", "requestId") for message in cancelled]
    ids += [Value(line.message).get("id") for line in session.lines if line.sent and _is_answer(line)]
    done = {id_key(id.json) for id in ids if id is not None}
    requests = [asked for asked in session.server_requests(*methods) if "id" in asked.json]
    return [asked for asked in requests if id_key(asked.json["id"]) not in done]


def _is_answer(line: Line) -> bool:
    return kind(line.message) in (Kind.RESULT, Kind.ERROR)
