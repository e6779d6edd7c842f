"""What a text can name: a thing of this run, a place outside of its folders, what was there before."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from mcp_conformance.world.fitting import ID_WORDS
from mcp_conformance.world.members import Member, words_of
from mcp_conformance.world.ours import Ours

CONTENT = frozenset(
    {
        *("content", "text", "body", "message", "description", "comment", "summary", "thought", "prompt"),
        *("markdown", "html", "observation", "question", "answer", "explanation", "reason", "instruction"),
    }
)
"""The last words of names of members whose texts are kept or shown, and name nothing."""
LOCATING = frozenset(
    {"path", "directory", "folder", "url", "uri", "name", "key", "table", "command", "sql", *ID_WORDS}
)
"""Words of descriptions by which a member names something after all."""
WEB = re.compile(r"(?:https?|wss?|ftp|mailto|urn|data):", re.IGNORECASE)
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(?://)?")
DRIVE = re.compile(r"[A-Za-z]:(?=/)")


def is_content(member: Member) -> bool:
    """Return whether the texts of a member are kept or shown, by its name and what its schema says."""
    is_kept = bool(set(words_of(member.name)[-1:]) & CONTENT)
    return is_kept and not set(words_of(member.description)) & LOCATING


def is_id(member: Member) -> bool:
    """Return whether a member takes the id of a thing, by its name."""
    return bool(set(words_of(member.name)[-1:]) & ID_WORDS)


def readings(text: str) -> Iterator[str]:
    """Yield a text as servers may read it as a path.

    They decode percent signs once or twice, take Unicode doubles for the characters themselves and a
    backslash for a slash, end at a NUL or leave it out.
    """
    once = unquote(text)
    for form in dict.fromkeys((text, once, unquote(once), unicodedata.normalize("NFKC", text))):
        plain = form.replace("\\", "/")
        yield from dict.fromkeys((plain.partition("\0")[0], plain.replace("\0", "")))


def is_fresh(text: str, marks: Iterable[str], ours: Ours) -> bool:
    """Return whether a text names a thing of this run, however it is read.

    It is a path inside of our folders, or has one of the ``marks`` of the run and leads to no place outside.
    Where the server works in a folder of ours, the folder above is ours too.
    """
    some = tuple(marks)
    return ours.has_path(text) or all(_is_fresh_path(one.strip(), some, ours) for one in readings(text))


def _is_fresh_path(path: str, marks: tuple[str, ...], ours: Ours) -> bool:
    scheme = SCHEME.match(path)
    if WEB.match(path):
        return any(mark in path for mark in marks)
    if scheme is not None and not DRIVE.match(path):
        path = path[scheme.end() :]
    if path.startswith(("/", "~/")) or DRIVE.match(path):
        return ours.has_path(path)
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ours.is_cwd and parts[:1] == [".."]:
        parts = parts[1:]
    return ".." not in parts and any(mark in part for part in parts for mark in marks)


def leads_outside(text: str, ours: Ours) -> bool:
    """Return whether a text, in a reading, is no name but a place of others: absolute, upward, home, here."""
    return not ours.has_path(text) and any(map(_is_place, (one.strip() for one in readings(text))))


def _is_place(path: str) -> bool:
    if WEB.match(path):
        return False
    parts = path.split("/")
    return path.startswith(("/", "~")) or bool(DRIVE.match(path)) or set(parts) <= {"", "."} or ".." in parts


class Places:
    """The folders below which a relative name may exist for the server, the user's home among them.

    ``are_ours`` says that the user has told the server of no folder, URL or name, but of our folder.
    """

    def __init__(self, folders: Iterable[Path] = (), *, are_ours: bool = True) -> None:
        self.are_ours = are_ours
        self._folders = [str(one) for one in dict.fromkeys((*folders, Path.home()))]
        self._known: dict[str, bool] = {}

    def has(self, text: str) -> bool:
        """Return whether a text, in one of its readings, names a file or a folder that exists.

        A name on another machine is taken for one that exists: to look there shows it who the user is.
        """
        if text not in self._known:
            self._known[text] = any(map(self._exists, readings(text.strip())))
        return self._known[text]

    def taken(self, value: Any, ours: Ours) -> Iterator[str]:
        """Yield the texts in a value, and the names of members, that name what was there before."""
        if isinstance(value, str):
            if not ours.is_made(value) and (leads_outside(value, ours) or self.has(value)):
                yield value
        elif isinstance(value, Mapping | list):
            for one in (*value.keys(), *value.values()) if isinstance(value, Mapping) else value:
                yield from self.taken(one, ours)

    def _exists(self, path: str) -> bool:
        if path.startswith("//"):
            return True
        if path.startswith("~"):
            path = os.path.expanduser(path)  # noqa: PTH111  (a path that need not be one)
        return any(os.path.lexists(os.path.join(folder, path)) for folder in self._folders)  # noqa: PTH118
