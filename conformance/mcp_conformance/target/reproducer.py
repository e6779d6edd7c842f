"""Reproduce a failure: repeat what was sent before it on fresh servers, then reduce that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.transport.interface import Clock

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True)
class ReductionBudget:
    """What all reductions in one revision may take: ``starts`` of the server, and ``seconds``.

    One history is tried at most ``tries`` times after the search for its `shortest_end`.
    """

    starts: float
    seconds: float
    # A prototype reduced 18 calls to 5 in 45 attempts; the 37 calls that a counter needs stayed 37 after 74.
    tries: int = 40


# A quick run of mcp-server-time starts 20 processes.  Six more find the short end of a history of hundreds
# (2, 8, 32, 128, and two between); half as many rarely do, and the report then shows a long transcript.
QUICK = ReductionBudget(starts=6, seconds=20.0)
# One whole delta debugging (`tries`) and the search for the end before it.  Not measured: twice as much helps
# only runs with several such failures, and may cost each of them two minutes more.
THOROUGH = ReductionBudget(starts=60, seconds=120.0)


@dataclass(frozen=True)
class Attempt(Generic[T, S]):
    """A ``history`` that was repeated on a fresh server, and the ``lines`` of the conversation.

    ``shown`` shows that the server failed again, None that it did not.
    """

    history: Sequence[T]
    lines: Sequence[Line]
    shown: S | None = None


Replay = Callable[[Sequence[T]], Attempt[T, S]]
"""Repeats a history on a fresh server: one request at a time, in bursts, or with many in flight."""
Slimmer = Callable[[Sequence[T]], Sequence[T]]
"""Leaves out what a failure hardly needs, such as the calls of other tools."""


class Reproducer:
    """The reproduction of failures in one revision, whose reductions share a budget."""

    def __init__(self, budget: ReductionBudget, clock: Clock):
        self._budget, self._clock = budget, clock
        self._starts_left, self._seconds_left = budget.starts, budget.seconds

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left of the budget for another attempt."""
        return self._starts_left <= 0 or self._seconds_left <= 0

    @property
    def so_far(self) -> str:
        """What a report says of a history that may be longer than needed, as the budget was spent."""
        return ", the fewest so far" if self.is_spent else ""

    def reproduce(self, replay: Replay[T, S], histories: Iterable[Sequence[T]]) -> Attempt[T, S]:
        """Return the attempt with the first of the histories that fails again, or the last attempt.

        These attempts count for nothing in the budget, as a failure that was not repeated is no finding.
        """
        attempt: Attempt[T, S] = Attempt([], [])
        for history in histories:
            attempt = replay(history)
            if attempt.shown is not None:
                break
        return attempt

    def reduce(
        self, replay: Replay[T, S], found: Attempt[T, S], slimmers: Iterable[Slimmer[T]] = ()
    ) -> Attempt[T, S]:
        """Return the attempt with the fewest items that fails like ``found``; try the slimmers first."""
        fewest = found

        def fails(history: Sequence[T]) -> bool:
            nonlocal fewest
            if self.is_spent or not history:
                return False
            begun = self._clock.monotonic()
            attempt = replay(history)
            self._starts_left -= 1
            self._seconds_left -= self._clock.monotonic() - begun
            if attempt.shown is None:
                return False
            fewest = attempt
            return True

        for slimmer in slimmers:
            slim = slimmer(fewest.history)
            if len(slim) < len(fewest.history):
                fails(slim)
        reduced(fewest.history, fails, self._budget.tries)
        return fewest


# Delta debugging ---------------------------------------------------------------------------------

# Ends of 2, 8, 32, 128 items: most failures need the request before, and thousands take only six attempts.
FIRST_END, END_GROWTH = 2, 4


def reduced(items: Sequence[T], fails: Callable[[Sequence[T]], bool], max_tries: float = math.inf) -> list[T]:
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
