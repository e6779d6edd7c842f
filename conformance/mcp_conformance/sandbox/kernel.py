"""System calls of Linux that Python lacks."""

from __future__ import annotations

import ctypes
import os

PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 4, 38


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def syscall(number: int, *arguments: object) -> int:
    """Make a system call; return its result.  Raises `OSError`."""
    return _checked(_libc().syscall(ctypes.c_long(number), *arguments))


def prctl(option: int, *arguments: int) -> None:
    """Call ``prctl``; missing arguments are 0.  Raises `OSError`."""
    padded = [ctypes.c_ulong(one) for one in (*arguments, 0, 0, 0, 0)[:4]]
    _checked(_libc().prctl(option, *padded))


def unshare(flags: int) -> None:
    """Leave namespaces for new ones.  Raises `OSError`."""
    _checked(_libc().unshare(flags))


def setns(opened: int, kind: int) -> None:
    """Enter the namespace of a kind that an open file names.  Raises `OSError`."""
    _checked(_libc().setns(opened, kind))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount a file system.  Raises `OSError`."""
    words = (os.fsencode(one) for one in (source, target, kind))
    _checked(_libc().mount(*words, ctypes.c_ulong(flags), os.fsencode(options)))


def unmount(target: str, flags: int) -> None:
    """Unmount a file system.  Raises `OSError`."""
    _checked(_libc().umount2(os.fsencode(target), flags))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
