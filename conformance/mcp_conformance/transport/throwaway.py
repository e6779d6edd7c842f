"""The throwaway folder of a server: its directories, and an environment without the user's secrets."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_conformance.transport.credentials import is_withheld
from mcp_conformance.transport.process_tree import forget, no_process_left, scratch
from mcp_conformance.transport.removal import remove_tree

HOMES = ("HOME", "USERPROFILE")
TEMPORARY = ("TMPDIR", "TEMP", "TMP")
XDG = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
    "XDG_RUNTIME_DIR": ".run",
    "APPDATA": "AppData/Roaming",
    "LOCALAPPDATA": "AppData/Local",
}


# Not measured: a tool that deletes what the server needs is called by several checks.
MAX_RENEWALS = 20
"""How often the working directory is furnished anew, as the server no longer starts in it."""


class ScratchFolder:
    """An empty folder that is deleted by `remove`, or by the watchdog if this process cannot."""

    def __init__(self, prefix: str) -> None:
        name = f"{prefix}{secrets.token_hex(4)}_"
        self._start = str(Path(tempfile.gettempdir()).absolute() / name)
        scratch(self._start)
        self.path = Path(tempfile.mkdtemp(prefix=name))

    def remove(self) -> None:
        """Delete the folder and what is in it, as far as that is possible."""
        remove_tree(str(self.path))
        forget(self._start)


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """Give an empty folder, and delete it at the end."""
    folder = ScratchFolder(prefix)
    try:
        yield folder.path
    finally:
        folder.remove()


class Throwaway:
    """A throwaway folder with a working directory, a home and a directory for temporary files.

    It keeps honest servers away from the user's files; it does not confine hostile ones.
    """

    def __init__(self) -> None:
        self._folder = ScratchFolder("mcp-conformance-")
        self.root = self._folder.path
        self._directories = tuple(self.root / name for name in ("work", "home", "tmp"))
        self.work, self.home, self.temporary = self._directories
        for folder in self._directories:
            folder.mkdir()
        self.restored: set[str] = set()
        self.renewals = 0
        self._is_furnished = False
        self._files: list[Path] = []
        self._ends: list[Callable[[], object]] = []

    def restore(self) -> None:
        """Make the directories that are not there: a server may have deleted the one that it works in.

        Raises `OSError` if one is no directory of this folder any longer, as a link to another one.
        """
        for folder in self._directories:
            if folder.parent.is_symlink() or folder.is_symlink():
                raise NotADirectoryError(f"{folder.name} is a link now")
            if not folder.exists():
                folder.mkdir(parents=True)
                self.restored.add(folder.name)

    def furnish(self, by: Callable[[Path], object]) -> None:
        """Have the working directory furnished, the first time only.

        Once a server has run there, it may be a link to a directory of the user's.
        """
        if not self._is_furnished:
            self._is_furnished = True
            by(self.work)

    def renew(self, by: Callable[[Path], object]) -> bool:
        """Put the working directory aside, a newly furnished one in its place; return whether that is done.

        It is done `MAX_RENEWALS` times.  The new one is furnished under a name that no server knows, as one
        may put a link to a directory of the user's in its place.
        """
        new, old = (self.root / secrets.token_hex(8) for _ in range(2))
        if self.renewals >= MAX_RENEWALS:
            return False
        try:
            new.mkdir()
            by(new)
            self.work.rename(old)
            new.rename(self.work)
        except OSError:
            return False
        self.renewals += 1
        return True

    @contextmanager
    def replaced(self, by: Callable[[Path], object]) -> Iterator[bool]:
        """Put a newly furnished working directory in the place of the other, for a time; give whether it is.

        What is made in it is deleted.
        """
        new, old = (self.root / secrets.token_hex(8) for _ in range(2))
        try:
            new.mkdir()
            by(new)
            self.work.rename(old)
        except OSError:
            yield False
            return
        try:
            new.rename(self.work)
            yield True
        finally:
            with suppress(OSError):
                self.work.rename(new)
            old.rename(self.work)
            remove_tree(str(new))

    def put(self, file: Path, content: bytes) -> bool:
        """Write a new file elsewhere, which is deleted with this folder; return whether it was not there."""
        try:
            with file.open("xb") as opened:
                opened.write(content)
        except OSError:
            return False
        self._files.append(file)
        return True

    def at_end(self, call: Callable[[], object]) -> None:
        """Have something called before the folder is deleted, when no process of the server is left."""
        self._ends.append(call)

    def variables(self) -> dict[str, str]:
        """Return the environment variables that name its directories; create them."""
        places = dict.fromkeys(HOMES, self.home) | dict.fromkeys(TEMPORARY, self.temporary)
        places |= {name: self.home / folder for name, folder in XDG.items()}
        for place in places.values():
            place.mkdir(parents=True, exist_ok=True)
        return {name: str(place) for name, place in places.items()}

    def remove(self) -> None:
        """Delete the folder and the files that were put elsewhere, as far as that is possible."""
        for call in self._ends:
            call()
        for file in self._files:
            with suppress(OSError):
                file.unlink()
        self._folder.remove()


@contextmanager
def throwaway_folder() -> Iterator[Throwaway]:
    """Give a throwaway folder; at the end, end every process that was started meanwhile, and delete it."""
    throwaway = Throwaway()
    try:
        with no_process_left():
            yield throwaway
    finally:
        throwaway.remove()


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without variables whose names or values look like credentials."""
    return {name: content for name, content in environment.items() if not is_withheld(name, content)}


def rooted(command: Sequence[str], here: Path) -> tuple[str, ...]:
    """Return the command with its relative paths from ``here`` made absolute.

    A bare program name is left to the search path, and a module after ``-m`` to Python.
    """
    program, *words = command
    is_path = Path(program).name != program and _exists(here / program)
    first = str(here / program) if is_path else program
    return (first, *(_rooted(word, before, here) for before, word in zip(command, words, strict=False)))


def _rooted(word: str, before: str, here: Path) -> str:
    is_path = before != "-m" and word and not word.startswith("-") and _exists(here / word)
    return str(here / word) if is_path else word


def _exists(path: Path) -> bool:
    """Return whether there is such a file; false for a word that cannot be a path."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def importable(command: Sequence[str], here: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which ``python -m module`` finds a module in ``here`` from elsewhere."""
    is_module = "-m" in command and Path(command[0]).name.startswith("python")
    if not is_module or environment.get("PYTHONSAFEPATH"):
        return {}
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(here), environment.get("PYTHONPATH"))))}
