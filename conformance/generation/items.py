"""What a demand says of arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from conformance.generation.constraints import Demand
from conformance.generation.references import Part

if TYPE_CHECKING:
    from conformance.generation.conjunction import Conjunction
    from conformance.generation.shape import Shape


MOST_CONTAINED = 200
"""How many items of an array are made for a ``contains`` at most."""


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
            for _ in range(min(MOST_CONTAINED + 1, math.ceil(part.keywords.get("minContains", 1))))
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
