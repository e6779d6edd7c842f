"""Fits: which known values may go into a member of a tool's arguments, the likeliest first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import PurePath
from typing import Any

from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.world.known import Known, Origin
from mcp_conformance.world.members import Member, words_of
from mcp_conformance.world.wording import number_in

MAX_FITS = 8
"""The most values of a member: names match too easily, and each further value costs a call (a prototype with
no limit made 3,168 calls on a server of 46 tools)."""

# Not measured: the order is what matters.  What worked for a member of the same name beats any name; an equal
# name beats a part of one; what an answer of this server has beats the files of our folder.
WORKED, SAME_NAME, SAME_END, SAME_WORD, SAME_KIND, RANK = 200, 24, 14, 6, 6, 8

PATH_WORDS = frozenset(
    {
        *("path", "file", "filename", "filepath", "dir", "directory", "folder", "root", "repo", "repository"),
        *("workbook", "document", "source", "destination", "location", "cwd", "workspace", "project"),
    }
)
FOLDER_WORDS = frozenset({"dir", "directory", "folder", "root", "cwd", "workspace"})
URL_WORDS = frozenset({"url", "uri", "link", "href", "endpoint", "resource"})
DATE_WORDS = frozenset(
    {"date", "day", "time", "timestamp", "since", "until", "start", "end", "from", "to", "before", "after"}
)
ID_WORDS = frozenset(
    {
        "id",
        "uuid",
        "guid",
        "sha",
        "hash",
        "commit",
        "revision",
        "ref",
        "identifier",
        "number",
        "node",
        "handle",
    }
)
IDENTIFYING = ID_WORDS | {"code", "key", "no"}
"""The last words of names for what identifies a thing: a ``project_code`` is not a path."""
PATH = re.compile(r"(?:[A-Za-z]:[\\/]|~?/|\.{1,2}/|\\\\)[^\n]*\Z|[\w. -]+(?:[\\/][\w. -]+)+\Z")
FILE = re.compile(r"[\w .()-]*\w\.[A-Za-z]\w{0,7}\Z")
URL = re.compile(r"[A-Za-z][\w+.-]*://\S+\Z|(?:mailto|data|urn):\S+\Z")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\S+)?\Z")
ID = re.compile(r"(?=\S*\d)[\w-]{6,64}\Z|\d{1,20}\Z")
KINDS = (
    (URL_WORDS, URL, ("uri", "url", "uri-reference", "iri")),
    (PATH_WORDS, PATH, ()),
    (PATH_WORDS, FILE, ()),
    (DATE_WORDS, DATE, ("date", "date-time")),
    (ID_WORDS, ID, ("uuid",)),
)
"""Kinds of texts: words of members that want one, what it looks like, and its formats."""

Worked = Callable[[Member], Iterable[Any]]
"""Returns the values that worked for members of this name and type elsewhere, the best first."""
IsValid = Callable[[Member, Any], bool]
"""Returns whether a value conforms to the schema of a member."""


@dataclass(frozen=True)
class _Scored:
    known: Known
    score: int


def fitting(
    member: Member, known: Iterable[Known], worked: Iterable[Any], is_valid: Callable[[Any], bool]
) -> list[Known]:
    """Return the known values that fit a member, `MAX_FITS` at most, the likeliest first.

    They have the type of the member: a number in a text may be a number, and the reverse.  ``worked`` are
    values that worked for members of this name and type elsewhere, ``is_valid`` judges a value by the
    member's own schema.
    """
    best = {encode(value): WORKED - place for place, value in reversed(list(enumerate(worked)))}
    scored = []
    for one in known:
        for value in _as_types(one.value, member.types):
            score = best.get(encode(value), 0) + _likeness(member, one, value)
            if score > 0:
                scored.append(_Scored(replace(one, value=value), score + RANK * one.rank))
    scored.sort(key=lambda one: -one.score)
    return _valid_ones((one.known for one in scored), is_valid)


def anything_for(member: Member, known: Iterable[Known], is_valid: Callable[[Any], bool]) -> list[Known]:
    """Return values for a member that none fits by its name: one of each kind, those of answers first."""
    by_kind: dict[tuple[Origin, str], list[Known]] = {}
    for one in sorted(known, key=lambda one: (one.origin.kind != "an answer of", -one.rank)):
        is_text = isinstance(one.value, str)
        if not is_text or is_path(one.value) == wants_path(member):
            kind = (one.origin, one.keys[0] if one.keys else "")
            as_types = (replace(one, value=value) for value in _as_types(one.value, member.types))
            by_kind.setdefault(kind, []).extend(as_types)
    rows = zip_longest(*by_kind.values())
    return _valid_ones((one for row in rows for one in row if one is not None), is_valid)


def _valid_ones(found: Iterable[Known], is_valid: Callable[[Any], bool]) -> list[Known]:
    chosen: dict[bytes, Known] = {}
    for one in found:
        key = encode(one.value)
        if key not in chosen and is_valid(one.value):
            chosen[key] = one
            if len(chosen) == MAX_FITS:
                break
    return list(chosen.values())


def _as_types(value: Any, types: frozenset[str]) -> list[Any]:
    """Return a value as one of these types, if it can be; empty types allow any but objects and lists."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not types or _type_of(value) & types:
        return [value]
    if "string" in types and is_number:
        return [encode(value).decode()]
    if isinstance(value, str):
        number = number_in(value)
        return [] if number is None or not _type_of(number) & types else [number]
    if isinstance(value, float) and value.is_integer() and "integer" in types:
        return [int(value)]
    return []


