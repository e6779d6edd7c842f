"""Reduce a list to fewer items that still fail, for no more starts of the server than the profile allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.settings import FUZZ_EXAMPLES
from mcp_conformance.transport.interface import Clock

T = TypeVar("T")
QUICK_STARTS, QUICK_SECONDS = 6, 20.0
THOROUGH_STARTS, THOROUGH_SECONDS = 60, 120.0
FIRST_END, END_GROWTH = 2, 4
FEWEST_SO_FAR = ", the fewest so far"
"""What is said of a reduction that stopped because the purse was empty."""


class Purse:
    """What reductions may still cost: ``starts`` of the server, and ``seconds``."""

    def __init__(self, starts: int, seconds: float, clock: Clock):
        self.starts, self.seconds = starts, seconds
        self._clock = clock

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left for another attempt."""
        return self.starts <= 0 or self.seconds <= 0

    def pay_for(self, attempt: Callable[[], bool]) -> bool:
        """Make an attempt that starts the server once, and return its result; false if the purse is empty."""
        if self.is_empty:
            return False
        begun = self._clock.monotonic()
        self.starts -= 1
        try:
            return attempt()
        finally:
            self.seconds -= self._clock.monotonic() - begun


@scenario
def reduction_purse(server: Server) -> Purse:
    """Return the purse of all reductions in one revision."""
    if server.settings.examples <= FUZZ_EXAMPLES["quick"]:
        return Purse(QUICK_STARTS, QUICK_SECONDS, server.clock)
    return Purse(THOROUGH_STARTS, THOROUGH_SECONDS, server.clock)


MAX_TRIES = 40


def reduced(items: Sequence[T], fails: Callable[[Sequence[T]], bool], max_tries: int = MAX_TRIES) -> list[T]:
    """Return few of ``items``, in order, for which ``fails`` still holds (delta debugging).

    ``fails`` holds for all of ``items``, and is called at most ``max_tries`` times after the search for the
    `shortest_end`.
    """
    kept, parts, tries_left = shortest_end(items, fails), 2, max_tries
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


def shortest_end(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return a short end of ``items`` that still fails.

    Most failures that need a history need the last part of it, or a number of requests: ends that grow are
    tried first, then those between the longest that passes and the shortest that fails.
    """
    passing, failing, end = 0, len(items), FIRST_END
    while failing - passing > 1:
        size = end if passing < end < failing else (passing + failing) // 2
        if fails(items[-size:]):
            failing = size
        else:
            passing = size
        end *= END_GROWTH
    return list(items[-failing:])
