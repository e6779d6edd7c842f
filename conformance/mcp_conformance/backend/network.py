"""The sockets of a server's own network, which this process answers."""

from __future__ import annotations

import selectors
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from mcp_conformance.backend.line import Caller
from mcp_conformance.backend.names import Names
from mcp_conformance.backend.place import MAX_WAITING

SOCKETS = 3
"""How many sockets the launcher hands over: for names, HTTP and HTTPS."""
MAX_MESSAGE_BYTES = 4096
Serve = Callable[[socket.socket, Caller], None]


class Network:
    """The network of one process of the server and those that it starts.

    ``channel`` is the end of a pair of Unix sockets through which the launcher hands over its sockets.
    ``names`` are the hosts, ``serve`` takes a connection and returns at once; ``resolves`` and ``listens``
    say whether names exist and connections are taken.
    """

    def __init__(
        self,
        channel: socket.socket,
        names: Names,
        serve: Serve,
        *,
        resolves: bool = True,
        listens: bool = True,
    ):
        self._channel, self._names, self._serve = channel, names, serve
        self._resolves, self._listens = resolves, listens
        self._wake, self._woken = socket.socketpair()
        self._ready = selectors.DefaultSelector()
        self._listeners: tuple[socket.socket, ...] = ()
        self._lock = threading.Lock()
        self.closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def become(self, *, resolves: bool, listens: bool) -> None:
        """Let names exist or not, and take connections or refuse them."""
        with self._lock:
            was, self._resolves, self._listens = self._listens, resolves, listens
            if was and not listens:
                self._refuse()
            elif listens and not was:
                self._listen()

    def close(self) -> None:
        """Answer no more."""
        if self.closed.is_set():
            return
        self.closed.set()
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        self._wake.close()
        self._thread.join()

    def _listen(self) -> None:
        for one in self._listeners:
            one.listen(MAX_WAITING)
            self._ready.register(one, selectors.EVENT_READ)

    def _refuse(self) -> None:
        """Refuse connections: a socket that listens is shut, and can listen again later."""
        for one in self._listeners:
            self._ready.unregister(one)
            one.shutdown(socket.SHUT_RDWR)

    def _run(self) -> None:
        received = self._received()
        with self._lock, suppress(OSError):
            self._listeners = tuple(received[1:])
            self._listen()
            if not self._listens:
                self._refuse()
        with suppress(OSError):
            self._answer(*received[:1])
        with self._lock:
            self._listens, self._listeners = False, ()
            self._ready.close()
        for one in (*received, self._channel, self._woken):
            one.close()

    def _received(self) -> list[socket.socket]:
        """Return the sockets that the launcher hands over; none if it ends before."""
        if sys.platform == "win32":
            raise OSError
        with suppress(OSError):
            _, numbers, _, _ = socket.recv_fds(self._channel, 1, SOCKETS)
            return [_ready_made(number) for number in numbers]
        return []

    def _answer(self, *names: socket.socket) -> None:
        """Answer for names, and take connections, until the network is closed."""
        for one in (self._woken, *names):
            self._ready.register(one, selectors.EVENT_READ)
        while True:
            for key, _ in self._ready.select():
                if key.fileobj is self._woken:
                    return
                assert isinstance(key.fileobj, socket.socket)
                with suppress(OSError):
                    if key.fileobj in names:
                        self._answer_name(key.fileobj)
                    else:
                        self._accept(key.fileobj)

    def _answer_name(self, names: socket.socket) -> None:
        message, sender = names.recvfrom(MAX_MESSAGE_BYTES)
        if answer := self._names.answer(message, exists=self._resolves):
            names.sendto(answer, sender)

    def _accept(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        connection.setblocking(True)
        address, port = connection.getsockname()[:2]
        self._serve(connection, Caller(self._names.name_of(address), port, self.closed))


def _ready_made(number: int) -> socket.socket:
    """Return a socket that never blocks, as a connection may be gone before it is taken."""
    made = socket.socket(fileno=number)
    made.setblocking(False)
    return made
