"""Constraints with their references followed, and the ways to make the choices they leave open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any

from mcp_conformance.generation.constraints import Branches, Choice, Constraints
from mcp_conformance.generation.errors import Exhausted, NoExample
from mcp_conformance.generation.keywords import names_in
from mcp_conformance.generation.recursion_depth import ENDLESS, LeastDepths
from mcp_conformance.generation.references import Document, PartValidator
from mcp_conformance.generation.shape import Shape
from mcp_conformance.generation.validator import SchemaValidator
from mcp_conformance.json_schema.validation import TOO_COSTLY

# Not measured: 12 choices of two branches have more; a schema with them is walked without being sure that it
# has values.
MAX_COMBINATIONS = 3000
"""The most combinations of branches examined before the search for a contradiction is given up."""

NO_CONSTRAINTS = Constraints()

Pick = tuple[Choice, int]
"""A choice and the alternative taken."""

BELOW = frozenset({"properties", "additionalProperties", "items", "prefixItems", "patternProperties"})
"""Keywords with the schemas of items and members."""

# Not measured: 25 walks that have grown too large, which take a second; no schema of a real tool has one.
MAX_WASTED = 50_000
"""The values of walks that have grown too large, one after the other, before no more are tried."""

# A schema of 13 KB with hundreds of branches made 2,200, one of 2.5 KB with conditions in conditions 130,000
# in nine seconds.
MAX_CONJUNCTIONS = 30_000
"""The most conjunctions of one schema: each takes memory."""

# Choices that depend on each other hide a branch for some rounds; with fewer, its edges are missed.
MAX_IDLE_ROUNDS = 6
"""The most ways of choosing without a new branch, one after the other, before no more are tried."""


class Conjunction:
    """The constraints of one value, and the choices still open.

    The same constraints and choices are the same object.
    """

    def __init__(self, space: Space, constraints: Constraints, open: tuple[Choice, ...]) -> None:
        self._space = space
        self.constraints = constraints
        self.open = open
        self.least_depth = max((space.least_depths.of(part) for part in constraints.holds), default=0)

    @cached_property
    def ways(self) -> list[tuple[int, Conjunction]]:
        """The possible alternatives of the first open choice, each with its index.

        One that leaves only null comes last: it is valid, but tests the least.
        """
        possible = [(index, one) for index, one in self._alternatives() if one.contradiction is None]
        return sorted(possible, key=lambda way: way[1].shape.is_null)

    @cached_property
    def has_references(self) -> bool:
        """Whether its values may be deep: the schema of one of their items or members has a reference."""
        inside = (
            part.keywords[word] for part in self.constraints.holds for word in BELOW & part.keywords.keys()
        )
        return any(name.endswith(("$ref", "Ref")) for schema in inside for name in names_in(schema))

    @property
    def is_stuck(self) -> bool:
        """Whether every alternative of the first open choice is impossible."""
        return all(one.contradiction is not None for _, one in self._alternatives())

    def _alternatives(self) -> Iterator[tuple[int, Conjunction]]:
        first, rest = self.open[0], self.open[1:]
        for index, one in enumerate(first.alternatives):
            yield index, self._space.joined(self.constraints, one, rest)

    @cached_property
    def contradiction(self) -> str | None:
        """Why no value can meet the constraints, if that is certain."""
        return self._space.judge(self)

    @cached_property
    def shape(self) -> Shape:
        """The rules for each type of value."""
        return Shape(self._space, self.constraints, settled=not self.open)

    @cached_property
    def known(self) -> list[Any]:
        """The known values that the constraints allow, the likeliest first, whatever choices are open."""
        place = self.constraints.known
        return [value for value in place.values if self._accepts(value)] if place else []

    def _accepts(self, value: Any) -> bool:
        with suppress(NoExample):
            return self.shape.accepts(value)
        return False

    def covering(self) -> Iterator[Shape]:
        """Yield the shapes of choices that, together, take each possible alternative at least once."""
        taken: Counter[Pick] = Counter()
        idle = 0
        while idle < MAX_IDLE_ROUNDS:
            picks, end = self._rarest(taken)
            if end is None:
                return
            if not picks or any(taken[pick] == 0 for pick in picks):
                idle = 0
                yield end.shape
            else:
                idle += 1
            if not picks:
                return
            taken.update(picks)

    def _rarest(self, taken: Counter[Pick]) -> tuple[list[Pick], Conjunction | None]:
        """Take the alternatives taken least so far: the picks, and where they lead; None if impossible."""
        picks: list[Pick] = []
        here = self
        while here.open:
            choice = here.open[0]
            if not here.ways:
                return picks, None
            index, here = min(here.ways, key=lambda way: taken[choice, way[0]])
            picks.append((choice, index))
        return picks, here if here.contradiction is None else None


class Space:
    """The conjunctions of one document, each made once."""

    def __init__(self, document: Document, validator: SchemaValidator) -> None:
        self.document = document
        self.validator = PartValidator(document, validator)
        self.branches = Branches(document)
        self.least_depths = LeastDepths(document)
        self.text = document.alone({"type": "string"})
        self._known: dict[tuple[Constraints, Constraints, tuple[Choice, ...]], Conjunction] = {}
        self._of: dict[Constraints, Conjunction] = {}
        self._judging: set[Conjunction] = set()
        self._combinations_left = MAX_COMBINATIONS
        self.wasted = 0

    def waste(self, values: int, reason: str) -> None:
        """Count the values of a walk that has grown too large; raise `Exhausted` if there are too many."""
        self.wasted += values
        if self.wasted > MAX_WASTED:
            raise Exhausted(f"the schema is {TOO_COSTLY}: {reason}", is_too_costly=True)

    def of(self, constraints: Constraints) -> Conjunction:
        """Return the conjunction of the constraints."""
        found = self._of.get(constraints)
        if found is None:
            found = self._of[constraints] = self.joined(NO_CONSTRAINTS, constraints, ())
        return found

    def contradiction_of(self, constraints: Constraints) -> str | None:
        """Return why no value can meet the constraints, if that is certain."""
        return self.of(constraints).contradiction

    def joined(self, base: Constraints, more: Constraints, open: tuple[Choice, ...]) -> Conjunction:
        """Return the conjunction of ``base``, already followed, with ``more`` and with open choices."""
        key = (base, more, open)
        if key not in self._known:
            constraints, choices = self._followed(base, more, open)
            full = (constraints, NO_CONSTRAINTS, choices)
            if full not in self._known:
                self._require_room()
                self._known[full] = Conjunction(self, constraints, choices)
            self._known[key] = self._known[full]
        return self._known[key]

    def _require_room(self) -> None:
        """Raise `Exhausted` if more than `MAX_CONJUNCTIONS` are made of the schema."""
        if len(self._known) > MAX_CONJUNCTIONS:
            reason = f"the schema is {TOO_COSTLY}: its branches have too many combinations"
            raise Exhausted(reason, is_too_costly=True)

    def _followed(
        self, base: Constraints, more: Constraints, open: tuple[Choice, ...]
    ) -> tuple[Constraints, tuple[Choice, ...]]:
        """Follow references and ``allOf``: all constraints, and all choices they leave."""
        constraints = base & more
        done = len(base.holds)
        choices = list(open)
        while done < len(constraints.holds):
            terms = self.branches.of(constraints.holds[done])
            constraints &= terms.constraints
            choices += terms.choices
            done += 1
        return constraints, tuple(choices)

    def judge(self, conjunction: Conjunction) -> str | None:
        """Return why no value can meet ``conjunction``, if that is certain."""
        if conjunction in self._judging or self._combinations_left <= 0:
            return None
        if conjunction.least_depth >= ENDLESS:
            return "its recursion never ends, or a part of it is false"
        self._combinations_left -= 1
        self._judging.add(conjunction)
        try:
            return self._contradiction(conjunction)
        finally:
            self._judging.discard(conjunction)

    def _contradiction(self, conjunction: Conjunction) -> str | None:
        found = conjunction.shape.contradiction
        if found is None and conjunction.open and conjunction.is_stuck:
            choice = conjunction.open[0]
            return f"none of the branches of its {choice.keyword} is possible"
        return found
