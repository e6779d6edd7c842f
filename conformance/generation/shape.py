"""What a demand whose choices are made says of each type of value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from conformance.generation.demand import Demand
from conformance.generation.keywords import OF_TYPE, TYPES
from conformance.generation.leaves import Numbers, Texts
from conformance.generation.patterns import compiled
from conformance.generation.references import Part

if TYPE_CHECKING:
    from conformance.generation.conjunction import Conjunction, Space


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
        if any("type" in said for said in self.said):
            return types
        words = {word for said in self.said for word in said}
        object_first = self.demand.present or self.demand.absent
        meant = [name for name in types if OF_TYPE.get(name, frozenset()) & words]
        if object_first and "object" in types:
            meant = ["object"]
        return [*meant, *(name for name in types if name not in meant)]

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
        """The listed values that meet the demand; None if the schema lists none."""
        lists = [said["enum"] if "enum" in said else [said["const"]] for said in self.said if _lists(said)]
        if not lists:
            return None
        return [value for value in min(lists, key=len) if self.accepts(value)]

    @cached_property
    def named(self) -> list[Any]:
        """The values that ``examples`` and ``default`` name and that meet the demand."""
        found: list[Any] = []
        for said in self.said:
            candidates = said.get("examples", [])
            candidates = [*candidates] if isinstance(candidates, list) else []
            candidates += [said["default"]] if "default" in said else []
            found += [one for one in candidates if not _among(one, found) and self.accepts(one)]
        return found

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


def _lists(said: dict[str, Any]) -> bool:
    return "enum" in said or "const" in said


def _listed(types: Any) -> list[str]:
    return types if isinstance(types, list) else [types]


def _with_integer(types: Iterable[str]) -> set[str]:
    return {*types, "integer"} if "number" in types else {*types}


def _among(value: Any, others: list[Any]) -> bool:
    return any(value == other and type(value) is type(other) for other in others)


class Items:
    """What holds for the items of an array."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        said = shape.said
        self.low = max((math.ceil(one["minItems"]) for one in said if "minItems" in one), default=0)
        limits = [math.floor(one["maxItems"]) for one in said if "maxItems" in one]
        self.limit = min(limits, default=None)
        self.prefix = max((len(one["prefixItems"]) for one in said if "prefixItems" in one), default=0)
        self.unique = any(one.get("uniqueItems") for one in said)
        self._at: dict[tuple[int, Part | None], Conjunction] = {}

    @cached_property
    def contained(self) -> list[Part]:
        """What at least one item of its own must conform to; as often as it must."""
        below = self._shape.space.document.below
        return [
            below(part, part.keywords["contains"])
            for part in self._shape.parts
            if "contains" in part.keywords
            for _ in range(math.ceil(part.keywords.get("minContains", 1)))
        ]

    @cached_property
    def high(self) -> float:
        """The most items there can be: what ``maxItems`` says, or where no further item is possible."""
        limit = math.inf if self.limit is None else self.limit
        for index in range(self.prefix + 1):
            if index >= limit:
                return limit
            if self.at(index).contradiction is not None:
                return index if not self._is_open_by_contains(index) else limit
        return limit

    def _is_open_by_contains(self, index: int) -> bool:
        return any(self.at(index, part).contradiction is None for part in self.contained)

    @cached_property
    def contradiction(self) -> str | None:
        """Why there is no such array."""
        if self.low > self.high:
            return f"an array cannot have {self.low} items or more and at most {self.high}"
        most = max((self.contained.count(part) for part in self.contained), default=0)
        if most > self.high:
            return f"an array cannot contain {most} items of a kind and have at most {self.high}"
        return None

    def at(self, index: int, contained: Part | None = None) -> Conjunction:
        """What holds for the item at ``index``, also if it is there for a ``contains``."""
        key = (min(index, self.prefix), contained)
        if key not in self._at:
            parts = [*self._evaluated(*key), *([contained] if contained else [])]
            self._at[key] = self._shape.space.of(Demand(tuple(dict.fromkeys(parts))))
        return self._at[key]

    def _evaluated(self, index: int, contained: Part | None) -> Iterator[Part]:
        below = self._shape.space.document.below
        for part in self._shape.parts:
            yield from self._adjacent(part, index)
            if self._shape.leaves_over(part, "unevaluatedItems") and not self._is_evaluated(
                part, index, contained
            ):
                yield below(part, part.keywords["unevaluatedItems"])

    def _adjacent(self, part: Part, index: int) -> list[Part]:
        said = part.keywords
        below = self._shape.space.document.below
        if index < len(said.get("prefixItems", ())):
            return [below(part, said["prefixItems"][index])]
        return [below(part, said["items"])] if "items" in said else []

    def _is_evaluated(self, part: Part, index: int, contained: Part | None) -> bool:
        below = self._shape.space.document.below
        for one in self._shape.reach(part):
            said = one.keywords
            if self._adjacent(one, index) or (one is not part and "unevaluatedItems" in said):
                return True
            if contained is not None and "contains" in said and below(one, said["contains"]) is contained:
                return True
        return False


