"""Namespaces of Linux: users, mounts, processes and a network that a process has for itself.

They need no privileges, but some systems refuse them: then `enter` raises `OSError`.  A process with threads
cannot enter one, so `launch` does it in a process of its own, which then becomes the server.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mcp_conformance.sandbox.kernel import unshare

assert sys.platform == "linux"

MOUNTS, IPC, USER, PROCESSES, NETWORK = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
"""The kinds of namespaces.  That of ``PROCESSES`` is for the children of the process that enters it."""


def enter(kinds: int) -> None:
    """Move this process into new namespaces of these kinds, and into one of users, in which it may do all.

    Its user and group stay what they are, inside and outside.  The program that it becomes has only the
    privileges that `limits.drop_privileges` leaves.  Raises `OSError`.
    """
    user, group = os.getuid(), os.getgid()
    unshare(USER | kinds)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        Path("/proc/self", name).write_text(text, encoding="ascii")


def forbid_more() -> None:
    """Let no process in the namespace of users that was entered have others.  Raises `OSError`.

    A process has all privileges in one that it makes, and thus more ways to attack the system.
    """
    Path("/proc/sys/user/max_user_namespaces").write_text("0", encoding="ascii")
