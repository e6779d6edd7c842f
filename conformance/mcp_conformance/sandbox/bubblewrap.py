"""Bubblewrap, a program that starts another one with few folders, no other processes and no network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mcp_conformance.sandbox.policy import OTHER_USER, OWN, SYSTEM, Policy

PROGRAM = "bwrap"
NOT_BOUND = ("/proc", "/sys")
"""The folders of the system that are not the machine's."""
TRY_SECONDS = 10
BECOME = (os.path.realpath(sys.executable), "-I", "-S", str(Path(__file__).with_name("other_user.py")))
"""What becomes another user, and then the command behind it; no venv is needed for that."""
_MORE = ("--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL")
_ALONE = ("--unshare-user-try", *_MORE)
# In a namespace of users there is no other user that root could become.
_AS_ROOT = (*_MORE, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")


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


def wrapped(command: Sequence[str], policy: Policy, cwd: Path, filter: int = -1) -> tuple[str, ...]:
    """Return the command that starts another one confined, in the folder ``cwd``.

    ``filter`` is the number of an open file with a filter of system calls, -1 for none.
    """
    how: tuple[str, ...] = _ALONE
    mode: tuple[str, ...] = ()
    ways: Iterable[str] = ()
    if policy.is_other:
        how, mode, command = _AS_ROOT, ("--perms", "1777"), (*BECOME, str(OTHER_USER), str(cwd), *command)
        # Bubblewrap lets only root enter the folders above one that only its owner may enter.
        ways = sorted({str(one) for path in (*policy.read, *policy.write) for one in Path(path).parents})
    filtered = ("--seccomp", str(filter)) if filter >= 0 else ()
    return (
        *(PROGRAM, *how, *(() if policy.network else ("--unshare-net",)), *filtered),
        # As root, Bubblewrap leaves /proc/sys writable, by which the system runs programs outside.
        *("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"),
        *(word for path in OWN for word in (*mode, "--tmpfs", path)),
        *(word for path in ways if path not in OWN for word in ("--perms", "0755", "--dir", path)),
        *_bound("--ro-bind-try", (one for one in SYSTEM if one not in NOT_BOUND)),
        *_bound("--ro-bind-try", policy.read),
        *_bound("--bind-try", policy.write),
        *("--", *command),
    )


def _bound(how: str, paths: Iterable[str]) -> Iterator[str]:
    """Yield the words that give these paths; a folder comes before those in it."""
    for path in sorted(paths):
        yield from (how, path, path)