def _type_of(value: Any) -> set[str]:
    match value:
        case bool():
            return {"boolean"}
        case int():
            return {"integer", "number"}
        case float():
            return {"number"}
    return {"string"} if isinstance(value, str) else set()


def _likeness(member: Member, known: Known, value: Any) -> int:
    """Return how well a value fits by its names and its looks; 0 if nothing speaks for it."""
    named = _likeness_of_names(member, known.keys)
    looks = SAME_KIND if isinstance(value, str) and _has_kind_of(member, value) else 0
    return named + looks


def _likeness_of_names(member: Member, keys: tuple[str, ...]) -> int:
    wanted = words_of(member.name)
    if not wanted:
        return 0
    around = words_of(member.names[1]) if len(member.names) > 1 else ()
    best = 0
    for place, key in enumerate(keys):
        words = words_of(key)
        whole = words_of(keys[place + 1]) + words if place + 1 < len(keys) else words
        if not words:
            continue
        if wanted in (words, whole) or (around + wanted) == words:
            best = max(best, SAME_NAME)
        elif wanted[-1] == words[-1] or is_id_of(words, wanted) or is_id_of(wanted, words):
            best = max(best, SAME_END)
        elif set(wanted) & set(words):
            best = max(best, SAME_WORD)
    return best


def is_id_of(words: tuple[str, ...], thing: tuple[str, ...]) -> bool:
    """Return whether words name the id of a thing: ``ticket id`` that of a ``ticket``."""
    return words[:-1] == thing and words[-1] in IDENTIFYING


def _has_kind_of(member: Member, text: str) -> bool:
    """Return whether a text looks like what the member wants, by the words of its name and its format."""
    words, wanted = _kind_words(member), {part.get("format") for part in member.parts}
    if words & FOLDER_WORDS and is_file(text):
        return False
    return any(
        pattern.match(text) is not None and (words & names or wanted & set(formats))
        for names, pattern, formats in KINDS
    )


def is_path(text: str) -> bool:
    """Return whether a text looks like a path, or like the name of a file."""
    return URL.match(text) is None and (PATH.match(text) is not None or FILE.match(text) is not None)


def is_file(value: Any) -> bool:
    """Return whether a value looks like the path or the name of a file, by its ending."""
    return isinstance(value, str) and is_path(value) and bool(PurePath(value).suffix)


def wants_file(member: Member) -> bool:
    """Return whether the name of a member says that it takes the path of a file, or any path."""
    return wants_path(member) and not set(words_of(member.name)) & FOLDER_WORDS


def wants_path(member: Member) -> bool:
    """Return whether the name of a member says that it takes a path."""
    return bool(_kind_words(member) & PATH_WORDS)


def _kind_words(member: Member) -> set[str]:
    """Return the words of a member's name that say what it takes: of ``project_id`` the last one."""
    words = words_of(member.name)
    return set(words[-1:] if words[-1:] and words[-1] in IDENTIFYING else words)


def is_base64(member: Member) -> bool:
    """Return whether a member takes the content of a file in Base64, by its schema or what it says."""
    said = f"{member.name} {member.description}".lower()
    return "base64" in said or any(part.get("contentEncoding") == "base64" for part in member.parts)
