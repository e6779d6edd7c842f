"""The files in the server's throwaway folder, and what a call of a tool does to them."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mcp_conformance.sandbox.layer import Layer
from mcp_conformance.transport.files import regular_bytes
from mcp_conformance.transport.throwaway import Throwaway
from mcp_conformance.transport.writing import create

OWN_STATE = re.compile(
    r"(?:^|[._-])(?:logs?|caches?|cached|tmp|temp|locks?|lck|pid|journal|wal|shm|swp|pyc|pycache)(?:$|[._-])",
    re.IGNORECASE,
)
"""Matches the name of a file or folder that a program keeps for itself, whatever its tools do."""
PERHAPS_OWN = re.compile(
    r"(?:^|[._-])(?:traces?|history|telemetry|metrics|analytics|stats|sessions?|bak)(?:$|[._-])",
    re.IGNORECASE,
)
"""Matches the name of one that may be a program's own: only what is done by any call shows that."""
DATA = ((".local", "share"), ("AppData", "Roaming"))
"""The hidden folders of a home that are meant for the user's data."""
TEMPORARY = ("/tmp/", "/var/tmp/", "/dev/shm/")  # noqa: S108
"""Where programs keep what lasts no longer than they do."""
VARYING = re.compile(r"[0-9a-fA-F]{6,}|\d+")
"""The part of a name that is another one for each file."""
MAX_FILES = 5000
MAX_DIGESTED_BYTES = 1_000_000
MAX_BAIT_LENGTH = 64
BAIT = re.compile(r"\w[\w.-]*")
BAIT_TEXT = "This file is not the server's.\n"


@dataclass(frozen=True)
class FileState:
    """A file: its ``size`` in bytes, ``version``, which changes whenever it is written, and ``digest``.

    One that ``is_gone`` was there before the run, outside of its folders.
    """

    size: int
    version: tuple[int, int]
    digest: str
    is_gone: bool = False


Differ = Callable[[FileState, FileState], bool]
Contents = Mapping[str, FileState]
"""The files by their path in the folder."""


def contents(folder: Throwaway, layer: Layer | None = None) -> Contents | None:
    """Return the files that are not the state of a program; None if there are too many to look at.

    With a ``layer`` those are among them, by their absolute paths, that were written or deleted elsewhere.
    """
    found = {} if layer is None else dict(_elsewhere(layer))
    for path in _paths(folder):
        if len(found) == MAX_FILES:
            return None
        with suppress(OSError):
            status = path.stat()
            name = path.relative_to(folder.root).as_posix()
            found[name] = FileState(
                status.st_size, (status.st_mtime_ns, status.st_ino), _digest(path, status.st_size)
            )
    return found


def _paths(folder: Throwaway) -> Iterator[Path]:
    """Yield the files in the working directory, and those in the home that are the user's data."""
    yield from _below(folder.work)
    with suppress(OSError):
        for path in folder.home.iterdir():
            if not path.name.startswith(".") and path.name != "AppData":
                yield from _below(path)
    for names in DATA:
        yield from _below(folder.home.joinpath(*names))


def _elsewhere(layer: Layer) -> Iterator[tuple[str, FileState]]:
    for path, state in layer.changes().items():
        if not path.startswith(TEMPORARY) and not any(map(OWN_STATE.search, path.split("/"))):
            size, *version = state or (0, 0, 0)
            yield path, FileState(size, (version[0], version[1]), str(state), is_gone=state is None)


def _below(place: Path) -> Iterator[Path]:
    waiting = [str(place)]  # `os.walk` calls itself in Python 3.11, and a server may nest folders for ever
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if OWN_STATE.search(entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif not entry.is_dir():
                    yield Path(entry.path)


def _digest(path: Path, size: int) -> str:
    content = regular_bytes(path, MAX_DIGESTED_BYTES) if size <= MAX_DIGESTED_BYTES else None
    return "" if content is None else hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class FileChange:
    """What happened to a file: its ``path`` in the folder, and ``what``: wrote, changed or deleted."""

    path: str
    what: str

    @property
    def is_perhaps_own(self) -> bool:
        """Whether the name of the file, or of its folder, may be one that the program keeps for itself."""
        return any(PERHAPS_OWN.search(part) for part in self.path.split("/"))

    @property
    def kind(self) -> tuple[str, str]:
        """What a second call of the same tool repeats: the path without what varies, and what happened."""
        return VARYING.sub("#", self.path), self.what

    def __str__(self) -> str:
        return f"{self.what} {self.path}"


def written(before: Contents, after: Contents) -> tuple[FileChange, ...]:
    """Return the files that were written, even with the same content, and those that were deleted."""
    return _changes(before, after, lambda one, other: one.version != other.version or one.size != other.size)


def changed(before: Contents, after: Contents) -> tuple[FileChange, ...]:
    """Return the files that have another content, those that are new, and those that were deleted."""
    return _changes(before, after, lambda one, other: (one.size, one.digest) != (other.size, other.digest))


def _changes(before: Contents, after: Contents, differ: Differ) -> tuple[FileChange, ...]:
    new = [
        FileChange(path, "deleted" if file.is_gone else "wrote")
        for path, file in after.items()
        if path not in before and (file.size or file.is_gone)
    ]
    others = [
        FileChange(path, "deleted" if file.is_gone else "changed")
        for path, file in after.items()
        if path in before and differ(before[path], file)
    ]
    gone = [FileChange(path, "deleted") for path in before if path not in after]
    return (*new, *others, *gone)


class Baits:
    """Files of the names in a tool's arguments, which a tool that only reads leaves as they are."""

    def __init__(self, folder: Path, arguments: Mapping[str, object]):
        texts = [value for value in arguments.values() if isinstance(value, str)]
        names = {one for one in texts if BAIT.fullmatch(one) and len(one) <= MAX_BAIT_LENGTH}
        self._folder = folder
        self._paths = [folder / name for name in sorted(names) if not (folder / name).exists()]

    def put(self) -> None:
        """Write those that are not there, unless a server has replaced the folder by a link."""
        for path in self._own():
            with suppress(OSError), create(path) as file:
                file.write(BAIT_TEXT)

    def close(self) -> None:
        """Delete them."""
        for path in self._own():
            with suppress(OSError):
                path.unlink()

    def _own(self) -> Sequence[Path]:
        return self._paths if self._folder.resolve() == self._folder else ()
