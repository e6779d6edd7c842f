"""Stops of this process, as by SIGSTOP: they are seen once it runs again."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# A main thread that waits looks each second (`inbox.ON_WAIT_SECONDS`), and who runs may get SIGCONT too.
MIN_SECONDS = 2.0
"""The shortest stop that is counted."""


class Stops:
    """How often this process was stopped, and for about how many ``seconds`` in all.

    What is counted is proven twice: the signal to go on came, and since the main thread was last `seen` much
    more time has passed than it had the processor.
    """

    def __init__(self) -> None:
        self.times, self.seconds = 0, 0.0
        self.seen()

    def seen(self) -> None:
        """Note that the main thread runs."""
        self._idle = _idle()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Count the stops during this block, if no other code handles the signal."""
        number = getattr(signal, "SIGCONT", None)
        is_main = threading.current_thread() is threading.main_thread()
        if number is None or not is_main or signal.getsignal(number) is not signal.SIG_DFL:
            yield
            return
        signal.signal(number, lambda *_: self._continued())
        try:
            yield
        finally:
            signal.signal(number, signal.SIG_DFL)

    def _continued(self) -> None:
        stopped = _idle() - self._idle
        self.seen()
        if stopped >= MIN_SECONDS:
            self.times += 1
            self.seconds += stopped


def _idle() -> float:
    """Return the seconds in which this process had no processor, from some moment on."""
    return time.monotonic() - time.process_time()
