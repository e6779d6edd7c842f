"""Ctrl-C: the first ends a command in order, each later one at once.

What a command has started when it ends at once, the watchdog of `mcp_conformance.transport` ends.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

from mcp_conformance.transport.lock_moments import is_postponed

MESSAGE = "\nmcp-conformance: interrupted"
INTERRUPTED = 130
"""The exit status of a command that Ctrl-C ended; a run that could still sum up has pytest's, 2."""


def watch() -> None:
    """Let the first Ctrl-C raise `KeyboardInterrupt`, and the next one end this process."""
    _handle(_first)


def end_at_once() -> None:
    """Let any further Ctrl-C end this process, which has nothing more to do."""
    _handle(_last)


def _first(number: int, frame: FrameType | None) -> None:
    if is_postponed(number, frame):
        return
    end_at_once()
    signal.default_int_handler(number, frame)


def _last(number: int, frame: FrameType | None) -> None:
    del number, frame
    os.write(2, f"{MESSAGE}\n".encode())
    os._exit(INTERRUPTED)


def _handle(handler: Callable[[int, FrameType | None], None]) -> None:
    """Set the handler, unless Ctrl-C is ignored or another program's business."""
    ours = (signal.default_int_handler, _first, _last)
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) in ours:
        signal.signal(signal.SIGINT, handler)
