"""Reduce a list to fewer items that still fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def reduced(items: Sequence[T], fails: Callable[[Sequence[T]], bool], max_tries: int = 40) -> list[T]:
    """Return few of ``items``, in order, for which ``fails`` still holds (delta debugging).

    ``fails`` holds for all of ``items``, and is called at most ``max_tries`` times.
    """
    kept, tries_left = _shortest_end(list(items), fails, max_tries)
    parts = 2
    while len(kept) >= 2 and tries_left > 0:
        size = max(1, len(kept) // parts)
        for start in range(0, len(kept), size):
            rest = kept[:start] + kept[start + size :]
            tries_left -= 1
            if rest and fails(rest):
                kept, parts = rest, max(2, parts - 1)
                break
            if tries_left <= 0:
                return kept
        else:
            if size == 1:
                return kept
            parts = min(len(kept), parts * 2)
    return kept


def _shortest_end(items: list[T], fails: Callable[[Sequence[T]], bool], tries: int) -> tuple[list[T], int]:
    """Return a short end of ``items`` that still fails, found by bisection, and the number of tries left.

    Most failures that need a history need the last part of it, or a number of requests.
    """
    passing, failing = 0, len(items)
    while failing - passing > 1 and tries > 0:
        middle = (passing + failing) // 2
        tries -= 1
        if fails(items[-middle:]):
            failing = middle
        else:
            passing = middle
    return items[-failing:], tries
