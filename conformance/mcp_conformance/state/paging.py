"""Paging: whether an answer shows a list to its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.state.places import leaves, lengths
from mcp_conformance.world.members import Member, members_of, words_of
from mcp_conformance.world.worked import Path

LIMITS = frozenset(
    {"limit", "max", "maximum", "count", "size", "top", "number", "n", "first", "last", "head", "tail"}
)
"""The words of members that limit how much is shown."""
LIMITING = frozenset({"limit", "max", "maximum", "page", "size", "per", "result", "item", "count", "top"})
"""Words of members that say how much is shown, and nothing else: ``max_results``, not ``page``."""
MAX_SHOWN = 100
"""How much is asked for at most.  Not measured: as many as a run makes of a kind."""
STARTS = frozenset({"cursor", "page", "offset", "start", "skip", "after", "before", "next", "token"})
"""The words of members, of arguments and of answers, that say where a page begins."""
MORE = frozenset({"more", "truncated", "remaining"})
USUAL = frozenset({1, 2, 3, 5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 80, 100, 200, 250, 500, 1000})
"""Usual numbers of items on a page: a list that has as many may go on."""


def limits_for(tool: Tool, arguments: Mapping[str, Any]) -> dict[Path, int]:
    """Return high values for the members that limit how much is shown, by path; none if there are none."""
    return {
        one.path: highest
        for one in members_of(tool.input_schema)
        if len(one.path) == 1 and one.types - {"null"} <= {"integer", "number"} and one.types
        if set(words_of(one.name)) <= LIMITING
        and set(words_of(one.name)) != {"page"}
        and one.name not in arguments
        for highest in [_highest(one)]
    }


def _highest(member: Member) -> int:
    most: list[int] = [one for one in (part.get("maximum") for part in member.parts) if isinstance(one, int)]
    return min([MAX_SHOWN, *most])


def shows_all(tool: Tool, structure: Any, arguments: Mapping[str, Any]) -> bool:
    """Return whether a list ends with this answer: it is shorter than its limit, and names no next page."""
    if any(_goes_on(place[-1] if place else "", value) for place, value in leaves(structure)):
        return False
    longest = max(lengths(structure).values(), default=0)
    limits = [one for one in members_of(tool.input_schema) if set(words_of(one.name)) & LIMITS]
    for one in limits:
        limit = arguments.get(one.name, _default(one))
        if not isinstance(limit, int | float) or longest >= limit:
            return False
    return longest not in USUAL


def _default(member: Member) -> Any:
    return next((part["default"] for part in member.parts if "default" in part), None)


def _goes_on(name: str, value: Any) -> bool:
    words = set(words_of(name))
    return bool(value) and bool(words & MORE or (words & STARTS and words & {"next", "cursor", "token"}))


@dataclass(frozen=True)
class Pager:
    """How a tool is asked for a page: the members for the cursor and, if there is one, for the size."""

    cursor: Path
    size: Path | None = None
    smallest: int = 1

    def first(self, size: int) -> dict[Path, Any]:
        """Return the values for a first page of so many items, if that can be asked for."""
        return {} if self.size is None else {self.size: max(size, self.smallest)}


def pager_of(tool: Tool) -> Pager | None:
    """Return how a tool is asked for a page; None if it takes no cursor.

    A cursor is a text that the server makes.  The number of a page or of an item is not one: it means what
    stands there when it is asked for.
    """
    members = [one for one in members_of(tool.input_schema) if len(one.path) == 1]
    cursors = [one for one in members if one.types - {"null"} == {"string"} and is_cursor(one.name)]
    sizes = [one for one in members if one.path in limits_for(tool, {})]
    if not cursors:
        return None
    least = [one.get("minimum") for size in sizes[:1] for one in size.parts]
    smallest = max([1, *(one for one in least if isinstance(one, int))])
    return Pager(cursors[0].path, sizes[0].path if sizes else None, smallest)


def is_cursor(name: str) -> bool:
    """Return whether a member of arguments, or of an answer, is a cursor by its name."""
    words = set(words_of(name))
    return "cursor" in words or ("token" in words and bool(words & {"page", "next", "continuation"}))


def next_cursor(structure: Any) -> str | None:
    """Return the cursor of the next page that an answer gives; None if it gives none, or several."""
    found = {
        value
        for place, value in leaves(structure)
        if place and is_cursor(place[-1]) and isinstance(value, str) and value
    }
    return found.pop() if len(found) == 1 else None
