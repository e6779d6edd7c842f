"""Recorded sessions played back over Streamable HTTP, on this machine only."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

from mcp_conformance.protocol.jsonrpc import Kind, decode, encode, kind
from mcp_conformance.tap.serving import Exchange, Player, awaits_answer
from mcp_conformance.tap.spoiling import spoiled

MAX_BODY = 16_000_000
SESSION = "Mcp-Session-Id"


def serve_http(recorded: Sequence[Exchange], port: int, rule: str) -> int:
    """Serve until Ctrl-C; return 0.  Raises `OSError` if the port is taken."""
    players: dict[str, Player] = {}
    lock = Lock()

    class Handler(_Handler):
        def player(self, message: Any) -> tuple[str, Player]:
            """Return the session of a request, and who plays it: a new one for ``initialize``."""
            with lock:
                id = self.headers.get(SESSION, "")
                if message.get("method") == "initialize" or id not in players:
                    id = uuid.uuid4().hex if message.get("method") == "initialize" else ""
                    players[id] = players.get(id) or Player(recorded)
                return id, players[id]

    Handler.rule = rule
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        url = f"http://127.0.0.1:{server.server_port}/mcp"
        print(f"mcp-conformance: serving {url}", file=sys.stderr, flush=True)  # noqa: T201
        server.serve_forever()
    return 0


class _Handler(BaseHTTPRequestHandler):
    """One request: what the player says to its message; an event stream if that is more than the answer."""

    protocol_version = "HTTP/1.1"
    rule = ""

    def player(self, message: Any) -> tuple[str, Player]:
        """Return the session of a request, and who plays it."""
        raise NotImplementedError

    def do_POST(self) -> None:
        """Answer a message."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY:
            self._send(HTTPStatus.LENGTH_REQUIRED, b"", "text/plain")
            return
        message, *_ = decode(self.rfile.read(int(length)))
        if self.headers.get("Origin") or not isinstance(message, dict):
            status = HTTPStatus.FORBIDDEN if self.headers.get("Origin") else HTTPStatus.BAD_REQUEST
            self._send(status, b"", "text/plain")
            return
        id, player = self.player(message)
        said = [
            one if isinstance(one, bytes) else encode(one)
            for sent in player.said(message)
            if not awaits_answer(sent)  # its answer would come by another request
            for one in spoiled(self.rule, sent, str(message.get("method")))
        ]
        if kind(message) is not Kind.REQUEST:
            self._send(HTTPStatus.ACCEPTED, b"", "", id)
        elif len(said) == 1:
            self._send(HTTPStatus.OK, said[0], "application/json", id)
        else:
            events = b"".join(
                b"event: message\ndata: %s\n\n" % one.replace(b"\n", b"\ndata: ") for one in said
            )
            self._send(HTTPStatus.OK, events, "text/event-stream", id)

    def do_GET(self) -> None:
        """Refuse a stream: what was recorded belongs to requests."""
        self._send(HTTPStatus.METHOD_NOT_ALLOWED, b"", "")

    def do_DELETE(self) -> None:
        """End a session."""
        self._send(HTTPStatus.OK, b"", "")

    def _send(self, status: HTTPStatus, body: bytes, content_type: str, session: str = "") -> None:
        self.send_response(status)
        if content_type:
            self.send_header("Content-Type", content_type)
        if session:
            self.send_header(SESSION, session)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""
