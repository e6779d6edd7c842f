"""What holds the writes of a server whose tools may write: a layer over all files, or Landlock.

The server reads everything, uses the network and writes where it is used to.  In a layer, what it writes
outside of the folders of the run is seen by all of its processes and thrown away with the run.  Where the
system makes no layer, Landlock refuses such writes.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_conformance.sandbox import landlock
from mcp_conformance.sandbox.confined import Confined
from mcp_conformance.sandbox.policy import ENTER, HOLD, MAKE, UPPER
from mcp_conformance.sandbox.programs import TRY_SECONDS, launched

LAYERING = "mcp_conformance.sandbox.layering"
MAX_MESSAGE = 1 << 20
MAX_FILES = 2000
"""How many files of a layer are looked at."""
NOISE = ("__pycache__", ".cache", "node_modules")
"""Folders that a runtime keeps for itself."""


@dataclass(frozen=True)
class Opened:
    """A layer that was made: its namespaces of users and mounts, and the open folder with what was written.

    ``places`` are where a file system lies, in the order of the layers.
    """

    users: int
    seen: int
    layers: int
    places: tuple[str, ...]


class Layer:
    """Holds what a server writes outside of the folders ``written``.

    It is made at the first start of the server, and lasts until it is closed.  ``reason`` says why none can
    be made here, ``is_held`` that Landlock refuses such writes instead.
    """

    def __init__(self, written: Sequence[Path] = ()):
        self.written = tuple(written)
        self.reason = "" if sys.platform == "linux" else "no Linux"
        self.is_held = False
        self._opened: Opened | None = None

    def over(self, folder: Path) -> Layer:
        """Return one for a server that writes to one more folder."""
        return Layer((*self.written, folder))

    @property
    def words(self) -> tuple[str, ...]:
        """The options by which a command of this tool gets the same one."""
        return tuple(word for path in self.written for word in ("--allow-write", str(path)))

    def around(self, confined: Confined) -> Confined:
        """Return the command that starts a server whose writes are held, as far as that is possible here."""
        written = [os.path.realpath(path) for path in self.written if path.exists()]
        self._open(written)
        if self._opened is not None:
            numbers = self._opened.users, self._opened.seen
            command = launched(LAYERING, ENTER, *map(str, numbers), *confined.command)
            return replace(confined, command=command, files=(*confined.files, *numbers))
        if self.is_held:
            return replace(confined, command=launched(LAYERING, HOLD, json.dumps(written), *confined.command))
        return confined

    def _open(self, written: Sequence[str]) -> None:
        """Make the layer, the first time only."""
        if self._opened is None and not self.reason:
            try:
                self._opened = _made(json.dumps(written))
            except (OSError, subprocess.SubprocessError) as error:
                self.reason = str(error)
                self.is_held = landlock.abi() >= landlock.TRUNCATION_ABI

    def describe(self) -> str:
        """Return what a report says of it, in a line."""
        if self.is_held:
            return "files: the server writes to the run's folders alone (--allow-write PATH adds one)"
        if self.reason:
            return f"files: nothing holds what the server writes here ({self.reason})"
        return "files: what the server writes outside of the run's folders is thrown away"

    def changes(self) -> dict[str, tuple[int, int, int] | None]:
        """Return the state of each file that was written outside of the run's folders, None if deleted.

        A state changes whenever the file is written.  What a runtime keeps for itself is left out.
        """
        if self._opened is None:
            return {}
        found: dict[str, tuple[int, int, int] | None] = {}
        for place in self._opened.places:
            for path, state in _below(self._opened.layers, f"{place.strip('/')}/{UPPER}".lstrip("/")):
                if len(found) < MAX_FILES:
                    found[os.path.join(place, path)] = state  # noqa: PTH118
        return found

    def close(self) -> None:
        """Throw away what was written, once no server runs."""
        if self._opened is not None:
            for one in (self._opened.users, self._opened.seen, self._opened.layers):
                os.close(one)
        self._opened = None


def _below(folder: int, name: str) -> Iterator[tuple[str, tuple[int, int, int] | None]]:
    """Yield the files below a folder in an open one: the path, and the state, None for a deleted one."""
    top = os.open(name, os.O_RDONLY, dir_fd=folder)
    try:
        for path, folders, files, opened in os.fwalk(".", dir_fd=top, follow_symlinks=False):
            folders[:] = [one for one in folders if one not in NOISE]
            for file in files:
                with suppress(OSError):
                    status = os.stat(file, dir_fd=opened, follow_symlinks=False)
                    is_gone = stat.S_ISCHR(status.st_mode) and status.st_rdev == 0
                    state = None if is_gone else (status.st_size, status.st_mtime_ns, status.st_ino)
                    yield os.path.normpath(os.path.join(path, file)), state  # noqa: PTH118
    finally:
        os.close(top)


def _made(written: str) -> Opened:
    """Have a program make a layer; return what it hands over.  Raises `OSError`."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = launched(LAYERING, MAKE, str(theirs.fileno()), written)
        done = subprocess.run(
            command,
            pass_fds=[theirs.fileno()],
            capture_output=True,
            text=True,
            timeout=TRY_SECONDS,
            check=False,
        )
        theirs.close()
        said, opened, _, _ = socket.recv_fds(ours, MAX_MESSAGE, 3)
    if done.returncode or len(opened) < 3:
        for one in opened:
            os.close(one)
        raise OSError(done.stderr.strip() or "no layer over the files can be made")
    users, seen, layers = opened
    return Opened(users, seen, layers, tuple(json.loads(said)))


def why_none() -> str:
    """Return why nothing holds the writes of a server here; empty if something does."""
    tried = Layer()
    tried.around(Confined((), {}))
    tried.close()
    return "" if tried.is_held else tried.reason
