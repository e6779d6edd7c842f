"""A failure is reproduced with the first history that fails, and reduced as far as the budget goes."""

import math

import pytest

from mcp_conformance.target.reproducer import (
    QUICK,
    THOROUGH,
    Attempt,
    ReductionBudget,
    Reproducer,
    reduced,
)
from support.in_memory import VirtualClock

PLENTY = ReductionBudget(starts=math.inf, seconds=math.inf)


class Server:
    """A server that fails after all ``guilty`` items; each replay takes ``seconds``."""

    def __init__(self, guilty, seconds=1.0):
        self.guilty, self.seconds, self.clock = guilty, seconds, VirtualClock()
        self.replayed = []

    def replay(self, history):
        """Repeat a history; the failure is shown by its length."""
        self.replayed.append(list(history))
        self.clock.now += self.seconds
        return Attempt(history, [], len(history) if self.guilty <= set(history) else None)

    def reduced(self, items, budget=PLENTY, slimmers=()):
        """Return the reproducer and the fewest items that it found."""
        reproducer = Reproducer(budget, self.clock)
        return reproducer, reproducer.reduce(self.replay, self.replay(items), slimmers)


@pytest.mark.parametrize("guilty", [{3}, {0, 7}, {2, 5, 6}, set(range(8))])
def test_reduced_keeps_only_the_items_needed(guilty):
    assert set(reduced(range(8), lambda kept: guilty <= set(kept), max_tries=200)) == guilty


def test_first_history_that_fails_is_reproduced():
    server = Server({3})
    found = Reproducer(PLENTY, server.clock).reproduce(server.replay, [[1], [2, 3], [1, 2, 3]])
    assert (found.history, found.shown) == ([2, 3], 2)
    assert server.replayed == [[1], [2, 3]]


def test_failure_that_does_not_happen_again_has_the_last_attempt():
    server = Server({9})
    found = Reproducer(PLENTY, server.clock).reproduce(server.replay, [[1], [2, 3]])
    assert (found.history, found.shown) == ([2, 3], None)


def test_attempt_with_the_fewest_items_is_returned_with_what_it_shows():
    reproducer, fewest = Server({3, 60}).reduced(range(100))
    assert (list(fewest.history), fewest.shown) == ([3, 60], 2)
    assert (reproducer.is_spent, reproducer.so_far) == (False, "")


def test_slimmer_is_tried_first_and_kept_only_if_the_failure_stays():
    server = Server({2, 4})
    even, small = (lambda items: [one for one in items if one % 2 == 0], lambda items: [2])
    _, fewest = server.reduced(range(6), slimmers=[even, small])
    assert server.replayed[1:3] == [[0, 2, 4], [2]]
    assert list(fewest.history) == [2, 4]


@pytest.mark.parametrize(
    ("budget", "attempts"),
    [(ReductionBudget(3, math.inf), 3), (ReductionBudget(math.inf, 2.5), 3)],
    ids=["starts", "seconds"],
)
def test_reduction_ends_when_the_budget_is_spent(budget, attempts):
    server = Server({0, 99})
    reproducer, fewest = server.reduced(range(100), budget)
    assert len(server.replayed) == 1 + attempts
    assert len(fewest.history) == 100
    assert (reproducer.is_spent, reproducer.so_far) == (True, ", the fewest so far")


def test_reductions_share_one_budget():
    server = Server({5})
    reproducer, fewest = server.reduced(range(6), ReductionBudget(3, math.inf))
    before = len(server.replayed)
    again = reproducer.reduce(server.replay, Attempt(range(100), [], 100))
    assert list(fewest.history) == [5]
    assert len(server.replayed) - before == 3 - (before - 1)
    assert again.shown is not None


def test_thorough_run_may_reduce_more():
    assert QUICK.starts < THOROUGH.starts
    assert QUICK.seconds < THOROUGH.seconds
