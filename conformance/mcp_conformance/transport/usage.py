"""What a process and those that it started take of the system: memory, open files, processes (Linux)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Usage:
    """The resident ``memory`` in bytes, the open ``files``, and the ``children`` of every generation.

    Of a process that another user owns the files are not known, and not counted.
    """

    memory: int
    files: int
    children: int


def usage_of(pid: int) -> Usage | None:
    """Return what the processes of `tree` take; None if there is no /proc, or the process has ended."""
    if not (pids := tree(pid)):
        return None
    return Usage(sum(map(_memory, pids)), sum(map(_files, pids)), len(pids) - 1)


def tree(pid: int) -> set[int]:
    """Return a process, its descendants and the members of its session; empty if it does not exist.

    Those whose parent has ended are found by their session, and a child that ended counts until its parent
    takes note of it.  The processes by which a sandbox started it do not count.
    """
    known = {one: (parent, session) for one, parent, session in _processes()}
    above = set(_above(pid, known))
    session = known[pid][1] if pid in known else 0
    found = {one for one, (_, its) in known.items() if its == session and one not in above} | {pid}
    while more := {one for one, (parent, _) in known.items() if parent in found} - found:
        found |= more
    return found if pid in known else set()


def _above(pid: int, known: Mapping[int, tuple[int, int]]) -> Iterator[int]:
    """Yield the processes from which a process descends."""
    while pid in known:
        pid, _ = known[pid]
        yield pid


def _processes() -> Iterator[tuple[int, int, int]]:
    """Yield the id, the parent and the session of each process."""
    with suppress(OSError):
        for name in os.listdir(PROC):  # noqa: PTH208  (faster)
            with suppress(OSError):
                if name.isdigit():
                    _, parent, _, session = _stat(name)
                    yield int(name), int(parent), int(session)


def _stat(name: str) -> list[bytes]:
    """Return the state, the parent, the group and the session of a process."""
    return (PROC / name / "stat").read_bytes().rpartition(b") ")[2].split()[:4]


def _memory(pid: int) -> int:
    if sys.platform == "win32":
        return 0
    with suppress(OSError):
        return int((PROC / str(pid) / "statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _files(pid: int) -> int:
    with suppress(OSError):
        return len(os.listdir(PROC / str(pid) / "fd"))  # noqa: PTH208  (faster)
    return 0
