"""The furnished folder: a directory with small files of many kinds, in which a tool finds what it needs."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from mcp_conformance.world.furniture import repository
from mcp_conformance.world.furniture.database import QUERY, TABLE, database
from mcp_conformance.world.furniture.documents import SHEET, TOTALS, documents
from mcp_conformance.world.furniture.media import media
from mcp_conformance.world.furniture.texts import ROWS, texts
from mcp_conformance.world.known import Known, Origin, Owner

T = TypeVar("T")
PLACEHOLDER = "{folder}"
"""What stands for the furnished folder in a command, in a variable, and in the arguments of an example."""
ORIGIN = "folder"
# Not measured: what is there for certain comes before words of descriptions, and after what worked.
RANK = 2
CHANGED = repository.MOMENT + 4 * 3600
"""When the files were last changed: answers with this time are the same in each run."""
GIT = ".git"
GIT_FOLDERS = ("objects/pack", "objects/info", "refs/heads", "refs/tags")
ALIKE = {
    ".yml": ".yaml",
    ".jpeg": ".jpg",
    ".htm": ".html",
    ".markdown": ".md",
    ".sqlite": ".db",
    ".sqlite3": ".db",
    ".mjs": ".js",
    ".xlsm": ".xlsx",
    ".ndjson": ".jsonl",
}
"""Other endings of a kind of file."""
INSIDE = (
    *((("sheet_name", "sheet", "worksheet"), name) for name in (SHEET, TOTALS)),
    (("range", "cell_range"), f"A1:C{len(ROWS)}"),
    (("cell", "start_cell"), "A1"),
    (("target_cell", "anchor", "at"), "F1"),
    (("end_cell",), f"C{len(ROWS)}"),
    (("table_name", "table"), TABLE),
    *((("column_name", "column", "field"), name) for name in ROWS[0]),
    (("sql", "sql_statement"), QUERY),
    (("branch_name", "branch"), repository.BRANCH),
    (("branch_name", "branch"), repository.OTHER_BRANCH),
    (("tag_name", "tag", "revision"), repository.TAG),
)
"""What the files contain that an argument can name, with the names of such arguments."""
MIN_PACKED = 100
"""The smallest file that makes a difference, such as a workbook, is longer in Base64."""
NOT_IN_NAMES = re.compile(r'[\x00-\x1f<>:"|?*]')
"""What a name of a file cannot contain on some system."""


@dataclass(frozen=True)
class Folder:
    """A furnished folder at ``root``, an absolute path; ``is_cwd`` says that the server works there.

    It knows what it was furnished with: calls of tools may have changed that since.
    """

    root: Path
    is_cwd: bool = True

    def furnish(self) -> None:
        """Write the files, over what has their names.  Raises `OSError`.

        Call it before a server has run there: one may replace a folder by a link that leads elsewhere.
        """
        for folder in GIT_FOLDERS:
            (self.root / GIT / folder).mkdir(parents=True, exist_ok=True)
        for name, content in _files().items():
            path = self.root / name
            if "/" in name and not name.startswith(GIT):
                path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            if not name.startswith(GIT):
                os.utime(path, (CHANGED, CHANGED))

    @property
    def is_as_furnished(self) -> bool:
        """Whether there are the same files and folders as at first, each as long; links are not followed."""
        left = {self.root / name: len(content) for name, content in _files().items()}
        places = [*left, *(self.root / GIT / name / "any" for name in GIT_FOLDERS)]
        folders = {parent for place in places for parent in place.parents}
        waiting = [self.root]
        try:
            while waiting:
                with os.scandir(waiting.pop()) as entries:
                    for entry in entries:
                        path = Path(entry.path)
                        if path in folders and entry.is_dir(follow_symlinks=False):
                            waiting.append(path)
                        elif left.pop(path, None) != entry.stat(follow_symlinks=False).st_size:
                            return False
        except OSError:
            return False
        return not left

    @property
    def files(self) -> tuple[Path, ...]:
        """The files, without those of the repository's ``.git``."""
        return tuple(self.root / name for name in _files() if not name.startswith(GIT))

    def by_ending(self, ending: str) -> Path | None:
        """Return the file with an ending such as ``.xlsx``; None if there is none of its kind."""
        wanted = ending.lower()
        wanted = ALIKE.get(wanted, wanted)
        return next((path for path in self.files if wanted and path.suffix == wanted), None)

    def packed(self, ending: str) -> str:
        """Return the file with an ending in Base64; empty if there is none of its kind."""
        path = self.by_ending(ending)
        return b64encode(_files()[path.relative_to(self.root).as_posix()]).decode() if path else ""

    def packs(self, text: Any) -> bool:
        """Return whether a text is one of the files in Base64."""
        return (
            isinstance(text, str)
            and len(text) > MIN_PACKED
            and any(b64encode(content).decode() == text for content in _files().values())
        )

    def text(self, ending: str, item: str) -> str | None:
        """Return a text like the file with an ending, about an ``item`` of this name; None for no text."""
        path = self.by_ending(ending)
        name = path.relative_to(self.root).as_posix() if path else ""
        return _files()[name].decode().replace(str(ROWS[1][0]), item) if name in texts() else None

    def like(self, example: str, *, must_exist: bool) -> Path:
        """Return the path in this folder for the path or ``file:`` URI of an example.

        ``/home/me/q1.xlsx`` becomes our own workbook if it must exist, else ``q1.xlsx``, which does not.  The
        example of a folder becomes this folder.
        """
        text = unquote(urlsplit(example).path) if example.startswith("file:") else example
        name = NOT_IN_NAMES.sub("", re.split(r"[\\/]", text.rstrip("\\/"))[-1]).strip()
        ending = Path(name).suffix
        if name in ("", ".", "..") or (must_exist and not ending):
            return self.root
        found = self.by_ending(ending) if must_exist else None
        return found or self.root / name

    def copy_of(self, path: str, name: str) -> str:
        """Return the path of a copy of one of the files under another ``name``; empty if it is none of them.

        `make_copies` makes it.
        """
        whole = self.root / path
        return str(self.root / f"{name}{whole.suffix}") if whole in self.files else ""

    def make_copies(self, paths: Iterable[Any], mark: str) -> None:
        """Make those of some paths that are copies, as `copy_of` names them, if they are not there.

        The names of copies begin with ``mark``.  Nothing is written if a server has replaced the folder by a
        link, and over no file.
        """
        for path in paths:
            copy = Path(path) if isinstance(path, str) and mark in path else self.root
            original = self.by_ending(copy.suffix)
            is_copy = copy.parent == self.root and copy.name.startswith(mark) and original is not None
            if is_copy and original is not None and self.root.resolve() == self.root:
                with suppress(OSError), copy.open("xb") as file:
                    file.write(_files()[original.name])

    def filled(self, value: T) -> T:
        """Return a value in which the path of this folder replaces `PLACEHOLDER`, in all of its texts."""
        filled: T = replaced(value, PLACEHOLDER, str(self.root))
        return filled

    def shown(self, value: T) -> T:
        """Return a value in which `PLACEHOLDER` replaces the path, which is another one in each run."""
        shown: T = replaced(value, str(self.root), PLACEHOLDER)
        return shown

    def known(self) -> Iterator[Known]:
        """Yield what tools can be asked for: the folder, its files, and what is in these.

        Names without the folder come only if the server works there.
        """
        yield self._known(("path", "folder", "directory", "root"), str(self.root), "")
        for path in self.files:
            name = path.relative_to(self.root).as_posix()
            yield self._known(("path", "file", "file_path"), str(path), name)
            if self.is_cwd:
                yield self._known(("filename", "file", "path"), name, name)
        yield self._known(("uri", "url"), (self.root / "example.txt").as_uri(), "example.txt")
        for keys, value in INSIDE:
            yield self._known(keys, value, str(value))
        yield self._known(("commit", "hash", "sha", "revision", "ref"), first_commit(), repository.TAG)

    def _known(self, keys: tuple[str, ...], value: str, of: str) -> Known:
        return Known(value, keys, Origin(ORIGIN, of), Owner.MADE, RANK)


@cache
def _files() -> Mapping[str, bytes]:
    """Return the contents of all files by their path in the folder; the repository comes last."""
    found = {**texts(), **documents(), "example.db": database(), **media()}
    inner = repository.repository(found, CHANGED)
    return {**found, **{f"{GIT}/{name}": content for name, content in inner.items()}}


def first_commit() -> str:
    """Return the id of the repository's first commit."""
    return next(
        content.decode().split()[-2] for name, content in _files().items() if name == f"{GIT}/packed-refs"
    )


def replaced(value: Any, old: str, new: str) -> Any:
    """Return a value in which a text replaces another one, in all of its texts."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, Mapping):
        return {name: replaced(inner, old, new) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(replaced(inner, old, new) for inner in value)
    return value


def furnish(directory: Path) -> Folder:
    """Furnish a directory, in which no server has run yet, and return the folder.  Raises `OSError`."""
    folder = Folder(directory.resolve())
    folder.furnish()
    return folder
