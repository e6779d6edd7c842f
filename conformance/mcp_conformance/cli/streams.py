"""Standard output and error that can always be written: what a command decided outlives them."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

GONE = (errno.EPIPE, errno.EINVAL)  # EINVAL is what Windows says of a pipe that nobody reads any longer


class Sink(io.FileIO):
    """A file that takes everything; from its first error on, ``fault``, nothing arrives any longer."""

    fault: OSError | None = None

    def write(self, data: Any) -> int:
        """Write what can be written, and return the number of bytes that were given."""
        if self.fault is None:
            try:
                return super().write(data) or 0
            except OSError as error:
                self.fault = error
        return len(data)


class Streams:
    """The standard streams of a command, in the place of Python's.

    A stream that is closed gets a null device, so that no other file takes its number.  A terminal of
    Windows stays as it is: only Python's own stream writes letters of all kinds there.
    """

    def __init__(self) -> None:
        _fill_numbers()
        self._sinks: dict[str, Sink] = {}
        self._earlier: dict[str, TextIO] = {}
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is None:
                setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
            elif stream is getattr(sys, f"__{name}__") and not _is_console(stream):
                self._guard(name, stream)

    def _guard(self, name: str, stream: Any) -> None:
        stream.flush()
        sink = self._sinks[name] = Sink(stream.fileno(), "w", closefd=False)
        self._earlier[name] = stream
        buffer = io.BufferedWriter(sink)
        # With PYTHONUNBUFFERED Python's streams have no buffer that a line would have to leave.
        by_line = stream.line_buffering or stream.write_through
        form = {"encoding": stream.encoding, "errors": stream.errors, "line_buffering": by_line}
        setattr(sys, name, io.TextIOWrapper(buffer, **form, write_through=name == "stderr"))

    def end(self) -> str:
        """Write what is left, and put the earlier streams back; return why standard output was not written.

        That is empty if all was written, or if its reader was content with a part, as ``head`` is.
        """
        for name, stream in self._earlier.items():
            with suppress(OSError, ValueError):
                getattr(sys, name).flush()
            setattr(sys, name, stream)
        sink = self._sinks.get("stdout")
        fault = sink.fault if sink is not None else None
        return "" if fault is None or fault.errno in GONE else str(fault.strerror)


def _is_console(stream: Any) -> bool:
    return sys.platform == "win32" and bool(stream.isatty())


def _fill_numbers() -> None:
    """Open a null device for each standard stream that is closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
