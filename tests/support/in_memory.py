"""The reference server without a process: a transport in memory, in virtual time."""

import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module

from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.interface import EOF, MAX_LINE, STOP_SECONDS, CannotStart
from mcp_conformance.transport.process import Splitter
from mcp_conformance_fixtures.reference import END, START, Reference
from support.scripted_server import Ended, Scripted

LOOK_SECONDS = 1e-6
"""The seconds that pass with each look at the clock."""


class VirtualClock:
    """A clock that jumps to the next thing that happens."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        """Return the time; it passes a little with every look."""
        self.now += LOOK_SECONDS
        return self.now


class Pipe:
    """The end of a pipe that a server writes to."""

    def __init__(self, write, close=lambda: None):
        self.write, self.close = write, close

    def flush(self):
        """Do nothing: `write` holds nothing back."""


class MemoryTransport:
    """A `transport.interface.Transport`; the reference server runs inside of `write` and `read`.

    ``serve`` takes the server's stdout and stderr and returns the server.  What the server schedules is done
    while somebody waits in `read` or `wait`, at its time.
    """

    on_wait = None
    traffic = None
    pid = None
    max_line = MAX_LINE
    command = ("in-memory",)

    def __init__(self, serve, clock):
        self.clock = clock
        self.started = clock.monotonic()
        self.exit_code = None
        self._lines = deque()
        self._errors = []
        self._scheduled = []
        self._out = Splitter(lambda line: self._lines.append((self.age, line)))
        self._input = Splitter(self._take)
        self._is_stdout_closed = self._is_stdin_closed = False
        self._server = serve(Pipe(self._out.feed, self._close_stdout), Pipe(self._write_error))
        self._server.schedule = self._schedule
        self._run(self._server.around, START)

    # The server

    def _take(self, line):
        if line.strip():
            self._run(self._server.take, line)

    def _run(self, job, *arguments):
        """Do something in the main thread of the server; an exception ends it."""
        if self.exit_code is not None:
            return
        try:
            job(*arguments)
        except Ended as end:
            self._exit(end.status)
        except SystemExit as end:
            is_status = end.code is None or isinstance(end.code, int)
            if not is_status:
                self._write_error(f"{end.code}\n".encode())
            self._exit((end.code or 0) if is_status else 1)
        except Exception:  # noqa: BLE001  (it is the server's)
            self._write_error(traceback.format_exc().encode(errors="replace"))
            self._exit(1)

    def _run_scheduled(self, job):
        """Do something in another thread of the server; an exception ends only that thread."""
        try:
            job()
        except Ended as end:
            self._exit(end.status)
        except SystemExit:
            pass
        except Exception:  # noqa: BLE001  (it is the server's)
            self._write_error(traceback.format_exc().encode(errors="replace"))

    def _schedule(self, seconds, job):
        self._scheduled.append((self.clock.now + seconds, job))

    def _do_next(self, until):
        """Run the earliest scheduled job if its time comes before ``until``; return whether there was one."""
        due = min(self._scheduled, key=lambda one: one[0], default=None)
        if due is None or due[0] > until:
            self.clock.now = max(self.clock.now, until)
            return False
        self._scheduled.remove(due)
        self.clock.now = max(self.clock.now, due[0])
        self._run_scheduled(due[1])
        return True

    def _close_stdout(self):
        if not self._is_stdout_closed:
            self._is_stdout_closed = True
            self._out.finish()
            self._lines.append((self.age, EOF))

    def _exit(self, status):
        if self.exit_code is None:
            self.exit_code = status
            self._scheduled.clear()
            self._close_stdout()

    # The transport

    def write(self, data):
        if self.exit_code is None and not self._is_stdin_closed:
            self._input.feed(data)

    def read(self, timeout):
        until = self.clock.monotonic() + timeout
        while not self._lines:
            if not self._do_next(until):
                return None
        return self._lines.popleft()

    def close_stdin(self):
        if not self._is_stdin_closed and self.exit_code is None:
            self._is_stdin_closed = True
            self._input.finish()
            self._run(self._server.modern.end)
            self._run(self._server.around, END)
            self._exit(0)

    @property
    def unended(self):
        return self._out.unended

    @property
    def age(self):
        return self.clock.monotonic() - self.started

    def wait(self, timeout):
        until = self.clock.monotonic() + timeout
        while self.exit_code is None and self._do_next(until):
            pass
        return self.exit_code

    @property
    def stderr(self):
        return self.stderr_since(0.0)

    def stderr_since(self, at):
        return b"".join(chunk for came, chunk in self._errors if came >= at).decode(
            "utf-8", "backslashreplace"
        )

    def _write_error(self, chunk):
        self._errors.append((self.age, chunk))

    def begin_stop(self, grace=STOP_SECONDS):
        self.stop(grace)

    def stop(self, grace=STOP_SECONDS):
        self.close_stdin()


@dataclass(frozen=True)
class MemorySettings(Settings):
    """Settings that start a server in memory: ``serve`` takes its stdout and stderr and returns it."""

    serve: Callable[[Pipe, Pipe], Reference] | None = None
    holds_writes = True  # a server in memory of ours writes nowhere

    def start(self):
        """Start one server."""
        if self.serve is None:
            raise CannotStart("there is nothing to serve")
        return MemoryTransport(self.serve, self.clock)


def mutated(mutate):
    """Return a ``serve`` for the reference server with one ``mutate`` function."""
    return lambda out, err: Reference(mutate, out, err)


class Awkward:
    """An awkward server as `MemoryTransport` drives it."""

    def __init__(self, name, out):
        server = import_module(f"mcp_conformance_fixtures.awkward.{name}").Server()
        server.out = out
        self.take = server.take
        self.modern = self

    def around(self, phase):
        """Do nothing at the start and at the end."""

    def end(self):
        """Do nothing at the end of stdin."""


def awkward_in_memory(name):
    """Return a ``serve`` for an awkward server."""
    return lambda out, _: Awkward(name, out)


class Recorder(Reference):
    """The reference server, which keeps the lines of its conversation, as its client sees them."""

    def __init__(self, out, lines, mutate=None):
        super().__init__(mutate, out)
        self.lines = lines

    def take(self, line):
        """Keep a line of the client."""
        self.lines.append(replace(Line.received(line.rstrip(b"\r\n")), sent=True))
        super().take(line)

    def send_raw(self, data):
        """Keep a line of the server."""
        self.lines.append(Line.received(data.rstrip(b"\r\n")))
        super().send_raw(data)


def recorded(conversations, mutate=None):
    """Return a ``serve`` as `mutated` does; each conversation is added to a list, as its lines."""

    def serve(out, _):
        conversations.append([])
        return Recorder(out, conversations[-1], mutate)

    return serve


def scripted(steps):
    """Return a ``serve`` for the reference server that follows a script."""
    return lambda out, err: Scripted(steps, out, err).server
