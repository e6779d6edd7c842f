"""Why no session opens with a server over HTTP: what it answers to one POST, and to one GET."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urljoin, urlsplit

from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import decode, encode
from mcp_conformance.protocol.methods import CLIENT_INFO, envelope
from mcp_conformance.protocol.text import shorten
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.http.client import Client
from mcp_conformance.transport.http.exchange import EVENT_STREAM, Exchange
from mcp_conformance.transport.http.headers import ACCEPT, JSON, Mirror
from mcp_conformance.transport.http.request import Request
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance.transport.interface import NotServing

TOLD = ("www-authenticate", "location", "allow", "server", "mcp-session-id")
"""The headers that say something about the cause."""
REDIRECTS = (301, 302, 303, 307, 308)
STREAM_SECONDS = 2.0
MAX_BODY = 300
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": revisions.LATEST_HANDSHAKE,
        "capabilities": {},
        "clientInfo": dict(CLIENT_INFO),
    },
}
DISCOVERY = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "server/discover",
    "params": {"_meta": envelope(revisions.LATEST_MODERN, {}, CLIENT_INFO)},
}


@dataclass(frozen=True)
class HttpObservations:
    """What was seen: why no connection was made, or the answers to ``initialize``, discovery, and GET."""

    url: str
    refused: str = ""
    stderr: str = ""
    opening: Exchange | None = None
    discovery: Exchange | None = None
    stream: Exchange | None = None
    has_credential: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether ``initialize`` is answered with an error of JSON-RPC and the status of a success."""
        message = decode(self.opening.body)[0] if self.opening is not None else None
        return self.status == 200 and isinstance(message, dict) and isinstance(message.get("error"), dict)

    @property
    def status(self) -> int | None:
        """The status of the answer to ``initialize``."""
        return self.opening.status if self.opening is not None else None

    @property
    def is_open(self) -> bool:
        """Whether ``initialize`` or ``server/discover`` was answered with a result."""
        pairs = ((self.opening, b'"protocolVersion"'), (self.discovery, b'"supportedVersions"'))
        return any(one is not None and one.status == 200 and name in one.body for one, name in pairs)

    @property
    def is_old(self) -> bool:
        """Whether GET brings the event of HTTP+SSE of 2024-11-05 that names the endpoint."""
        events = self.stream.events if self.stream is not None else []
        return any(event.name == "endpoint" for _, event in events)

    @property
    def is_led_away(self) -> bool:
        """Whether a redirect leads to another page for now: neither this path, nor for good."""
        if self.status not in REDIRECTS or self.status in (301, 308) or self.opening is None:
            return False
        (location,) = self.opening.header("location")[:1] or ("",)
        here, there = (urlsplit(one).path.rstrip("/") for one in (self.url, urljoin(self.url, location)))
        return here != there


def observe(settings: Settings) -> HttpObservations:
    """Start the server, or connect to it, and send ``initialize``; GET too if that is refused."""
    server = settings.http
    assert server is not None
    try:
        settings.start().stop()
    except NotServing as error:
        return HttpObservations(server.url, str(error), error.stderr)
    with closing(Client(server.endpoint)) as client:
        opening = client.begin(_post(server, HELLO))
        opening.wait(settings.start_timeout)
        seen = HttpObservations(
            server.endpoint.url,
            opening=opening,
            stderr=server.stderr_since(0.0),
            has_credential=server.has_credential,
        )
        if not seen.is_open:
            seen = replace(seen, discovery=client.begin(_post(server, DISCOVERY)))
            assert seen.discovery is not None
            seen.discovery.wait(settings.start_timeout)
        if not seen.is_open:
            accept = (b"Accept", EVENT_STREAM.encode())
            stream = client.begin(Request.to(server.endpoint, "GET", (accept, *server.headers)))
            stream.wait(STREAM_SECONDS)
            seen = replace(seen, stream=stream)
        return seen


def _post(server: HttpServer, message: Mapping[str, Any]) -> Request:
    headers = (JSON, ACCEPT, *Mirror({}).headers(message), *server.headers)
    return Request.to(server.endpoint, "POST", headers, encode(message))


def steps(seen: HttpObservations) -> Iterator[tuple[bool, str, Sequence[str]]]:
    """Yield what was seen, step by step: whether it is good, a title, and details."""
    if seen.refused:
        yield False, seen.refused, seen.stderr.splitlines()[-10:]
        return
    yield True, f"connected: {seen.url}", ()
    if seen.opening is not None:
        is_good = seen.is_open and seen.discovery is None
        yield is_good, f"POST initialize: {_described(seen.opening)}", _details(seen.opening)
    if seen.discovery is not None:
        yield seen.is_open, f"POST server/discover: {_described(seen.discovery)}", _details(seen.discovery)
    if seen.stream is not None:
        yield seen.stream.status in (200, 405), f"GET: {_described(seen.stream)}", _details(seen.stream)


