"""HTTP+SSE, the transport of 2024-11-05: one stream with all messages of the server, and a URI for POSTs."""

from __future__ import annotations

from contextlib import closing
from queue import Empty, SimpleQueue

from mcp_conformance.transport.http.client import Client
from mcp_conformance.transport.http.events import Event
from mcp_conformance.transport.http.exchange import EVENT_STREAM, Exchange, Listener
from mcp_conformance.transport.http.request import Request
from mcp_conformance.transport.http.server import HttpServer

ENDPOINT, MESSAGE = "endpoint", "message"
"""The types of the events: the first one, and those with messages."""
ACCEPT_EVENTS = (b"Accept", EVENT_STREAM.encode())
# Not measured: this is asked once, of servers that answer no POST; each of them waits so long.
RESPONSE_SECONDS = 5.0


class Events(Listener):
    """A receiver of the events of one stream."""

    def __init__(self) -> None:
        self._events = SimpleQueue[Event | None]()

    def on_event(self, exchange: Exchange, at: float, event: Event) -> None:  # noqa: ARG002
        """Keep an event."""
        self._events.put(event)

    def on_end(self, exchange: Exchange) -> None:  # noqa: ARG002
        """Note that no more events come."""
        self._events.put(None)

    def next(self, timeout: float) -> Event | None:
        """Return the next event; None at the end, or if none comes in time."""
        try:
            return self._events.get(timeout=timeout)
        except Empty:
            return None


def names_endpoint(server: HttpServer, seconds: float = RESPONSE_SECONDS) -> bool:
    """Return whether GET brings the event that names the URI for POSTs."""
    with closing(Client(server.endpoint)) as client:
        events = Events()
        headers = (ACCEPT_EVENTS, *server.headers)
        exchange = client.begin(Request.to(server.endpoint, "GET", headers), events)
        if not exchange.wait_for_head(seconds) or exchange.media_type != EVENT_STREAM:
            return False
        first = events.next(seconds)
        return first is not None and first.name == ENDPOINT
