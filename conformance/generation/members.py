"""What a demand says of objects."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from conformance.generation.constraints import Demand
from conformance.generation.references import Part
from conformance.generation.regex_strings import is_match

if TYPE_CHECKING:
    from conformance.generation.conjunction import Conjunction
    from conformance.generation.shape import Shape


MOST_PATTERNS = 20
"""For how many ``patternProperties`` of one object names are made."""

UNNAMED = "\x01"
"""A name that no schema declares."""


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
        patterns = dict.fromkeys(name for one in said for name in one.get("patternProperties", ()))
        self.patterns = tuple(patterns)[:MOST_PATTERNS]
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
            if is_match(pattern, name):
                found.append(below(part, schema))
        if not found and "additionalProperties" in said:
            found.append(below(part, said["additionalProperties"]))
        return found

    def _is_evaluated(self, part: Part, name: str) -> bool:
        return any(
            self._adjacent(one, name) or (one is not part and "unevaluatedProperties" in one.keywords)
            for one in self._shape.reach(part)
        )
