"""The run's end of the channel to the processes of a server that are in a namespace (`processes`)."""

from __future__ import annotations

import socket
import struct
import sys
from contextlib import suppress

PID_SECONDS = 5.0
END_SECONDS = 30.0
"""How long the system may take to end killed processes; one that waits for a device may never end."""
MAX_WORD_BYTES = 64


class Lifeline:
    """The processes inside live as long as its ``channel`` is open, also if this process is killed."""

    def __init__(self, channel: socket.socket):
        self._channel = channel
        self._pid: int | None = None
        self._is_asked = False
        if sys.platform == "linux":
            channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)

    @property
    def pid(self) -> int | None:
        """The id of the server as this process sees it; None if it did not start."""
        if not self._is_asked and sys.platform == "linux":
            self._is_asked = True
            self._channel.settimeout(PID_SECONDS)
            size = struct.calcsize("3i")
            with suppress(OSError):
                _, about, _, _ = self._channel.recvmsg(1, socket.CMSG_SPACE(size))
                self._pid = next((struct.unpack("3i", data[:size])[0] for *_, data in about), None)
        return self._pid

    def end(self) -> int:
        """End the processes inside, once; return how many of them had left the group of the server."""
        said = b""
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)
            self._channel.settimeout(END_SECONDS)
            while word := self._channel.recv(MAX_WORD_BYTES):
                said += word
        self._channel.close()
        return int(said.lstrip(b"!") or 0)
