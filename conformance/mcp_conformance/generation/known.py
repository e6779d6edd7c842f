"""Known values of members: values that exist behind a server, where made-up ones would be refused.

They stand in a copy of an input schema, under a keyword that no validator reads.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

KEYWORD = "x-mcp-conformance-known"
"""The keyword, at the root of a schema only: references, branches and dialects leave it as it is."""
ITEM = "*"
"""The step of a path from an array to its items."""
# Nothing is sent that is nested deeper, and no walk goes further (`choices.DEEP`).
MAX_DEPTH = 26
"""The most steps of a path."""

Path = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class KnownPlace:
    """What is known of one place in a value: its values, the likeliest first, and the places inside.

    ``needed`` are the members that an object there has, though the schema does not require them.
    """

    values: list[Any] = field(default_factory=list)
    needed: list[str] = field(default_factory=list)
    inside: dict[str, KnownPlace] = field(default_factory=dict)

    def without_needed(self) -> KnownPlace:
        """Return the same without the members that are needed, here and inside."""
        inner = {step: place.without_needed() for step, place in self.inside.items()}
        return KnownPlace(self.values, [], inner)


def with_known(schema: Any, values: Mapping[Path, Sequence[Any]], needed: Collection[Path] = ()) -> Any:
    """Return a copy of an input schema with known values, the likeliest first, for some of its members.

    A path leads to a member from the arguments, whose own path is empty: names, and `ITEM` from an array to
    its items.  All values that are made of the copy have the ``needed`` members too, where that is possible.
    Values that the schema forbids are never taken.  What an earlier copy knew is left out.

    The schema stays as it is; neither it nor the copy may be changed afterwards.  Equal values make the same
    copy.
    """
    if not isinstance(schema, dict):
        return schema
    written = [[list(path), list(_different(some))] for path, some in values.items()]
    content = {"values": [one for one in written if one[1]], "needed": sorted(map(list, needed))}
    if not any(content.values()):
        return schema if KEYWORD not in schema else without_known(schema)
    return _copy(Same(schema), json.dumps(content))


def without_known(schema: Any) -> Any:
    """Return a schema without what is known of its members."""
    if not isinstance(schema, dict) or KEYWORD not in schema:
        return schema
    return {keyword: content for keyword, content in schema.items() if keyword != KEYWORD}


def known_of(schema: Any) -> Any:
    """Return what is known of the values of a schema, as `read` reads it; None if nothing is."""
    return schema.get(KEYWORD) if isinstance(schema, dict) else None


def read(content: Any) -> KnownPlace | None:
    """Return the root of the known places; what a server wrote under our keyword may be anything."""
    if not isinstance(content, dict):
        return None
    root = KnownPlace()
    for one in _listed(content.get("values")):
        match one:
            case [[*path], [*values]] if len(path) <= MAX_DEPTH and _are_texts(path):
                _at(root, path).values.extend(values)
    for one in _listed(content.get("needed")):
        match one:
            case [*path, str(name)] if len(path) <= MAX_DEPTH and _are_texts(path):
                _at(root, path).needed.append(name)
    return root


def inside(place: KnownPlace | None, step: str) -> KnownPlace | None:
    """Return what is known of a member, or of the items, of a value."""
    return None if place is None else place.inside.get(step)


def is_writable(value: Any) -> bool:
    """Return whether a value can be written as JSON: infinity, as 1e400 is read, cannot."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


class Same:
    """An object that equals only itself, whatever its content equals."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def __hash__(self) -> int:
        return id(self.content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.content is other.content


@lru_cache(maxsize=256)
def _copy(schema: Same, content: str) -> Any:
    return {**schema.content, KEYWORD: json.loads(content)}


def _at(place: KnownPlace, path: Sequence[str]) -> KnownPlace:
    for step in path:
        place = place.inside.setdefault(step, KnownPlace())
    return place


def _are_texts(path: Sequence[Any]) -> bool:
    return all(isinstance(step, str) for step in path)


def _listed(content: Any) -> list[Any]:
    return content if isinstance(content, list) else []


def _different(values: Sequence[Any]) -> Iterator[Any]:
    """Yield the values that JSON can hold, each once."""
    seen = set()
    for value in values:
        if is_writable(value) and (text := json.dumps(value, sort_keys=True)) not in seen:
            seen.add(text)
            yield value
