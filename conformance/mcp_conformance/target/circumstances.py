"""What kept a check from judging the server, and need not be the fault of the server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcp_conformance.protocol.jsonrpc import Kind, Line, kind
from mcp_conformance.target.sessions import Sessions
from mcp_conformance.transport.interface import NoAnswer
from mcp_conformance.verdicts import Blocked, Finding

TOO_MANY = 429
"""The HTTP status for too many requests."""
LOST = (
    "a reused connection was closed before a byte of the response came, which may be chance; "
    "the request is not sent again, as the server may have carried it out"
)


LIMITED = (
    "the server refuses requests for their number (HTTP 429), waits did not help, and a lower --rate may"
)


def circumstance(sessions: Sessions, verdict: Finding | Blocked) -> str:
    """Return why the evidence of a verdict does not speak against the server; empty if it does."""
    known = list(_unanswered(sessions, verdict.lines))
    if any(line.is_lost for line in verdict.lines) or any(one.is_lost for one in known):
        return LOST
    is_refused = TOO_MANY in (*(line.status for line in verdict.lines), *(one.status for one in known))
    if is_refused or _lacks_answers(sessions, verdict):
        return LIMITED
    return ""


def _lacks_answers(sessions: Sessions, verdict: Finding | Blocked) -> bool:
    """Return whether a verdict shows no result while the server refuses requests for their number.

    It may wait for a message of ours that it has refused.
    """
    http = sessions.settings.http
    if http is None or not http.throttle.is_exhausted:
        return False
    return verdict.fault is not None or not any(kind(line.message) is Kind.RESULT for line in verdict.lines)


def _unanswered(sessions: Sessions, lines: Sequence[Line]) -> Iterator[NoAnswer]:
    """Yield what is known of those requests among these lines that get no answer."""
    for line in lines:
        session = sessions.with_request(line) if line.sent else None
        known = session.inbox.no_answer(line) if session is not None else None
        if known is not None:
            yield known
