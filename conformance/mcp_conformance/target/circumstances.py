"""What kept a check from judging the server, and need not be the fault of the server."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.sessions import Sessions
from mcp_conformance.verdicts import Blocked, Finding

LOST = (
    "a reused connection was closed before a byte of the response came, which may be chance; "
    "the request is not sent again, as the server may have carried it out"
)


def circumstance(sessions: Sessions, verdict: Finding | Blocked) -> str:
    """Return why the evidence of a verdict does not speak against the server; empty if it does."""
    if any(_lost(sessions, verdict)):
        return LOST
    return ""


def _lost(sessions: Sessions, verdict: Finding | Blocked) -> Iterator[bool]:
    """Yield for each line of a verdict whether a reused connection has lost it, or its answer."""
    for line in verdict.lines:
        yield line.is_lost or (line.sent and _has_lost(sessions, line))


def _has_lost(sessions: Sessions, request: Line) -> bool:
    for session in sessions.every:
        known = session.inbox.no_answer(request)
        if known is not None and known.is_lost and request in session.lines:
            return True
    return False
