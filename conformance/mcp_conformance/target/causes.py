"""The causes for which checks are blocked: looked for, counted, and reported once, or a few times."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from mcp_conformance.client.reply import Closed, Fault, Flood, Silence, Unanswered, Unread
from mcp_conformance.expect import skip
from mcp_conformance.protocol.jsonrpc import Kind, Line, kind
from mcp_conformance.protocol.last_words import last_words
from mcp_conformance.target.circumstances import LIMITED, circumstance
from mcp_conformance.target.empty_responses import met_in
from mcp_conformance.target.gateway import GATEWAY_FAILED, is_by_chance
from mcp_conformance.target.limiter import Limiter
from mcp_conformance.target.sessions import Sessions
from mcp_conformance.target.surface import ProbeFailure, is_live
from mcp_conformance.verdicts import Blocked, Cause, Finding, Repeat, Skipped, wrong_answer

MAX_REPORTS_OF_AN_END = 3
"""How many checks report requests that end the process, each by itself, in the same way."""
REPRODUCTION_SECONDS = 10.0
"""How long a line that ended a process may take to end a new one."""
MAX_EXAMINED_ENDS = 10
"""How many ends of one kind are examined: does the request alone end the process?"""
EMPTY = "a request got a response without an answer, which has a finding of its own"
FLOOD, NOT_READ, SILENT = "flood", "not read", "silent"
"""Causes for which a check is blocked."""


class Causes:
    """The causes that the probe and the checks in one revision have met."""

    def __init__(self, sessions: Sessions):
        self._sessions = sessions
        self._limiter = Limiter(sessions)
        self._times: Counter[Any] = Counter(filter(None, map(_cause, sessions.surface.failures)))

    def examine(self, verdict: Finding | Blocked) -> None:
        """Look for the cause of a verdict.

        Raises that the credential is rejected now, or the `Finding` of an answer with another id than its
        request, or of one that is not UTF-8 or not JSON, if that is the cause.  Skips the check if others
        have reported the cause, or if it need not be the fault of the server.  A verdict on what other checks
        have exchanged is seen again by all checks.
        """
        if isinstance(verdict, Blocked) and verdict.cause is Cause.NO_SESSION:
            return
        self.require_access()
        if is_by_chance(self._sessions, verdict):
            self._sessions.withdraw_start()
            skip(GATEWAY_FAILED, cause=Cause.CIRCUMSTANCES)
        if reason := circumstance(self._sessions, verdict):
            skip(reason, cause=Cause.CIRCUMSTANCES)
        if self._limiter.is_reason(verdict.lines):
            self._sessions.withdraw_start()
            skip(LIMITED, cause=Cause.CIRCUMSTANCES)
        if empty := met_in(verdict, self._sessions):
            if self._count((EMPTY, empty.requirement)) > 1:
                skip(f"{EMPTY} ({empty.requirement})", cause=Cause.CIRCUMSTANCES)
            raise empty
        trail, every = self._sessions.trail, self._sessions.every
        if verdict.repeat is Repeat.BY_CHECK and not trail.brings_about(verdict.lines, every):
            verdict.repeat = Repeat.BY_RUN
        pairs = [pair for session in self._sessions.every for pair in session.inbox.wrong_answers]
        finding = next((wrong_answer(*pair) for pair in pairs if pair[0] in verdict.lines), None)
        if finding is not None and verdict.requirement == finding.requirement:
            return
        if self.is_repeated(verdict) if finding is None else self._count(finding.requirement) > 1:
            cause = verdict.cause if isinstance(verdict, Blocked) else None
            skip(f"{verdict} (reported before)", cause=cause)
        if finding is not None:
            raise finding

    def require_access(self) -> None:
        """Raise that a server rejects the credential which it has accepted; skip the later checks."""
        settings, surface = self._sessions.settings, self._sessions.surface
        http = settings.http
        if http is None or http.unauthorized is None or not is_live(surface):
            return
        reason = f"could not be examined any more: it answers each message with {http.rejection}"
        if http.is_locked:
            skip(f"the server {reason} (reported once)")
        with closing(settings.session(settings.start(), surface.revision)) as session:
            opening = session.open(settings.timeout)
        if isinstance(opening.fault, Unanswered) and opening.fault.status == 401:
            http.is_locked = True
            raise Blocked(reason, opening.lines, cause=Cause.NO_SESSION)

    def is_repeated(self, verdict: Finding | Blocked) -> bool:
        """Return whether checks have reported the cause for which a check is blocked.

        A cause is a flood; an answer to one method that was too long to read; a missing answer to one
        request, which several checks judge; or an end of the process with one exit status and one
        exception, which a finding under a rule of its own reports too.  An end that the request alone brings
        about is reported `MAX_REPORTS_OF_AN_END` times.
        """
        fault = verdict.fault
        if not isinstance(verdict, Blocked) or verdict.others:
            if isinstance(fault, Closed):
                self._count(_end(fault))
            return False
        if (cause := _missing(fault, verdict.lines)) is not None:
            return self._count(cause) > 1
        if not isinstance(fault, Closed):
            return False
        end = _end(fault)
        times = self._count(end)
        is_alone = times <= MAX_EXAMINED_ENDS and self._ends_alone(verdict)
        if times > 1 and not is_alone:
            return True
        if verdict.repeat is not Repeat.NOT_SEEN:
            verdict.repeat = Repeat.BY_CHECK if is_alone else Repeat.BY_RUN
        return self._count(("reported", *end)) > MAX_REPORTS_OF_AN_END

    def _count(self, cause: Any) -> int:
        """Count a cause, and return how often it was met."""
        self._times[cause] += 1
        return self._times[cause]

    def _ends_alone(self, verdict: Blocked) -> bool:
        """Return whether the line that ended a process ends a new one too, or may do so."""
        line = next((line for line in verdict.lines if line.sent), None)
        if line is None:
            return True
        try:
            with self._sessions.reproduction_session() as session:
                sent = session.send_raw(line.raw, line.message)
                seconds = session.scaled_timeout(REPRODUCTION_SECONDS)
                is_request = kind(line.message) is Kind.REQUEST
                reply = session.await_reply(sent, seconds) if is_request else session.drain()
                return isinstance(reply.fault, Closed)
        except Skipped:
            return False


def _cause(failure: ProbeFailure) -> Any:
    """Return the cause of a probe failure if checks may meet it too, else None."""
    if failure.is_flood:
        return FLOOD
    if failure.expected:
        return (EMPTY, failure.requirement) if failure.defect else failure.requirement
    return (NOT_READ, _method(failure.lines)) if failure.is_unread else None


def _missing(fault: Fault | None, lines: Sequence[Line]) -> Any:
    """Return the cause for which an answer is missing from a process that runs; None if it is not known."""
    if isinstance(fault, Flood):
        return FLOOD
    if isinstance(fault, Unread):
        return NOT_READ, _method(lines)
    sent = [(line.raw, line.at) for line in lines if line.sent]
    return (SILENT, *sent) if isinstance(fault, Silence) and sent else None


def _method(lines: Sequence[Line]) -> str:
    """Return the method of the request in these lines."""
    requests = (line.message for line in lines if kind(line.message) is Kind.REQUEST)
    return next((str(message["method"]) for message in requests), "")


def _end(fault: Closed) -> tuple[int | None, str]:
    """Return how a process ended: its exit status, and the exception, or all it wrote to stderr.

    Numbers in it differ from time to time, but for the line of the server's own code at its end.
    """
    words = last_words(fault.stderr, fault.exit_code) if fault.exit_code is not None else ""
    return fault.exit_code, re.sub(r"\d+(?!\d*$)", "", words or fault.stderr)
