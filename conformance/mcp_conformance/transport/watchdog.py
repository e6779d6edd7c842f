"""A program that cleans up after a run that was killed before it could do so itself.

`process_tree` starts it; it imports almost nothing, to start fast.  Its argument is the mark of the run
(`sweep`).  Its stdin has a line ``+ID`` for each process group that was started, ``-ID`` for each that was
ended, and ``/START``, in hexadecimal digits, for the start of each throwaway folder's path.  When stdin ends,
the run has ended: the watchdog kills the processes that are left and deletes the folders.
"""

from __future__ import annotations

import os
import sys

# A process that keeps replacing itself is given up, so that the watchdog ends too.
MAX_ROUNDS = 60
"""How often the watchdog searches for processes."""
EMPTY_ROUNDS, EMPTY_ROUNDS_AFTER_A_KILL = 2, 10
"""How many searches in a row must find nothing.

One does not prove it: a process that starts another and exits during a search can hide both.
"""
# SIGKILL: importing `signal`, which needs `enum`, would slow down the start.
KILL = 9


def marked(mark: bytes) -> list[int]:
    """Return the processes that have inherited this ``NAME=VALUE``; none if there is no /proc."""
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
    """Kill a process, or a group by its negative id; return whether that was possible."""
    try:
        os.kill(id, KILL)
    except OSError:
        return False
    return True


def sweep(mark: str) -> int:
    """Kill every process that has inherited this ``NAME=VALUE``; return how many there were.

    Without /proc, as on macOS, it finds none.
    """
    found: set[int] = set()
    empty = 0
    for _ in range(MAX_ROUNDS):
        killed = [pid for pid in marked(mark.encode()) if _killed(pid)]
        found.update(killed)
        empty = 0 if killed else empty + 1
        if empty == (EMPTY_ROUNDS_AFTER_A_KILL if found else EMPTY_ROUNDS):
            break
    return len(found)


def main(mark: str) -> None:
    """Wait for the end of the run, then clean up."""
    groups: set[str] = set()
    folders: list[str] = []
    if sys.platform != "win32":
        # Ctrl-C goes to the group of the terminal, which the watchdog has to outlive.
        os.setsid()
    # It would keep the folder in use that it may have to delete.
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
        from pathlib import Path  # noqa: PLC0415  (slow, and rarely needed)
        from runpy import run_path  # noqa: PLC0415  (the watchdog cannot import the package)

        remove = run_path(str(Path(__file__).with_name("removal.py")))["remove_tree"]
        for start in map(Path, folders):
            for one in start.parent.glob(f"{start.name}*"):
                remove(str(one))


if __name__ == "__main__":
    main(sys.argv[1])
