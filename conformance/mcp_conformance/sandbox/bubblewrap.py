"""Bubblewrap, a program that starts another one with few folders, no other processes and no network."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence

from mcp_conformance.sandbox.policy import SYSTEM, Policy

PROGRAM = "bwrap"
OWN = ("/proc", "/sys")
"""The folders of the system that are not the machine's."""
TRY_SECONDS = 10


def why_not() -> str:
    """Return why it cannot be used here; empty if it can."""
    if shutil.which(PROGRAM) is None:
        return f"no program {PROGRAM} is installed"
    try:
        tried = subprocess.run(
            [PROGRAM, "--unshare-all", "--ro-bind", "/", "/", "true"],
            capture_output=True,
            text=True,
            timeout=TRY_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return "" if tried.returncode == 0 else tried.stderr.strip().partition("\n")[0] or "it does not start"


def wrapped(command: Sequence[str], policy: Policy, filter: int = -1) -> tuple[str, ...]:
    """Return the command that starts another one confined.

    ``filter`` is the number of an open file with a filter of system calls, -1 for none.
    """
    network = ("--share-net",) if policy.network else ()
    filtered = ("--seccomp", str(filter)) if filter >= 0 else ()
    return (
        *(PROGRAM, "--unshare-all", *network, "--cap-drop", "ALL", *filtered),
        # As root, Bubblewrap leaves /proc/sys writable, by which the system runs programs outside.
        *("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),  # noqa: S108
        *_bound("--ro-bind-try", (one for one in SYSTEM if one not in OWN)),
        *_bound("--ro-bind-try", policy.read),
        *_bound("--bind-try", policy.write),
        *("--", *command),
    )


def _bound(how: str, paths: Iterable[str]) -> Iterator[str]:
    """Yield the words that give these paths; a folder comes before those in it."""
    for path in sorted(paths):
        yield from (how, path, path)