def _described(exchange: Exchange) -> str:
    if exchange.status is None:
        return exchange.failure or "no response"
    kind = f", {exchange.media_type}" if exchange.media_type else ""
    return f"HTTP {exchange.status} {exchange.reason}{kind}"


def _details(exchange: Exchange) -> list[str]:
    headers = [f"{name}: {value}" for name in TOLD for value in exchange.header(name)]
    body = shorten(exchange.body.decode("utf-8", "replace").strip(), MAX_BODY)
    return [*headers, *body.splitlines()]


Test = Callable[[HttpObservations], bool]
CAUSES: tuple[tuple[Test, str, str], ...] = (
    (
        lambda seen: ": the certificate of " in seen.refused,
        "The certificate of the server is not valid here.",
        "trust its authority with SSL_CERT_FILE=FILE, or serve a certificate for this host",
    ),
    (
        lambda seen: " before it listened on port " in seen.refused,
        "The server ended before it listened.",
        "read its stderr above; {port} in the command becomes the port to listen on",
    ),
    (
        lambda seen: bool(seen.refused and seen.stderr),
        "The server takes no connection.",
        "compare the address and the port, and read its stderr above",
    ),
    (
        lambda seen: bool(seen.refused),
        "Nothing listens there.",
        "start the server, and compare the address and the port of the URL",
    ),
    (
        lambda seen: seen.is_open,
        "The server is healthy.",
        "",
    ),
    (
        lambda seen: seen.is_old,
        "The server speaks HTTP+SSE of 2024-11-05: GET brings the address for messages.",
        "serve Streamable HTTP, which replaced it in 2025-03-26; of the old one only http.sse24 is tested",
    ),
    (
        lambda seen: seen.status in (401, 407),
        "The server wants credentials.",
        "send them: --header-env Authorization=VARIABLE; or log in: mcp-conformance login, then --auth login",
    ),
    (
        lambda seen: seen.status in (403, 421),
        "The server refuses this host, or these credentials.",
        "allow the host of the URL where the server checks Host and Origin, or send other credentials",
    ),
    (
        lambda seen: seen.status in (404, 405),
        "There is no MCP endpoint at this path.",
        "give the path: --url http://host/PATH, or --http-path /PATH",
    ),
    (
        lambda seen: seen.is_led_away,
        "The server sends its caller to another page, as to a login.",
        "if the header Location names a login, send credentials: --header 'Authorization: Bearer ...'",
    ),
    (
        lambda seen: seen.status in REDIRECTS,
        "The endpoint is at another address, which the header Location names.",
        "give that address: clients lose the body or the headers when they follow it",
    ),
    (
        lambda seen: seen.status == 406,
        "The server refuses the header Accept: application/json, text/event-stream.",
        "accept both types, as every client sends them",
    ),
    (
        lambda seen: seen.status is not None and seen.status >= 500,
        "The server fails at initialize.",
        "read its log, and its answer above",
    ),
    (
        lambda seen: seen.status is None,
        "The server accepts a connection and does not answer.",
        "compare http and https, and look for what holds its first request up",
    ),
    (
        lambda seen: seen.is_refused and not seen.has_credential,
        "The server refuses initialize with an error of JSON-RPC; no credential was sent.",
        "if it wants one, send it: --header-env Authorization=VARIABLE; clients need the status 401 without",
    ),
    (
        lambda seen: seen.is_refused,
        "The server refuses initialize with an error of JSON-RPC.",
        "read the error above",
    ),
    (
        lambda _: True,
        "The answer to initialize is no result of MCP.",
        "compare the answer above with the specification: a result with protocolVersion is expected",
    ),
)
"""The causes in the order in which they are looked for, each with its words and what to do."""


def cause(seen: HttpObservations) -> tuple[str, str]:
    """Return the cause of what was seen, and what to do; nothing to do for a healthy server."""
    words, advice = next((words, advice) for holds, words, advice in CAUSES if holds(seen))
    there = next(iter(seen.opening.header("location")), "") if seen.opening is not None else ""
    if not there:
        return words, advice
    address = f"that address, --url {shorten(urljoin(seen.url, there), MAX_BODY)}"
    advice = advice.replace("the header Location", f"the header Location ({shorten(there, MAX_BODY)})")
    return words, advice.replace("that address", address)
