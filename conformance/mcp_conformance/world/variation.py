"""Variations of arguments that worked: the same call with other values, to change something each time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.world.filling import Filling, put
from mcp_conformance.world.fitting import is_path
from mcp_conformance.world.members import ITEM, Member, members_of
from mcp_conformance.world.worked import Path, values_at

MAX_VARIATIONS = 6
"""Not measured: the arguments as they are, with all members changed, and with each of the first alone."""
MAX_SWITCHES = 4
"""Not measured: tools that switch something list "on" and "off", and rarely more."""
RULED = ("const", "pattern", "format")


@dataclass(frozen=True)
class Variation:
    """A call of a tool that may be made again and again: at these paths it has another value each time."""

    tool: Tool
    arguments: Mapping[str, Any]
    paths: tuple[Path, ...] = ()

    @property
    def key(self) -> bytes:
        """What tells it from others."""
        return encode([self.tool.name, dict(self.arguments), list(map(list, self.paths))])

    def turn(self, number: int, text: str, revision: str) -> dict[str, Any] | None:
        """Return the arguments of a turn, with a ``text`` of its own; None if the schema forbids them."""
        made = deepcopy(dict(self.arguments))
        members = {one.path: one for one in members_of(self.tool.input_schema)}
        for path in self.paths:
            value = _another(members[path], values_at(made, path)[0], number, text)
            if value is None or not put(made, path, value):
                return None
        return made if Filling(self.tool.input_schema, revision).allows(made) else None


def variations(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[Variation]:
    """Yield variations of arguments, the likeliest to change something first, `MAX_VARIATIONS` at most."""
    paths = [
        one.path
        for one in members_of(tool.input_schema)
        for value in values_at(arguments, one.path)[:1]
        if _another(one, value, 1, "text") is not None
    ]
    together = [()] if not paths else [(), tuple(paths)]
    alone = [(path,) for path in paths] if len(paths) > 1 else []
    yield from (Variation(tool, arguments, some) for some in [*together, *alone][:MAX_VARIATIONS])


def _another(member: Member, value: Any, number: int, text: str) -> Any:
    """Return the value of a member in a turn: a text of our own, a number nearby, the next allowed one."""
    if listed := _listed(member):
        place = listed.index(value) if value in listed else 0
        return listed[(place + number) % len(listed)] if len(listed) > 1 else None
    match value:
        case bool():
            return value != bool(number % 2)
        case int():
            return value + number
        case str() if not (is_path(value) or any(key in part for part in member.parts for key in RULED)):
            return text
    return None


def switched(tool: Tool, arguments: Mapping[str, Any], revision: str) -> Iterator[dict[str, Any]]:
    """Yield arguments like these in which one member has another flag or listed value.

    Of the members outside lists each has up to `MAX_SWITCHES`, also those that the arguments leave out.
    """
    filling = Filling(tool.input_schema, revision)
    for one in members_of(tool.input_schema):
        present = values_at(arguments, one.path)
        listed = _listed(one) or ([False, True] if one.types - {"null"} == {"boolean"} else [])
        others = [value for value in listed if value not in present]
        for value in others[:MAX_SWITCHES] if ITEM not in one.path else ():
            made = deepcopy(dict(arguments))
            if put(made, one.path, value) and filling.allows(made):
                yield made


def _listed(member: Member) -> list[Any]:
    """Return the values that a schema lists for a member; empty if it lists none."""
    return next((part["enum"] for part in member.parts if isinstance(part.get("enum"), list)), [])
