"""A server's own limiter of requests, known by what it does: it refuses for a time what it served before."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from mcp_conformance.client.reply import Reply, Silence
from mcp_conformance.client.session import Session
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, Line, id_key, is_response, kind
from mcp_conformance.target.sessions import Sessions
from mcp_conformance.transport.http.turns import rate_after
from mcp_conformance.verdicts import Skipped

Refusal = tuple[Any, str]
"""The code of an error, or `TOOL_ERROR`, and its text without digits."""
TOOL_ERROR = "isError"
RESERVED_CODES = range(-32768, -31999)
"""The codes that JSON-RPC reserves; all others are the server's."""
OWN_CODES = range(-32099, -31999)
"""Those of them that JSON-RPC leaves to servers."""
TAKEN_CODES = (*range(-32049, -32019), -32002)
"""Those of these that the protocol has taken: its errors are about the request."""
# The buckets of the usual limiters hold 10 to 30 requests.
BURST = 40
"""How many requests in a row show whether a server refuses some of them for their number."""
# citadeldb-mcp ends if 32 requests come at once: its queue has 16 places.  As many as are fuzzed at once.
MAX_AT_ONCE = 8
"""How many of these requests are sent before the server has answered."""
# excel-mcp-server refuses unknown members in 28 texts: a burst for each was a tenth of all calls.  Not
# measured: a limiter has one text or two, which come among the first.
MAX_BURSTS_IN_VAIN = 3
"""How many bursts may be served as a whole before no more are sent: of calls, and of other requests.

Errors with a code of the server's own have theirs apart from tool errors, of which some tools have many.
"""
# Windows of a second are the shortest; a limiter of a minute is recognised, and not waited for.
WAITS = (1.0, 2.0, 4.0, 8.0)
"""How long to wait before it is seen again whether the server serves such a request."""


