"""The ports of TCP on which a process waits for connections, where the system tells (Linux)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTEN = "0A"
"""The state of a socket that waits for connections."""


def listening(pids: Iterable[int]) -> tuple[int, ...]:
    """The ports on which these processes listen."""
    sockets = {socket for pid in pids for socket in _sockets(pid)}
    return tuple(sorted({port for socket, port in _listening() if socket in sockets}))


def _sockets(pid: int) -> Iterator[str]:
    """The numbers of a process's sockets."""
    with suppress(OSError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                kind, _, number = str(file.readlink()).partition(":")
                if kind == "socket":
                    yield number.strip("[]")


def _listening() -> Iterator[tuple[str, int]]:
    """The number and the port of each socket that waits for connections."""
    for table in TABLES:
        with suppress(OSError):
            for row in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                cells = row.split()
                if cells[3] == LISTEN:
                    yield cells[9], int(cells[1].rpartition(":")[2], 16)
