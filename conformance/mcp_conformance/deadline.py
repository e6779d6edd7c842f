"""A limit on the CPU time of a library that works on what a server sent; it ends the work from outside.

A timer interrupts the main thread again and again, as one exception may be lost in a callback of the garbage
collector.  POSIX: a signal, which also the matcher of `re` looks for.  Windows: a thread, which waits until
such a matcher is done.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FrameType
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
TICK_SECONDS = 0.05
"""How often the timer looks.  Not measured: a look takes microseconds."""
SECONDS = 10.0
"""The most for one schema, value, pattern or document, where nothing else is said.

Not measured: what is honest takes a tenth of a second, and a limit of steps, which is the same on any
machine, ends most of the rest within a second.
"""
UNTOUCHED = ("__enter__", "__exit__", "__del__")
"""The functions that no deadline interrupts: what they undo would stay as it is, or the exception be lost."""


class TookTooLong(Exception):  # noqa: N818
    """A piece of work took more CPU time than it may."""


class _Over(BaseException):
    """Ends the work within a `Deadline`: a library may catch each `Exception`."""

    def __init__(self, deadline: Deadline):
        self.deadline = deadline


class Deadline:
    """A block that may take so many ``seconds`` of CPU time; it raises `TookTooLong` if it takes more.

    Deadlines nest.  They hold in the main thread only; in another one a block takes what it takes.
    """

    def __init__(self, seconds: float = SECONDS):
        self._seconds = seconds
        self._until = 0.0
        self._depth = -1
        self._has_ended = False

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._until = time.process_time() + self._seconds
            self._depth = len(_running)
            _running.append(self)
            if not self._depth:
                _begin_ticking()

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if self._depth >= 0:
            del _running[self._depth :]
            if not self._depth:
                _end_ticking()
        # A library that cleans up after our exception may raise one of its own.
        if self._has_ended and isinstance(error, Exception | _Over) and not _is_of_other(error, self):
            raise TookTooLong(f"it took more than {self._seconds:g} s of CPU time") from None

    @property
    def is_over(self) -> bool:
        """Whether the time is used up."""
        return time.process_time() >= self._until

    def end(self) -> None:
        """Raise what ends the block."""
        self._has_ended = True
        raise _Over(self)


def _is_of_other(error: BaseException, deadline: Deadline) -> bool:
    return isinstance(error, _Over) and error.deadline is not deadline


def bounded(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Give a function `SECONDS`; it raises `TookTooLong` if it takes more."""

    @wraps(function)
    def within(*words: Parameters.args, **more: Parameters.kwargs) -> Result:
        with Deadline():
            return function(*words, **more)

    return within


_running: list[Deadline] = []
"""The deadlines that hold now, the outermost first."""
_held = 0
"""How many of these wait until a block has ended."""


@contextmanager
def held() -> Iterator[None]:
    """Let no deadline around this block end it, such as an exchange with the server, but only its end."""
    global _held  # noqa: PLW0603
    before, _held = _held, len(_running)
    try:
        yield
    finally:
        _held = before
    _look()


def _look() -> None:
    over = next((one for one in _running[_held:] if one.is_over), None)
    is_ending = isinstance(sys.exc_info()[1], _Over | KeyboardInterrupt | SystemExit)
    if over is not None and not is_ending:
        over.end()


def _tick(_: int, frame: FrameType | None) -> None:
    callers = (frame, frame.f_back if frame is not None else None)
    if not any(one is not None and one.f_code.co_name in UNTOUCHED for one in callers):
        _look()


# The timer ---------------------------------------------------------------------------------------


def _handle(number: signal.Signals) -> None:
    """Look at each such signal from now on, unless it is another program's business.

    The handler stays: a signal that is already on its way must find it.
    """
    if signal.getsignal(number) is signal.SIG_DFL:
        signal.signal(number, _tick)


if sys.platform == "win32":

    def _begin_ticking() -> None:
        _handle(signal.SIGFPE)
        threading.Thread(target=_tick_from_thread, args=(_running[0],), daemon=True).start()

    def _end_ticking() -> None:
        """Leave it to the thread, which looks by itself."""

    def _tick_from_thread(first: Deadline) -> None:
        while first in _running:
            time.sleep(TICK_SECONDS)
            _thread.interrupt_main(signal.SIGFPE)

else:

    def _begin_ticking() -> None:
        _handle(signal.SIGVTALRM)
        signal.setitimer(signal.ITIMER_VIRTUAL, TICK_SECONDS, TICK_SECONDS)

    def _end_ticking() -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
