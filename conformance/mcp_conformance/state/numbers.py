"""Numbers: where an answer shows them, and by how much they move."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from mcp_conformance.protocol.text import named, without_times
from mcp_conformance.state.places import EACH, Place, leaves

IN_TEXT = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-])")
"""A number in a text: no part of a word, of an id or of a date."""
MAX_TEXT = 400
"""Not measured: a longer text is no sentence that says how many there are."""
DIGITS = 6
"""To how many digits after the point numbers are compared: sums of prices are not exact."""


@dataclass(frozen=True)
class Spot:
    """Where a number stands: a place, and the ``text`` around it, in which all numbers are 0.

    It is the number at this ``index`` in that text.
    """

    place: Place
    text: str = ""
    index: int = 0

    def __str__(self) -> str:
        names = [one for one in self.place if one != EACH]
        return f"`{named(self.text or '.'.join(names) or 'the answer', 40)}`"


@dataclass(frozen=True)
class Move:
    """A number that has moved ``by`` so much at a spot."""

    spot: Spot
    by: float


def moves(before: Any, after: Any) -> Iterator[Move]:
    """Yield the numbers that have moved between two structures: at its spot one is gone, and one is new."""
    one, other = _numbers(before), _numbers(after)
    for spot in one:
        gone = list((one[spot] - other[spot]).elements()) if spot in other else []
        new = list((other[spot] - one[spot]).elements()) if spot in other else []
        if len(gone) == len(new) == 1:
            yield Move(spot, round(new[0] - gone[0], DIGITS))


def may_move(before: Any, after: Any, noise: Collection[Place]) -> bool:
    """Return whether a number is gone between two structures, and others stand at its spot, noise aside."""
    one, other = _numbers(before), _numbers(after)
    return any(one[spot] - other[spot] for spot in one if spot in other and spot.place not in noise)


def spots_in(structure: Any) -> set[Spot]:
    """Return where a structure shows numbers."""
    return {*_numbers(structure)}


def _numbers(structure: Any) -> dict[Spot, Counter[float]]:
    found: dict[Spot, Counter[float]] = {}
    for place, value in leaves(structure):
        for spot, number in _numbers_in(place, value):
            found.setdefault(spot, Counter())[number] += 1
    return found


def _numbers_in(place: Place, value: Any) -> Iterator[tuple[Spot, float]]:
    if isinstance(value, str) and len(value) <= MAX_TEXT:
        text = without_times(value)
        masked = IN_TEXT.sub("0", text)
        for index, each in enumerate(IN_TEXT.findall(text)):
            yield Spot(place, masked, index), float(each)
    elif isinstance(value, int | float) and not isinstance(value, bool) and _is_exact(value):
        yield Spot(place), value


def _is_exact(value: float) -> bool:
    """Return whether the difference of a number and the next one can be told."""
    return math.isfinite(value) and abs(value) <= 2**53
