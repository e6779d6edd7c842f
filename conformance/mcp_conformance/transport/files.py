"""Files that others name or have written: a pipe may never answer, a device never ends."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MAX_BYTES = 256_000_000
"""The longest file that is read where the user names it; the largest reports have 5 MB."""


def regular_bytes(path: Path, most: int) -> bytes | None:
    """Return the content of a file that a server has named or written; None unless it is one on this machine.

    It is None too for a pipe, a device, or more than ``most`` bytes.  Raises `OSError`.
    """
    if path.drive.startswith(("\\\\", "//")):  # to ask another machine for a file shows it who the user is
        return None
    opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return None
        content = file.read(most + 1)
    return content if len(content) <= most else None


def bounded_text(path: Path, encoding: str = "utf-8", most: int = MAX_BYTES) -> str:
    """Return the text of a file that the user named, which may be a pipe.

    Raises `OSError`, also for more than ``most`` bytes, and `UnicodeDecodeError`.
    """
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return content.decode(encoding)
