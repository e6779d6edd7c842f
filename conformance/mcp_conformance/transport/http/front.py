"""A listener for the HTTP clients of this machine: the one way in which requests to us are read.

h11 parses them.  What is malformed, too large, too slow, or from a web page elsewhere is refused, and the
connection closed, so that nothing of it is taken for another request.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import urlsplit

import h11

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HTTP = 80
"""The port that a host without one has."""
ORIGIN = re.compile(rf"https?://(?:{'|'.join(map(re.escape, LOOPBACK))})(?::\d+)?")
"""Matches the pages that may ask: those of this machine."""
# Not measured: a token of a login takes 4 kB, and servers refuse heads beyond 8 to 64 kB.
MAX_HEAD = 64 * 1024
# Not measured: the largest message seen, an image, has 9 MB.
MAX_BODY = 64_000_000
# Not measured: each takes a thread, and a client has a stream and some requests at once.
MAX_CONNECTIONS = 256
# Not measured: on one machine a body of 64 MB takes a tenth of a second.
REQUEST_SECONDS = 30.0
"""How long a request may take from its first byte to its last, and how long a client may read nothing."""
# Not measured: clients keep idle connections for 5 s to 5 min, and notice when one is closed.
IDLE_SECONDS = 300.0
# Not measured: enough for a client that sends its whole body before it reads.
LINGER_SECONDS = 2.0
CHUNK = 64 * 1024


class Refused(Exception):  # noqa: N818  (what became of a request)
    """A request is refused with this status; the text says why."""

    def __init__(self, status: int, why: str):
        super().__init__(why)
        self.status = status


class Front(ThreadingHTTPServer):
    """A listener at a port of 127.0.0.1, a free one if it is 0.  Raises `OSError` if the port is taken."""

    daemon_threads = True

    def __init__(self, port: int, handler: type[FrontHandler]):
        self._room = BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__((LOOPBACK[0], port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread; close it at once if there are too many."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that has gone."""


class FrontHandler(BaseHTTPRequestHandler):
    """One connection; `answer` answers each request, whose body is ``body``."""

    protocol_version = request_version = "HTTP/1.1"
    command, requestline, body = "", "", b""
    _unread = b""

    def handle_one_request(self) -> None:
        """Read a request, and answer or refuse it."""
        self.close_connection = True  # unless the request is read to its end
        try:
            is_whole = self._has_read_request()
        except h11.RemoteProtocolError as error:
            self.refuse(error.error_status_hint, str(error))
        except TimeoutError:
            self.refuse(HTTPStatus.REQUEST_TIMEOUT, "the request does not end")
        except Refused as error:
            self.refuse(error.status, str(error))
        else:
            if is_whole:
                self.connection.settimeout(REQUEST_SECONDS)
                self.answer()

    def answer(self) -> None:
        """Answer the request, of any method."""
        self.refuse(HTTPStatus.NOT_IMPLEMENTED, "no method is known here")

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a request may have a secret."""

    def refuse(self, status: int, why: str) -> None:
        """Answer with an error, and close; what the client still sends is read for a while, and dropped."""
        self.connection.settimeout(LINGER_SECONDS)
        self.close_connection, until = True, time.monotonic() + LINGER_SECONDS
        with suppress(OSError):
            self.send_error(status, explain=why)
            self.connection.shutdown(socket.SHUT_WR)
            while time.monotonic() < until and self.connection.recv(CHUNK):
                pass

    def _has_read_request(self) -> bool:
        """Read a request; return False if the client has gone instead.

        Raises `Refused`, `TimeoutError` and `h11.RemoteProtocolError`.
        """
        body = bytearray()
        for event in self._events():
            if isinstance(event, h11.Request):
                self._take(event)
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > MAX_BODY:
                    raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"over {MAX_BODY} bytes")
            elif isinstance(event, h11.EndOfMessage):
                self.body = bytes(body)
                asks = self.headers.get("Connection", "").lower().split(",")
                self.close_connection = "close" in map(str.strip, asks)
                return True
        return False

    def _events(self) -> Iterator[h11.Event]:
        """Yield the parts of the next request, each when the one before is accepted."""
        parser = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        until = time.monotonic() + (REQUEST_SECONDS if self._unread else IDLE_SECONDS)
        data, self._unread, has_begun = self._unread, b"", bool(self._unread)
        while True:
            if data:
                parser.receive_data(data)
            while (event := parser.next_event()) is not h11.NEED_DATA:
                assert isinstance(event, h11.Event)
                if isinstance(event, h11.EndOfMessage):
                    self._unread = bytes(parser.trailing_data[0])
                yield event
            if parser.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=HTTPStatus.CONTINUE, headers=[])
                self.wfile.write(parser.send(go_on) or b"")
            self.connection.settimeout(max(until - time.monotonic(), 0.001))
            try:
                data = self.connection.recv(CHUNK)
            except TimeoutError:
                if has_begun:
                    raise
                return
            if not data:
                return
            if not has_begun:
                has_begun, until = True, time.monotonic() + REQUEST_SECONDS

    def _take(self, request: h11.Request) -> None:
        """Take the head of a request.  Raises `Refused`."""
        self.command, self.headers = request.method.decode("ascii"), HTTPMessage()
        for name, value in request.headers.raw_items():
            self.headers[name.decode("ascii")] = value.decode("latin-1")
        if request.http_version != b"1.1":
            raise Refused(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "only version 1.1 is spoken here")
        host, length = self.headers["Host"].lower(), self.headers.get("Content-Length")
        self._expect_from_here(host)
        self.path = _path(request.target.decode("latin-1"), host)
        if length is not None and "Transfer-Encoding" in self.headers:
            raise Refused(HTTPStatus.BAD_REQUEST, "Content-Length and Transfer-Encoding")
        if length is not None and int(length) > MAX_BODY:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"over {MAX_BODY} bytes")

    def _expect_from_here(self, host: str) -> None:
        """Raise `Refused` for a page of another host, which may have its name point to this machine."""
        port = self.connection.getsockname()[1]
        if host not in (f"{name}:{port}" for name in LOOPBACK) and not (port == HTTP and host in LOOPBACK):
            raise Refused(HTTPStatus.FORBIDDEN, "the header Host is not that of this listener")
        if not all(map(ORIGIN.fullmatch, self.headers.get_all("Origin", ()))):
            raise Refused(HTTPStatus.FORBIDDEN, "a web page of another host asks")


def _path(target: str, host: str) -> str:
    """Return the path and query of a target.  Raises `Refused` for a URL whose host is not the header's."""
    if target.startswith("/"):
        return target
    try:
        url = urlsplit(target)
    except ValueError as error:
        raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from error
    if url.scheme.lower() != "http" or url.netloc.lower() != host:
        raise Refused(HTTPStatus.BAD_REQUEST, "the target is not a path, nor a URL of the host")
    return url._replace(scheme="", netloc="", path=url.path or "/").geturl()
