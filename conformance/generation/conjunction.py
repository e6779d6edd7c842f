"""Demands with their references followed, and the ways of making the choices they leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from conformance.generation.constraints import Branches, Choice, Demand
from conformance.generation.recursion_depth import ENDLESS, Heights
from conformance.generation.references import Document, LocalOracle
from conformance.generation.shape import Shape
from conformance.generation.validator import Oracle

EFFORT = 3000
"""How many combinations of branches are looked at before the search for a contradiction is given up."""

NOTHING = Demand()

Pick = tuple[Choice, int]
"""A choice and the alternative taken."""

PATIENCE = 6
"""After how many ways of choosing without a new branch no more are tried."""


class Conjunction:
    """What is demanded of one value, and the choices still open.

    The same demand and choices are the same object.
    """

    def __init__(self, space: Space, demand: Demand, open: tuple[Choice, ...]) -> None:
        self._space = space
        self.demand = demand
        self.open = open
        self.height = max((space.heights.of(part) for part in demand.holds), default=0)

    @cached_property
    def ways(self) -> list[tuple[int, Conjunction]]:
        """The alternatives of the first open choice that are not impossible, and where each leads.

        One that leaves only null comes last: it is valid, but says the least.
        """
        first, rest = self.open[0], self.open[1:]
        found = (self._space.joined(self.demand, one, rest) for one in first.alternatives)
        possible = [(index, one) for index, one in enumerate(found) if one.contradiction is None]
        return sorted(possible, key=lambda way: way[1].shape.is_null)

    @property
    def is_stuck(self) -> bool:
        """Whether every alternative of the first open choice is impossible."""
        first, rest = self.open[0], self.open[1:]
        found = (self._space.joined(self.demand, one, rest) for one in first.alternatives)
        return all(one.contradiction is not None for one in found)

    @cached_property
    def contradiction(self) -> str | None:
        """Why no value can meet the demand, if that is certain."""
        return self._space.contradiction_of(self)

    @cached_property
    def shape(self) -> Shape:
        """What the demand says of each type of value."""
        return Shape(self._space, self.demand, settled=not self.open)

    def covering(self) -> Iterator[Shape]:
        """Ways of making the open choices that, together, take each possible alternative at least once."""
        taken: Counter[Pick] = Counter()
        idle = 0
        while idle < PATIENCE:
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

    def _rarest(
        self, taken: Counter[tuple[Choice, int]]
    ) -> tuple[list[tuple[Choice, int]], Conjunction | None]:
        picks: list[tuple[Choice, int]] = []
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

    def __init__(self, document: Document, oracle: Oracle) -> None:
        self.document = document
        self.local = LocalOracle(document, oracle)
        self.branches = Branches(document)
        self.heights = Heights(document)
        self.text = document.alone({"type": "string"})
        self._known: dict[tuple[Demand, Demand, tuple[Choice, ...]], Conjunction] = {}
        self._judging: set[Conjunction] = set()
        self._effort = EFFORT

    def of(self, demand: Demand) -> Conjunction:
        """The conjunction of a demand."""
        return self.joined(NOTHING, demand, ())

    def joined(self, base: Demand, more: Demand, open: tuple[Choice, ...]) -> Conjunction:
        """The conjunction of ``base``, which was followed before, with ``more`` and with open choices."""
        key = (base, more, open)
        if key not in self._known:
            demand, choices = self._followed(base, more, open)
            full = (demand, NOTHING, choices)
            if full not in self._known:
                self._known[full] = Conjunction(self, demand, choices)
            self._known[key] = self._known[full]
        return self._known[key]

    def _followed(
        self, base: Demand, more: Demand, open: tuple[Choice, ...]
    ) -> tuple[Demand, tuple[Choice, ...]]:
        """Everything demanded once references and ``allOf`` are followed, and all choices that leaves."""
        demand = base & more
        done = len(base.holds)
        choices = list(open)
        while done < len(demand.holds):
            terms = self.branches.of(demand.holds[done])
            demand &= terms.demand
            choices += terms.choices
            done += 1
        return demand, tuple(choices)

    def contradiction_of(self, conjunction: Conjunction) -> str | None:
        """Why no value can meet the demand of ``conjunction``, if that is certain."""
        if conjunction in self._judging or self._effort <= 0:
            return None
        if conjunction.height >= ENDLESS:
            return "its recursion never ends, or a part of it is false"
        self._effort -= 1
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
