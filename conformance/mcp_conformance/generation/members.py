"""The rules for the members of an object."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

from mcp_conformance.generation.applied import AppliedParts
from mcp_conformance.generation.constraints import Constraints
from mcp_conformance.generation.known import inside
from mcp_conformance.generation.references import Part
from mcp_conformance.generation.regex_strings import is_match

MAX_PATTERNS = 20
"""The most ``patternProperties`` of one object for which names are made."""

# A control character: no sensible name or pattern has it.
UNNAMED = "\x01"
"""A name that no schema declares."""


class Members:
    """The rules for the members of an object."""

    def __init__(self, applied: AppliedParts) -> None:
        self._applied = applied
        self._context = applied.context
        schemas = applied.schemas
        self.low = max(
            (math.ceil(one["minProperties"]) for one in schemas if "minProperties" in one), default=0
        )
        limits = [math.floor(one["maxProperties"]) for one in schemas if "maxProperties" in one]
        self.limit = min(limits, default=None)
        self.high = math.inf if self.limit is None else self.limit
        self.declared = tuple(dict.fromkeys(name for one in schemas for name in one.get("properties", ())))
        patterns = dict.fromkeys(name for one in schemas for name in one.get("patternProperties", ()))
        self.patterns = tuple(patterns)[:MAX_PATTERNS]
        self.demanded = tuple(dict.fromkeys(name for one in schemas for name in one.get("required", ())))
        self._at: dict[str, Constraints] = {}

    @cached_property
    def dependents(self) -> dict[str, list[str]]:
        """For each member the members that must be present with it."""
        found: dict[str, list[str]] = {}
        for one in self._applied.schemas:
            for name, others in one.get("dependentRequired", {}).items():
                found[name] = [*found.get(name, ()), *others]
        return found

    def with_dependents(self, *names: str) -> list[str]:
        """Return the names, and those of the members that must be present with them."""
        found = list(dict.fromkeys(names))
        for name in found if self.dependents else ():
            found += [other for other in self.dependents.get(name, ()) if other not in found]
        return found

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The members that are always present, the declared ones first and in their order.

        Those that the schema requires, and those that are needed beyond it if it allows them.
        """
        needed = self.with_dependents(*self.demanded, *sorted(self._applied.constraints.present))
        known = self._applied.constraints.known
        for name in known.needed if known else ():
            more = self.with_dependents(*needed, name)
            is_possible = len(more) <= self.high and all(self.can_have(one) for one in more[len(needed) :])
            needed = more if name in self.declared and is_possible else needed
        return (
            *(name for name in self.declared if name in needed),
            *(name for name in needed if name not in self.declared),
        )

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """The declared members that may be present or absent."""
        return tuple(name for name in self.declared if name not in self.required and self._may_be(name))

    def _may_be(self, name: str) -> bool:
        needed = self.with_dependents(name)
        return len(set(needed) | set(self.required)) <= self.high and all(
            self.can_have(one) for one in needed
        )

    def can_have(self, name: str) -> bool:
        """Return whether a member of that name is possible, and matches patterns in all engines alike."""
        return (
            name not in self._applied.constraints.absent
            and (name.isascii() or name in self.declared or not self.patterns)
            and self.is_name(name)
            and self._context.contradiction_of(self.at(name)) is None
        )

    def is_name(self, name: str) -> bool:
        """Return whether ``propertyNames`` allows the name."""
        return all(self._context.validator.conforms(part, name) for part in self._name_parts)

    @cached_property
    def _name_parts(self) -> list[Part]:
        below = self._context.document.below
        parts = self._applied.parts
        return [
            below(part, part.keywords["propertyNames"]) for part in parts if "propertyNames" in part.keywords
        ]

    @cached_property
    def names(self) -> Constraints | None:
        """The constraints of every name; None if any name is allowed."""
        if not self._name_parts:
            return None
        return Constraints((*dict.fromkeys(self._name_parts), self._context.text))

    @cached_property
    def is_map(self) -> bool:
        """Whether the object is meant to hold members beyond the declared ones."""
        kept = ("additionalProperties", "unevaluatedProperties", "propertyNames", "patternProperties")
        return any(one.get(word) for one in self._applied.schemas for word in kept) or not self.declared

    @cached_property
    def is_open(self) -> bool:
        """Whether a member that no keyword names is possible."""
        return self._context.contradiction_of(self.at(UNNAMED)) is None

    @cached_property
    def contradiction(self) -> str | None:
        """Why no object is possible."""
        most = self.high
        if max(self.low, len(self.required)) > most:
            return f"an object cannot have {max(self.low, len(self.required))} members and at most {most}"
        for name in self.required:
            if name in self._applied.constraints.absent or not self.is_name(name):
                return f"the member {name!r} is both required and forbidden"
            obstacle = self._context.contradiction_of(self.at(name))
            if obstacle is not None:
                return f"the required member {name!r} is impossible: {obstacle}"
        return None

    def at(self, name: str) -> Constraints:
        """Return the constraints of the member of that name."""
        if name not in self._at:
            known = inside(self._applied.constraints.known, name)
            self._at[name] = Constraints(tuple(dict.fromkeys(self._evaluated(name))), known=known)
        return self._at[name]

    def _evaluated(self, name: str) -> Iterator[Part]:
        below = self._context.document.below
        for part in self._applied.parts:
            yield from self._adjacent(part, name)
            if self._applied.evaluates_rest(part, "unevaluatedProperties") and not self._is_evaluated(
                part, name
            ):
                yield below(part, part.keywords["unevaluatedProperties"])

    def _adjacent(self, part: Part, name: str) -> list[Part]:
        keywords = part.keywords
        below = self._context.document.below
        found = [below(part, keywords["properties"][name])] if name in keywords.get("properties", ()) else []
        for pattern, schema in keywords.get("patternProperties", {}).items():
            if is_match(pattern, name):
                found.append(below(part, schema))
        if not found and "additionalProperties" in keywords:
            found.append(below(part, keywords["additionalProperties"]))
        return found

    def _is_evaluated(self, part: Part, name: str) -> bool:
        return any(
            self._adjacent(one, name) or (one is not part and "unevaluatedProperties" in one.keywords)
            for one in self._applied.reach(part)
        )
