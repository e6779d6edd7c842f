"""What a tap saw, on its way from the process that passes bytes on to the one that writes them down.

Redaction takes time and Python runs one thread at a time, so another process does it: the bytes of a session
never wait for it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from enum import IntEnum
from queue import SimpleQueue
from typing import BinaryIO, NamedTuple

NEW_PROCESS_GROUP = 0x200
"""What keeps Ctrl-C from a process of Windows."""
HEAD = struct.Struct("<BdI")
"""Before each frame: what it is, its time in seconds since the start, and how many bytes follow."""
GRACE_SECONDS = 2.0
"""Seconds in which a server may end by itself.  Not measured: clients give it 2 or more."""
MAX_WAITING_BYTES = 64_000_000
"""What may wait to be written down.  Not measured: four floods of 16 MB, and little for a machine."""


RECORDS = b"1"
"""What the recorder writes to its stdout when a session has a file."""


UNRECORDED = b"mcp-conformance: tap: nothing of the session is recorded\n"


class What(IntEnum):
    """What a frame has."""

    STARTED = 0
    CLIENT = 1
    SERVER = 2
    STDERR = 3
    CLIENT_CLOSED = 4
    SERVER_CLOSED = 5
    ENDED = 6
    ROW = 7
    RUNNING = 8


class Frame(NamedTuple):
    """A piece of a session: the bytes that came ``at`` so many seconds after the start."""

    what: What
    at: float
    data: bytes


def frames(stream: BinaryIO) -> Iterator[Frame]:
    """Yield the frames of a stream until its end; one that was cut off is left out.

    They are read at once, however long the reader takes for each, as the tap ends when all are read; only
    `MAX_WAITING_BYTES` wait.  If they end before the server has, its tap was killed: then the server is.
    """
    read: SimpleQueue[Frame | None] = SimpleQueue()
    room, taken = threading.Condition(), 0

    def has_room() -> bool:
        return taken < MAX_WAITING_BYTES

    def read_all() -> None:
        nonlocal taken
        server = 0
        for frame in _frames(stream):
            with room:
                room.wait_for(has_room)
                taken += len(frame.data)
            read.put(frame)
            if frame.what in (What.RUNNING, What.ENDED):
                server = int(frame.data) if frame.what is What.RUNNING else 0
        read.put(None)
        if server:
            _end(server)

    threading.Thread(target=read_all).start()
    while (frame := read.get()) is not None:
        with room:
            taken -= len(frame.data)
            room.notify()
        yield frame


def _end(server: int) -> None:
    """End a server that nobody else can; it may end by itself, as its stdin has, for `GRACE_SECONDS`."""
    deadline = time.monotonic() + GRACE_SECONDS
    with contextlib.suppress(OSError):
        while time.monotonic() < deadline:
            os.kill(server, 0) if sys.platform != "win32" else None
            time.sleep(0.05)
        if sys.platform == "win32":
            os.kill(server, signal.SIGTERM)
        else:
            os.killpg(server, signal.SIGKILL)


def _frames(stream: BinaryIO) -> Iterator[Frame]:
    while len(head := stream.read(HEAD.size)) == HEAD.size:
        what, at, size = HEAD.unpack(head)
        data = stream.read(size)
        if len(data) < size:
            return
        yield Frame(What(what), at, data)


class Tape:
    """Hands what a tap saw to the recorder, which is a process of its own.

    Nothing here waits or raises: if the recorder fails or is too slow, what it misses is counted.
    """

    def __init__(self, recorder: Sequence[str]):
        self._began = time.monotonic()
        self._waiting: deque[bytes] = deque()
        self._bytes = self._lost = 0
        self._work = threading.Condition()
        self._is_open, self._is_recorded = True, False
        self._stderr = _copy_of_stderr()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._feed, args=(tuple(recorder),), daemon=True)
        self._thread.start()

    def add(self, what: What, data: bytes = b"") -> None:
        """Keep a piece of the session, with the time now."""
        frame = HEAD.pack(what, time.monotonic() - self._began, len(data)) + data
        with self._work:
            if self._bytes + len(frame) > MAX_WAITING_BYTES and data:
                self._lost += len(data)
                return
            self._bytes += len(frame)
            self._waiting.append(frame)
            self._work.notify()

    def end(self, status: int, seconds: float) -> None:
        """Keep how the server ended, and wait at most so long until the recorder has written all.

        Say so on stderr if it has ended without a file.
        """
        self.add(What.ENDED, f"{status} {self._lost}".encode())
        with self._work:
            self._is_open = False
            self._work.notify()
        deadline = time.monotonic() + seconds
        self._thread.join(seconds)
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(max(0.0, deadline - time.monotonic()))
        if not (self._is_recorded or self._thread.is_alive()):
            with contextlib.suppress(OSError):
                os.write(self._stderr, UNRECORDED)

    def _feed(self, recorder: tuple[str, ...]) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._process = _started(recorder)
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            with self._process.stdout as begun, self._process.stdin as pipe:
                while (frame := self._next()) is not None:
                    pipe.write(frame)
                    pipe.flush()
                pipe.close()
                self._is_recorded = begun.read(len(RECORDS)) == RECORDS
        if self._process is not None and not self._is_recorded:
            self._process.wait()
        with self._work:  # what comes now is for nobody
            self._waiting.clear()
            self._bytes = MAX_WAITING_BYTES

    def _next(self) -> bytes | None:
        with self._work:
            self._work.wait_for(lambda: self._waiting or not self._is_open)
            if not self._waiting:
                return None
            frame = self._waiting.popleft()
            self._bytes -= len(frame)
            return frame


def _copy_of_stderr() -> int:
    """Return a file for our stderr, which is closed when the server closes its own; -1 if it is closed."""
    try:
        return os.dup(2)
    except OSError:
        return -1


def _started(recorder: tuple[str, ...]) -> subprocess.Popen[bytes]:
    """Start the recorder where no signal for the tap or the client reaches it."""
    is_windows = sys.platform == "win32"
    return subprocess.Popen(
        recorder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=not is_windows,
        creationflags=NEW_PROCESS_GROUP if is_windows else 0,
    )
