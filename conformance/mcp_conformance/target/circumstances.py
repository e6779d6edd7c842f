"""What kept a check from judging the server, and need not be the fault of the server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mcp_conformance.client.refusals import unreached
from mcp_conformance.client.reply import Closed, Reply, Silence
from mcp_conformance.client.session import Session
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, Line, id_key, is_response, kind
from mcp_conformance.protocol.text import first_names
from mcp_conformance.remedies import NO_HOST
from mcp_conformance.target.sessions import Sessions
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.spoiling import SPOILING
from mcp_conformance.transport.interface import NoAnswer
from mcp_conformance.verdicts import Blocked, Finding

SERVER_ERROR = 500
TOO_MANY = 429
"""The HTTP status for too many requests."""
LOST = (
    "a reused connection was closed before a byte of the response came, which may be chance; "
    "the request is not sent again, as the server may have carried it out"
)
SPOILT = (
    "an exchange that has a finding of its own has spoilt the server over HTTP for all others; the checks "
    "after it had processes of their own"
)
UNREACHED = "the server reaches no host, as its error says, so this says nothing about its handlers"
ALONE = "the server cannot run twice at the same time, so this process was ended when another one was needed"
SHUT_OFF = "no answer came while the server tried to reach {hosts}, which it can't from here; {remedy}"
PROTOCOL_METHODS = ("initialize", "ping", "server/discover")
"""Requests that a server answers by itself, whatever it does besides."""
LIMITED = "the server refuses requests for their number, which it serves otherwise; a lower --rate may help"


def circumstance(sessions: Sessions, verdict: Finding | Blocked) -> str:
    """Return why the evidence of a verdict does not speak against the server; empty if it does."""
    sent = [(line, sessions.with_request(line)) for line in verdict.lines if line.sent]
    used = [session for _, session in sent if session is not None]
    unanswered = [session.inbox.no_answer(line) for line, session in sent if session is not None]
    known = [one for one in unanswered if one is not None]
    if any(line.is_lost for line in verdict.lines) or any(one.is_lost for one in known):
        return LOST
    if reason := _reaches_no_host(sessions, verdict, sent):
        return reason
    if _was_ended(sessions, verdict, used):
        return ALONE
    if _is_out_of_order(sessions, verdict, used, known):
        return SPOILT
    is_refused = TOO_MANY in (*(line.status for line in verdict.lines), *(one.status for one in known))
    if is_refused or _lacks_answers(sessions, verdict):
        return LIMITED
    return ""


def _reaches_no_host(
    sessions: Sessions, verdict: Finding | Blocked, sent: Sequence[tuple[Line, Session | None]]
) -> str:
    """Return that an error or a missing answer comes from hosts that are not reached; empty if not."""
    if any(map(_says_no_host, verdict.lines)):
        return UNREACHED
    hosts = _hosts_tried(sessions, sent, _seconds_waited(verdict, sessions.settings.timeout))
    return SHUT_OFF.format(hosts=first_names(hosts), remedy=NO_HOST) if hosts else ""


def _says_no_host(line: Line) -> bool:
    """Return whether an answer is an error that is not about the request, for want of a network."""
    is_error = not line.sent and kind(line.message) is Kind.ERROR
    return is_error and bool(unreached(Reply(line, line, line.message)))


def _seconds_waited(verdict: Finding | Blocked, timeout: float) -> float:
    """Return how long an answer was awaited that a verdict lacks."""
    fault = verdict.seen or verdict.fault
    return min(fault.seconds, timeout) if isinstance(fault, Silence) and fault.seconds else timeout


def _hosts_tried(
    sessions: Sessions, sent: Sequence[tuple[Line, Session | None]], seconds: float
) -> list[str]:
    """Return the hosts that a confined server tried while it owed us one of these answers, for so long."""
    hosts: dict[str, None] = {}
    for line, session in sent:
        if session is not None and _is_owed(line, session, seconds):
            hosts |= dict.fromkeys(hosts_tried(session, line, sessions.settings, seconds))
    return list(hosts)


def hosts_tried(session: Session, request: Line, settings: Settings, seconds: float) -> list[str]:
    """Return the hosts that a server tried while a request waited so long, and that its sandbox refuses.

    Those of a backend answer.  What it tried while it worked at a later request may be for that, if it has
    answered it.
    """
    traffic = session.process.traffic
    if traffic is None or settings.backend is not None:
        return []
    begin = settings.clock.monotonic() - session.process.age + request.at
    answered = [(begin + sent, begin + came) for sent, came in _spans(session, request.at)]
    tried = [
        one
        for one in traffic.attempts
        if begin <= one.at <= begin + seconds and not any(sent <= one.at <= came for sent, came in answered)
    ]
    return list(dict.fromkeys(one.name or one.address for one in tried))


def _spans(session: Session, since: float) -> Iterator[tuple[float, float]]:
    """Yield when each later request for content was sent and answered, in seconds since then."""
    asked: dict[Any, float] = {}
    for line in session.lines:
        for part in line.parts():
            if line.sent and _is_for_content(part):
                asked[id_key(part["id"])] = line.at
            elif not line.sent and is_response(part):
                sent = asked.pop(id_key(part.get("id")), since)
                if sent > since:
                    yield sent - since, line.at - since


def _is_for_content(message: Any) -> bool:
    return kind(message) is Kind.REQUEST and message["method"] not in PROTOCOL_METHODS


def _is_owed(line: Line, session: Session, seconds: float) -> bool:
    """Return whether a line is a request for content that the server did not answer within so long."""
    if not _is_for_content(line.message):
        return False
    own = id_key(line.message["id"])
    came = (one for one in session.lines if not one.sent and one.at <= line.at + seconds)
    parts = (part for one in came for part in one.parts())
    return not any(is_response(part) and id_key(part.get("id")) == own for part in parts)


def _was_ended(sessions: Sessions, verdict: Finding | Blocked, used: Sequence[Session]) -> bool:
    """Return whether a verdict lacks an answer of a process that we have ended for another one."""
    is_ended = any(sessions.settings.solo.has_ended(one.process) for one in used)
    return is_ended and (verdict.fault is not None or isinstance(verdict, Blocked))


def _has_no_response(verdict: Finding | Blocked, known: Sequence[NoAnswer]) -> bool:
    """Return whether a verdict over HTTP rests on a missing response, or on an error of the server."""
    statuses = [one.status for one in known] + [line.status for line in verdict.lines if not line.sent]
    is_error = any(status is not None and status >= SERVER_ERROR for status in statuses)
    return is_error or isinstance(verdict.fault, Closed) or any(map(_shows_nothing, verdict.lines))


def _shows_nothing(line: Line) -> bool:
    """Return whether a line shows that no response came to a request over HTTP."""
    return not (line.sent or line.carried_by or line.status is not None) and line.message is ABSENT


def _is_out_of_order(
    sessions: Sessions, verdict: Finding | Blocked, used: Sequence[Session], known: Sequence[NoAnswer]
) -> bool:
    """Return whether a process over HTTP that another exchange has spoilt gave no response.

    Looks for such an exchange the first time, and raises the `Finding` on it.
    """
    http = sessions.settings.http
    if http is None or not http.command or verdict.requirement in SPOILING:
        return False
    lacks_response = _has_no_response(verdict, known)
    if lacks_response:
        sessions.require_unspoilt()
    if used:
        is_moot = lacks_response or isinstance(verdict, Blocked)
        return http.is_spoilt and is_moot and any(map(sessions.is_out_of_order, used))
    return http.is_spoilt and lacks_response


def _lacks_answers(sessions: Sessions, verdict: Finding | Blocked) -> bool:
    """Return whether a verdict shows no result while the server refuses requests for their number.

    It may wait for a message of ours that it has refused.
    """
    http = sessions.settings.http
    if http is None or not http.throttle.is_exhausted:
        return False
    return verdict.fault is not None or not any(kind(line.message) is Kind.RESULT for line in verdict.lines)
