"""Signals in the moment in which the main thread takes or gives back a lock.

`threading.Condition` and `threading.Event` are written in Python, so an exception in that moment would leave
them locked for ever.
"""

from __future__ import annotations

import _thread
import signal
import threading
import time
from types import FrameType

LOCKING = ("__enter__", "__exit__", "_acquire_restore", "_release_save", "notify", "notify_all", "set")
"""The functions of `threading` that no exception may interrupt."""
MOMENT_SECONDS = 0.001


def is_postponed(number: int, frame: FrameType | None) -> bool:
    """Return whether a signal came in such a moment; then it comes again when the moment has passed."""
    code = frame.f_code if frame is not None else None
    is_locking = code is not None and code.co_filename == threading.__file__ and code.co_name in LOCKING
    if is_locking:
        _thread.start_new_thread(_send_soon, (number,))
    return is_locking


def _send_soon(number: int) -> None:
    time.sleep(MOMENT_SECONDS)
    _thread.interrupt_main(signal.Signals(number))
