"""What a proxy answers that gets no response of the server: chance, if the same is served later."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from mcp_conformance.client.reply import Unanswered
from mcp_conformance.client.session import NO_PARAMS
from mcp_conformance.protocol.jsonrpc import decode
from mcp_conformance.target.sessions import Sessions
from mcp_conformance.transport.http.throttle import GATEWAY, MAX_TRIES
from mcp_conformance.verdicts import Blocked, Finding, Skipped

GATEWAY_FAILED = (
    "a request got HTTP 502, 503 or 504, which a proxy sends that gets no response of the server, and later "
    "such requests are served"
)


def is_by_chance(sessions: Sessions, verdict: Finding | Blocked) -> bool:
    """Return whether a verdict rests on what a proxy answered in place of the server, by chance.

    A request that only reads is sent again, in another session; one that writes is not, and others that the
    proxy has let through later speak for it.
    """
    http = sessions.settings.http
    if http is None or not any(http.tally.statuses[status] for status in GATEWAY):
        return False
    for line in verdict.lines:
        session = sessions.with_request(line) if line.sent else None
        missing = session.inbox.no_answer(line) if session is not None else None
        if missing is not None and missing.status in GATEWAY:
            message = decode(line.raw)[0]
            only_reads = sessions.surface.only_reads(message)
            is_served = _is_served(sessions, message) if only_reads else None
            return http.tally.recovered > 0 if is_served is None else is_served
    is_raw = any(line.status in GATEWAY for line in verdict.lines if not line.sent)
    return is_raw and http.tally.recovered > 0


def _is_served(sessions: Sessions, message: Mapping[str, Any]) -> bool | None:
    """Return whether a request gets an answer when it is sent again; None if no session opens for that."""
    with suppress(Skipped), sessions.reproduction_session() as session:
        for _ in range(MAX_TRIES):
            fault = session.request(message["method"], message.get("params", NO_PARAMS)).fault
            if not (isinstance(fault, Unanswered) and fault.status in GATEWAY):
                return fault is None
        return False
    return None
