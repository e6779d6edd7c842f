"""The interface between a session and a server, and their clock.

Pipes to a process implement it (`mcp_conformance.transport.process`); tests have a transport in memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol

from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.sandbox.traffic import Traffic

# More than the 10 MiB at which the TypeScript SDK gives up; parsed, a line takes eight times as much memory.
MAX_LINE = 16_000_000
"""The length of the longest line that is read by default, in bytes."""
HEAD = 4096
"""The length of the head that is kept of a line that is too long, in bytes."""
# The Python and the TypeScript SDK give a server as long, too.
STOP_SECONDS = 2.0
"""The time for each step of stopping a server."""
# Not measured: a command ends within 5 s of a signal, of which the two steps take two.
HURRIED_STOP_SECONDS = 1.0
"""The same after a signal that ends the run."""

OnWait = Callable[[float, float], None]
"""A function that is called with the seconds waited so far, and the seconds the wait may last."""


class CannotStart(Exception):  # noqa: N818
    """The command cannot be started: it does not exist, or the system refused to run it."""


class NotServing(CannotStart):
    """The server takes no connection; ``stderr`` is what it wrote."""

    def __init__(self, reason: str, stderr: str = ""):
        super().__init__(reason)
        self.stderr = stderr


class End(Enum):
    """The type of `EOF`: the server's output is closed and everything it wrote has been read."""

    EOF = "eof"


EOF: Final = End.EOF


@dataclass(frozen=True)
class Overlong:
    """A part of a line that has more bytes than are read.

    ``head`` is the beginning of the line, empty if an earlier part had it; ``size`` is the length of the
    part in bytes, and ``is_last`` says that the line ends with it.
    """

    head: bytes
    size: int
    is_last: bool = False


class Empty(Enum):
    """A response over HTTP that is a success, and has no answer to its request."""

    NO_MESSAGE = "no message"
    ENDED_STREAM = "the end of an event stream"


@dataclass(frozen=True)
class NoAnswer:
    """The knowledge that the request with an ``id`` gets no answer.

    ``reason`` says what came instead, ``status`` the HTTP status, if there was one; ``is_lost`` that a reused
    connection has lost it, ``empty`` what a success without an answer was.
    """

    id: Any
    reason: str
    status: int | None = None
    is_lost: bool = False
    empty: Empty | None = None

    @property
    def is_json(self) -> bool:
        """Whether a success brought a JSON text that is not the answer."""
        return self.status == 200 and self.empty is None and not self.is_lost

    @property
    def is_error(self) -> bool:
        """Whether an HTTP status rejected the request, or reports an error of the server."""
        return self.status is not None and self.status >= 400


class Clock(Protocol):
    """The time by which a session and its transport measure waits."""

    def monotonic(self) -> float:
        """Return the seconds since a moment in the past; they never decrease."""


class SystemClock:
    """The clock of the machine."""

    def monotonic(self) -> float:
        """Return `time.perf_counter`: Windows moves `time.monotonic` in steps of 16 ms before Python 3.13."""
        return time.perf_counter()


SYSTEM_CLOCK: Final = SystemClock()


Content = bytes | Line | Overlong | End | NoAnswer
"""What a transport reads: a line, decoded already if the transport had to, or what came instead."""
Item = tuple[float, Content]
"""What a transport reads, with the `age` of the transport when it came."""


class Transport(Protocol):
    """A conversation with a server, as a session sees it: it takes and gives lines until it is stopped.

    ``command`` names the server, ``clock`` times the conversation, ``started`` is the moment of its start by
    that clock, and ``max_line`` is the most bytes of a line that are read.  ``on_wait`` is called while a
    session waits for an answer.
    """

    command: tuple[str, ...]
    clock: Clock
    started: float
    max_line: int
    on_wait: OnWait | None

    @property
    def traffic(self) -> Traffic | None:
        """What the server sends to the network; None if that cannot be seen."""

    def write(self, data: bytes) -> None:
        """Send bytes to the server, in order, without waiting for it to read them."""

    def read(self, timeout: float) -> Item | None:
        """Return the next line with its `age`, `EOF` at the end, None if nothing arrives in time."""

    def close_stdin(self) -> None:
        """Close the server's input after everything that `write` was given is sent."""

    @property
    def pid(self) -> int | None:
        """The id of the server's process; None if the server runs elsewhere."""

    @property
    def unended(self) -> bytes:
        """The bytes the server has written since its last line end."""

    @property
    def age(self) -> float:
        """Seconds since the server was started."""

    @property
    def exit_code(self) -> int | None:
        """The exit status; None while the server runs; negative, minus the signal that ended it."""

    def wait(self, timeout: float) -> int | None:
        """Wait for the server to exit; return its exit status, None if it still runs."""

    @property
    def stderr(self) -> str:
        """The end of what the server wrote to stderr."""

    def stderr_since(self, at: float) -> str:
        """Return the part of `stderr` that came since the server was ``at`` seconds old."""

    def begin_stop(self, grace: float = STOP_SECONDS) -> None:
        """Begin to `stop` the server, in the background; `stop` waits until that is done."""

    def stop(self, grace: float = STOP_SECONDS) -> None:
        """End the server and everything it started; each step is given ``grace`` seconds."""
