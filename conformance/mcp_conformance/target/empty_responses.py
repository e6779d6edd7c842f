"""Successes over HTTP without an answer: one finding for each kind, whatever check meets the first."""

from __future__ import annotations

from typing import Any

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
            return empty_response((line,), missing.empty, missing.reason, methods) if methods else None
    return None


def _missing(session: Session, request: Line) -> NoAnswer | None:
    """Return what is known of a request without an answer.

    None if it has one, was cancelled, or has the id of another request in another type, 1 and "1": some
    servers answer one of the two, which is a matter of its own.
    """
    missing = session.inbox.no_answer(request)
    if missing is None or any(_is_reason(line, missing.id) for line in session.lines if line.sent):
        return None
    return missing


def _is_reason(line: Line, id: Any) -> bool:
    """Return whether a line cancels the request with an id, or is a request whose id reads the same."""
    if kind(line.message) is Kind.NOTIFICATION and line.message["method"] == CANCELLED:
        cancelled = Value(line.message).get("params", "requestId")  # it may be wrong on purpose
        return cancelled is not None and bool(cancelled.json == id)
    is_request = kind(line.message) is Kind.REQUEST
    return is_request and line.message["id"] != id and str(line.message["id"]) == str(id)


def _methods(sessions: Sessions, empty: Empty) -> set[str]:
    """Return the methods of all requests so far that got such a response."""
    return {
        str(line.message["method"])
        for session in sessions.every
        for line in session.lines
        if line.sent and kind(line.message) is Kind.REQUEST
        if (missing := _missing(session, line)) is not None and missing.empty is empty
    }