class Members:
    """What holds for the members of an object."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        said = shape.said
        self.low = max((math.ceil(one["minProperties"]) for one in said if "minProperties" in one), default=0)
        limits = [math.floor(one["maxProperties"]) for one in said if "maxProperties" in one]
        self.limit = min(limits, default=None)
        self.high = math.inf if self.limit is None else self.limit
        self.declared = tuple(dict.fromkeys(name for one in said for name in one.get("properties", ())))
        self.patterns = tuple(
            dict.fromkeys(name for one in said for name in one.get("patternProperties", ()))
        )
        self.demanded = tuple(dict.fromkeys(name for one in said for name in one.get("required", ())))
        self._conjunctions: dict[str, Conjunction] = {}

    @cached_property
    def dependents(self) -> dict[str, list[str]]:
        """The members each member brings with it."""
        found: dict[str, list[str]] = {}
        for one in self._shape.said:
            for name, others in one.get("dependentRequired", {}).items():
                found[name] = [*found.get(name, ()), *others]
        return found

    def with_dependents(self, *names: str) -> list[str]:
        """The names, and those that they bring with them."""
        found = list(dict.fromkeys(names))
        for name in found:
            found += [other for other in self.dependents.get(name, ()) if other not in found]
        return found

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The members that are always there, the declared ones first and in their order."""
        needed = self.with_dependents(*self.demanded, *sorted(self._shape.demand.present))
        return (
            *(name for name in self.declared if name in needed),
            *(name for name in needed if name not in self.declared),
        )

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """The declared members that may be there or not."""
        return tuple(name for name in self.declared if name not in self.required and self._may_be(name))

    def _may_be(self, name: str) -> bool:
        needed = self.with_dependents(name)
        return len(set(needed) | set(self.required)) <= self.high and all(
            self.can_have(one) for one in needed
        )

    def can_have(self, name: str) -> bool:
        """Whether a member of that name is possible."""
        return (
            name not in self._shape.demand.absent
            and self.is_name(name)
            and self.at(name).contradiction is None
        )

    def is_name(self, name: str) -> bool:
        """Whether ``propertyNames`` allows the name."""
        return all(self._shape.space.local.conforms(part, name) for part in self._name_parts)

    @cached_property
    def _name_parts(self) -> list[Part]:
        below = self._shape.space.document.below
        parts = self._shape.parts
        return [
            below(part, part.keywords["propertyNames"]) for part in parts if "propertyNames" in part.keywords
        ]

    @cached_property
    def names(self) -> Conjunction | None:
        """What holds for every name; None if any is allowed."""
        if not self._name_parts:
            return None
        text = self._shape.space.text
        return self._shape.space.of(Demand((*dict.fromkeys(self._name_parts), text)))

    @cached_property
    def is_map(self) -> bool:
        """Whether members beyond the declared ones are what the object is for."""
        kept = ("additionalProperties", "unevaluatedProperties", "propertyNames", "patternProperties")
        return any(one.get(word) for one in self._shape.said for word in kept) or not self.declared

    @cached_property
    def is_open(self) -> bool:
        """Whether a member that no keyword names is possible."""
        return self.at(UNNAMED).contradiction is None

    @cached_property
    def contradiction(self) -> str | None:
        """Why there is no such object."""
        most = self.high
        if max(self.low, len(self.required)) > most:
            return f"an object cannot have {max(self.low, len(self.required))} members and at most {most}"
        for name in self.required:
            if name in self._shape.demand.absent or not self.is_name(name):
                return f"the member {name!r} is both required and forbidden"
            obstacle = self.at(name).contradiction
            if obstacle is not None:
                return f"the required member {name!r} is impossible: {obstacle}"
        return None

    def at(self, name: str) -> Conjunction:
        """What holds for the member of that name."""
        if name not in self._conjunctions:
            parts = tuple(dict.fromkeys(self._evaluated(name)))
            self._conjunctions[name] = self._shape.space.of(Demand(parts))
        return self._conjunctions[name]

    def _evaluated(self, name: str) -> Iterator[Part]:
        below = self._shape.space.document.below
        for part in self._shape.parts:
            yield from self._adjacent(part, name)
            if self._shape.leaves_over(part, "unevaluatedProperties") and not self._is_evaluated(part, name):
                yield below(part, part.keywords["unevaluatedProperties"])

    def _adjacent(self, part: Part, name: str) -> list[Part]:
        said = part.keywords
        below = self._shape.space.document.below
        found = [below(part, said["properties"][name])] if name in said.get("properties", ()) else []
        for pattern, schema in said.get("patternProperties", {}).items():
            if compiled(pattern).search(name):
                found.append(below(part, schema))
        if not found and "additionalProperties" in said:
            found.append(below(part, said["additionalProperties"]))
        return found

    def _is_evaluated(self, part: Part, name: str) -> bool:
        return any(
            self._adjacent(one, name) or (one is not part and "unevaluatedProperties" in one.keywords)
            for one in self._shape.reach(part)
        )


UNNAMED = "\x01"
"""A name that no schema declares."""
