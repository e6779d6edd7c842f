"""Made-up values for members that nothing is known of: names of what this run makes, and values in a form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from mcp_conformance.world.fitting import is_path
from mcp_conformance.world.known import Origin
from mcp_conformance.world.members import Member, words_of

NEW_FILES = frozenset({"create", "write", "save", "export", "download", "new", "make"})
"""Words in the names of tools that write a file: they get a new one first, so that they spoil no other."""
FORMS = (
    (r"YYYY-MM-DD[T ]HH:MM(?::SS)?.*", "2025-01-15T12:00:00Z"),
    (r"YYYY[-/.]?MM[-/.]?DD", "2025-01-15"),
    (r"HH:MM:SS", "12:00:00"),
    (r"HH:MM", "12:00"),
    (r"(?:ISO[ -]?8601|RFC ?3339).*", "2025-01-15T12:00:00Z"),
)
"""Forms in words, and a value of each."""
SQL_WORDS = frozenset({"sql", "query", "statement"})
SQL = re.compile(r"\b(?:SQL|sql)\b|\bSELECT\b|\bINSERT\b|\bCREATE TABLE\b")
CREATES, WRITES = re.compile(r"CREATE[ _-]?TABLE", re.IGNORECASE), re.compile(r"INSERT|UPDATE", re.IGNORECASE)
SELECTS = re.compile(r"SELECT|read", re.IGNORECASE)
STORED = "rows stored by"
"""The kind of the origin of a statement that reads rows which this run has stored."""


def in_form(form: str) -> Any:
    """Return a value in a form such as ``YYYY-MM-DD``; None for a form that is not known."""
    return next((value for words, value in FORMS if re.fullmatch(words, form.strip(), re.IGNORECASE)), None)


def another(value: Any, text: str) -> Any:
    """Return a name like ``value`` that does not exist; None for a value that is not a text.

    It is ``text``, in the same folder and with the same ending.
    """
    if not isinstance(value, str):
        return None
    if text in value:
        return value.replace(text, f"{text}b")
    if not is_path(value):
        return text
    separator = "\\" if "\\" in value and "/" not in value else "/"
    folder, slash, name = value.rpartition(separator)
    return f"{folder}{slash}{text}{PurePath(name).suffix}"


def statements(member: Member, about: str, text: str, *, may_write: bool = False) -> Iterator[str]:
    """Yield statements of SQL about a table named ``text``; ``may_write`` says that the tool may make one.

    None if the name of the member and the words ``about`` it do not say that it takes them.
    """
    if not set(words_of(member.name)) & SQL_WORDS or not SQL.search(f"{member.name} {about}"):
        return
    takes_all = may_write and bool(WRITES.search(about)) == bool(SELECTS.search(about))
    if CREATES.search(about) or takes_all:
        yield _create(text)
    if WRITES.search(about):
        yield _insert(text)
    yield _select(text)
    yield "SELECT 1 AS id, 'example' AS name"


def rows_after(statement: Any, text: str, tool: str) -> Iterator[tuple[str, Origin | None]]:
    """Yield the statements that store a row in the table that one has made, and read it; none after others.

    That which reads comes with an origin: it works only where the row was stored.
    """
    if statement == _create(text):
        yield _insert(text), None
        yield _select(text), Origin(STORED, tool)


def _create(table: str) -> str:
    return f"CREATE TABLE IF NOT EXISTS {table} (id INTEGER, name TEXT)"


def _insert(table: str) -> str:
    return f"INSERT INTO {table} VALUES (1, 'example')"  # noqa: S608  (made up by this run)


def _select(table: str) -> str:
    return f"SELECT * FROM {table}"  # noqa: S608  (made up by this run)
