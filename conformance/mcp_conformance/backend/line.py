"""One connection of a server with a host that this process is: TLS, the request, and the answer."""

from __future__ import annotations

import selectors
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import h11

from mcp_conformance.backend.authority import Authority
from mcp_conformance.backend.contact import BY_PROXY, HTTP2_ONLY, NO_REQUEST, Contact, shape
from mcp_conformance.backend.exchange import Api, Asked

TLS_HANDSHAKE = b"\x16"
"""The first byte of a client that speaks TLS."""
READ_SECONDS = 30.0
"""How long a client may take for its request.  Not measured: one that is slower has gone."""
READ_BYTES = 65_536
UNSPOKEN_METHODS = {b"PRI": HTTP2_ONLY, b"CONNECT": BY_PROXY}
"""The methods of clients that speak HTTP/2 without being asked to, and of those that go through a proxy."""
IDEMPOTENCY = "idempotency"
"""What the names of headers have by which an API knows a request that it has carried out already."""
AT_ONCE = struct.pack("ii", 1, 0)
"""The option with which a connection is reset when it is closed."""


@dataclass(eq=False)
class Line:
    """A connection with a request to answer, a `Wire`.

    ``api`` answers while it works.  ``wanted`` waits so many seconds, without end for None, and returns
    whether the answer is still wanted.  ``note_size`` is called with the size of the API's answer.
    """

    connection: socket.socket
    contact: Contact
    asked: Asked
    api: Api
    wanted: Callable[[float | None], bool]
    note_size: Callable[[int], None]
    is_reset: bool = False

    @property
    def origin(self) -> str:
        """The scheme and the host of the URL."""
        return self.contact.where

    @property
    def target(self) -> str:
        """The path and the query of the URL."""
        return self.asked.target

    @property
    def number(self) -> int:
        """The number of the request."""
        return self.contact.number

    def send(self, data: bytes) -> None:
        """Send bytes.  Raises `OSError`."""
        self.connection.sendall(data)

    def work(self) -> None:
        """Answer as the API does while it works; reset the connection if that has no answer."""
        try:
            answered = self.api.answer(self.asked)
        except OSError:
            self.reset()
            return
        self.note_size(len(answered.body))
        self.send(answered.encoded(self.asked.method))

    def wait(self, seconds: float | None) -> bool:
        """Wait; return whether the answer is still wanted."""
        return self.wanted(seconds)

    def reset(self) -> None:
        """End the connection in disorder."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        self.is_reset = True

    @property
    def is_left(self) -> bool:
        """Whether the client has left: after its request it writes only that it ends the connection."""
        return is_readable(self.connection)

    def end(self) -> None:
        """Close the connection; in order, the other side has read everything first."""
        with suppress(OSError):
            if not self.is_reset:
                self.connection.settimeout(1.0)
                if isinstance(self.connection, ssl.SSLSocket):
                    self.connection.unwrap()
                self.connection.shutdown(socket.SHUT_WR)
        self.connection.close()


@dataclass(frozen=True)
class Caller:
    """A client that has connected: the host that it means, as far as its address tells, and the port.

    ``gone`` is set once its process has ended.
    """

    host: str
    port: int
    gone: threading.Event


def is_readable(connection: socket.socket, seconds: float = 0.0) -> bool:
    """Wait so many seconds for bytes or the end of a connection; return whether either is there."""
    with selectors.DefaultSelector() as selector, suppress(OSError, ValueError):
        selector.register(connection, selectors.EVENT_READ)
        return bool(selector.select(seconds))
    return True


def take(
    connection: socket.socket,
    caller: Caller,
    authority: Authority,
    finds: Callable[[str], bool],
    awaits: Callable[[socket.socket | None], None],
) -> tuple[socket.socket, Contact, Asked]:
    """Read a request; return the connection, in TLS if that is spoken, the contact, and the request.

    The contact has no method if no request came.  ``finds`` tells whether a text has a credential,
    ``awaits`` is called with the connection while it is the client's turn, with None once it has begun.
    """
    connection.settimeout(READ_SECONDS)
    names, is_encrypted, refusal = [caller.host], False, ""
    try:
        is_readable(connection, READ_SECONDS)
        awaits(None)
        is_encrypted = connection.recv(1, socket.MSG_PEEK) == TLS_HANDSHAKE
        if is_encrypted:
            connection = secure = _encrypted(connection, caller, authority, names)
            secure.do_handshake()
            awaits(secure)
            is_readable(secure, READ_SECONDS)
            awaits(None)
        request, body = _request(connection)
        refusal = UNSPOKEN_METHODS.get(request.method, "")
    except ssl.SSLError as error:
        refusal = (error.reason or "TLS failed").lower().replace("_", " ")
    except (OSError, h11.RemoteProtocolError) as error:
        refusal = f"{NO_REQUEST}: {error}" if str(error) else NO_REQUEST
    if refusal:
        contact = Contact(names[-1], caller.port, is_encrypted=is_encrypted, refusal=refusal)
        return connection, contact, Asked("", contact.where, "")
    named = names[-1] if is_encrypted else ""
    contact, asked = _contact(request, body, caller, named, finds)
    return connection, contact, asked


def _contact(
    request: h11.Request, body: bytes, caller: Caller, named: str, finds: Callable[[str], bool]
) -> tuple[Contact, Asked]:
    """Return what a request asks; ``named`` is the host in the TLS hello, empty without TLS."""
    target = request.target.decode("latin-1")
    headers = tuple((name.decode("latin-1"), text.decode("latin-1")) for name, text in request.headers)
    host = next((text for name, text in headers if name == "host"), "")
    texts = (target, *(text for _, text in headers), body.decode("utf-8", "replace"))
    contact = Contact(
        named or _without_port(host) or caller.host,
        caller.port,
        request.method.decode("latin-1"),
        shape(target),
        len(body),
        bool(named),
        any(map(finds, texts)),
        same=hash((named, host, request.method, target, body)),
        is_keyed=any(IDEMPOTENCY in name for name, _ in headers),
    )
    return contact, Asked(contact.method, contact.where, target, headers, body)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name.strip("[]") if colon and port.isdecimal() else host.strip("[]")


def _encrypted(
    connection: socket.socket, caller: Caller, authority: Authority, names: list[str]
) -> ssl.SSLSocket:
    """Return the connection in TLS before its handshake, which adds the host that the client names."""

    def choose(chosen: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
        if name:
            names.append(name.lower())
        chosen.context = authority.context(names[-1] if names else caller.host)

    return authority.choosing(choose).wrap_socket(connection, server_side=True, do_handshake_on_connect=False)


def _request(connection: socket.socket) -> tuple[h11.Request, bytes]:
    """Read a request and its body.  Raises `OSError` and `h11.RemoteProtocolError`."""
    protocol, found, body = h11.Connection(h11.SERVER), None, bytearray()
    while True:
        event = protocol.next_event()
        if event is h11.NEED_DATA:
            if protocol.they_are_waiting_for_100_continue:
                continuing = h11.InformationalResponse(status_code=100, headers=[])
                connection.sendall(protocol.send(continuing) or b"")
            protocol.receive_data(connection.recv(READ_BYTES))
        elif isinstance(event, h11.Request):
            found = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage) and found is not None:
            return found, bytes(body)
        else:
            raise h11.RemoteProtocolError("the connection was closed")
