"""Conversations over HTTP+SSE, the transport of 2024-11-05: a stream, and POSTs to the URI that it names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urljoin

from mcp_conformance.client.session import Session
from mcp_conformance.expect import skip
from mcp_conformance.protocol.jsonrpc import decode, encode, is_response
from mcp_conformance.scenarios.http_requests import RESPONSE_SECONDS, HttpReply, lines_of, request_to
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.exchange import EVENT_STREAM, Exchange
from mcp_conformance.transport.http.headers import JSON
from mcp_conformance.transport.http.http_sse import ACCEPT_EVENTS, ENDPOINT, Events
from mcp_conformance.transport.http.request import Request
from mcp_conformance.transport.http.server import HttpServer

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}

NAMES = ("first", "second")


@dataclass(eq=False)
class OldClient:
    """A client with a stream of its own, and what came of it; ``session`` lends it connections.

    ``uri`` is what the first event names, or None; ``posts`` are the responses to its POSTs, ``answers`` the
    names of the events with answers by their ids.
    """

    session: Session
    stream: Exchange
    events: Events
    uri: str | None = None
    posts: list[HttpReply] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)

    @property
    def endpoint(self) -> Endpoint | None:
        """The address for POSTs; None if there is none, or if it is not an HTTP URL."""
        try:
            return Endpoint.parse(urljoin(self.server.endpoint.url, self.uri)) if self.uri else None
        except ValueError:
            return None

    @property
    def is_here(self) -> bool:
        """Whether the address for POSTs is at the server's origin; no other gets any."""
        return self.endpoint is not None and self.endpoint.origin == self.server.endpoint.origin

    @property
    def server(self) -> HttpServer:
        """The server."""
        return lines_of(self.session).server

    @property
    def reply(self) -> HttpReply:
        """The response with the stream."""
        return HttpReply(self.stream)

    @property
    def seconds(self) -> float:
        """How long a response or an event may take."""
        return min(self.session.timeout, self.session.scaled_timeout(RESPONSE_SECONDS))

    def post(self, message: dict[str, Any]) -> HttpReply:
        """POST a message to the address that the stream names."""
        assert self.endpoint is not None
        address = replace(self.server.endpoint, target=self.endpoint.target)
        request = Request.to(address, "POST", (JSON, *self.server.headers), encode(message))
        exchange = lines_of(self.session).exchange(request)
        exchange.wait_or_abort(self.seconds)
        self.posts.append(HttpReply(exchange, message))
        return self.posts[-1]

    def request(self, id: str, method: str, **members: Any) -> bool:
        """POST a request, and read the stream until its answer; return whether it has come in time.

        Nothing is awaited for a request that is rejected.
        """
        is_accepted = self.post({"jsonrpc": "2.0", "id": id, "method": method, **members}).is_accepted
        while (
            is_accepted and id not in self.answers and (event := self.events.next(self.seconds)) is not None
        ):
            message, _, _ = decode((event.data or "").encode("utf-8", "surrogatepass"))
            if is_response(message):
                self.answers[str(message.get("id"))] = event.name
        return id in self.answers

    def initialize(self, name: str) -> bool:
        """Open a session; the ids of its requests begin with a name."""
        info = self.session.client_info
        params = {"protocolVersion": self.session.revision, "capabilities": {}, "clientInfo": info}
        is_open = self.request(f"{name}-initialize", "initialize", params=params)
        if is_open:
            self.post(INITIALIZED)
        return is_open


@contextmanager
def old_clients(session: Session, count: int) -> Iterator[list[OldClient]]:
    """Open so many streams, read their first events, and close them afterwards."""
    opened = list[OldClient]()
    try:
        for _ in range(count):
            events = Events()
            stream = lines_of(session).exchange(request_to(session, "GET", (ACCEPT_EVENTS,)), events)
            client = OldClient(session, stream, events)
            opened.append(client)
            if not stream.wait_for_head(client.seconds) or stream.media_type != EVENT_STREAM:
                skip(f"another stream does not open: {client.reply}")
            first = events.next(client.seconds)
            client.uri = first.data if first is not None and first.name == ENDPOINT else None
        yield opened
    finally:
        for client in opened:
            client.stream.abort()
            client.stream.wait(client.seconds)


@scenario
def two_conversations(server: Server) -> tuple[OldClient, ...]:
    """Hold two conversations at the same time, one if both streams name the same address.

    Return the clients, whose streams are closed.
    """
    session = server.sessions.launch("conversations over HTTP+SSE")
    with old_clients(session, 2) as clients:
        named = {one.uri: (name, one) for name, one in zip(NAMES, clients, strict=True) if one.is_here}
        opened = [(name, client) for name, client in named.values() if client.initialize(name)]
        for turn in range(2):  # a second time, as the answers of the other client have come then
            for name, client in opened:
                client.request(f"{name}-ping-{turn}", "ping")
    return tuple(clients)
