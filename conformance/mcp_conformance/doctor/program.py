"""The program that a command starts: the file it leads to, or what the user may have meant."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.throwaway import rooted

HEAD_BYTES = 256
SIMILARITY = 0.75


@dataclass(frozen=True)
class Program:
    """The first word of a command, and the file it leads to.

    ``path`` is the file; empty if there is none.  ``head`` is its first bytes.  ``near`` is a program on the
    PATH with a similar name, ``beside`` a file of that name in the user's directory.
    """

    word: str
    path: str = ""
    is_file: bool = False
    may_run: bool = False
    head: bytes = b""
    near: str = ""
    beside: str = ""

    @property
    def shebang(self) -> bytes:
        """The first line, if it names an interpreter."""
        return self.head.split(b"\n")[0] if self.head.startswith(b"#!") else b""


def find_program(settings: Settings) -> Program:
    """Return the program that the first word of the command leads to."""
    word = settings.command[0]
    place = settings.cwd or settings.here
    first = rooted(settings.command, settings.here)[0] if settings.cwd is None else word
    path = settings.env.get("PATH", os.environ.get("PATH", ""))
    has_directory = Path(word).name != word
    found = shutil.which(first, path=path) or str(place / word) * has_directory
    if not found or not _is(Path(found), "exists"):
        near = [] if has_directory else get_close_matches(word, sorted(_programs(path)), 1, SIMILARITY)
        return Program(word, near="".join(near), beside=_beside(word, place))
    is_file = _is(Path(found), "is_file")
    head = _head(Path(found)) if is_file else b""
    return Program(word, found, is_file, shutil.which(found, path=path) is not None, head)


def _beside(word: str, place: Path) -> str:
    """Return the file that a word which is not a program probably means."""
    paths = (place / word, Path(os.path.expanduser(word)))  # noqa: PTH111  (it does not raise for an unknown user)
    return next((str(path) for path in paths if _is(path, "is_file")), "")


def _programs(path: str) -> set[str]:
    found: set[str] = set()
    for folder in path.split(os.pathsep):
        try:
            found.update(path.name for path in Path(folder or os.curdir).iterdir())
        except OSError:
            continue
    return found


def _is(path: Path, what: str) -> bool:
    try:
        return bool(getattr(path, what)())
    except (OSError, ValueError):
        return False


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError:
        return b""
