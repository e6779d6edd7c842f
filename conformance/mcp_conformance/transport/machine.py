"""Faults of the machine that runs the tests: no memory, no space, no process; no server causes them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from mcp_conformance.transport.interface import CannotStart

NUMBERS = frozenset(
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "ENOMEM", "EMFILE", "ENFILE", "EIO")
    if hasattr(errno, name)
)
"""The numbers of errors of the system that no server causes by what it sends."""


OF_MACHINE = ": this machine's fault, not the server's"
"""What follows what the machine lacks, where that ends a command."""


def machine_fault(error: BaseException | None) -> str:
    """Return what the machine lacked, in words, if that caused the error; empty for any other error."""
    for one in _causes(error):
        if isinstance(one, MemoryError):
            return "the memory is used up"
        if isinstance(one, OSError) and one.errno in NUMBERS:
            name = f": {one.filename}" if one.filename else ""
            return f"{os.strerror(one.errno or 0)}{name}"
        if isinstance(one, CannotStart) and isinstance(one.__cause__, BlockingIOError):  # what a fork says
            return "no further process can be started"
        if isinstance(one, RuntimeError) and _ends_in_thread_start(one):
            return "no further thread can be started"
    return ""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, what it was raised from, and the members of groups."""
    left, seen = [error], set()
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        left += [one.__cause__, *(one.exceptions if isinstance(one, BaseExceptionGroup) else ())]


def _ends_in_thread_start(error: RuntimeError) -> bool:
    """Return whether the system refused a thread: Python has no class of its own for that."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    code = place.tb_frame.f_code if place is not None else None
    return code is not None and code.co_name == "start" and code.co_filename.endswith("threading.py")