class Limiter:
    """What is known of the refusals of a server: whether each comes for the number of requests.

    Those of one revision count in the others too, in which the server is slowed by then.
    """

    def __init__(self, sessions: Sessions):
        self._sessions = sessions
        self._examined: set[Refusal] = set()
        self._in_vain: Counter[tuple[bool, bool]] = Counter()

    def is_reason(self, lines: Sequence[Line]) -> bool:
        """Return whether one of these lines is a refusal that comes for the number of requests.

        A refusal that is not known yet is examined in its session: a request that was served there before is
        sent many times in a row, until it is refused in the same way.  If a call was refused, that is a call.
        """
        called = {id_key(one.message["id"]) for one in lines if one.sent and _is_call(one.message)}
        return any(
            self._knows(refusal, line, is_call=key in called or refusal[0] == TOOL_ERROR)
            for line in lines
            for key, refusal in refusals(line)
        )

    def _knows(self, refusal: Refusal, line: Line, *, is_call: bool) -> bool:
        """Return whether a refusal comes for the number of requests; examine it the first time."""
        known = self._sessions.settings.spacing.refusals
        is_new = refusal not in known | self._examined
        if is_new and self._in_vain[is_call, refusal[0] == TOOL_ERROR] < MAX_BURSTS_IN_VAIN:
            with ExitStack() as stack:
                found = self._control(line, stack, is_call=is_call)
                if found is not None:
                    self._examined.add(refusal)  # what is sent now may be refused so too
                    if self._is_met(*found, refusal):
                        known.add(refusal)
        return refusal in known

    def _is_met(self, session: Session, control: dict[str, Any], refusal: Refusal) -> bool:
        is_call = _is_call(control)
        if not any(self._is_refused(session, control, refusal)):
            self._in_vain[is_call, refusal[0] == TOOL_ERROR] += 1
            return False
        passed = 0.0
        for seconds in WAITS:
            session.wait_for(lambda: False, seconds)
            passed += seconds
            refused = self._is_refused(session, control, refusal)
            if session.closed:
                return False
            if not all(refused):
                rate = rate_after(refused.count(False), passed)
                self._sessions.settings.spacing.slow_down(rate, calls_only=is_call)
                return True
        return False

    def _control(
        self, line: Line, stack: ExitStack, *, is_call: bool
    ) -> tuple[Session, dict[str, Any]] | None:
        """Return a session, and a request that was served in it; that of the refusal if it is open.

        If no session is open in which there was one, the request is one of an earlier session, and the
        session is a new one, which ends with the stack.
        """
        every = sorted(self._sessions.every, key=lambda one: line not in one.lines)
        open_ones = [one for one in every if not (one.closed or one.is_closing)]
        for session in open_ones:
            if (control := self._served(session, is_call=is_call)) is not None:
                return session, control
        served = (self._served(one, is_call=is_call) for one in every if one not in open_ones)
        control = next(filter(None, served), None)
        with suppress(Skipped):
            if control is not None:
                return stack.enter_context(self._sessions.reproduction_session()), control
        return None

    def _is_refused(self, session: Session, control: dict[str, Any], refusal: Refusal) -> list[bool]:
        """Send a request many times in a row; return whether each got this refusal.

        A missing answer ends that, as each would take a whole timeout.
        """
        params, left = control.get("params", ABSENT), self._sendings(control)
        refused: list[bool] = []
        while left > 0 and not session.closed:
            messages = [session.request_of(control["method"], params) for _ in range(min(left, MAX_AT_ONCE))]
            for line in session.send_together(*messages):
                reply = session.await_reply(line)
                if isinstance(reply.fault, Silence):
                    return refused
                refused.append(refusal in _refusals_in(reply))
            left -= len(messages)
        return refused

    def _served(self, session: Session, *, is_call: bool) -> dict[str, Any] | None:
        """Return a request that was served here and may be sent again; one that reads comes first."""
        served = {
            id_key(part.get("id", ABSENT))
            for line in session.lines
            if not line.sent
            for part in line.parts()
            if kind(part) is Kind.RESULT and not Reply(line, line, part).is_tool_error
        }
        usable = [
            dict(line.message)
            for line in session.lines
            if line.sent and kind(line.message) is Kind.REQUEST and id_key(line.message["id"]) in served
            if is_call == _is_call(line.message) and self._sendings(line.message)
        ]
        return next(filter(self._sessions.surface.only_reads, usable), next(iter(usable), None))

    def _sendings(self, message: dict[str, Any]) -> int:
        """Return how often a request may be sent again in a row.

        A tool that may write is called again no more often than it may be fuzzed, if the user has released
        it: it gets arguments that it has had.
        """
        if self._sessions.surface.only_reads(message):
            return BURST
        params = message.get("params")
        name = params.get("name") if isinstance(params, dict) else None
        settings = self._sessions.settings
        called = [tool for tool in self._sessions.surface.tools if tool.name == name]
        is_released = any(map(settings.may_call, called))
        return int(min([BURST, *map(settings.fuzzed_calls, called)])) if is_released else 0


def refusals(line: Line) -> Iterator[tuple[Hashable, Refusal]]:
    """Yield the refusals in a received line that may come for the number of requests, each with its id."""
    for part in () if line.sent else line.parts():
        if is_response(part):
            for refusal in _refusals_in(Reply(line, line, part)):
                yield id_key(part.get("id", ABSENT)), refusal


def _refusals_in(reply: Reply) -> Iterator[Refusal]:
    code = reply.code
    if (
        isinstance(code, int)
        and (code not in RESERVED_CODES or code in OWN_CODES)
        and code not in TAKEN_CODES
    ):
        yield code, _words(reply.error_message)
    if reply.is_tool_error:
        yield TOOL_ERROR, _words(reply.texts)


def _is_call(message: Any) -> bool:
    return kind(message) is Kind.REQUEST and bool(message["method"] == "tools/call")


def _words(value: Any) -> str:
    """Return a text without its numbers, which change from one refusal to the next."""
    return re.sub(r"[\d.]+", "", str(value))
