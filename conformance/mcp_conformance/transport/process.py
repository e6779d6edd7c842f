"""One child process on three pipes, read and written by private threads."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from mcp_conformance.sandbox.confined import Confined
from mcp_conformance.sandbox.traffic import Traffic
from mcp_conformance.transport import interrupts
from mcp_conformance.transport.interface import (
    EOF,
    HEAD,
    HURRIED_STOP_SECONDS,
    MAX_LINE,
    STOP_SECONDS,
    SYSTEM_CLOCK,
    CannotStart,
    Clock,
    Item,
    OnWait,
    Overlong,
)
from mcp_conformance.transport.process_tree import POSIX, Tree
from mcp_conformance.transport.queue import ByteQueue

STDERR = 1
"""The index of the thread that reads stderr."""
# Not measured: the end of stderr names the fault, and each of many sessions keeps as much.
MAX_STDERR_BYTES = 64 * 1024
# What a pipe of Linux holds: one read empties it.
CHUNK = 64 * 1024
MAX_WRITE_SECONDS = 10.0
"""How long a write waits for a child that reads nothing.  Not measured: its answers are overdue by then."""
ATOMIC_WRITE_BYTES = getattr(select, "PIPE_BUF", 512)
"""The bytes that a writable pipe always takes at once."""


class Process:
    """A running child process: stdout as lines, stderr kept, writes to stdin that never block.

    `stop` also ends every process that it started (`process_tree`).  ``confined`` starts the command in a
    sandbox; its environment counts.  Raises `CannotStart` if the command cannot be started.
    """

    def __init__(  # noqa: PLR0913
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        confined: Confined | None = None,
        max_line: int = MAX_LINE,
        on_wait: OnWait | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ):
        self.on_wait = on_wait
        self.clock = clock
        self.command = tuple(command)
        self.started = clock.monotonic()
        self._confined = confined or Confined(self.command, os.environ if env is None else env)
        self._tree = _start(self._confined, cwd)
        self._child = self._tree.child
        self._lines = ByteQueue()
        self._chunk: list[bytes | Overlong] = []
        self.max_line = max_line
        self._splitter = Splitter(self._chunk.append, max_line)
        self._writes = ByteQueue()
        self._stderr: deque[tuple[float, bytes]] = deque()
        self._stderr_bytes = 0
        self._wake = _Wake()
        self._is_clogged = self._stopped = False
        self._ending: threading.Thread | None = None
        pumps = (self._pump_stdout, self._pump_stderr, self._pump_stdin)
        self._threads = [threading.Thread(target=pump, daemon=True) for pump in pumps]
        for thread in self._threads:
            thread.start()

    # The transport

    def write(self, data: bytes) -> None:
        """Write bytes to stdin, in order; a thread writes those that the pipe does not take at once.

        They are lost if so much waits for the child already that it has long not read.
        """
        if self.traffic is not None:
            self.traffic.look()
        if self._written_at_once(data):
            return
        # The child may wait until its stdout is read, which the thread that writes here would do.
        with self._lines.roomy():
            seconds = 0.0 if self._is_clogged else MAX_WRITE_SECONDS
            self._is_clogged = not self._writes.put(data, timeout=seconds)

    def _written_at_once(self, data: bytes) -> bool:
        pipe = self._child.stdin
        assert pipe is not None
        # Only if the writer waits for work: bytes must not overtake those that it still has.
        if len(data) > ATOMIC_WRITE_BYTES or not self._writes.is_awaited or not _has_room(pipe.fileno()):
            return False
        try:
            os.write(pipe.fileno(), data)
        except OSError:
            return False
        return True

    def read(self, timeout: float) -> Item | None:
        """Return the next line of stdout with its `age`, `EOF` at the end, None if nothing comes in time."""
        return self._lines.get(timeout)

    def ignore_stdout(self) -> None:
        """Discard what the child writes to stdout, for a child that does not answer there."""
        self._lines.discard()

    def close_stdin(self) -> None:
        """Close stdin after everything handed to `write` is written."""
        self._writes.put(EOF)

    @property
    def unended(self) -> bytes:
        """The bytes of stdout since the last line end."""
        return self._splitter.unended

    @property
    def age(self) -> float:
        """Seconds since the child was started."""
        return self.clock.monotonic() - self.started

    @property
    def pid(self) -> int | None:
        """The id of the child; None if that only starts the server elsewhere, as in a container."""
        return self._confined.pid(self._child.pid)

    @property
    def exit_code(self) -> int | None:
        """The exit status; None while the child runs; negative, minus the signal that ended it."""
        return self._tree.exit_code

    def wait(self, timeout: float) -> int | None:
        """Wait for the exit and the end of stderr; return the exit status, None if the child runs on."""
        status = self._tree.wait(timeout)
        if status is not None:
            self._threads[STDERR].join(timeout)
        return status

    @property
    def stderr(self) -> str:
        """The last `MAX_STDERR_BYTES` bytes of what the child wrote to stderr."""
        return self.stderr_since(0.0)

    def stderr_since(self, at: float) -> str:
        """Return the part of `stderr` that came since the child was ``at`` seconds old; line ends are LF."""
        written = b"".join(chunk for came, chunk in self._stderr if came >= at)
        return written.replace(b"\r\n", b"\n").decode("utf-8", "backslashreplace")

    @property
    def traffic(self) -> Traffic | None:
        """What the child sends to the network; None if that cannot be seen."""
        return self._confined.traffic

    @property
    def dial(self) -> Callable[[int], socket.socket] | None:
        """What makes a socket of a family that reaches the ports of the child; None if any does."""
        return self._confined.dial

    # The end

    def terminate(self) -> None:
        """Ask the child to end by a signal; `stop` waits for it."""
        self._tree.terminate()

    def begin_stop(self, grace: float = STOP_SECONDS) -> None:
        """Begin to `stop` the child, in the background; `stop` waits until that is done."""
        if not self._stopped and self._ending is None:
            self._ending = threading.Thread(target=self._stop, args=(grace,))
            self._ending.start()

    def stop(self, grace: float = STOP_SECONDS) -> None:
        """End the child and everything it started: close stdin, then SIGTERM, then SIGKILL to the group.

        Each step is given ``grace`` seconds.  When this returns, no thread and no pipe is left.
        """
        if self._ending is not None:
            self._ending.join()
        self._stop(grace)

    def _stop(self, grace: float) -> None:
        if self._stopped:
            return
        self._stopped = True
        if interrupts.has_come():
            grace = min(grace, HURRIED_STOP_SECONDS)
        # A server that floods stdout would wait for room in our queue, and never read that stdin is closed.
        self._lines.discard()
        self.close_stdin()
        try:
            if self.wait(grace) is None:
                self._tree.terminate()
                self.wait(grace)
            elif grace and self._threads[STDERR].is_alive():  # another process holds the pipe
                self._tree.note_outlived()
        finally:
            self._tree.note_outlived(self._confined.end_processes())
            self._tree.kill()
            self._wake.set()
            self._writes.discard()
            for thread in self._threads:
                thread.join()
            for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
                _close(pipe)
            self._splitter.forget()
            self._wake.close()
            self._confined.end()

    # The pumps

    def _pump_stdout(self) -> None:
        self._drain(self._child.stdout, self._keep_lines)
        self._splitter.finish()
        self._lines.put(*self._chunk, EOF, at=self.age)

    def _keep_lines(self, chunk: bytes) -> None:
        self._splitter.feed(chunk)
        self._lines.put(*self._chunk, at=self.age)
        self._chunk.clear()

    def _pump_stderr(self) -> None:
        self._drain(self._child.stderr, self._keep_stderr)

    def _keep_stderr(self, chunk: bytes) -> None:
        self._stderr.append((self.age, chunk))
        self._stderr_bytes += len(chunk)
        while self._stderr_bytes - len(self._stderr[0][1]) >= MAX_STDERR_BYTES:
            self._stderr_bytes -= len(self._stderr.popleft()[1])

    def _drain(self, pipe: IO[bytes] | None, take: Callable[[bytes], None]) -> None:
        assert pipe is not None
        with contextlib.suppress(OSError):
            while self._wake.wait_readable(pipe.fileno()):
                chunk = os.read(pipe.fileno(), CHUNK)
                if not chunk:
                    return
                take(chunk)

    def _pump_stdin(self) -> None:
        pipe = self._child.stdin
        assert pipe is not None
        with contextlib.suppress(OSError):
            while (item := self._writes.get(None)) is not None:
                _, data = item
                if not isinstance(data, bytes):
                    break
                view = memoryview(data)
                # A writable pipe takes 4096 bytes without blocking, more could block this thread for ever.
                while view and self._wake.wait_writable(pipe.fileno()):
                    view = view[os.write(pipe.fileno(), view[:4096]) :]
        self._writes.discard()
        _close(pipe)


class Splitter:
    """Splits a stream into lines at 0x0A and nowhere else."""

    def __init__(self, take: Callable[[bytes | Overlong], None], limit: int = MAX_LINE):
        self._take, self._limit = take, limit
        self._parts: list[bytes] = []
        self._held = 0
        self._cut = False

    def feed(self, chunk: bytes) -> None:
        """Split a chunk from the pipe."""
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._end(part)
        self._hold(rest)

    def finish(self) -> None:
        """Emit the last line, which has no line end, when the stream ends."""
        if self.unended:
            self._take(self.unended)

    @property
    def unended(self) -> bytes:
        """The line that has no line end yet."""
        return b"".join(self._parts)

    def forget(self) -> None:
        """Discard the buffered bytes."""
        self._parts, self._held = [], 0

    def _hold(self, part: bytes) -> None:
        self._held += len(part)
        if not self._cut:
            self._parts.append(part)
        if self._held > self._limit:
            self._take(Overlong(b"".join(self._parts)[:HEAD], self._held))
            self._parts, self._held, self._cut = [], 0, True

    def _end(self, last: bytes) -> None:
        """Emit the line whose last part this is."""
        if self._cut or self._held + len(last) > self._limit:
            self._hold(last)
            held, self._parts, self._held, self._cut = self._held, [], 0, False
            self._take(Overlong(b"", held, is_last=True))
            return
        # Another thread must never see the whole line as one without its end, while it is joined.
        parts, self._parts, self._held = self._parts, [], 0
        self._take(b"".join([*parts, last]))


class _Wake:
    """Interrupts threads that wait for a pipe (POSIX; on Windows killing the child closes the pipes)."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe() if POSIX else (-1, -1)

    def set(self) -> None:
        if POSIX:
            os.write(self._write, b"!")

    def close(self) -> None:
        if POSIX:
            os.close(self._read)
            os.close(self._write)

    def wait_readable(self, fd: int) -> bool:
        """Return whether ``fd`` can be read without blocking; False if interrupted."""
        return self._wait(fd, writing=False)

    def wait_writable(self, fd: int) -> bool:
        """Return whether ``fd`` takes bytes without blocking; False if interrupted."""
        return self._wait(fd, writing=True)

    def _wait(self, fd: int, *, writing: bool) -> bool:
        if sys.platform == "win32":
            return True
        poll = select.poll()
        poll.register(fd, select.POLLOUT if writing else select.POLLIN)
        poll.register(self._read, select.POLLIN)
        return self._read not in {ready for ready, _ in poll.poll()}


def _start(confined: Confined, cwd: Path | None) -> Tree:
    try:
        return Tree(confined.command, confined.environment, cwd, confined.files)
    except (OSError, ValueError) as error:
        confined.end()
        raise CannotStart(f"cannot start {confined.command[0]!r}: {error}") from error
    finally:
        confined.close()


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with contextlib.suppress(OSError):
            pipe.close()


def _has_room(fd: int) -> bool:
    """Return whether a pipe takes `ATOMIC_WRITE_BYTES` without blocking; False if it cannot be polled."""
    if sys.platform == "win32":
        return False
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return bool(poll.poll(0))
