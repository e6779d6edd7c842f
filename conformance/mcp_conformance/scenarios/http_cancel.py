"""Modern requests over HTTP whose clients close the connection, and subscriptions."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_conformance.expect import require_some, skip
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.scenarios.http_requests import HttpReply, http_session, lines_of, post, request_to
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.transport.http.exchange import Exchange
from mcp_conformance.transport.http.headers import ACCEPT, JSON

ID = "the same"
MIN_SECONDS = 0.03
"""How long a call must take at least so that it is under way when another one with its id is closed."""
ANSWER_SECONDS = 3.0


@dataclass(frozen=True)
class Closing:
    """Two equal calls at once with one id; the connection of the first was closed, and the other read."""

    closed: HttpReply
    other: HttpReply


@scenario
def closing(server: Server) -> Closing:
    """Close the connection of one of two equal calls; skip the check if no permitted call takes its time."""
    calls = [
        call
        for call in server.quick_calls()
        if call.reply.seconds >= MIN_SECONDS and not (call.failed or call.asked)
    ]
    call = max(
        require_some(calls, skip="no permitted call takes its time"), key=lambda one: one.reply.seconds
    )
    session = http_session(server)
    params = {**call.params, "_meta": {"progressToken": ID}}
    message = session.request_of("tools/call", params, id=ID)
    if not post(session, "tools/call", params).was_served:
        skip(f"{call.tool.name} does not succeed again")

    def begin() -> Exchange:
        headers = (JSON, ACCEPT, *lines_of(session).mirror.headers(message))
        return lines_of(session).exchange(request_to(session, "POST", headers, encode(message)))

    closed, other = begin(), begin()
    for one in (closed, other):
        one.wait_until_sent(ANSWER_SECONDS)
    for one in (closed, other):  # both run when one is closed, if their heads come at once
        one.wait_for_head(call.reply.seconds / 4)
    was_closed = not closed.has_ended
    closed.abort()
    other.wait_or_abort(session.scaled_timeout(ANSWER_SECONDS) + call.reply.seconds)
    if not was_closed:
        skip(f"{call.tool.name} was answered before its connection could be closed")
    return Closing(HttpReply(closed, message), HttpReply(other, message))
