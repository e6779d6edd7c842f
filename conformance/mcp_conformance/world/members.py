"""The members of a tool's arguments: the places in an input schema where a known value may go."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from mcp_conformance.json_schema.subschemas import pointed

MAX_DEPTH = 4
"""How deep a member may lie: of the arguments of 278 real tools 99 % have 5 levels or fewer."""
MAX_MEMBERS = 60
"""The most members of one tool; of those 278 tools none has as many."""
ITEM = "*"
"""The step of a path that leads from an array to its items."""
BRANCHES = ("allOf", "anyOf", "oneOf")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class Member:
    """A member of a tool's arguments.

    ``path`` leads to it from the arguments: names, and `ITEM` for the items of an array.  ``types`` are the
    JSON types that it may have, empty for any.  ``schema`` is its own part, references followed; ``parts``
    are all parts that say something of it.  ``is_required`` says that the arguments need it wherever the
    object around it is.
    """

    path: tuple[str, ...]
    schema: Mapping[str, Any] = field(hash=False)
    types: frozenset[str] = frozenset()
    parts: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    is_required: bool = False

    @property
    def name(self) -> str:
        """The nearest name: that of the array for its items."""
        return next((step for step in reversed(self.path) if step != ITEM), "")

    @property
    def names(self) -> tuple[str, ...]:
        """The names that lead to it, the nearest first."""
        return tuple(step for step in reversed(self.path) if step != ITEM)

    @property
    def description(self) -> str:
        """What its schema says in words: titles and descriptions."""
        words = (part.get(key) for part in self.parts for key in ("title", "description"))
        return "\n".join(one for one in words if isinstance(one, str))


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, without a plural s: ``issueNumbers`` has issue, number."""
    found = (word.lower() for word in WORD.findall(name))
    return tuple(word.removesuffix("s") if len(word) > 3 else word for word in found)


def members_of(schema: Any) -> list[Member]:
    """Return the members of an input schema, outer ones before inner ones, in their order.

    Local references are followed; a schema that contains itself is followed to `MAX_DEPTH`.
    """
    found: list[Member] = []
    waiting: list[tuple[Any, tuple[str, ...]]] = [(schema, ())]
    while waiting and len(found) < MAX_MEMBERS:
        part, path = waiting.pop(0)
        if len(path) > MAX_DEPTH:
            continue
        for step, inner, is_required in _inner(list(parts_of(part, schema))):
            if any(one.path == (*path, step) for one in found):
                continue
            member = _member((*path, step), inner, schema, is_required=is_required)
            found.append(member)
            waiting.append((inner, member.path))
    return found


def parts_of(schema: Any, root: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and the parts that also say something of its value, references followed, each once."""
    waiting, seen = [schema], set[int]()
    while waiting:
        part = waiting.pop()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        waiting += reversed(list(_beside(part, root)))


def _beside(part: dict[str, Any], root: Any) -> Iterator[Any]:
    """Yield the schemas that say something of the same value as this one: its reference and its branches."""
    reference = part.get("$ref")
    if isinstance(reference, str) and reference.startswith("#"):
        yield pointed(root, reference[1:])
    for keyword in BRANCHES:
        branches = part.get(keyword)
        yield from branches if isinstance(branches, list) else ()


def _inner(parts: list[dict[str, Any]]) -> Iterator[tuple[str, Any, bool]]:
    """Yield the members and items of a value: the step, the schema, whether it is required."""
    required = {name for part in parts for name in _listed(part.get("required"))}
    for part in parts:
        members = part.get("properties")
        for name, inner in members.items() if isinstance(members, dict) else ():
            yield name, inner, name in required
        items = part.get("items")
        if isinstance(items, dict):
            yield ITEM, items, False


def _member(path: tuple[str, ...], inner: Any, root: Any, *, is_required: bool) -> Member:
    parts = tuple(parts_of(inner, root))
    types = {name for part in parts for name in _listed(part.get("type"))}
    return Member(path, parts[0] if parts else {}, frozenset(types), parts, is_required)


def _listed(value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, str)]
