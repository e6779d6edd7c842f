"""Recorded sessions played back over Streamable HTTP, on this machine only."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from http import HTTPStatus
from itertools import chain
from threading import Lock
from typing import Any

from mcp_conformance.protocol.jsonrpc import Kind, decode, is_response, kind
from mcp_conformance.tap.exchanges import LISTEN, Said
from mcp_conformance.tap.serving import Player
from mcp_conformance.tap.spoiling import Fault
from mcp_conformance.tap.streams import Stream, Streams
from mcp_conformance.transport.http.front import Front, FrontHandler

SESSION = "Mcp-Session-Id"
JSON, EVENTS = "application/json", "text/event-stream"


def serve_http(
    new_player: Callable[[], Player], port: int, ready: Callable[[str], None], fault: Fault | None = None
) -> None:
    """Serve until Ctrl-C; ``ready`` gets the address, and responses have a ``fault``.

    Raises `OSError` if the port is taken.
    """

    class Handler(_Handler):
        clients = _Clients(new_player)

    Handler.fault = fault or Handler.fault

    with Front(port, Handler) as server:
        ready(f"http://127.0.0.1:{server.server_port}/mcp")
        server.serve_forever()


class _Clients:
    """The sessions by their ids; the empty id is that of all clients without one.

    Where nothing opens a session, each ``server/discover`` beyond those that were recorded begins anew.
    """

    def __init__(self, new_player: Callable[[], Player]):
        self._new_player = new_player
        self._lock = Lock()
        self._sessions: dict[str, Streams] = {}

    def of(self, id: str, message: Any = None) -> tuple[str, Streams | None]:
        """Return the session with an id; a new one for ``initialize``, None for an id that nobody has."""
        method = message.get("method") if message else ""
        with self._lock:
            if method == "initialize":
                id = uuid.uuid4().hex
            found = self._sessions.get(id)
            is_anew = (
                found is not None and method == "server/discover" and not id and found.has_played(message)
            )
            if is_anew or (found is None and (not id or method == "initialize")):
                found = self._sessions[id] = Streams(self._new_player())
            return id, found

    def end(self, id: str) -> bool:
        """End a session; return whether there was one."""
        with self._lock:
            found = self._sessions.pop(id, None)
        if found is not None:
            found.end()
        return found is not None


class _Handler(FrontHandler):
    """One request, and its response."""

    clients: _Clients
    fault = Fault("")

    def answer(self) -> None:
        """Answer a request."""
        known = {"POST": self._post, "GET": self._get, "DELETE": self._delete}
        if self.command in known:
            known[self.command]()
        else:
            self.refuse(HTTPStatus.NOT_IMPLEMENTED, "a server of MCP has GET, POST and DELETE")

    def _post(self) -> None:
        """Answer a message: an event stream if what is said is more than the answer."""
        message, *_ = decode(self.body)
        if not isinstance(message, dict):
            self.send(HTTPStatus.BAD_REQUEST)
            return
        id, streams = self.clients.of(self.headers.get(SESSION, ""), message)
        if streams is None:
            self.send(HTTPStatus.NOT_FOUND)
        elif kind(message) is Kind.REQUEST:
            self._answer(id, streams, message)
        else:
            self.send(HTTPStatus.ACCEPTED, session=id)
            if is_response(message):
                streams.answered(message.get("id"))
            else:
                streams.send_aside(streams.said(message))

    def _answer(self, session: str, streams: Streams, message: Any) -> None:
        fault = self.fault if self.fault.is_about(message["method"]) else Fault("")
        if fault.status:
            self.send(HTTPStatus(fault.status))
            return
        own = _Own(self, session if fault.has_session else "", fault.content_type)
        playing, is_answered = streams.said(message), False
        subscription = streams.subscribe(message["id"]) if message["method"] == LISTEN else None
        if fault.is_endless:
            own.follow(Stream())
            return
        for said in playing:
            if is_answered and said.is_aside:
                own.end()
                streams.send_aside(chain([said], playing))
                return
            is_answered |= is_response(said.message)
            streams.send(said, own.write)
        if not is_answered:  # of a request that was cancelled, a stream that ends would be an error
            own.follow(subscription or Stream())
        own.end()

    def _get(self) -> None:
        """Open the stream of a session, for what belongs to no request."""
        session = self.headers.get(SESSION, "")
        id, streams = self.clients.of(session) if session else ("", None)
        if streams is None:
            self.send(HTTPStatus.NOT_FOUND if session else HTTPStatus.METHOD_NOT_ALLOWED)
            return
        own = _Own(self, id)
        own.follow(streams.aside)
        own.end()

    def _delete(self) -> None:
        """End a session."""
        self.send(HTTPStatus.OK if self.clients.end(self.headers.get(SESSION, "")) else HTTPStatus.NOT_FOUND)

    def send(self, status: HTTPStatus, body: bytes = b"", content_type: str = "", session: str = "") -> None:
        """Send a whole response."""
        self.head(status, content_type, session)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def head(self, status: HTTPStatus, content_type: str, session: str) -> None:
        """Send the status and the headers that a response of this server has."""
        self.send_response(status)
        if content_type:
            self.send_header("Content-Type", content_type)
        if session:
            self.send_header(SESSION, session)


class _Own:
    """The response to one request: JSON if it has the answer alone, else an event stream.

    It may have another ``content_type`` than it should.
    """

    def __init__(self, handler: _Handler, session: str, content_type: str = ""):
        self._handler, self._session, self._content_type = handler, session, content_type
        self._held: bytes | None = None
        self._has_begun = False

    def write(self, said: Said) -> None:
        """Send a message; an answer waits for more, or for the end."""
        if is_response(said.message) and self._held is None and not self._has_begun:
            self._held = said.raw
        else:
            self.event(said.raw)

    def event(self, raw: bytes) -> None:
        """Send a message as an event; an empty one is a comment."""
        self._begin()
        data = b"".join(b"data: %s\n" % line for line in raw.split(b"\n"))
        self._chunk(b"event: message\n%s\n" % data if raw else b":\n\n")

    def follow(self, stream: Stream) -> None:
        """Send what a stream has, until its end."""
        self.event(b"")  # the client waits for the headers
        for raw in stream.messages():
            self.event(raw)

    def end(self) -> None:
        """End the response."""
        if self._held is not None and not self._has_begun:
            self._handler.send(HTTPStatus.OK, self._held, self._content_type or JSON, self._session)
        else:
            self._begin()
            self._chunk(b"")

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._handler.head(HTTPStatus.OK, self._content_type or EVENTS, self._session)
            self._handler.send_header("Transfer-Encoding", "chunked")
            self._handler.end_headers()
            if self._held is not None:
                self.event(self._held)

    def _chunk(self, data: bytes) -> None:
        self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
