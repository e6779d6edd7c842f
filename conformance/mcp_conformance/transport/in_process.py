"""A server object of a Python SDK in this process: an event loop in a thread runs it, without a pipe.

Nothing here imports an SDK before the user names an object of one.  The object is driven by the SDK's own
``stdio_server``, to which two objects of ours are its stdin and stdout, so that it reads and writes the same
lines as a process would.
"""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Callable
from contextlib import nullcontext, suppress
from importlib import import_module
from typing import Any

from mcp_conformance.transport.interface import (
    EOF,
    MAX_LINE,
    STOP_SECONDS,
    SYSTEM_CLOCK,
    Clock,
    Item,
    OnWait,
)
from mcp_conformance.transport.queue import ByteQueue

LOW_LEVEL = ("_mcp_server", "_lowlevel_server")
"""Where FastMCP and `MCPServer` keep the low-level server that can be run on streams."""


class NotServable(Exception):  # noqa: N818
    """The object is no server of a known SDK; the message says what it is."""


def low_level(found: Any) -> Any:
    """Return the low-level server in an object, or the object itself if it is one.  Raises `NotServable`."""
    found = next((getattr(found, name) for name in LOW_LEVEL if hasattr(found, name)), found)
    if not (hasattr(found, "run") and hasattr(found, "create_initialization_options")):
        kind = type(found)
        what = f"{kind.__module__}.{kind.__qualname__}"
        raise NotServable(f"{what} is no server of the Python SDK or FastMCP")
    return found


class _Wire:
    """Stdin and stdout of a server, as ``stdio_server`` uses them: one gives lines, the other takes them."""

    def __init__(self, taken: Callable[[str], object]):
        self._taken = taken
        self.input: asyncio.Queue[str | None] = asyncio.Queue()

    def __aiter__(self) -> _Wire:
        return self

    async def __anext__(self) -> str:
        """Return the next line for the server."""
        line = await self.input.get()
        if line is None:
            raise StopAsyncIteration
        return line

    async def write(self, text: str) -> None:
        """Take what the server writes, which is whole lines."""
        self._taken(text)

    async def flush(self) -> None:
        """Do nothing: nothing is held back."""


class InProcess:
    """A conversation with a server object (`interface.Transport`).

    ``make`` returns the object for each conversation: the same one, or a new one of a factory.  What a tool
    prints is no part of the conversation.
    """

    traffic = None
    pid = None
    unended = b""

    def __init__(
        self,
        name: str,
        make: Callable[[], Any],
        *,
        on_wait: OnWait | None = None,
        clock: Clock = SYSTEM_CLOCK,
        max_line: int = MAX_LINE,
    ):
        self.command: tuple[str, ...] = (name,)
        self.on_wait, self.clock, self.max_line = on_wait, clock, max_line
        self.started = clock.monotonic()
        self.exit_code: int | None = None
        self.stderr = ""
        self._make = make
        self._lines = ByteQueue()
        self._wire = _Wire(self._take)
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    # The server's side

    def _run(self) -> None:
        status = 1
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
            status = 0
        except asyncio.CancelledError:
            pass
        except BaseException:  # noqa: BLE001  (the server's, which has no process to end)
            self.stderr = traceback.format_exc()
        finally:
            self.exit_code = status
            self._lines.put(EOF, at=self.age)

    async def _serve(self) -> None:
        """Run the server until its input ends, within the lifespan that a FastMCP keeps beside it."""
        self._task = asyncio.current_task()
        found = self._make()
        server = low_level(found)
        stdio_server = import_module("mcp.server.stdio").stdio_server
        lifespan = getattr(found, "_lifespan_manager", nullcontext)
        async with lifespan(), stdio_server(self._wire, self._wire) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    def _take(self, text: str) -> None:
        self._lines.put(*(line.encode() for line in text.split("\n") if line), at=self.age)

    # The client's side

    def write(self, data: bytes) -> None:
        """Hand lines to the server."""
        for line in data.decode("utf-8", "replace").removesuffix("\n").split("\n"):
            self._put(line)

    def _put(self, line: str | None) -> None:
        self._do(self._wire.input.put_nowait, line)

    def _do(self, job: Callable[..., object], *arguments: object) -> None:
        """Do something in the event loop, unless that has ended."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(job, *arguments)

    def read(self, timeout: float) -> Item | None:
        """Return the next line with its `age`, `EOF` at the end, None if nothing comes in time."""
        return self._lines.get(timeout)

    def close_stdin(self) -> None:
        """End the input of the server."""
        self._put(None)

    @property
    def age(self) -> float:
        """Seconds since the conversation began."""
        return self.clock.monotonic() - self.started

    def wait(self, timeout: float) -> int | None:
        """Wait for the server to end; return 0, or 1 after an exception; None if it still runs."""
        self._thread.join(timeout)
        return self.exit_code

    def stderr_since(self, at: float) -> str:  # noqa: ARG002
        """Return the traceback of the exception that ended the server."""
        return self.stderr

    def begin_stop(self, grace: float = STOP_SECONDS) -> None:  # noqa: ARG002
        """End the input of the server."""
        self.close_stdin()

    def stop(self, grace: float = STOP_SECONDS) -> None:
        """End the input, then cancel the server; a tool that blocks the event loop keeps its thread."""
        self.close_stdin()
        if self.wait(grace) is None and self._task is not None:
            self._do(self._task.cancel)
            self.wait(grace)
