"""The GET streams of one session: two of them, what comes on them, and how the session outlives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.session import Session
from mcp_conformance.expect import skip
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.scenarios.http_requests import RESPONSE_SECONDS, HttpReply, lines_of, post, request_to
from mcp_conformance.scenarios.http_streams import call_for_progress
from mcp_conformance.scenarios.http_variants import session_without_stream
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.transport.http.exchange import EVENT_STREAM, Exchange

SETTLING_SECONDS = 0.3
"""How long the streams stay open after the last response."""
AFTERWARDS = 3


@dataclass(frozen=True, eq=False)
class StandingStreams:
    """Two GET streams of a session, in which some requests were made meanwhile.

    ``sent`` are the progress tokens of these requests, ``after`` the responses to requests after both streams
    were closed by the client.
    """

    first: HttpReply
    second: HttpReply
    sent: tuple[Any, ...]
    after: tuple[HttpReply, ...]

    @property
    def opened(self) -> list[HttpReply]:
        """Those that are event streams."""
        return [one for one in (self.first, self.second) if is_stream(one)]


def is_stream(reply: HttpReply) -> bool:
    """Return whether a response is an event stream."""
    return reply.status == 200 and reply.media_type == EVENT_STREAM


@scenario
def standing_streams(server: Server) -> StandingStreams:
    """Open two GET streams, make requests, change something if that is possible, and close the streams."""
    with session_without_stream(server, "two GET streams") as session:
        exchanges = [_begun(session), _begun(session)]
        first, second = map(HttpReply, exchanges)
        if not is_stream(first):
            skip(f"the server offers no GET stream: {first}")
        for method in [session.liveness_method, *server.served_lists()[:1]]:
            session.request(method)
        tokens = call_for_progress(server, session, 2)
        sample = server.settings.mutating_call
        if sample is not None:
            session.request("tools/call", {"name": sample.tool, "arguments": sample.arguments})
        exchanges[0].wait(session.scaled_timeout(SETTLING_SECONDS))
        for exchange in exchanges:
            exchange.abort()
            exchange.wait(session.scaled_timeout(RESPONSE_SECONDS))
        after = [post(session, session.liveness_method) for _ in range(AFTERWARDS)]
        return StandingStreams(first, second, tuple(tokens), tuple(after))


def on_both(streams: StandingStreams) -> list[Any]:
    """Return the messages that came on both streams."""
    seen = {encode(message) for message in streams.first.messages}
    return [message for message in streams.second.messages if encode(message) in seen]


def _begun(session: Session) -> Exchange:
    """Open a GET stream, and wait for the head of the response."""
    headers = ((b"Accept", EVENT_STREAM.encode()), *lines_of(session).mirror.session_headers)
    exchange = lines_of(session).exchange(request_to(session, "GET", headers))
    exchange.wait_for_head(session.scaled_timeout(RESPONSE_SECONDS))
    return exchange
