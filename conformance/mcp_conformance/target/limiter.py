"""A server's own limiter of requests, known by what it does: it refuses for a time what it served before."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, Line, id_key, is_response, kind
from mcp_conformance.target.sessions import Sessions
from mcp_conformance.target.settings import OPEN_WORLD_CALLS
from mcp_conformance.transport.http.turns import rate_after

Refusal = tuple[Any, str]
"""The code of an error, or `TOOL_ERROR`, and its text without digits."""
TOOL_ERROR = "isError"
OWN_CODES = range(-32099, -31999)
"""The codes that JSON-RPC leaves to servers."""
TAKEN_CODES = (*range(-32049, -32019), -32002)
"""Those of them that the protocol has taken: its errors are about the request."""
# The buckets of the usual limiters hold 10 to 30 requests.
BURST = 40
"""How many requests at once show whether a server refuses some of them for their number."""
# excel-mcp-server refuses unknown members in 28 texts: a burst for each was a tenth of all calls.  Not
# measured: a limiter has one text or two, which come among the first.
MAX_BURSTS_IN_VAIN = 3
"""How many bursts of calls, and of other requests, may be served as a whole before no more are sent."""
# Windows of a second are the shortest; a limiter of a minute is recognised, and not waited for.
WAITS = (1.0, 2.0, 4.0, 8.0)
"""How long to wait before it is seen again whether the server serves such a request."""


class Limiter:
    """What is known of the refusals of a server: whether each comes for the number of requests."""

    def __init__(self, sessions: Sessions):
        self._sessions = sessions
        self._known: dict[Refusal, bool] = {}
        self._in_vain: Counter[bool] = Counter()

    def is_reason(self, lines: Sequence[Line]) -> bool:
        """Return whether one of these lines is a refusal that comes for the number of requests.

        A refusal that is not known yet is examined in its session: a request that was served there before is
        sent many times at once, until it is refused in the same way.
        """
        for line in lines:
            for refusal in refusals(line):
                if refusal not in self._known:
                    self._known[refusal] = False
                    self._known[refusal] = self._is_met(refusal, line)
                if self._known[refusal]:
                    return True
        return False

    def _is_met(self, refusal: Refusal, line: Line) -> bool:
        is_call = refusal[0] == TOOL_ERROR
        found = self._control(refusal, line) if self._in_vain[is_call] < MAX_BURSTS_IN_VAIN else None
        if found is None:
            return False
        if not any(self._is_refused(*found, refusal)):
            self._in_vain[is_call] += 1
            return False
        passed = 0.0
        for seconds in WAITS:
            found[0].wait_for(lambda: False, seconds)
            passed += seconds
            refused = self._is_refused(*found, refusal)
            if not all(refused):
                rate = rate_after(refused.count(False), passed)
                self._sessions.settings.spacing.slow_down(rate)
                return True
        return False

    def _control(self, refusal: Refusal, line: Line) -> tuple[Session, dict[str, Any]] | None:
        """Return a session, and a request that was served in it; that of the refusal if it is open."""
        is_open = [one for one in self._sessions.every if not (one.closed or one.is_closing)]
        for session in sorted(is_open, key=lambda one: line not in one.lines):
            if (control := self._served(session, refusal)) is not None:
                return session, control
        return None

    def _is_refused(self, session: Session, control: dict[str, Any], refusal: Refusal) -> list[bool]:
        """Send a request several times at once; return whether each got this refusal."""
        params = control.get("params", ABSENT)
        messages = [session.request_of(control["method"], params) for _ in range(self._sendings(control))]
        lines = session.send_together(*messages)
        replies = [session.await_reply(line) for line in lines]
        return [refusal in _refusals_in(reply) for reply in replies]

    def _served(self, session: Session, refusal: Refusal) -> dict[str, Any] | None:
        """Return a request that was served in this session and may be sent again; None without one."""
        served = {
            id_key(part["id"])
            for line in session.lines
            if not line.sent
            for part in line.parts()
            if kind(part) is Kind.RESULT and not Reply(line, line, part).is_tool_error
        }
        for line in session.lines:
            message = line.message
            if line.sent and kind(message) is Kind.REQUEST and id_key(message["id"]) in served:
                is_call = message["method"] == "tools/call"
                if is_call == (refusal[0] == TOOL_ERROR) and self._sendings(message):
                    return dict(message)
        return None

    def _sendings(self, message: dict[str, Any]) -> int:
        """Return how often a request may be sent again at once.

        A tool that may write is called again as often as one that may reach an open world is fuzzed, if the
        user has released it: it gets arguments that it has had.
        """
        if self._sessions.surface.only_reads(message):
            return BURST
        params = message.get("params")
        name = params.get("name") if isinstance(params, dict) else None
        settings = self._sessions.settings
        called = (tool for tool in self._sessions.surface.tools if tool.name == name)
        return OPEN_WORLD_CALLS if any(map(settings.may_call, called)) else 0


def refusals(line: Line) -> Iterator[Refusal]:
    """Yield the refusals in a received line that may come for the number of requests."""
    for part in () if line.sent else line.parts():
        if is_response(part):
            yield from _refusals_in(Reply(line, line, part))


def _refusals_in(reply: Reply) -> Iterator[Refusal]:
    code = reply.code
    if isinstance(code, int) and code in OWN_CODES and code not in TAKEN_CODES:
        yield code, _words(reply.error_message)
    if reply.is_tool_error:
        yield TOOL_ERROR, _words(reply.texts)


def _words(value: Any) -> str:
    """Return a text without its numbers, which change from one refusal to the next."""
    return re.sub(r"[\d.]+", "", str(value))
