"""The rules for the items of an array."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

from mcp_conformance.generation.applied import AppliedParts
from mcp_conformance.generation.constraints import Constraints
from mcp_conformance.generation.known import ITEM, inside
from mcp_conformance.generation.references import Part

# A schema may ask for 10**9 of them (``minContains``).
MAX_CONTAINED = 200
"""The most items of an array that are made for a ``contains``."""


class Items:
    """The rules for the items of an array."""

    def __init__(self, applied: AppliedParts) -> None:
        self._applied = applied
        self._context = applied.context
        schemas = applied.schemas
        self.low = max((math.ceil(one["minItems"]) for one in schemas if "minItems" in one), default=0)
        limits = [math.floor(one["maxItems"]) for one in schemas if "maxItems" in one]
        self.limit = min(limits, default=None)
        self.prefix = max((len(one["prefixItems"]) for one in schemas if "prefixItems" in one), default=0)
        self.unique = any(one.get("uniqueItems") for one in schemas)
        self._at: dict[tuple[int, Part | None], Constraints] = {}

    @cached_property
    def contained(self) -> list[Part]:
        """The parts that need an item of their own, each as often as ``minContains`` asks."""
        below = self._context.document.below
        return [
            below(part, part.keywords["contains"])
            for part in self._applied.parts
            if "contains" in part.keywords
            for _ in range(min(MAX_CONTAINED + 1, math.ceil(part.keywords.get("minContains", 1))))
        ]

    @cached_property
    def high(self) -> float:
        """The most items possible: ``maxItems``, or the index at which no further item is possible."""
        limit = math.inf if self.limit is None else self.limit
        for index in range(self.prefix + 1):
            if index >= limit:
                return limit
            if not self.is_possible(index):
                return index if not self._is_possible_for_contains(index) else limit
        return limit

    def _is_possible_for_contains(self, index: int) -> bool:
        return any(self.is_possible(index, part) for part in self.contained)

    @cached_property
    def contradiction(self) -> str | None:
        """Why no array is possible."""
        if self.low > self.high:
            return f"an array cannot have {self.low} items or more and at most {self.high}"
        most = max((self.contained.count(part) for part in self.contained), default=0)
        if most > self.high:
            return f"an array cannot contain {most} items of a kind and have at most {self.high}"
        return None

    def at(self, index: int, contained: Part | None = None) -> Constraints:
        """Return the constraints of the item at ``index``, which may also serve a ``contains``."""
        key = (min(index, self.prefix), contained)
        if key not in self._at:
            parts = [*self._evaluated(*key), *([contained] if contained else [])]
            known = inside(self._applied.constraints.known, ITEM)
            self._at[key] = Constraints(tuple(dict.fromkeys(parts)), known=known)
        return self._at[key]

    def is_possible(self, index: int, contained: Part | None = None) -> bool:
        """Return whether an item at ``index`` is possible, as far as can be seen."""
        return self._context.contradiction_of(self.at(index, contained)) is None

    def _evaluated(self, index: int, contained: Part | None) -> Iterator[Part]:
        below = self._context.document.below
        for part in self._applied.parts:
            yield from self._adjacent(part, index)
            if self._applied.evaluates_rest(part, "unevaluatedItems") and not self._is_evaluated(
                part, index, contained
            ):
                yield below(part, part.keywords["unevaluatedItems"])

    def _adjacent(self, part: Part, index: int) -> list[Part]:
        keywords = part.keywords
        below = self._context.document.below
        if index < len(keywords.get("prefixItems", ())):
            return [below(part, keywords["prefixItems"][index])]
        return [below(part, keywords["items"])] if "items" in keywords else []

    def _is_evaluated(self, part: Part, index: int, contained: Part | None) -> bool:
        below = self._context.document.below
        for one in self._applied.reach(part):
            keywords = one.keywords
            if self._adjacent(one, index) or (one is not part and "unevaluatedItems" in keywords):
                return True
            if (
                contained is not None
                and "contains" in keywords
                and below(one, keywords["contains"]) is contained
            ):
                return True
        return False
