"""Values in which each three of the edges of an object's members come together: a covering design."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

STRENGTH = 3
"""How many members are at an edge together: a flag beside a zero and three listed values, by threes."""
MAX_ROWS = 40
"""The most values of a design.  Three members of three listed values each take 27."""
CANDIDATES = 24
"""Each value is the best of so many that are made at random.  Not measured: with 8, designs are longer."""
MAX_MEMBERS = 8
"""The most members of a design: 8 have 56 triples, whose values it takes 20 ms to cover."""

ABSENCE = 0.15
"""How often an optional member is absent; that it is counts for no triple."""
Domains = Mapping[str, Sequence[Any]]
"""The values of each member, the likeliest to matter first."""
Tuples = set[tuple[tuple[str, int], ...]]


def rows(domains: Domains, optional: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield members with values, so that soon each three values of three members have come together.

    The first members of the domains count; the same ones give the same rows.
    """
    sizes = {name: len(some) for name, some in domains.items() if len(some) > 1}
    names = list(sizes)[:MAX_MEMBERS]
    strength = min(STRENGTH, len(names))
    if strength < 2:
        return
    generator = random.Random(0)  # noqa: S311
    missing = _tuples(names, sizes, strength)
    for _ in range(MAX_ROWS):
        if not missing:
            return
        first = dict(min(missing))
        row = max(
            (_row(names, sizes, first, optional, generator) for _ in range(CANDIDATES)),
            key=lambda one: sum(part in missing for part in _parts(one, names, strength)),
        )
        missing -= set(_parts(row, names, strength))
        yield {name: domains[name][place] for name, place in row.items()}


def _tuples(names: Sequence[str], sizes: Mapping[str, int], strength: int) -> Tuples:
    return {
        tuple(zip(some, places, strict=True))
        for some in combinations(names, strength)
        for places in product(*(range(sizes[name]) for name in some))
    }


def _row(
    names: Sequence[str],
    sizes: Mapping[str, int],
    first: Mapping[str, int],
    optional: Collection[str],
    generator: random.Random,
) -> dict[str, int]:
    """Return a row at random that has these values."""
    taken = (name for name in names if name not in optional or generator.random() >= ABSENCE)
    return {**{name: generator.randrange(sizes[name]) for name in taken}, **first}


def _parts(row: Mapping[str, int], names: Sequence[str], strength: int) -> Iterator[Any]:
    return combinations([(name, row[name]) for name in names if name in row], strength)
