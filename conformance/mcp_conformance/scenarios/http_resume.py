"""Streams over HTTP that are cut, and resumed with ``Last-Event-ID``, in the same session or another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mcp_conformance.expect import skip
from mcp_conformance.protocol.jsonrpc import ABSENT, decode, id_key, is_response
from mcp_conformance.scenarios.http_isolation import long_request
from mcp_conformance.scenarios.http_requests import HttpReply, http_session, lines_of
from mcp_conformance.scenarios.http_sessions import Peer, peers
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.transport.http.exchange import EVENT_STREAM, Exchange

CUT, OTHER = "cut", "other"
"""The ids of the request whose stream is cut, and of one at the same time; their progress tokens, too."""
UNKNOWN_EVENT = "no-such-event"
STEP_SECONDS = 0.002
RESUME_SECONDS = 3.0
STRANGE_SECONDS = 0.3
"""How long to wait for events that must not come, or are there already."""


@dataclass(frozen=True)
class Resumption:
    """Two calls at once in one session, of which the stream of the first was cut and resumed.

    ``replayed`` is the stream of the second, resumed after its end from its first event with an id.
    ``elsewhere`` is the response to the same GET in another session, ``unknown`` to one with an unknown id.
    """

    cut: HttpReply
    other: HttpReply
    resumed: HttpReply
    replayed: HttpReply
    elsewhere: HttpReply
    unknown: HttpReply


@scenario
def resumption(server: Server) -> Resumption:
    """Cut the stream of a call after its first event with an id, and resume it; skip if there are no ids."""
    session = http_session(server)
    method, params, seconds = long_request(server)
    limit = session.scaled_timeout(RESUME_SECONDS) + seconds
    with peers(session, 2) as [one, stranger]:
        messages = [session.request_of(method, with_token(params, id), id=id) for id in (CUT, OTHER)]
        one.may_answer.clear()
        cut = one.begin(messages[0])
        _wait_until(cut, lambda: any(event_ids(cut)), limit)
        last = next(event_ids(cut), "")
        if not last:
            skip(f"the response to {method} is no event stream whose events have ids")
        other = one.begin(messages[1])
        cut.abort()
        one.may_answer.set()
        other.wait_or_abort(limit)
        resumed = one.listen(last)
        _wait_until(resumed, lambda: has_answer(HttpReply(resumed), CUT), limit)
        resumed.abort()
        replayed = _brief(one, next(event_ids(other), UNKNOWN_EVENT))
        elsewhere = _brief(stranger, last)
        unknown = _brief(one, UNKNOWN_EVENT)
        replies = [HttpReply(each) for each in (resumed, replayed, elsewhere, unknown)]
        return Resumption(HttpReply(cut, messages[0]), HttpReply(other, messages[1]), *replies)


def with_token(params: Any, token: str) -> Any:
    """Return the params of a call with a progress token; unchanged if there are none."""
    return {**params, "_meta": {"progressToken": token}} if isinstance(params, dict) else params


def _brief(peer: Peer, last: str) -> Exchange:
    """Resume a stream after an event, and close it soon."""
    exchange = peer.listen(last)
    exchange.wait_or_abort(STRANGE_SECONDS)
    return exchange


def _wait_until(exchange: Exchange, holds: Callable[[], bool], limit: float) -> None:
    """Wait until something holds, the exchange has ended, or the time is over."""
    waited = 0.0
    while waited < limit and not holds() and not exchange.wait(STEP_SECONDS):
        waited += STEP_SECONDS


def event_ids(exchange: Exchange) -> Iterator[str]:
    """Yield the ids of the events of a stream."""
    return (event.id for _, event in list(exchange.events) if event.id)


def has_answer(reply: HttpReply, id: str) -> bool:
    """Return whether a stream has the response to a request."""
    return any(is_response(one) and id_key(one.get("id", ABSENT)) == id_key(id) for one in reply.messages)


def is_answered_by_first_event(reply: HttpReply) -> bool:
    """Return whether the first event with an id has the response."""
    first = next((event.data or "" for _, event in reply.exchange.events if event.id), "")
    message, _, _ = decode(first.encode("utf-8", "surrogatepass"))
    return is_response(message)


def messages_of(reply: HttpReply, id: str) -> list[Any]:
    """Return the messages in a stream that belong to a request: its response and its progress."""
    return [one for one in reply.messages if isinstance(one, dict) and _belongs(one, id)]


def _belongs(message: dict[str, Any], id: str) -> bool:
    params = message.get("params")
    token = params.get("progressToken") if isinstance(params, dict) else None
    return token == id or (is_response(message) and message.get("id") == id)


def streams_by_session(server: Server) -> Iterator[list[HttpReply]]:
    """Yield the event streams of the responses in each session so far, and those of the calls at once."""
    found = resumption(server)
    yield [found.cut, found.other]
    for session in server.sessions:
        replies = [HttpReply(exchange, message) for message, exchange in lines_of(session).posted]
        yield [one for one in replies if one.media_type == EVENT_STREAM]
