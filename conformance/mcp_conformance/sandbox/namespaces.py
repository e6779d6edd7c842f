"""Namespaces of Linux: users, mounts, processes and a network that a process has for itself.

They need no privileges, but some systems refuse them: then `enter` raises `OSError`.  A process with threads
cannot enter one, so `launch` does it in a process of its own, which then becomes the server.
"""

# ruff: noqa: E402  (on another system mypy reads no further than the assertion)
from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

assert sys.platform == "linux"

from mcp_conformance.sandbox.kernel import PR_SET_DUMPABLE, prctl, unshare
from mcp_conformance.sandbox.other_user import become_user

MOUNTS, IPC, USER, PROCESSES, NETWORK = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
"""The kinds of namespaces.  That of ``PROCESSES`` is for the children of the process that enters it."""


def enter(kinds: int, *, shown: int | None = None) -> None:
    """Move this process into new namespaces of these kinds, and into one of users, in which it may do all.

    Its user and group stay what they are outside, and also inside unless others are to be ``shown``.  The
    program that it becomes has only the privileges that `limits.drop_privileges` leaves.  Raises `OSError`.
    """
    user, group = os.getuid(), os.getgid()
    unshare(USER | kinds)
    _write("self", "setgroups", "deny")
    _write("self", "uid_map", f"{user if shown is None else shown} {user} 1")
    _write("self", "gid_map", f"{group if shown is None else shown} {group} 1")


def keep_users(child: int) -> None:
    """Let each user and group of this namespace be the same one in that which a child has entered.

    Without the privilege to do that, the child's own user alone is.  Raises `OSError`.
    """
    ranges = [line.split() for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()]
    every = "\n".join(f"{first} {first} {count}" for first, _, count in ranges)
    try:
        _write(str(child), "uid_map", every)
    except OSError:
        _write(str(child), "uid_map", f"{os.getuid()} {os.getuid()} 1")
    try:
        _write(str(child), "gid_map", every)
    except OSError:
        _write(str(child), "setgroups", "deny")
        _write(str(child), "gid_map", f"{os.getgid()} {os.getgid()} 1")


def become_other(user: int) -> None:
    """Let root become another user and group, for good.  Raises `OSError`."""
    become_user(user)
    # The system takes a process that changes its user for one that must not be looked at.
    prctl(PR_SET_DUMPABLE, 1)


@contextmanager
def owned_by(user: int) -> Iterator[int]:
    """Give a namespace of users, as the number of an open file, by which files of root are this user's.

    Only root can do that.  Raises `OSError`.
    """
    ready, given = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(OSError):
            unshare(USER)
            os.write(given, b"!")
            signal.pause()
        os._exit(1)
    os.close(given)
    try:
        if not os.read(ready, 1):
            raise PermissionError(errno.EPERM, "no namespace of users")
        _write(str(child), "uid_map", f"0 {user} 1")
        _write(str(child), "gid_map", f"0 {user} 1")
        with Path(f"/proc/{child}/ns/user").open("rb") as opened:
            yield opened.fileno()
    finally:
        os.close(ready)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _write(process: str, name: str, text: str) -> None:
    Path("/proc", process, name).write_text(text, encoding="ascii")


def forbid_more() -> None:
    """Let no process in the namespace of users that was entered have others.  Raises `OSError`.

    A process has all privileges in one that it makes, and thus more ways to attack the system.
    """
    Path("/proc/sys/user/max_user_namespaces").write_text("0", encoding="ascii")
