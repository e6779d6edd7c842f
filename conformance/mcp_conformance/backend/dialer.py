"""Sockets of a server's own network, for connections to the port that it listens on.

A process that stays in the network makes them; whoever has one can connect it, from anywhere.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from contextlib import suppress

from mcp_conformance.backend.place import ANOTHER, ANOTHER_6

DIAL_SECONDS = 5.0
"""How long a socket may take: the process that makes it starts with the server.  Not measured."""


class Dialer:
    """The end of a pair of Unix sockets at whose other end `stay_behind` makes sockets."""

    def __init__(self, channel: socket.socket):
        self._channel = channel
        self._channel.settimeout(DIAL_SECONDS)
        self._lock = threading.Lock()

    def socket(self, family: int) -> socket.socket:
        """Return a socket that is not connected.  Raises `OSError` once the network is gone."""
        if sys.platform == "win32":
            raise OSError
        numbers: list[int] = []
        with self._lock, suppress(BrokenPipeError, ConnectionResetError):
            self._channel.sendall(ANOTHER_6 if family == socket.AF_INET6 else ANOTHER)
            _, numbers, _, _ = socket.recv_fds(self._channel, 1, 1)
        if not numbers:
            raise ConnectionRefusedError
        return socket.socket(fileno=numbers[0])

    def close(self) -> None:
        """Let the process end that makes sockets, and wait until it has."""
        with self._lock, suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)
            while self._channel.recv(1):
                continue
        self._channel.close()


def stay_behind(channel: int) -> None:
    """Leave a process in this network that makes sockets until the other end of the channel is closed.

    It has nothing of this process but the channel, and is no child of it.
    """
    if sys.platform == "win32":
        raise OSError
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os.close(channel)
        return
    try:
        os.setsid()
        if not os.fork():
            _keep_only(channel)
            asked = socket.socket(fileno=channel)
            _make_sockets(asked)
    finally:
        # The system closes the channel after it has forgotten the process's environment, by which those are
        # found that outlive the server.
        os._exit(0)


def _make_sockets(channel: socket.socket) -> None:
    """Send a new socket for each byte that asks for one, until the other end is closed."""
    if sys.platform == "win32":
        raise OSError
    with suppress(OSError):
        while kind := channel.recv(1):
            family = socket.AF_INET6 if kind == ANOTHER_6 else socket.AF_INET
            with socket.socket(family, socket.SOCK_STREAM) as made:
                socket.send_fds(channel, [kind], [made.fileno()])


def _keep_only(channel: int) -> None:
    """Close all files of this process but one; reading and writing go nowhere."""
    if sys.platform == "win32":
        raise OSError
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.closerange(3, channel)
    os.closerange(channel + 1, os.sysconf("SC_OPEN_MAX"))
