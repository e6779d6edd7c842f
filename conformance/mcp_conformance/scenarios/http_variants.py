"""HTTP requests that a right client rarely sends: other methods, headers, bodies and addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from mcp_conformance.client.session import Session
from mcp_conformance.expect import skip
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT, encode
from mcp_conformance.protocol.methods import NO_SUCH_METHOD
from mcp_conformance.scenarios.http_requests import (
    RESPONSE_SECONDS,
    HeaderValue,
    HttpReply,
    changed,
    delete,
    exchanges,
    get,
    http_session,
    lines_of,
    post,
    post_body,
    post_message,
    request_to,
    send_raw,
)
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.transport.http.client import Client
from mcp_conformance.transport.http.headers import ACCEPT, JSON, SESSION_ID, VERSION
from mcp_conformance.transport.http.request import Headers, Request

OTHER_LOOPBACK = "127.0.0.2"
"""An address of this machine at which a server on 127.0.0.1 does not listen, but one on 0.0.0.0 does."""
CHUNKS = 3
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@scenario
def unknown_method(server: Server) -> HttpReply:
    """POST a request of a method that no server has."""
    return post(http_session(server), NO_SUCH_METHOD)


def requests_in_passing(server: Server) -> list[HttpReply]:
    """Return the first exchanges with requests, and one with a method that no server has."""
    unknown = unknown_method(server)
    sent = [one for one in exchanges(server) if isinstance(one.sent, dict) and "id" in one.sent]
    return [*(one for one in sent if "method" in one.sent), unknown]


@contextmanager
def session_without_stream(server: Server, because: str) -> Iterator[Session]:
    """Yield a session that has no GET stream yet, and end it afterwards; skip if none opens."""
    session = server.sessions.launch(because)
    try:
        if not session.is_modern:
            opening = session.propose(server.settings.start_timeout)
            if opening.value is None:
                skip(f"no session opens: {opening}")
            post_message(session, INITIALIZED)
        yield session
    finally:
        session.begin_close()


@scenario
def first_get(server: Server) -> HttpReply:
    """Open a GET stream in a session that has none."""
    with session_without_stream(server, "a first GET") as session:
        return get(session)


@scenario
def other_methods(server: Server) -> tuple[HttpReply, ...]:
    """Send a harmless request with HTTP methods that the endpoint does not have."""
    session = http_session(server)
    message = session.request_of(session.liveness_method)
    headers = (JSON, ACCEPT, *lines_of(session).mirror.headers(message))
    found = [
        send_raw(session, request_to(session, name, headers, encode(message)), message=message)
        for name in ("PUT", "PATCH")
    ]
    bare = lines_of(session).mirror.session_headers
    return (*found, *(send_raw(session, request_to(session, name, bare)) for name in ("OPTIONS", "HEAD")))


def preflight(server: Server, origin: str) -> HttpReply:
    """Send the request by which a browser asks whether a page of an origin may POST JSON."""
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    headers = changed((), asked | {"Access-Control-Request-Headers": "content-type, mcp-session-id"})
    session = http_session(server)
    return send_raw(session, request_to(session, "OPTIONS", headers))


def handshake_with_origin(server: Server) -> HttpReply:
    """Open a session with the Origin of the server itself, and end it."""
    session = http_session(server)
    origin = lines_of(session).server.endpoint.origin
    return _handshake(session, {"Origin": origin})


def _handshake(session: Session, headers: Mapping[str, HeaderValue]) -> HttpReply:
    """POST ``initialize`` for the newest handshake revision, as its clients do; end the session again."""
    params = {
        "protocolVersion": revisions.LATEST_HANDSHAKE,
        "capabilities": session.capabilities,
        "clientInfo": session.client_info,
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    reply = post_message(session, message, headers)
    if ids := reply.header(SESSION_ID):
        delete(session, {SESSION_ID: ids[0], VERSION: revisions.LATEST_HANDSHAKE})
    return reply


@scenario
def serves_handshakes(server: Server) -> bool:
    """Return whether a modern server takes the handshake of earlier revisions too."""
    has_opened = any(not one.is_modern for one in server.other_surfaces)
    return has_opened or _handshake(http_session(server), {}).was_served


def post_chunked(session: Session) -> HttpReply:
    """POST a harmless request whose body is sent in chunks."""
    message = session.request_of(session.liveness_method)
    body = encode(message)
    size = len(body) // CHUNKS + 1
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    headers = (JSON, ACCEPT, *lines_of(session).mirror.headers(message))
    plain = request_to(session, "POST", headers)
    kept = tuple(one for one in plain.headers if one[0] != b"Content-Length")
    request = replace(plain, headers=(*kept, (b"Transfer-Encoding", b"chunked")), body=chunks)
    return send_raw(session, request, message=message)


def post_to_host(session: Session, host: str) -> HttpReply:
    """POST a harmless request with another Host header."""
    message = session.request_of(session.liveness_method)
    headers = (JSON, ACCEPT, *lines_of(session).mirror.headers(message))
    request = request_to(session, "POST", headers, encode(message))
    return send_raw(session, with_header(request, "Host", host), message=message)


def with_header(request: Request, name: str, value: str) -> Request:
    """Return a request with another value of a header."""
    headers: Headers = changed(request.headers, {name: value})
    return replace(request, headers=headers)


@scenario
def undecodable_posts(server: Server) -> Mapping[str, HttpReply]:
    """POST bodies that are not a JSON text in plain UTF-8, by what they are."""
    session = http_session(server)
    message = session.request_of(session.liveness_method, id="not\N{LATIN SMALL LETTER E WITH ACUTE}utf8")
    text = encode(message)
    bodies = {
        "cut off": text[: len(text) // 2],
        "empty": b"",
        "with a BOM": b"\xef\xbb\xbf" + text,
        "not UTF-8": text.replace(rb"\u00e9", b"\xe9\xff"),
    }
    return {
        name: post_body(session, body, mirrored_headers(session, message)) for name, body in bodies.items()
    }


def mirrored_headers(session: Session, message: object) -> dict[str, HeaderValue]:
    """Return the headers that a right client sends with a message."""
    return {name.decode(): value for name, value in lines_of(session).mirror.headers(message)}


def post_in_utf8(session: Session, id: str) -> HttpReply:
    """POST a harmless request with an id whose characters are not escaped."""
    message = session.request_of(session.liveness_method, id=id)
    escaped = encode(id)[1:-1]
    body = encode(message).replace(escaped, id.encode())
    return post_body(session, body, mirrored_headers(session, message), message=message)


@scenario
def unusual_notifications(server: Server) -> tuple[HttpReply, ...]:
    """POST notifications that a server may ignore or reject: of an unknown method, and without its params."""
    session = http_session(server)
    methods = ("notifications/conformance_unknown", "notifications/progress")
    return tuple(post_message(session, {"jsonrpc": "2.0", "method": method}) for method in methods)


@scenario
def unasked_response(server: Server) -> HttpReply:
    """POST a response to a request that the server has not sent."""
    response = {"jsonrpc": "2.0", "id": "conformance-unasked", "result": {}}
    return post_message(http_session(server), response)


def together(*requests: tuple[Session, str, object]) -> list[HttpReply]:
    """POST requests (session, method, id) at the same time, each on a connection of its own."""
    begun = []
    for session, method, id in requests:
        message = session.request_of(method, id=id)
        headers = (JSON, ACCEPT, *lines_of(session).mirror.headers(message))
        request = request_to(session, "POST", headers, encode(message))
        begun.append((session, lines_of(session).exchange(request), message))
    for session, exchange, _ in begun:
        exchange.wait_or_abort(session.scaled_timeout(RESPONSE_SECONDS))
    return [HttpReply(exchange, message) for _, exchange, message in begun]


def at_other_address(session: Session) -> HttpReply:
    """Send a harmless request to the port of a server at another loopback address."""
    host = lines_of(session).server
    endpoint = replace(host.endpoint, host=OTHER_LOOPBACK)
    client = Client(endpoint, lines_of(session).clock, connect_timeout=1.0)
    try:
        exchange = client.begin(Request.to(endpoint, "OPTIONS", host.headers))
        exchange.wait(session.scaled_timeout(RESPONSE_SECONDS))
        return HttpReply(exchange, ABSENT)
    finally:
        client.close()
