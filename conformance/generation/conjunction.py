"""All that a schema demands of one value, and the choices it leaves: its branches, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from conformance.generation.errors import Unsatisfiable
from conformance.generation.references import Document, LocalOracle, Part
from conformance.generation.heights import ENDLESS, Heights

MANY = 2000
"""How many combinations of branches are looked at in search of one without a contradiction."""


@dataclass(frozen=True)
class Demand:
    """What must hold of one value, beside each other.

    It conforms to each of ``holds`` and to none of ``fails``; if it is an object, it has the members
    ``present`` and not those ``absent``.
    """

    holds: tuple[Part, ...] = ()
    fails: tuple[Part, ...] = ()
    present: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()

    def __and__(self, other: Demand) -> Demand:
        return Demand(
            self.holds + other.holds,
            self.fails + other.fails,
            self.present | other.present,
            self.absent | other.absent,
        )


@dataclass(frozen=True, eq=False)
class Choice:
    """Demands of which at least one must be met; ``name`` says which keyword leaves the choice."""

    name: str
    alternatives: tuple[Demand, ...]


class Conjunction:
    """A demand with its references followed, the choices still open, and what can be said without making them.

    Two conjunctions of the same demand and choices are the same object.
    """

    def __init__(self, space: Space, demand: Demand, open: tuple[Choice, ...]) -> None:
        self._space = space
        self.demand = demand
        self.open = open
        self.height = max((space.heights.of(part) for part in demand.holds), default=0)

    @cached_property
    def next(self) -> list[Conjunction]:
        """The conjunctions that making the first open choice leads to, without those known to be impossible."""
        first, rest = self.open[0], self.open[1:]
        found = [self._space.joined(self.demand, one, rest) for one in first.alternatives]
        return [conjunction for conjunction in found if conjunction.contradiction is None]

    @cached_property
    def contradiction(self) -> str | None:
        """Why no value can meet the demand, if that is certain."""
        return self._space.contradiction_of(self)

    @cached_property
    def shape(self) -> Shape:
        """What the demand says of each type of value."""
        return Shape(self._space, self.demand)

    def settled(self, limit: int) -> Iterator[Conjunction]:
        """Every way of making the open choices that is not impossible, ``limit`` of them at most."""
        return islice(self._settled(), limit)

    def _settled(self) -> Iterator[Conjunction]:
        if not self.open:
            yield self
            return
        for conjunction in self.next:
            yield from conjunction.settled(MANY)
