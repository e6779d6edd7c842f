"""Mounts in a namespace of one's own: what a process sees of the files (Linux 5.12 and later)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

from mcp_conformance.sandbox.kernel import mount, syscall

OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
"""The numbers of the system calls, on every machine."""
CLONE_TREE, RECURSIVE, EMPTY_PATH = 1, 0x8000, 0x1000
FROM_EMPTY_PATH = 4
HERE = -100
"""The directory that relative paths start from, where an open directory could stand."""
READ_ONLY, NO_SUID, NO_DEVICES = 1, 2, 4
REC, PRIVATE = 0x4000, 1 << 18


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("users", ctypes.c_uint64),
    )


def keep_to_oneself() -> None:
    """Let no mount of this namespace appear in another one.  Raises `OSError`."""
    mount("none", "/", "", REC | PRIVATE)


def bind(source: str, target: str, attributes: int = READ_ONLY | NO_SUID | NO_DEVICES) -> None:
    """Show a file or a directory, with all that is mounted below it, at another path.  Raises `OSError`."""
    with tree(source, attributes) as opened:
        attach(opened, target)


@contextmanager
def tree(source: str, attributes: int) -> Iterator[int]:
    """Give a copy of the mounts of a path, which are nowhere yet, as the number of an open file."""
    path = os.fsencode(source)
    opened = syscall(OPEN_TREE, HERE, path, CLONE_TREE | os.O_CLOEXEC | RECURSIVE)
    try:
        set_attributes(opened, attributes)
        yield opened
    finally:
        os.close(opened)


def set_attributes(opened: int, attributes: int) -> None:
    """Set attributes of all mounts of a copy.  Raises `OSError`."""
    given = _Attributes(attributes, 0, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(given))
    syscall(MOUNT_SETATTR, opened, b"", EMPTY_PATH | RECURSIVE, ctypes.byref(given), size)


def attach(opened: int, target: str) -> None:
    """Mount a copy of mounts at a path.  Raises `OSError`."""
    syscall(MOVE_MOUNT, opened, b"", HERE, os.fsencode(target), FROM_EMPTY_PATH)
