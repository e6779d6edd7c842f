"""A lock between processes, by a file: the system releases it when its process ends, however that ends."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp_conformance.transport.writing import NO_LINK, place_of

POLL_SECONDS = 0.05
HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
"""The errors that mean that another process has the lock; others mean that there are no locks here."""

if sys.platform == "win32":
    import msvcrt

    def _take(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

    def _release(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _take(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def locked(path: Path, max_seconds: float) -> Iterator[bool]:
    """Wait for the lock of a file, at most so long, and hold it; yield whether it is ours.

    The file stays: others may have opened it to wait.
    """
    try:
        place = place_of(path.parent) / path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(place, os.O_CREAT | os.O_RDWR | NO_LINK, 0o600)
    except OSError:
        yield False
        return
    try:
        is_ours = _is_taken(file, time.monotonic() + max_seconds)
        try:
            yield is_ours
        finally:
            if is_ours:
                _release(file)
    finally:
        os.close(file)


def _is_taken(file: int, until: float) -> bool:
    """Take the lock when no other process has it; return False if it can't be had in time."""
    while True:
        try:
            _take(file)
        except OSError as error:
            if error.errno not in HELD or time.monotonic() > until:
                return False
            time.sleep(POLL_SECONDS)
        else:
            return True
