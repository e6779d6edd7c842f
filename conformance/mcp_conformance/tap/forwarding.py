"""A process in the place of a server: each byte passes at once in both directions; a tape gets a copy."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from queue import Empty, SimpleQueue
from types import FrameType
from typing import IO

from mcp_conformance.tap.tape import Tape, What

CHUNK = 64 * 1024
"""What a pipe of Linux holds: one read empties it."""
STDIN, STDOUT, STDERR = 0, 1, 2
READ_SECONDS = 2.0
"""Seconds without the end of a stream.  Not measured: clients kill a server after 2 or more."""
ENDING = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
PASSED_ON = (*ENDING, "SIGUSR1", "SIGUSR2")


def forward(command: Sequence[str], tape: Tape) -> int:
    """Run a server on our stdin, stdout and stderr; return its exit status, minus the signal that ended it.

    It ends when the server has and its stdout and stderr are closed, which a process that it started may
    hold open; a signal that comes meanwhile ends it too.  After a signal that asks the server to end, a
    client has `READ_SECONDS` to read the rest.  Raises `OSError` if the server cannot be started.
    """
    server = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        process_group=0 if sys.platform != "win32" else None,
    )
    assert server.stdin is not None
    tape.add(What.RUNNING, str(server.pid).encode())
    done: SimpleQueue[What | None] = SimpleQueue()
    ways = (
        _Way(What.CLIENT, STDIN, server.stdin.fileno(), server.stdin),
        _Way(What.SERVER, _number(server.stdout), STDOUT, server.stdout),
        _Way(What.STDERR, _number(server.stderr), STDERR, server.stderr),
    )
    with _signals_passed_on(server, done) as passed:
        for way in ways:
            threading.Thread(target=way.pass_all, args=(tape, done), daemon=True).start()
        status = server.wait()
        left = {What.SERVER, What.STDERR}  # the client may leave its end of stdin open for ever
        seconds = READ_SECONDS if passed & {getattr(signal, name, None) for name in ENDING} else None
        with contextlib.suppress(Empty):
            while left and (one := done.get(timeout=seconds)) is not None:
                left.discard(one)
    return status


def end_as(status: int) -> int:
    """End this process by the signal that ended the server; return the status if there was none."""
    if status < 0 and sys.platform != "win32":
        import resource  # noqa: PLC0415  (POSIX only)

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core of the server is of interest, ours is not
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status if status >= 0 else 128 - status


def _number(pipe: IO[bytes] | None) -> int:
    assert pipe is not None
    return pipe.fileno()


class _Way:
    """One direction: the bytes that come from ``source`` and go to ``sink``; ``pipe`` is the server's end."""

    def __init__(self, what: What, source: int, sink: int, pipe: IO[bytes] | None):
        self._what, self._source, self._sink, self._pipe = what, source, sink, pipe

    def pass_all(self, tape: Tape, done: SimpleQueue[What | None]) -> None:
        """Pass bytes on until the source ends or nobody reads the sink; then close both."""
        with contextlib.suppress(OSError):
            while data := _read(self._source):
                tape.add(self._what, data)
                _write(self._sink, data)
        if self._what is not What.STDERR:
            tape.add(What.CLIENT_CLOSED if self._what is What.CLIENT else What.SERVER_CLOSED)
        with contextlib.suppress(OSError):
            _give_up(self._source if self._what is What.CLIENT else self._sink)
        with contextlib.suppress(OSError):
            assert self._pipe is not None
            self._pipe.close()
        done.put(self._what)


def _read(source: int) -> bytes:
    while True:
        try:
            return os.read(source, CHUNK)
        except BlockingIOError:  # another process has made the stream so
            select.select([source], [], [])


def _write(sink: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(sink, rest) :]
        except BlockingIOError:
            select.select([], [sink], [])


def _give_up(number: int) -> None:
    """Close one of our own streams; its number stays taken, so that no other file gets it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, number)
    os.close(nothing)


@contextlib.contextmanager
def _signals_passed_on(
    server: subprocess.Popen[bytes], done: SimpleQueue[What | None]
) -> Iterator[set[int | None]]:
    """Hand each signal that we get to the server, which is in a group of its own; yield which came."""
    passed: set[int | None] = set()

    def hand_on(number: int, frame: FrameType | None) -> None:
        del frame
        passed.add(number)
        if server.returncode is not None:
            done.put(None)
        with contextlib.suppress(OSError):
            server.send_signal(number)

    numbers = [getattr(signal, name) for name in PASSED_ON if hasattr(signal, name)]
    before = {number: signal.signal(number, hand_on) for number in numbers}
    try:
        yield passed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
