"""Files that we write: whole or not at all, and through no link that a repository or a server has made."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from secrets import token_hex
from typing import TextIO

NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
NEW = os.O_CREAT | os.O_EXCL | NO_LINK
BINARY = getattr(os, "O_BINARY", 0)


Content = str | bytes | Iterable[str]


def write(path: Path, content: Content, mode: int | None = None) -> None:
    """Write a file and the folders that it needs; it appears, or is replaced, when all of it is there.

    A new file has this ``mode``; without one, a file that was there keeps its own.  A link in its place is
    replaced.  Raises `OSError`, also as `place_of` does.
    """
    place = place_of(path.parent) / path.name
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f".{token_hex(8)}.part")
    opened = os.open(part, os.O_WRONLY | NEW | BINARY, 0o666 if mode is None else mode)
    try:
        _fill(opened, content)
        if mode is None and place.is_file() and not place.is_symlink():
            part.chmod(stat.S_IMODE(place.stat().st_mode))
        part.replace(place)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_named(path: Path, content: Content) -> None:
    """Write a file that the user names: a link stays one, and a pipe or a device is written to.

    Raises `OSError`, as `write` and `place_of` do.
    """
    place = place_of(path)
    if place.exists() and not place.is_file():
        _fill(os.open(place, os.O_WRONLY | BINARY), content)
    else:
        write(place, content)


def _fill(opened: int, content: Content) -> None:
    with os.fdopen(opened, "wb") as file:
        for piece in (content,) if isinstance(content, str | bytes) else content:
            file.write(piece.encode("utf-8", "backslashreplace") if isinstance(piece, str) else piece)


def create(path: Path, mode: int = 0o666) -> TextIO:
    """Return a new file, with the folders that it needs, to write and to read again.

    Raises `OSError`, also if anything is there, and as `place_of` does.
    """
    place = place_of(path.parent) / path.name
    place.parent.mkdir(parents=True, exist_ok=True)
    return os.fdopen(os.open(place, os.O_RDWR | NEW | BINARY, mode), "w+", encoding="utf-8", newline="\n")


def append(path: Path, text: str) -> None:
    """Write a text at the end of a file, which need not be there.  Raises `OSError`, as `place_of` does."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | BINARY
    _fill(os.open(place_of(path), flags, 0o666), text)


def make_ignored_folder(path: Path, mode: int = 0o777) -> None:
    """Create a folder, if there is none, that git ignores.  Raises `OSError`, also as `place_of` does."""
    place = place_of(path)
    if not place.exists():
        make_folder(place, mode)
        write(place / ".gitignore", "*\n")


def make_folder(path: Path, mode: int) -> None:
    """Create a folder, and those that it needs, with this mode.  Raises `OSError`."""
    for one in (*reversed(path.parents), path):
        if not one.exists():
            one.mkdir(mode, exist_ok=True)


def own_bytes(path: Path, most: int) -> bytes:
    """Return the content of a file that an earlier run has written.

    Raises `OSError`, also for a link, for what is not a file, and for more than ``most`` bytes.
    """
    opened = os.open(
        place_of(path.parent) / path.name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | NO_LINK | BINARY
    )
    with os.fdopen(opened, "rb") as file:
        content = file.read(most + 1) if stat.S_ISREG(os.fstat(opened).st_mode) else None
    if content is None or len(content) > most:
        raise OSError(errno.EINVAL, "not a file of ours", str(path))
    return content


def place_of(path: Path) -> Path:
    """Return where a file is, after the links on the way; a pipe or a device stays as it is named.

    A link of the user's is followed, such as one in a folder of reports.  A repository may ship one too:
    raises `OSError` if it leads out of the working directory, or out of the git repository, in which it is.
    """
    named, here = Path(os.path.abspath(path)), os.path.realpath(os.curdir)  # noqa: PTH100  (`absolute` keeps ..)
    real = Path(os.path.realpath(path))
    for base in named.parents:
        root = os.path.realpath(base)
        is_tree = root == here or os.path.lexists(base / ".git")
        if is_tree and not real.is_relative_to(root):
            raise OSError(errno.ELOOP, f"a link leads out of {base}, to {real}: name that place", str(path))
    return named if named.exists() and not named.is_file() else real
