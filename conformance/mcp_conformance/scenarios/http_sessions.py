"""Clients over HTTP beside the sessions of a run: each opens a session of its own with exact requests."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mcp_conformance.client.session import NO_PARAMS, Session
from mcp_conformance.expect import skip
from mcp_conformance.outcome import Defect
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, decode, encode, kind
from mcp_conformance.scenarios.http_requests import (
    RESPONSE_SECONDS,
    HeaderValue,
    HttpReply,
    changed,
    delete,
    http_session,
    lines_of,
    post_message,
    request_to,
)
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.transport.http.events import Event
from mcp_conformance.transport.http.exchange import Exchange, Listener
from mcp_conformance.transport.http.headers import ACCEPT, JSON, SESSION_ID, VERSION
from mcp_conformance.transport.http.lines import HttpLines
from mcp_conformance.verdicts import Finding, Repeat

OPENED = 16
"""How many sessions are opened at most to compare their ids."""
LEAST_OPENED = 6
"""How many are enough if the server is slow."""
OPENING_SECONDS = 3.0
"""How long sessions are opened before that is enough."""
UNKNOWN_ID = "6d9f3f58a1c14f7f9b3a1f0d5c2e7b84"
"""A session id that no server has assigned, of a usual form."""
MAX_HELD_SECONDS = 2.0
"""How long an answer to the server is held back at most."""
NOT_OFFERED = {"code": -32601, "message": "This client does not offer that."}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@dataclass(eq=False)
class Peer:
    """A client whose session was opened with exact requests; ``session`` lends it connections and ids.

    It answers requests of the server while ``may_answer`` is set, so that a call can be kept open.
    """

    session: Session
    opening: HttpReply
    begun: list[Exchange] = field(default_factory=list)
    may_answer: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.may_answer.set()

    @property
    def id(self) -> str:
        """The session id; empty if the server assigned none."""
        return next(iter(self.opening.header(SESSION_ID)), "")

    @property
    def headers(self) -> dict[str, HeaderValue]:
        """The headers that name the session, for those of the session that lends the connections."""
        return {SESSION_ID: self.id or None, VERSION: self.session.revision}

    def post(self, method: str, params: Any = NO_PARAMS, seconds: float = RESPONSE_SECONDS) -> HttpReply:
        """POST a request, and wait for its response."""
        message = self.session.request_of(method, params)
        exchange = self.begin(message)
        exchange.wait_or_abort(self.session.scaled_timeout(seconds))
        return HttpReply(exchange, message)

    def begin(self, message: Mapping[str, Any]) -> Exchange:
        """POST a message without waiting for its response; answer what the server asks meanwhile."""
        usual = (JSON, ACCEPT, *lines_of(self.session).mirror.headers(message))
        return self._begin("POST", usual, encode(message))

    def listen(self, last: str = "") -> Exchange:
        """Open a stream with GET, or resume one after an event, and wait until its head has come."""
        resumed = ((b"Last-Event-ID", last.encode()),) if last else ()
        usual = ((b"Accept", b"text/event-stream"), *resumed)
        exchange = self._begin("GET", usual)
        exchange.wait_for_head(self.session.scaled_timeout(RESPONSE_SECONDS))
        return exchange

    def _begin(self, method: str, usual: tuple[tuple[bytes, bytes], ...], body: bytes = b"") -> Exchange:
        request = request_to(self.session, method, changed(usual, self.headers), body)
        exchange = lines_of(self.session).exchange(request, Answering(self))
        self.begun.append(exchange)
        return exchange

    def end(self) -> HttpReply | None:
        """Close all connections, and end the session if it has an id."""
        self.may_answer.set()
        for exchange in list(self.begun):
            exchange.abort()
        return delete(self.session, self.headers) if self.id else None


def id_from_before_a_restart(server: Server) -> str:
    """Return the id of a session with a process that has ended, and been replaced; empty without one."""
    known = (session.process for session in server.sessions.every)
    left = (lines for lines in known if isinstance(lines, HttpLines) and lines.is_left)
    return next((lines.mirror.session_id for lines in left if lines.mirror.session_id), "")


def lost_at_restart(reply: HttpReply) -> Finding:
    """Return the finding that a client of before a restart does not know that it must begin anew."""
    return Finding(
        "the status 404 for the id of a session of before the server was started again",
        str(reply),
        reply.lines,
        defect=Defect.NEVER_WORKS,
        repeat=Repeat.BY_RUN,
    )


class Answering(Listener):
    """A receiver of a stream that answers the pings in it, and rejects other requests of the server."""

    def __init__(self, peer: Peer):
        self.peer = peer

    def on_event(self, exchange: Exchange, at: float, event: Event) -> None:  # noqa: ARG002
        """Answer a request of the server."""
        message, _, _ = decode((event.data or "").encode("utf-8", "surrogatepass"))
        if kind(message) is Kind.REQUEST:
            self.peer.may_answer.wait(MAX_HELD_SECONDS)
            answer = {"result": {}} if message["method"] == "ping" else {"error": NOT_OFFERED}
            self.peer.begin({"jsonrpc": "2.0", "id": message["id"], **answer})


def initialize(session: Session, headers: Mapping[str, HeaderValue] | None = None) -> HttpReply:
    """POST a request to open another session, in the revision of this one."""
    params = {
        "protocolVersion": session.revision,
        "capabilities": {},
        "clientInfo": session.client_info,
    }
    return post_message(session, session.request_of("initialize", params), headers)


@contextmanager
def peers(session: Session, count: int, *, least: int = 0) -> Iterator[list[Peer]]:
    """Open so many sessions, and end them afterwards; skip the check if one does not open.

    If that takes its time, ``least`` are enough.
    """
    opened, begun = list[Peer](), session.clock.monotonic()
    try:
        for _ in range(count):
            if 0 < least <= len(opened) and session.clock.monotonic() - begun > OPENING_SECONDS:
                break
            peer = Peer(session, initialize(session))
            opened.append(peer)
            if not peer.opening.was_served:
                skip(f"another session does not open: {peer.opening}")
            post_message(session, INITIALIZED, peer.headers)
        yield opened
    finally:
        for peer in opened:
            peer.end()


def openings(server: Server) -> list[HttpReply]:
    """Return the responses to ``initialize`` in each session so far that have a session id."""
    posted = (one for session in server.sessions for one in lines_of(session).posted)
    replies = (HttpReply(exchange, message) for message, exchange in posted if exchange.has_ended)
    return [one for one in replies if is_opening(one) and one.header(SESSION_ID)]


def is_opening(reply: HttpReply) -> bool:
    """Return whether a response has the result of ``initialize``."""
    return method_of(reply) == "initialize" and reply.result is not ABSENT


def method_of(reply: HttpReply) -> str:
    """Return the method of the message that was sent; empty if it has none."""
    method = reply.sent.get("method") if isinstance(reply.sent, Mapping) else None
    return method if isinstance(method, str) else ""


@scenario
def opened_sessions(server: Server) -> tuple[HttpReply, ...]:
    """Open several sessions one after the other, end them, and return the responses with their ids."""
    session = session_with_id(server)
    with peers(session, OPENED, least=LEAST_OPENED) as opened:
        return tuple(one.opening for one in opened if one.id)


def session_with_id(server: Server) -> Session:
    """Return the session beside which unusual requests are sent; skip if the server assigned it no id."""
    session = http_session(server)
    if not lines_of(session).mirror.session_id:
        skip("the server assigns no session ids")
    return session


def strange_ids(server: Server) -> list[HttpReply]:
    """Return the responses with another session id than the one assigned at initialization."""
    found = []
    for session in server.sessions:
        lines = lines_of(session)
        replies = [HttpReply(exchange, message) for message, exchange in lines.posted]
        replies += map(HttpReply, lines.streamed)
        for reply in replies:
            ids = set(reply.header(SESSION_ID)) - {lines.mirror.session_id}
            if ids and method_of(reply) != "initialize":
                found.append(reply)
    return found


def other_revision(session: Session) -> str:
    """Return a handshake revision with HTTP that a session has not agreed on."""
    known = ("2025-03-26", "2025-06-18", "2025-11-25")
    return next(one for one in reversed(known) if one != session.revision)
