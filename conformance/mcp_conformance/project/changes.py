"""The files of a project that somebody edits: what changed, without what the runs themselves write."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import translate
from pathlib import Path
from stat import S_ISREG

from mcp_conformance.transport.files import regular_bytes

IGNORED_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages"})
"""Beside those that begin with a dot, and virtual environments, which have a file `ENVIRONMENT`."""
ENVIRONMENT = "pyvenv.cfg"
MAX_BYTES = 1_000_000
"""The longest `.gitignore` that holds."""
IGNORED_FILES = (".pyc", ".pyo", ".log", ".tmp", ".swp", ".swx", "~")
POLL_SECONDS = 0.25
"""How often the files are looked at.  Not measured: half a blink of an eye."""
MAX_SHARE = 0.1
"""The share of the time that looking may take, in a project with very many files."""
SETTLED_SECONDS = 0.15
"""How long nothing changes before a change is over: an editor or git writes several files in a row."""
MAX_RESTARTS = 5
"""How often in a row the same file may end a run before it is taken for one that the run writes."""
Stamps = Mapping[str, tuple[int, int]]
"""The time (in ns) and the size of each file, by its path below the folder, with ``/``."""


class GitIgnore:
    """The patterns of a ``.gitignore``, names and paths with ``*`` and ``?``; the last match counts."""

    def __init__(self, lines: Iterable[str]):
        self._rules = [_rule(line) for line in map(str.strip, lines) if line and not line.startswith("#")]

    def __call__(self, path: str, *, is_folder: bool) -> bool:
        """Return whether a path below its folder is ignored."""
        ignored = False
        for pattern, only_folders, holds in self._rules:
            if (is_folder or not only_folders) and pattern.match(path):
                ignored = holds
        return ignored


def _rule(line: str) -> tuple[re.Pattern[str], bool, bool]:
    """Return a pattern for whole paths, whether it is for folders alone, and whether it ignores or keeps."""
    holds = not line.startswith("!")
    text = line.lstrip("!")
    is_anchored = "/" in text.rstrip("/")
    glob = text.strip("/").removeprefix("**/")
    before = "" if is_anchored and not text.startswith("**/") else "(?:.*/)?"
    return re.compile(before + translate(glob)), text.endswith("/"), holds


def stamps(folder: Path, outputs: Iterable[int] = (1, 2)) -> Stamps:
    """Return the files below a folder that somebody may edit; not where ``outputs`` go."""
    place = folder / ".gitignore"
    content = (regular_bytes(place, MAX_BYTES) or b"") if place.is_file() else b""
    own = {one for descriptor in outputs for one in _file_of(descriptor)}
    return dict(_stamps(str(folder), GitIgnore(content.decode("utf-8", "replace").splitlines()), own))


def _file_of(descriptor: int) -> Iterator[tuple[int, int]]:
    """Yield the device and the number of an open file; nothing for a pipe, a terminal, or what is closed."""
    with suppress(OSError):
        found = os.fstat(descriptor)
        if S_ISREG(found.st_mode):
            yield found.st_dev, found.st_ino


def _stamps(
    folder: str, ignored: GitIgnore, own: Collection[tuple[int, int]]
) -> Iterator[tuple[str, tuple[int, int]]]:
    waiting = [(folder, "")]  # a tree may be deeper than calls can be nested
    while waiting:
        place, before = waiting.pop()
        with suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                path = f"{before}{entry.name}"
                with suppress(OSError):  # it was deleted meanwhile, or is a link to nothing
                    if entry.is_dir(follow_symlinks=False):
                        if not (_is_ignored_folder(entry) or ignored(path, is_folder=True)):
                            waiting.append((entry.path, f"{path}/"))
                    elif not (
                        entry.is_dir() or entry.name.endswith(IGNORED_FILES) or ignored(path, is_folder=False)
                    ):
                        # On Windows the stat of an entry has no number.
                        found = os.stat(entry.path) if own else entry.stat()  # noqa: PTH116
                        if (found.st_dev, found.st_ino) not in own:
                            yield path, (found.st_mtime_ns, found.st_size)


def _is_ignored_folder(entry: os.DirEntry[str]) -> bool:
    is_named = entry.name.startswith(".") or entry.name in IGNORED_FOLDERS
    return is_named or os.path.exists(f"{entry.path}/{ENVIRONMENT}")  # noqa: PTH110  (a Path is slow here)


class Edits:
    """What changes among the files of a project, and whether somebody edits them or a run writes them.

    A file that changes while nothing runs was edited.  One that changes during a run may be either: it gets
    one more run, and if it changes in that too, runs write it, and it is ignored until it is edited.
    ``ignored`` are such files.
    """

    def __init__(
        self,
        look: Callable[[], Stamps],
        ignored: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ):
        self._look, self._clock = look, clock
        self._seen = self._now = look()
        self._edited: set[str] = set()
        self._suspects: frozenset[str] = frozenset()
        self._restarts: Counter[str] = Counter()
        self._next = 0.0
        self.ignored = set(ignored)

    @property
    def files(self) -> Collection[str]:
        """The paths of the files that are watched."""
        return self._seen.keys()

    def _differing(self) -> frozenset[str]:
        begun = self._clock()
        now = self._now = self._look()
        self._next = begun + max(POLL_SECONDS, (self._clock() - begun) / MAX_SHARE)
        return frozenset(path for path in {*now, *self._seen} if now.get(path) != self._seen.get(path))

    def while_idle(self) -> frozenset[str]:
        """Return the files that changed since the last look, while nothing ran: somebody edits them."""
        changed = self._differing()
        if changed:
            self._edited |= changed
            self.ignored -= changed
            self._restarts.clear()
        return changed

    def begin_run(self) -> None:
        """Take the files as they are for those that the run sees."""
        self._seen = self._look()

    def in_run(self) -> frozenset[str]:
        """Return what somebody has edited since the run began; empty if we looked a moment ago."""
        if self._clock() < self._next:
            return frozenset()
        return (self._differing() & self._edited) - self.ignored

    def end_run(self, *, stopped: bool) -> frozenset[str]:
        """Return what changed in the run and needs another one, and learn what runs write.

        ``stopped`` says that a change has ended it.
        """
        changed = self._differing() - self.ignored
        self._seen = self._now  # what comes from now on comes while nothing runs
        if stopped:
            self._restarts.update(changed)
            self.ignored |= {path for path in changed if self._restarts[path] >= MAX_RESTARTS}
            return changed - self.ignored
        self._restarts.clear()
        self.ignored |= changed & self._suspects
        self._suspects = changed - self.ignored
        return self._suspects

    def wait(self, sleep: Callable[[float], None] = time.sleep) -> frozenset[str]:
        """Wait until files have changed while nothing runs, and no more of them do; return those."""
        while True:
            before: Stamps | None = None
            while (now := self._look()) != (before or self._seen):
                before = now
                sleep(SETTLED_SECONDS)
            if changed := self.while_idle():
                return changed
            sleep(max(0.0, self._next - self._clock()))
