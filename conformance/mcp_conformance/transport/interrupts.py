"""SIGINT, SIGTERM and the end of the terminal: each ends a run in order, and a command by its second at once.

The handler raises `KeyboardInterrupt`.  That may get lost, in a callback of the garbage collector or in a
``__del__``, so the signal of a command comes again until somebody has `taken` it.  In some moments it must
not come: `threading.Condition` and `threading.Event` are written in Python, so an exception in the moment in
which one is taken or given back would leave it locked for ever; a process whose start is interrupted would
run on.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import CodeType, FrameType
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., object])
MESSAGE = "\nmcp-conformance: interrupted"
INTERRUPTED = 2
"""The exit status of what a signal ended; it is pytest's."""
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end a run in order; a user who ignores one, as nohup does, is not overruled."""
LOCKING = ("__enter__", "__exit__", "_acquire_restore", "_release_save", "notify", "notify_all", "set")
"""The functions of `threading` that no exception may interrupt."""
# Not measured: how long a user waits for an exception that was lost.  The moments in which a signal is
# postponed last microseconds.
AGAIN_SECONDS = 0.05
_uninterrupted: set[CodeType] = set()


class _State:
    """What came to this process: ``is_open`` says that a signal has yet to end a run."""

    is_command = has_come = is_open = is_again = False
    stderr = 2
    """The file of the standard error, also when pytest captures that."""


def uninterrupted(function: Function) -> Function:
    """Postpone signals until this function, which must be short, has returned."""
    _uninterrupted.add(function.__code__)
    return function


def watch() -> None:
    """Let the first signal raise `KeyboardInterrupt` until it is `taken`, the next one end this command."""
    if not _State.is_command:
        _State.stderr = os.dup(2)
    _State.is_command, _State.has_come, _State.is_open = True, False, False
    _handle()


def end_at_once() -> None:
    """Let any further signal end this command, which has nothing more to do."""
    _State.has_come, _State.is_open = True, False


def has_come() -> bool:
    """Return whether a signal has come, so that the run should end soon."""
    return _State.has_come


def taken() -> None:
    """Note that a `KeyboardInterrupt` has arrived where it ends the run in order."""
    _State.is_open = False


@contextmanager
def interruptible() -> Iterator[None]:
    """Let each of the signals interrupt this block as Ctrl-C does, so that it cleans up."""
    numbers = _handle()
    try:
        yield
    finally:
        for number, before in numbers.items():
            signal.signal(number, before)


def _handle() -> dict[signal.Signals, Any]:
    """Handle the signals that are nobody's business, and return their handlers before."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    usual = (signal.SIG_DFL, signal.default_int_handler)
    return {one: signal.signal(one, _interrupt) for one in SIGNALS if signal.getsignal(one) in usual}


def _interrupt(number: int, frame: FrameType | None) -> None:
    is_again, _State.is_again = _State.is_again, False
    if _State.has_come and _State.is_command and not is_again:
        os.write(_State.stderr, f"{MESSAGE}\n".encode())
        os._exit(INTERRUPTED)
    _State.has_come = True
    if not _State.is_open and not is_again:
        _State.is_open = True
        _thread.start_new_thread(_send_again, (number,))
    is_on_its_way = isinstance(sys.exc_info()[1], KeyboardInterrupt)
    if _State.is_open and not is_on_its_way and not _is_postponed(frame):
        _State.is_open = _State.is_command
        raise KeyboardInterrupt(signal.Signals(number).name)


def _is_postponed(frame: FrameType | None) -> bool:
    running = list(_running(frame))
    return any(map(_is_locking, running[:1])) or not _uninterrupted.isdisjoint(running)


def _running(frame: FrameType | None) -> Iterator[CodeType]:
    """Yield what runs in the main thread, the innermost function first."""
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back


def _is_locking(code: CodeType) -> bool:
    return code.co_filename == threading.__file__ and code.co_name in LOCKING


def _send_again(number: int) -> None:
    time.sleep(AGAIN_SECONDS)
    while _State.is_open:
        _State.is_again = True
        interrupt(number)
        time.sleep(AGAIN_SECONDS)


def interrupt_after(wait: Callable[[], object]) -> Callable[[], None]:
    """Interrupt this process when a wait is over, in another thread; return what keeps it from that."""
    wanted = [None]

    def wait_and_interrupt() -> None:
        with suppress(Exception):
            wait()
        if wanted:
            interrupt()

    threading.Thread(target=wait_and_interrupt, daemon=True).start()
    return wanted.clear


def interrupt(number: int = signal.SIGINT) -> None:
    """Interrupt the main thread, from another one."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)  # it also ends a system call
    else:
        _thread.interrupt_main(signal.Signals(number))
