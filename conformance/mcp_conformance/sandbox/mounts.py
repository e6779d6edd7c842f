"""Mounts in a namespace of one's own: what a process sees of the files (Linux 5.12 and later)."""

from __future__ import annotations

import ctypes
import os
import platform
import sys

from mcp_conformance.sandbox.kernel import mount, syscall, unmount

OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
"""The numbers of the system calls, on every machine."""
CLONE_TREE, RECURSIVE, EMPTY_PATH = 1, 0x8000, 0x1000
FROM_EMPTY_PATH = 4
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}
"""The number of the system call that changes the root."""
DETACH = 2
HERE = -100
"""The directory that relative paths start from, where an open directory could stand."""
READ_ONLY, NO_SUID, NO_DEVICES, NO_EXECUTION = 1, 2, 4, 8
OTHER_USERS = 1 << 20
WITH_ALL_BELOW, PRIVATE = 0x4000, 1 << 18


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("added", ctypes.c_uint64),
        ("removed", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("users", ctypes.c_uint64),
    )


def keep_to_oneself() -> None:
    """Let no mount of this namespace appear in another one.  Raises `OSError`."""
    mount("none", "/", "", WITH_ALL_BELOW | PRIVATE)


def bind(source: str, target: str, attributes: int = READ_ONLY | NO_SUID | NO_DEVICES) -> None:
    """Show a file or a directory, with all that is mounted below it, at another path.  Raises `OSError`."""
    copy = tree(source, attributes)
    try:
        attach(copy, target)
    finally:
        os.close(copy)


def tree(source: str, attributes: int, users: int = -1) -> int:
    """Return a copy of the mounts of a path, which are nowhere yet, as the number of an open file.

    ``users`` is the number of an open namespace of users, by which others own the files in it; -1 for none.
    Raises `OSError`.
    """
    flags = CLONE_TREE | RECURSIVE
    if sys.platform != "win32":
        flags |= os.O_CLOEXEC
    copy = syscall(OPEN_TREE, HERE, os.fsencode(source), flags)
    try:
        _set(copy, "", EMPTY_PATH | RECURSIVE, attributes, users)
    except OSError:
        os.close(copy)
        raise
    return copy


def attach(copy: int, target: str) -> None:
    """Mount a copy of mounts at a path.  Raises `OSError`."""
    syscall(MOVE_MOUNT, copy, b"", HERE, os.fsencode(target), FROM_EMPTY_PATH)


def change_root(folder: str) -> None:
    """Make a mounted folder the root of this namespace; the old root is gone.  Raises `OSError`."""
    number = PIVOT_ROOT.get(platform.machine())
    if number is None:
        raise OSError(f"the root cannot be changed on {platform.machine()}")
    os.chdir(folder)
    # The old root is put on the new one, and taken away: no folder for it is needed.
    syscall(number, b".", b".")
    unmount(".", DETACH)
    os.chdir("/")


def set_attributes(path: str, attributes: int) -> None:
    """Set attributes of what is mounted at a path, and not of what is below.  Raises `OSError`."""
    _set(HERE, path, 0, attributes)


def _set(opened: int, path: str, flags: int, attributes: int, users: int = -1) -> None:
    given = _Attributes(attributes, 0, PRIVATE, 0)
    if users >= 0:
        given.added, given.users = attributes | OTHER_USERS, users
    size = ctypes.c_size_t(ctypes.sizeof(given))
    syscall(MOUNT_SETATTR, opened, os.fsencode(path), flags, ctypes.byref(given), size)
