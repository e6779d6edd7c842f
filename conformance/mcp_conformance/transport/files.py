"""Files that others made: opened without waiting, of a limited size, and read as text, JSON or TOML."""

from __future__ import annotations

import json
import math
import os
import re
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from mcp_conformance.protocol.jsonrpc import is_deep
from mcp_conformance.protocol.text import named

MAX_BYTES = 256_000_000
"""The longest file that is read where its kind names no limit; the largest reports have 5 MB."""
MAX_TOML_BYTES = 16_000_000
"""The longest TOML file: Python's reader takes some two seconds for a megabyte."""
MAX_PARTS = 10_000_000
"""The most arrays, objects and commas of a JSON text: a value takes some 64 bytes of memory."""
MAX_DEPTH = 200
"""The deepest nesting: what walks through a value takes up to three of Python's 1,000 frames for a level."""
KEYS = re.compile(r"""(?:(?:(?<![\w-])[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)++""")
"""The parts of a key of TOML but the last, or such a text: Python's reader takes time by their square."""
KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
"""What is not a file, by its type in the mode."""
T = TypeVar("T")


class BadFile(ValueError):  # noqa: N818  (an error of the user, in one line)
    """A file cannot be read, or is not of its kind; the message says which it is and what is wrong."""

    def __str__(self) -> str:
        """Return the message in one line, whatever the file says."""
        return super().__str__().replace("\n", "\\n")


def read_file(path: Path, read: Callable[[str], T], most: int = MAX_BYTES, *, follows: bool = True) -> T:
    """Return what ``read`` makes of the text of a file, whose `ValueError` gets the name of the file.

    A link is followed where the user named the path, and not (``follows``) where a folder had it.  Raises
    `BadFile`, also for what is not a file, for more than ``most`` bytes, and for another encoding than UTF-8.
    """
    try:
        return read(_text(_content(path, most, follows)))
    except OSError as error:
        raise BadFile(f"{named(str(path), 300)}: {error.strerror or error}") from error
    except ValueError as error:
        raise BadFile(f"{named(str(path), 300)}: {error}") from error


def regular_bytes(path: Path, most: int) -> bytes | None:
    """Return the content of a file that a server has named or written; None unless it is one on this machine.

    It is None too for a pipe, a device, or more than ``most`` bytes.  Raises `OSError`.
    """
    if path.drive.startswith(("\\\\", "//")):  # to ask another machine for a file shows it who the user is
        return None
    try:
        return _content(path, most, follows=True)
    except BadFile:
        return None


def _content(path: Path, most: int, follows: bool) -> bytes:
    """Return the bytes of a file as long as it was when it was opened.  Raises `BadFile` and `OSError`."""
    if not follows and path.is_symlink():
        raise BadFile("a link, which only a path that you name yourself may be")
    _expect_file(path.stat(), most)  # to open a device may do something
    flags = ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY", *(() if follows else ("O_NOFOLLOW",)))
    opened = os.open(path, os.O_RDONLY | sum(getattr(os, flag, 0) for flag in flags))
    try:
        size = _expect_file(os.fstat(opened), most)
        with os.fdopen(opened, "rb", closefd=False) as file:
            content = file.read(size + 1)
    finally:
        os.close(opened)
    if content and not size:  # as in /proc, where a program shows what it has in its memory
        raise BadFile("not a file of a disk: it has content and no size")
    return content[:size]


def _expect_file(found: os.stat_result, most: int) -> int:
    """Return the size of a file.  Raises `BadFile` for another thing, and for one that is too large."""
    if not stat.S_ISREG(found.st_mode):
        raise BadFile(f"{KINDS.get(stat.S_IFMT(found.st_mode), 'something else')}, not a file")
    if found.st_size > most:
        raise BadFile(f"too large: {found.st_size} bytes, and at most {most} are read")
    return found.st_size


def _text(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadFile("not UTF-8, but UTF-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile(f"not UTF-8: {error.reason} at byte {error.start}") from None


# Content -----------------------------------------------------------------------------------------


def json_value(text: str) -> Any:
    """Return the value of a JSON text, in which each number is finite.  Raises `BadFile`."""
    if sum(map(text.count, ",[{")) > MAX_PARTS:
        raise BadFile(f"too large: it has more than {MAX_PARTS} values")
    try:
        value = json.loads(text, parse_int=_whole, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise BadFile("it is nested too deeply") from None
    except ValueError as error:
        raise BadFile(f"not JSON: {error}") from None
    return _flat(value)


def toml_value(text: str) -> dict[str, Any]:
    """Return the tables of a TOML text.  Raises `BadFile`."""
    if any(found[0].count(".") >= MAX_DEPTH for found in KEYS.finditer(text)):
        raise BadFile("it is nested too deeply")
    try:
        return _flat(tomllib.loads(text))
    except RecursionError:
        raise BadFile("it is nested too deeply") from None
    except BadFile:
        raise
    except ValueError as error:
        raise BadFile(f"not TOML: {error}") from None


def _flat(value: T) -> T:
    if is_deep(value, MAX_DEPTH):
        raise BadFile("it is nested too deeply")
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {named(text, 20)} is not finite")
    return number


def _whole(text: str) -> int:
    _finite(text)
    return int(text)


# Folders -----------------------------------------------------------------------------------------
