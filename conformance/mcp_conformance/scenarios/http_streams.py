"""The event streams that answer a POST: their events, their messages, and how they ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcp_conformance.client.session import Session
from mcp_conformance.protocol.jsonrpc import ABSENT, decode, id_key, is_response
from mcp_conformance.protocol.methods import CANCELLED
from mcp_conformance.scenarios.http_requests import HttpReply, http_session, lines_of
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.transport.http.events import Event
from mcp_conformance.transport.http.exchange import EVENT_STREAM, Exchange
from mcp_conformance.transport.http.lines import HttpLines

MAX_CALLS = 5
GRACE_SECONDS = 1.0
"""How long a stream may stay open after the response."""
LISTEN = "subscriptions/listen"


@dataclass(frozen=True, eq=False)
class Stream:
    """A request that is answered with an event stream."""

    reply: HttpReply

    @property
    def sent(self) -> Mapping[str, Any]:
        """The request; an empty object for a body that is not one message."""
        return self.reply.sent if isinstance(self.reply.sent, Mapping) else {}

    @property
    def method(self) -> str:
        """The method of the request."""
        return str(self.sent.get("method", ""))

    @property
    def is_listening(self) -> bool:
        """Whether the stream is that of a subscription, which stays open."""
        return self.method == LISTEN

    @property
    def token(self) -> Any:
        """The progress token that the request gave; `ABSENT` if there is none."""
        params = self.sent.get("params")
        meta = params.get("_meta") if isinstance(params, Mapping) else None
        return meta.get("progressToken", ABSENT) if isinstance(meta, Mapping) else ABSENT

    @cached_property
    def events(self) -> list[tuple[float, Event]]:
        """The events so far, each with its time."""
        return list(self.reply.exchange.events)

    @cached_property
    def messages(self) -> list[tuple[float, Any]]:
        """The messages in the events, each with its time; those of an array one by one."""
        found = []
        for at, event in self.events:
            message, _, _ = decode((event.data or "").encode("utf-8", "surrogatepass"))
            parts = message if isinstance(message, list) else [message]
            found += [(at, part) for part in parts if part is not ABSENT]
        return found

    @cached_property
    def _place_of_answer(self) -> int | None:
        """The place of the response to the request among the messages; None if it has not come here."""
        key = id_key(self.sent.get("id", ABSENT))
        for place, (_, one) in enumerate(self.messages):
            if is_response(one) and id_key(one.get("id", ABSENT)) == key:
                return place
        return None

    @property
    def answered_at(self) -> float | None:
        """The time of the response to the request; None if it has not come on this stream."""
        place = self._place_of_answer
        return None if place is None else self.messages[place][0]

    @property
    def after_answer(self) -> list[Any]:
        """The messages after the response to the request."""
        place = self._place_of_answer
        return [] if place is None else [message for _, message in self.messages[place + 1 :]]

    @property
    def has_ids(self) -> bool:
        """Whether its events have ids, so that it may be resumed."""
        return any(event.id for _, event in self.events)

    @property
    def is_over(self) -> bool:
        """Whether the server has ended the body of the response."""
        exchange = self.reply.exchange
        return exchange.has_ended and not exchange.aborted and not exchange.failure

    def ends_after_answer(self, grace: float) -> bool:
        """Wait up to ``grace`` seconds; return whether the stream ended so soon after the response."""
        exchange, at = self.reply.exchange, self.answered_at
        assert at is not None
        if not exchange.wait(grace):
            return False
        return not exchange.aborted and (exchange.ended_at or at) - at <= grace


def is_near(server: Server) -> bool:
    """Return whether the server is on this machine, so that no proxy has changed its headers."""
    return lines_of(server.session).server.endpoint.is_loopback


def post_streams(server: Server) -> list[Stream]:
    """Return the event streams so far that answer a POST; first make calls that ask for progress."""
    call_with_progress(server)
    replies = [HttpReply(exchange, message) for message, exchange in _posted(server)]
    return [Stream(one) for one in replies if one.status == 200 and one.media_type == EVENT_STREAM]


def all_streams(server: Server) -> list[Stream]:
    """Return the event streams so far that answer a POST, and those that a session has opened with GET."""
    transports = [session.process for session in server.sessions]
    opened = [
        HttpReply(one) for lines in transports if isinstance(lines, HttpLines) for one in lines.streamed
    ]
    found = [Stream(one) for one in opened if one.status == 200 and one.media_type == EVENT_STREAM]
    return [*post_streams(server), *found]


@scenario
def call_with_progress(server: Server) -> None:
    """Call some tools once more that may be called, with a progress token."""
    call_for_progress(server, http_session(server), MAX_CALLS)


def call_for_progress(server: Server, session: Session, most: int) -> list[str]:
    """Call so many tools that may be called with a progress token; return the tokens of calls with a result.

    Those that have reported progress before come first, then the slower ones, which are more likely to.
    """
    quick = [call for call in server.quick_calls() if not call.asked]
    quick.sort(key=lambda call: (bool(call.progress), call.reply.seconds), reverse=True)
    tokens, lines = [], lines_of(session)
    # Their exchanges are kept, however many this session has had before.
    lines.max_posted = max(lines.max_posted, len(lines.posted) + most)
    for call in quick[:most]:
        token = f"http-progress-{len(session.lines)}"
        params = {**call.params, "_meta": {"progressToken": token}}
        if session.request("tools/call", params).value is not None:
            tokens.append(token)
    return tokens


def cancelled_ids(server: Server) -> set[Any]:
    """Return the keys of the ids that some session has cancelled."""
    sent = [message for message, _ in _posted(server) if isinstance(message, dict)]
    params = [one.get("params") for one in sent if one.get("method") == CANCELLED]
    return {id_key(one.get("requestId", ABSENT)) for one in params if isinstance(one, dict)}


def _posted(server: Server) -> list[tuple[Any, Exchange]]:
    """Return the first messages of each session so far, with their exchanges, ended or not."""
    transports = [session.process for session in server.sessions]
    return [one for lines in transports if isinstance(lines, HttpLines) for one in list(lines.posted)]
