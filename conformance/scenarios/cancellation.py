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
from conformance.scenarios.client_features import ABLE, everything, meet
from conformance.scenarios.log_messages import MESSAGE, with_level
from conformance.target.server import SLOW_SECONDS, Server
from conformance.verdicts import Blocked

STEPS = 3
"""How often a tool has to tell its progress to be cancelled in the midst of it."""
LONGEST = 15.0
"""How many seconds a tool may take that is waited for."""


@dataclass(frozen=True)
class Cancelled:
    """A call that was cancelled; ``read`` counts the lines until the server had read that, None if unknown.

    ``held``: it was waiting for the client's answer, which was given only after that.  ``usual`` is the same
    call when it is not cancelled.
    """

    session: Session
    request: Line
    cancellation: Line
    usual: Call
    held: bool
    read: int | None

    @property
    def tells(self) -> bool:
        """Whether the tool tells its progress several times."""
        return len(self.usual.progress) >= STEPS

    @property
    def answers(self) -> list[Value]:
        """The answers to the request, but for one that may have crossed the cancellation."""
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
        """Whether an answer came because, or although, the call was cancelled."""
        if self.held or self.read is None or number >= self.read:
            return True
        failed = kind(message) is Kind.ERROR and self.usual.reply.error is None
        told = self._told(self.session.lines[:number])
        return line.at > self.cancellation.at and (failed or len(told) < len(self.usual.progress))

    def _told(self, lines: Sequence[Line]) -> list[Value]:
        token = id_key(token_of(self.request.message))
        return [one.notification for one in progress_in(lines) if one.token == token]

    @property
    def progress(self) -> list[Value]:
        """The progress told after the server had read the cancellation."""
        return self._told(self.session.lines[self.read :])

    @property
    def logged(self) -> list[Value]:
        """The log messages that came after that; in a modern conversation no other request asks for any."""
        later = self.session.lines[self.read :]
        found = (Value(message, "", (line,)) for line in later if not line.sent for message in line.parts())
        return [one for one in found if kind(one.json) is Kind.NOTIFICATION and one.json["method"] == MESSAGE]


@dataclass(frozen=True)
class Begun:
    """A call that was cancelled, with a ``ping`` after that, and was not waited for."""

    session: Session
    request: Line
    cancellation: Line
    ping: Line
    held: bool

    def end(self, usual: Call) -> Cancelled:
        """What came of it in the time that the same call takes when it is not cancelled."""
        session = self.session
        pong = session.await_reply(self.ping, min(session.timeout, session.scaled_timeout(PING_SECONDS)))
        read = len(session.lines) if pong.fault is None else None
        for asked in _open(session, FEATURES):
            answer = ACCEPTING[asked.json["method"]](asked.json.get("params"), session.revision)
            session.send_message({"jsonrpc": "2.0", "id": asked.json["id"], **(answer or {})})
        session.drain()
        one = Cancelled(session, self.request, self.cancellation, usual, self.held, read)
        left = self.cancellation.at + usual.reply.seconds - session.process.age
        session.wait_for(lambda: session.closed or one.answers, max(0.0, left))
        if one.progress:  # it goes on, however long that takes today
            session.wait_for(lambda: session.closed or one.answers, session.timeout)
        session.begin_close()
        return one


def cancelled_calls(server: Server) -> Iterator[Cancelled]:
    """Some tools, called and cancelled once each, and only those that could be cancelled under way.

    One is taken that asks the client (a modern one does not wait for that), one that tells its progress, else
    one that is slow.  Raises `Blocked` for the check that first meets a server that did not survive.
    """
    for call, patience in _cancellable(server):
        one = _cancelled_once(server, call, patience)
        if one is not None and one.session.closed:
            lines, stderr = one.session.lines[-6:], one.session.process.stderr
            reason = f"the server ended when a call of {call.tool.name} was cancelled"
            server.raise_once("cancelled", Blocked(reason, lines, stderr))
        elif one is not None:
            yield one


def _cancellable(server: Server) -> Iterator[tuple[Call, float]]:
    """Calls, and how long to wait for a sign that they are under way."""
    timeout, is_modern = server.settings.timeout, revisions.is_modern(server.revision)
    asking = [] if is_modern else [call for call in meet(server, ABLE).calls if _questions(call)]
    yield from [(call, timeout) for call in asking[:1]]
    calls = [call for call in server.calls() if call.reply.seconds <= LONGEST]
    telling = [(call, timeout) for call in calls if len(call.progress) >= STEPS]
    slow = [(call, call.reply.seconds / 4) for call in calls if server.is_slow(call)]
    yield from (telling or sorted(slow, key=lambda one: one[1]))[:1]


def _questions(call: Call) -> set[str]:
    """What a call asks for.  Roots do not count: a server may ask for them at any time."""
    return {asked.json["method"] for asked in call.asked} - {"roots/list"}


def _cancelled_once(server: Server, call: Call, patience: float) -> Cancelled | None:
    key = f"cancelled {call.tool.name}"
    one: Cancelled | None = server.once(key, lambda: _cancelled(server, call, patience))
    return one


def _cancelled(server: Server, call: Call, patience: float) -> Cancelled | None:
    """Call a tool, cancel the call, and see what comes of it for as long as the tool takes."""

    def begin() -> Begun | None:
        return _begin(server, call.tool, call.arguments, _questions(call), patience)

    begun: Begun | None = server.once(f"begun to cancel {call.tool.name}", begin)
    return None if begun is None else begun.end(call)


def begin_cancelled(server: Server) -> None:
    """Call the tool that is under way once more, and cancel that; `cancelled_calls` waits for what comes."""
    slow = server.pending_call
    if slow is not None:
        key = f"begun to cancel {slow.tool.name}"
        server.once(key, lambda: _begin(server, slow.tool, slow.arguments, (), SLOW_SECONDS / 4))


def _begin(
    server: Server, tool: Tool, arguments: dict[str, Any], questions: Collection[str], patience: float
) -> Begun | None:
    """Call a tool, and cancel the call when there is a sign of it, or in the midst of its time."""
    session = server.connect(everything(server.revision), WAITING)
    meta = {"progressToken": "progress-of-cancelled"}
    params = {"name": tool.name, "arguments": arguments, "_meta": meta}
    request = session.send("tools/call", with_level(params, "debug") if session.is_modern else params)

    def is_under_way() -> object:
        return _open(session, questions) or session.notifications("notifications/progress")

    session.wait_for(lambda: is_under_way() or session.is_answered(request), patience)
    if session.is_answered(request) or session.closed:
        session.begin_close()
        return None
    held = bool(_open(session, questions))
    reason = {"requestId": request.message["id"], "reason": "The user does not want it any more."}
    cancellation = session.notify("notifications/cancelled", reason)
    return Begun(session, request, cancellation, session.send(session.liveness_method), held)


def _open(session: Session, methods: Collection[str]) -> list[Value]:
    """What the server has asked for by these methods, has not taken back, and got no answer to."""
    taken_back = [message for _, message in session.notifications("notifications/cancelled")]
    ids = [Value(message).get("params", "requestId") for message in taken_back]
    ids += [Value(line.message).get("id") for line in session.lines if line.sent and _is_answer(line)]
    done = {id_key(id.json) for id in ids if id is not None}
    requests = [asked for asked in session.server_requests(*methods) if "id" in asked.json]
    return [asked for asked in requests if id_key(asked.json["id"]) not in done]


def _is_answer(line: Line) -> bool:
    return kind(line.message) in (Kind.RESULT, Kind.ERROR)
