"""What a demand whose choices are made says of each type of value."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from conformance.generation.constraints import Demand
from conformance.generation.items import Items
from conformance.generation.keywords import OF_TYPE, TYPES
from conformance.generation.members import Members
from conformance.generation.references import Part
from conformance.generation.scalars import Numbers, Texts

if TYPE_CHECKING:
    from conformance.generation.conjunction import Space


class Shape:
    """What a demand says of a value, type by type.

    ``types`` are those a value may have, those the schema speaks of first; ``values`` are the only values
    there can be, if the schema lists them.  Unless ``settled``, branches may still be chosen that evaluate
    more items and members.
    """

    def __init__(self, space: Space, demand: Demand, *, settled: bool) -> None:
        self.space = space
        self.demand = demand
        self.settled = settled
        self.parts = demand.holds
        self.said = [part.keywords for part in demand.holds if part.keywords]
        self.checked = [part for part in demand.holds if not CHECKED.isdisjoint(part.keywords)]

    @cached_property
    def allowed(self) -> list[str]:
        """The types that ``type`` allows and ``not`` leaves."""
        types = set(TYPES)
        for said in self.said:
            if "type" in said:
                types &= _with_integer(_listed(said["type"]))
        for part in self.demand.fails:
            if set(part.keywords) == {"type"}:
                types -= _with_integer(_listed(part.keywords["type"]))
        if "number" in types:
            types.discard("integer")
        return [name for name in TYPES if name in types]

    @cached_property
    def types(self) -> list[str]:
        """The types a value may have, without those of which no value meets the demand."""
        types = [name for name in self.allowed if self._obstacle(name) is None]
        first = [name for name in dict.fromkeys(self._meant(types)) if name in types and name != "null"]
        others = [name for name in types if name not in first]
        return [*first, *sorted(others, key="null".__eq__)]

    def _meant(self, types: list[str]) -> list[str]:
        """The types in the order in which the schema names them, or those its keywords speak of."""
        named = [name for said in self.said for name in _listed(said.get("type", []))]
        if named:
            return named
        if (self.demand.present or self.demand.absent) and "object" in types:
            return ["object"]
        words = {word for said in self.said for word in said}
        return [*(name for name in types if OF_TYPE.get(name, frozenset()) & words), "string"]

    @cached_property
    def contradiction(self) -> str | None:
        """Why no value can meet the demand, if that is certain."""
        if any(part.never for part in self.parts):
            return "the schema false allows nothing"
        if any(part.schema in (True, {}) or part in self.parts for part in self.demand.fails):
            return "its not forbids what it demands"
        if self.values is not None:
            return None if self.values else "none of its enum or const values meets its other keywords"
        if not self.allowed:
            return "its types exclude each other"
        return None if self.types else self._obstacle(self.allowed[-1])

    def _obstacle(self, name: str) -> str | None:
        rules = self.rules(name)
        return None if rules is None else rules.contradiction

    def rules(self, name: str) -> Numbers | Texts | Items | Members | None:
        """What holds for values of one type; None if nothing can be said."""
        match name:
            case "integer" | "number":
                return self.numbers
            case "string":
                return self.texts
            case "array":
                return self.items
            case "object":
                return self.members
        return None

    @cached_property
    def numbers(self) -> Numbers:
        """What holds for a number."""
        return Numbers(self.said, integer="integer" in self.allowed)

    @cached_property
    def texts(self) -> Texts:
        """What holds for a string."""
        return Texts(self.said)

    @cached_property
    def items(self) -> Items:
        """What holds for an array."""
        return Items(self)

    @cached_property
    def members(self) -> Members:
        """What holds for an object."""
        return Members(self)

    @cached_property
    def values(self) -> list[Any] | None:
        """The listed values that meet the demand, the named ones first; None if the schema lists none."""
        lists = [said["enum"] if "enum" in said else [said["const"]] for said in self.said if _lists(said)]
        if not lists:
            return None
        listed = [value for value in min(lists, key=len) if _is_writable(value) and self.accepts(value)]
        first = [value for value in self._candidates if _among(value, listed)]
        others = [value for value in listed if not _among(value, first)]
        return sorted([*first, *others], key=lambda value: value is None)

    @cached_property
    def named(self) -> list[Any]:
        """The values but null that ``examples`` and ``default`` name and that meet the demand."""
        return [one for one in self._candidates if one is not None and self.accepts(one)]

    @cached_property
    def _candidates(self) -> list[Any]:
        found: list[Any] = []
        for said in self.said:
            candidates = said.get("examples", [])
            candidates = [*candidates] if isinstance(candidates, list) else []
            candidates += [said["default"]] if "default" in said else []
            found += [one for one in candidates if not _among(one, found) and _is_writable(one)]
        return found

    @property
    def is_null(self) -> bool:
        """Whether null is the only value there can be."""
        return self.values == [None] if self.values is not None else self.allowed == ["null"]

    def accepts(self, value: Any) -> bool:
        """Whether a value meets the whole demand, as far as can be told without the oracle."""
        return self.is_allowed(value) and all(self.space.local.conforms(part, value) for part in self.parts)

    def is_allowed(self, value: Any) -> bool:
        """Whether a value made by the rules also meets what no rule sees to."""
        local = self.space.local
        if any(local.can_tell(part) and local.conforms(part, value) for part in self.demand.fails):
            return False
        if isinstance(value, dict) and not self._has_members(value):
            return False
        return all(local.conforms(part, value) for part in self.checked)

    def _has_members(self, value: dict[str, Any]) -> bool:
        return self.demand.present <= value.keys() and self.demand.absent.isdisjoint(value)

    def leaves_over(self, part: Part, keyword: str) -> bool:
        """Whether ``part`` has a say on what its other keywords leave unevaluated."""
        return self.settled and keyword in part.keywords

    def reach(self, part: Part) -> list[Part]:
        """``part`` and what, in the choices made, it applies to the same value."""
        found = [part]
        for one in found:
            terms = self.space.branches.of(one)
            found += [other for other in terms.reach if other in self.parts and other not in found]
        return found


CHECKED = frozenset({"not", "oneOf", "maxContains", "uniqueItems", "if"})
"""Keywords that a value made by the rules may still violate."""


def _is_writable(value: Any) -> bool:
    """Whether a value can be written as JSON: infinity, as 1e400 is read, cannot."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _lists(said: dict[str, Any]) -> bool:
    return "enum" in said or "const" in said


def _listed(types: Any) -> list[str]:
    return types if isinstance(types, list) else [types]


def _with_integer(types: Iterable[str]) -> set[str]:
    return {*types, "integer"} if "number" in types else {*types}


def _among(value: Any, others: list[Any]) -> bool:
    return any(value == other and type(value) is type(other) for other in others)
