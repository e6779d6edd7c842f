"""A tap for HTTP: a server on this machine that passes each request on, and each response as it comes."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from itertools import count
from socket import MSG_PEEK, SHUT_RDWR, socket
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlsplit

from mcp_conformance.tap.tape import Tape, What
from mcp_conformance.transport.http.endpoint import Endpoint
from mcp_conformance.transport.http.events import EventParser, EventTooLarge
from mcp_conformance.transport.http.front import Front, FrontHandler

HOP_BY_HOP = frozenset(
    ("connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade", "host")
)
"""Headers that are about one connection (RFC 9110, 7.6.1), and the host, which is another one."""
KEPT_BACK = HOP_BY_HOP | {"content-length", "accept-encoding"}
"""Headers of a request that are not passed on; what comes compressed could not be written down."""
MAX_RECORDED = 16_000_000
"""Of a longer body nothing is recorded; it passes."""
SESSION = "mcp-session-id"
BAD_GATEWAY = 502
# Not measured: a server keeps far fewer events, and each takes some 100 bytes here.
MAX_DELIVERED = 65_536
"""The events of which a second delivery is noticed."""


def forward_http(port: int, url: str, tape: Tape, ready: Callable[[str], None]) -> None:
    """Serve at a port of this machine what a server at another address says, until Ctrl-C.

    ``ready`` gets the address.  Raises `ValueError` for what is no URL, and `OSError` if the port is taken.
    """
    upstream = Endpoint.parse(url)

    class Handler(_Handler):
        numbers = count(1)

    Handler.upstream, Handler.tape, Handler.delivered = upstream, tape, Delivered()
    with Front(port, Handler) as server:
        ready(f"http://127.0.0.1:{server.server_port}{upstream.target}")
        server.serve_forever()


class Delivered:
    """The events that were delivered last, by their sessions and ids."""

    def __init__(self) -> None:
        self._known: dict[int, None] = {}
        self._lock = Lock()

    def is_again(self, session: str, id: str) -> bool:
        """Note an event; return whether it was delivered before."""
        if not session or not id:
            return False
        key = hash((session, id))
        with self._lock:
            is_again = key in self._known
            self._known[key] = None
            if len(self._known) > MAX_DELIVERED:
                del self._known[next(iter(self._known))]
        return is_again


class _Handler(FrontHandler):
    """One request, and its response."""

    upstream: Endpoint
    tape: Tape
    numbers: Iterator[int]
    delivered: Delivered

    def answer(self) -> None:
        """Pass the request on, and the response back."""
        number, session = next(self.numbers), self.headers.get(SESSION, "")
        if session:  # else the response may name it
            self._record_request(number, session)
        scheme = HTTPSConnection if self.upstream.scheme == "https" else HTTPConnection
        connection = scheme(self.upstream.host, self.upstream.port)
        try:
            self._ask(connection)
            Thread(target=self._close_with_client, args=(connection.sock,), daemon=True).start()
            response = connection.getresponse()
        except (OSError, HTTPException) as error:
            if not session:
                self._record_request(number, session)
            self.send_error(BAD_GATEWAY, explain=f"the tap cannot reach the server: {error}")
            return
        with closing(connection), response:
            if not session:
                session = response.headers.get(SESSION, "")
                self._record_request(number, session)
            self._answer(response, number, session)

    def _close_with_client(self, upstream: socket) -> None:
        """Close the connection to the server when the client has gone: a stream may be silent for hours."""
        while True:
            try:
                is_there = self.connection.recv(1, MSG_PEEK) != b""
            except TimeoutError:  # that of what is written
                continue
            except OSError:
                is_there = False
            break
        with suppress(OSError):
            if not is_there:
                upstream.shutdown(SHUT_RDWR)

    def _ask(self, connection: HTTPConnection) -> None:
        connection.putrequest(self.command, self.path, skip_accept_encoding=True)
        for name, text in self.headers.items():
            if name.lower() not in KEPT_BACK:
                connection.putheader(name, text)
        if self.body or self.command in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(self.body)))
        connection.endheaders(self.body)

    def _answer(self, response: HTTPResponse, number: int, session: str) -> None:
        self.send_response_only(response.status, response.reason)
        has_body = self.command != "HEAD" and response.status not in (204, 304)
        is_chunked = has_body and (response.chunked or response.headers.get("Content-Length") is None)
        left_out = HOP_BY_HOP | {"content-length"} if is_chunked else HOP_BY_HOP
        for name, text in response.headers.items():
            if name.lower() not in left_out:
                self.send_header(name, text)
        if is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        carrier, given = f"response {number}", [(SESSION, session)] if response.headers.get(SESSION) else []

        def tell(raw: bytes, end: str, id: str) -> None:
            is_again = self.delivered.is_again(session, id)
            self._record(session, raw, carrier + end, {"again": True} if is_again else {}, given)

        heard = _Heard(response, tell)
        self._record(session, None, carrier, {"status": response.status}, response.headers.items())
        while data := response.read1(65536):
            heard.feed(data)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if is_chunked else data)
        heard.end()
        if is_chunked:
            self.wfile.write(b"0\r\n\r\n")

    # Recording -----------------------------------------------------------------------------------

    def _record_request(self, number: int, session: str) -> None:
        what = {"method": self.command, "path": self.path.partition("?")[0]}
        raw = self.body if 0 < len(self.body) <= MAX_RECORDED else None
        self._record(session, raw, f"{self.command} {number}", what, self.headers.items(), sent=True)

    def _record(  # noqa: PLR0913
        self,
        session: str,
        raw: bytes | None,
        carried_by: str,
        what: dict[str, Any],
        headers: Iterable[tuple[str, str]],
        *,
        sent: bool = False,
    ) -> None:
        if urlsplit(self.path).path.rstrip("/") != urlsplit(self.upstream.target).path.rstrip("/"):
            return  # at other paths there are logins, and their secrets
        row: dict[str, Any] = {"session": _alias(session), "sent": sent, "carried_by": carried_by}
        if raw is not None:
            row["raw"] = raw.decode("latin-1")
        row["http"] = {**what, "headers": [(name, _shown(name, text)) for name, text in headers]}
        self.tape.add(What.ROW, json.dumps(row).encode())


def _alias(session: str) -> str:
    """Return a name for a session that is no key to it."""
    return uuid.uuid5(uuid.NAMESPACE_OID, session).hex[:12] if session else ""


def _shown(name: str, text: str) -> str:
    return _alias(text) if name.lower() == SESSION else text


class _Heard:
    """The messages in the body of a response, one by one: with `` event`` and its id in a stream."""

    def __init__(self, response: HTTPResponse, tell: Callable[[bytes, str, str], None]):
        kind = response.headers.get_content_type()
        is_plain = response.headers.get("Content-Encoding", "identity") == "identity"
        self._events = EventParser() if kind == "text/event-stream" and is_plain else None
        self._is_json = kind == "application/json" and is_plain
        self._body = b""
        self._tell = tell

    def feed(self, data: bytes) -> None:
        """Take a piece of the body."""
        if self._is_json and len(self._body) <= MAX_RECORDED:
            self._body += data
        if self._events is not None:
            try:
                for event in self._events.feed(data):
                    if event.data and event.name == "message":
                        self._tell(event.data.encode(), " event", event.id or "")
            except EventTooLarge:
                self._events = None

    def end(self) -> None:
        """Tell what has come as one body."""
        if self._body and len(self._body) <= MAX_RECORDED:
            self._tell(self._body, "", "")
