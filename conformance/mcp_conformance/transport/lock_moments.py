"""Moments in which no signal may interrupt the main thread.

`threading.Condition` and `threading.Event` are written in Python, so an exception in the moment in which one
is taken or given back would leave it locked for ever.  A process whose start is interrupted would run on.
"""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])
LOCKING = ("__enter__", "__exit__", "_acquire_restore", "_release_save", "notify", "notify_all", "set")
"""The functions of `threading` that no exception may interrupt."""
# Such moments last microseconds; a signal that comes too early again is postponed again.
MOMENT_SECONDS = 0.001
_uninterrupted: set[CodeType] = set()


def uninterrupted(function: Function) -> Function:
    """Postpone signals until this function, which must be short, has returned."""
    _uninterrupted.add(function.__code__)
    return function


def is_postponed(number: int, frame: FrameType | None) -> bool:
    """Return whether a signal came in such a moment; then it comes again a little later."""
    running = list(_running(frame))
    is_postponed = any(map(_is_locking, running[:1])) or not _uninterrupted.isdisjoint(running)
    if is_postponed:
        _thread.start_new_thread(_send_soon, (number,))
    return is_postponed


def _running(frame: FrameType | None) -> Iterator[CodeType]:
    """Yield what runs in the main thread, the innermost function first."""
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back


def _is_locking(code: CodeType) -> bool:
    return code.co_filename == threading.__file__ and code.co_name in LOCKING


def _send_soon(number: int) -> None:
    time.sleep(MOMENT_SECONDS)
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        _thread.interrupt_main(signal.Signals(number))
