"""Records: what belongs together in an answer, such as the members of an object or the cells of a row."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

MAX_READ = 100_000
"""The most characters of a text that are read as JSON or as a Python value."""
# Not measured: 12 values of a member are kept at most (known.MAX_ALIKE).
MAX_SAME_SHAPE = 4
"""How many items of one shape are read of a list."""
MAX_ITEMS = 12
"""How many items are read of a list."""
MAX_SEEN = 500
"""How many items of a list are looked at for other shapes."""
MAX_DEPTH = 8
NAME = re.compile(r"[A-Za-z_$][\w$-]*")
"""A key that names a member; another key is a value: a path, an id, a cell."""
ENDING = re.compile(r"\.\w{1,5}$")


@dataclass(frozen=True)
class Record:
    """Fields that stand together, each with the keys that lead to it, the nearest first, and its value.

    ``beside`` are values that name the record from outside: the key of an object in a map, and the paths of
    files that it is a part of.  ``rank`` says how good the source is, as in `known.Known`.
    """

    fields: tuple[tuple[tuple[str, ...], Any], ...]
    rank: int
    beside: tuple[str, ...] = ()


def parsed(text: str) -> Any:
    """Return the object or the list that a text has in JSON or as Python writes it; None for another text."""
    text = text.strip()
    if not text.startswith(("{", "[")) or len(text) > MAX_READ:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text) if text.endswith(("}", "]")) else None
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def records_in(
    value: Any, keys: tuple[str, ...] = (), rank: int = 3, beside: tuple[str, ...] = ()
) -> Iterator[Record]:
    """Yield the records of a JSON value: the scalars of each object, and each scalar of an array alone."""
    if len(keys) > MAX_DEPTH:
        return
    if isinstance(value, list):
        for one in varied(value):
            yield from records_in(one, keys, rank, beside)
    elif isinstance(value, dict):
        yield from _of_object(value, keys, rank, beside)
    elif value is not None:
        yield Record(((keys, value),), rank, beside)


def _of_object(
    value: dict[str, Any], keys: tuple[str, ...], rank: int, beside: tuple[str, ...]
) -> Iterator[Record]:
    inner = [(key, one) for key, one in value.items() if isinstance(one, dict | list)]
    scalars = [(key, one) for key, one in value.items() if not isinstance(one, dict | list)]
    names = {key for key, _ in value.items() if not NAME.fullmatch(key)} | _names_of_map(inner)
    fields = [((key, *keys), one) for key, one in scalars if one is not None and key not in names]
    if fields:
        yield Record(tuple(fields), rank, beside)
    for name in varied([key for key in value if key in names]):
        yield Record(((keys, name),), rank, beside)
    chosen = varied([key for key, _ in inner])
    for key, one in inner:
        if key in names and key in chosen:
            yield from records_in(one, keys, rank, (*beside, key))
        elif key not in names:
            paths = tuple(name for name in beside if "/" in name or "\\" in name)
            yield from records_in(one, (key, *keys), rank, paths)


def _names_of_map(inner: Sequence[tuple[str, Any]]) -> set[str]:
    """Return the keys of objects that have the same members: the object around them is a map."""
    shapes = {frozenset(one) for _, one in inner if isinstance(one, dict) and one}
    is_map = len(shapes) == 1 and len([one for _, one in inner if isinstance(one, dict) and one]) > 1
    return {key for key, one in inner if isinstance(one, dict)} if is_map else set()


def varied(items: Sequence[Any]) -> list[Any]:
    """Return a few items of a list, of as many shapes as there are, in their order."""
    counts: dict[Any, int] = {}
    chosen = []
    for one in items[:MAX_SEEN]:
        shape = _shape(one)
        counts[shape] = counts.get(shape, 0) + 1
        if counts[shape] <= MAX_SAME_SHAPE:
            chosen.append(one)
        if len(chosen) == MAX_ITEMS:
            break
    return chosen


def _shape(value: Any) -> Any:
    """Return what two values alike have in common: of texts the ending, of objects the members."""
    if isinstance(value, str):
        ending = ENDING.search(value)
        return ("text", ending[0] if ending else "", "/" in value, value.isdigit())
    if isinstance(value, dict):
        kinds = (value.get(key) for key in ("type", "kind", "status", "state"))
        words = tuple(one for one in kinds if isinstance(one, str | bool))
        return ("object", tuple(sorted((key, type(one).__name__) for key, one in value.items())), words)
    return type(value).__name__
