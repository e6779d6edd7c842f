"""Start a server in one variant after another, and record each attempt."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_conformance.client.message_log import is_dropped
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session, newest_offered
from mcp_conformance.doctor.observations import AttemptResult, StartVariant
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import Kind, Line, encode, is_message, kind, torn
from mcp_conformance.protocol.methods import LISTED
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.interface import CannotStart, Transport
from mcp_conformance.transport.machine import machine_fault
from mcp_conformance.transport.process_tree import ports

WATCH_SECONDS = 0.5
"""A process that cannot run has ended by then; the first request is sent after it."""
TRIAL_SECONDS = 5.0
START_TIMEOUT_FACTOR = 4 / 3
"""The first attempt waits this many times ``--start-timeout``, to see whether the answer is only late."""
ODD_ANSWER_SECONDS = 1.0
"""How long to wait for the answer after the server wrote something else."""
LIST_SECONDS = 10.0
STOP_SECONDS = 3.0
EXIT_SECONDS = 5.0
"""How long a process that closed its stdout may take to end."""
LAST_STOP_SECONDS = 1.0
TRIAL_STOP_SECONDS = 0.3
POLL_SECONDS = 0.5
"""How often the bytes without a line end are examined."""
MAX_LINES_KEPT = 50
FLOOD_LINES, FLOOD_BYTES = 5_000, 50_000_000
MAX_UNENDED_BYTES = 1_000_000
OPENINGS = ("initialize", "server/discover")


def apply_variant(settings: Settings, variant: StartVariant, withheld: Sequence[str]) -> Settings:
    """Return the settings for a variant; ``withheld`` are the variables that the server did not get."""
    env = dict(settings.env)
    if variant in (StartVariant.HERE, StartVariant.CREDENTIALS):
        env = {name: os.environ[name] for name in withheld} | env
    if variant is StartVariant.UNBUFFERED:
        env["PYTHONUNBUFFERED"] = "1"
    is_here = settings.cwd is None and variant in (StartVariant.HERE, StartVariant.DIRECTORY)
    return replace(
        settings,
        env=env,
        cwd=settings.here if is_here else settings.cwd,
        inherit_home=settings.inherit_home or variant in (StartVariant.HERE, StartVariant.HOME),
    )


class _SilentSession(Session):
    """A session that leaves our own request unanswered when the server sends it back."""

    def answer_to(self, method: Any, params: Any) -> Mapping[str, Any] | None:
        """Return the answer to any other request."""
        return None if method in OPENINGS else super().answer_to(method, params)


class StartAttempt:
    """One process, from its start to its end.

    ``result`` is what was observed so far; `steps` continues, a step at a time.  ``timeout`` is the time for
    the first answer, in seconds.
    """

    def __init__(
        self,
        settings: Settings,
        variant: StartVariant = StartVariant.PLAIN,
        timeout: float = TRIAL_SECONDS,
    ):
        self._settings, self._variant, self._timeout = settings, variant, timeout
        is_modern = variant is StartVariant.MODERN
        revision = revisions.LATEST_MODERN if is_modern else revisions.LATEST_HANDSHAKE
        self.result = AttemptResult(variant, revision)

    def steps(self) -> Generator[AttemptResult, None, None]:
        """Start the process, watch it, send the first request, await the answer, go on, end the process.

        Yields the result after each step.
        """
        try:
            process = self._settings.start()
        except CannotStart as error:
            if machine_fault(error):
                raise
            self.result = replace(self.result, refused=str(error))
            yield self.result
            return
        session = _SilentSession(process, revision=self.result.revision, timeout=LIST_SECONDS)
        is_first = self._variant is StartVariant.PLAIN
        steps = (self._send, self._await_answer, self._go_on)
        try:
            for step in (self._watch, *steps, self._end) if is_first else steps:
                yield self.result
                step(session, process)
            yield self.result
        finally:
            process.stop(LAST_STOP_SECONDS if is_first else TRIAL_STOP_SECONDS)

    def run(self) -> AttemptResult:
        """Run all steps."""
        for _ in self.steps():
            pass
        return self.result

    def _record(self, session: Session, **more: Any) -> None:
        """Add what the server wrote, and ``more``, to the result."""
        said = [line for line in session.lines if not line.sent]
        kept = [line for line in said[:MAX_LINES_KEPT] if not is_dropped(line)]
        self.result = replace(
            self.result,
            said=tuple(kept),
            left_out=len(said) - len(kept),
            stderr=session.process.stderr,
            revision=session.revision,
            **more,
        )

    def _watch(self, session: Session, process: Transport) -> None:
        session.wait_for(lambda: process.exit_code is not None, WATCH_SECONDS)
        has_ended = session.closed or process.exit_code is not None
        code = process.wait(LAST_STOP_SECONDS) if has_ended else None
        seconds = process.age
        is_early = has_ended and code is not None
        self._record(session, is_early=is_early, exit_code=code, is_closed=session.closed, seconds=seconds)

    def _send(self, session: Session, process: Transport) -> None:
        params = {
            "protocolVersion": session.revision,
            "capabilities": session.capabilities,
            "clientInfo": session.client_info,
        }
        message = session.request_of("initialize", params, id=1)
        if session.is_modern:
            asked = session.send("server/discover")
        elif self._variant is StartVariant.CARRIAGE:
            asked = session.send_raw(encode(message) + b"\r", message)
        elif self._variant is StartVariant.HEADERS:
            asked = Line.sending(message, process.age)
            process.write(b"Content-Length: %d\r\n\r\n%b" % (len(asked.raw), asked.raw))
        else:
            asked = session.send("initialize", params)
        self._record(session, asked=asked)

    def _await_answer(self, session: Session, process: Transport) -> None:
        asked = self.result.asked
        assert asked is not None
        deadline = process.age + self._timeout
        while process.age < deadline and not _is_over(session, asked):
            seconds = max(0.0, min(POLL_SECONDS, deadline - process.age))
            session.wait_for(lambda: session.is_answered(asked), seconds)
        if process.age < deadline:
            session.wait_for(lambda: session.is_answered(asked), ODD_ANSWER_SECONDS)
        seconds, is_closed = process.age, session.closed
        is_flood = _is_flood(session) and not session.is_answered(asked)
        if is_flood:
            session.begin_close()
        opening = session.await_reply(asked, 0.0)
        is_mute = opening.fault is not None and not (is_closed or is_flood)
        code = process.wait(EXIT_SECONDS) if is_closed else process.exit_code
        self._record(
            session,
            opening=opening,
            seconds=seconds,
            is_closed=is_closed,
            exit_code=code,
            is_flood=is_flood,
            ports=ports() if is_mute else (),
            unended=process.unended[:MAX_UNENDED_BYTES],
        )

    def _go_on(self, session: Session, process: Transport) -> None:
        del process
        session.opening = opening = self.result.opening
        if opening is None or self._variant in (StartVariant.CARRIAGE, StartVariant.HEADERS):
            return
        if session.is_modern and (other := newest_offered(opening, session.revision)):
            session.revision = other
            opening = session.discover()
            self._record(session, opening=opening)
        if session.is_modern and (opening.error is not None or session.declares("tools")):
            self._record(session, listed=session.request(LISTED["tools"]))
        elif opening.value is not None and not session.is_modern:
            offered = opening.value.get("protocolVersion")
            if offered is not None and offered.json in revisions.HANDSHAKE:
                session.revision = offered.json
            session.notify("notifications/initialized")
            has_tools = session.declares("tools")
            listed = session.request(LISTED["tools"] if has_tools else session.liveness_method)
            self._record(session, listed=listed)

    def _end(self, session: Session, process: Transport) -> None:
        unended = process.unended[:MAX_UNENDED_BYTES]
        had_ended = session.closed or process.exit_code is not None
        code = session.finish(STOP_SECONDS)
        self.result = replace(
            self.result,
            unended=unended,
            late=None if _is_unended_message(unended) else self._late_answer(session),
            stops=None if had_ended else code is not None,
            stderr=process.stderr,
        )

    def _late_answer(self, session: Session) -> Reply | None:
        """Return the answer that came only when stdin was closed."""
        asked, opening = self.result.asked, self.result.opening
        if asked is None or opening is None or opening.fault is None:
            return None
        late = session.await_reply(asked, 0.0)
        return late if late.fault is None else None


def _is_over(session: Session, asked: Line) -> bool:
    """Return whether waiting longer for the answer is useless."""
    if session.is_answered(asked) or session.closed or session.process.exit_code is not None:
        return True
    return (
        _is_flood(session)
        or has_odd_answer([line for line in session.lines if not line.sent][:MAX_LINES_KEPT])
        or (bool(session.process.unended) and _is_unended_message(session.process.unended))
    )


def _is_flood(session: Session) -> bool:
    return len(session.lines) > FLOOD_LINES or session.inbox.size > FLOOD_BYTES


def _is_unended_message(unended: bytes) -> bool:
    return len(unended) < MAX_UNENDED_BYTES and is_message(Line.received(unended).message)


def has_odd_answer(said: Sequence[Line]) -> bool:
    """Return whether a line is meant as an answer and cannot be read as one."""
    return bool(torn(said)) or any(map(_is_odd_answer, said))


def _is_odd_answer(line: Line) -> bool:
    """Return whether a line answers another request, repeats our own, has headers or is UTF-16."""
    kinds = (kind(line.message), *map(kind, line.parts()))
    is_answer = Kind.RESULT in kinds or Kind.ERROR in kinds
    is_ours = kinds[0] is Kind.REQUEST and line.message["method"] in OPENINGS
    return is_answer or is_ours or line.raw.lower().startswith(b"content-length:") or b"\0" in line.raw
