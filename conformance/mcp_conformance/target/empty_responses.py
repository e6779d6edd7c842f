"""Successes over HTTP without an answer: one finding for each kind, whatever check meets the first."""

from __future__ import annotations

from mcp_conformance.client.session import Session
from mcp_conformance.outcome import Defect
from mcp_conformance.protocol.jsonrpc import Kind, Line, kind
from mcp_conformance.protocol.methods import CANCELLED
from mcp_conformance.protocol.value import Value
from mcp_conformance.target.sessions import Sessions
from mcp_conformance.transport.interface import Empty, NoAnswer
from mcp_conformance.verdicts import EMPTY_RULES, Blocked, Finding, empty_response


def met_in(verdict: Finding | Blocked, sessions: Sessions) -> Finding | None:
    """Return the finding on a response without an answer, if a verdict rests on one; else None.

    It names the methods of all requests so far that got such a response.
    """
    if verdict.requirement in {rule for rule, _ in EMPTY_RULES.values()} and verdict.defect is Defect.HANGS:
        return verdict if isinstance(verdict, Finding) else None
    if not (isinstance(verdict, Blocked) or verdict.fault is not None):
        return None
    for line in verdict.lines:
        session = sessions.with_request(line) if line.sent else None
        missing = _missing(session, line) if session is not None else None
        if missing is not None and missing.empty is not None:
            methods = _methods(sessions, missing.empty)
            # Requests whose ids are alike are their own matter: some servers answer one of the two.
            return empty_response((line,), missing.empty, missing.reason, methods) if methods else None
    return None


def _missing(session: Session, request: Line) -> NoAnswer | None:
    """Return what is known of a request without an answer; None if it has one, or was cancelled."""
    missing = session.inbox.no_answer(request)
    cancelled = (
        Value(one.message).get("params", "requestId")  # a cancellation may be wrong on purpose
        for one in session.lines
        if one.sent and kind(one.message) is Kind.NOTIFICATION and one.message["method"] == CANCELLED
    )
    if missing is not None and any(id is not None and id.json == missing.id for id in cancelled):
        return None
    return missing


def _methods(sessions: Sessions, empty: Empty) -> set[str]:
    """Return the methods of all requests so far that got such a response."""
    return {
        str(line.message["method"])
        for session in sessions.every
        for line in session.lines
        if line.sent and kind(line.message) is Kind.REQUEST
        if (missing := session.inbox.no_answer(line)) is not None and missing.empty is empty
    }
