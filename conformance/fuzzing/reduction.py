"""Fewer lines that still fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.client.transcript import T

# Reducing ----------------------------------------------------------------------------------------


def reduced(items: Sequence[T], fails: Callable[[Sequence[T]], bool], most: int = 40) -> list[T]:
    """The fewest of ``items`` found, in order, for which ``fails`` still holds (delta debugging).

    ``fails`` is asked ``most`` times at most; it holds for all of ``items``.
    """
    kept, most = _shortest_end(list(items), fails, most)
    parts = 2
    while len(kept) >= 2 and most > 0:
        size = max(1, len(kept) // parts)
        for start in range(0, len(kept), size):
            rest = kept[:start] + kept[start + size :]
            most -= 1
            if rest and fails(rest):
                kept, parts = rest, max(2, parts - 1)
                break
            if most <= 0:
                return kept
        else:
            if size == 1:
                return kept
            parts = min(len(kept), parts * 2)
    return kept


def _shortest_end(items: list[T], fails: Callable[[Sequence[T]], bool], most: int) -> tuple[list[T], int]:
    """The shortest end of ``items`` found by halving that still fails, and how often may be asked yet.

    Most failures that need a history need the last part of it, or a number of requests.
    """
    passing, failing = 0, len(items)
    while failing - passing > 1 and most > 0:
        middle = (passing + failing) // 2
        most -= 1
        if fails(items[-middle:]):
            failing = middle
        else:
            passing = middle
    return items[-failing:], most
