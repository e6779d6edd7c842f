"""Ends what a run of ours has started when the run is ended before it could do that itself.

It is run as a program of its own (`conformance.tree`), and imports next to nothing to start fast.  Its stdin
has a line ``+ID`` for each process group that was started, ``-ID`` for each that was ended, and ``/NAME``, in
hexadecimal digits, for each throwaway folder; its one word is the mark of the run (`sweep`).  When
stdin ends, so has the run: what is left of the processes is killed, and the folders are deleted.
"""

from __future__ import annotations

import os
import sys

ROUNDS = 60
"""How often processes are looked for, at the most."""
QUIET_AFTER, SURE_AFTER = 2, 10
"""How often in a row none may be found for there to be none; more often if there was one.

A process that puts another in its place and exits while it is looked for is in none of the two places.
"""
KILL = 9


def marked(mark: bytes) -> list[int]:
    """The processes that have inherited this ``NAME=VALUE``; none where there is no /proc."""
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return []
    return [pid for pid in pids if pid != os.getpid() and mark in _environment(pid)]


def _environment(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123
            return file.read().split(b"\0")
    except OSError:
        return []


def _killed(id: int) -> bool:
    """Whether a process could be killed; a group is named by its id below zero."""
    try:
        os.kill(id, KILL)
    except OSError:
        return False
    return True


def sweep(mark: str) -> int:
    """Kill what has inherited this ``NAME=VALUE`` until nothing has; how many processes there were.

    Where there is no /proc, as on macOS, none are found.
    """
    found: set[int] = set()
    quiet = 0
    for _ in range(ROUNDS):
        killed = [pid for pid in marked(mark.encode()) if _killed(pid)]
        found.update(killed)
        quiet = 0 if killed else quiet + 1
        if quiet == (SURE_AFTER if found else QUIET_AFTER):
            break
    return len(found)


def main(mark: str) -> None:
    """Wait for the end of the run and end what it left."""
    groups: set[str] = set()
    folders: list[str] = []
    if sys.platform != "win32":
        os.setsid()
    os.chdir("/")
    for line in sys.stdin:
        what, name = line[0], line[1:].strip()
        if what == "/":
            folders.append(os.fsdecode(bytes.fromhex(name)))
        elif what == "+":
            groups.add(name)
        else:
            groups.discard(name)
    for group in groups:
        _killed(-int(group))
    sweep(mark)
    if folders:
        from shutil import rmtree  # noqa: PLC0415  (slow, and most often not needed)

        for folder in folders:
            rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
