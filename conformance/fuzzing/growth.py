"""Growth that keeps on: whether a figure that was measured again and again levels off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

MIN_SAMPLES = 32
WARM_UP = 4
"""The first of so many parts of the samples does not count."""
PARTS = 4
"""The rest is compared in so many parts."""
MIN_LAST_RATE = 0.7
"""The growth a call in the end, as a share of the mean growth; it is less when a figure levels off."""

Sample = tuple[int, float]
"""The number of calls so far, and the figure."""


@dataclass(frozen=True)
class Growth:
    """The growth of a figure from ``before`` to ``after`` over a number of ``calls``."""

    before: float
    after: float
    calls: int

    @property
    def per_call(self) -> float:
        """The mean growth a call."""
        return (self.after - self.before) / self.calls


def growth(samples: Sequence[Sample], least: float, share: float) -> Growth | None:
    """Return the growth of a figure that does not level off after the warm-up; None without such.

    It is at least ``least``, and at least ``share`` of the figure before.  In each part of the samples three
    quarters are above three quarters of the part before, so neither garbage that is collected at times, nor
    a single step, nor noise counts.
    """
    if len(samples) < MIN_SAMPLES:
        return None
    parts = _parts(samples[len(samples) // WARM_UP :])
    if any(_quartile(after) <= _quartile(before, upper=True) for before, after in pairwise(parts)):
        return None
    whole = _between(parts[0], parts[-1])
    last = _between(parts[-2], parts[-1])
    if whole is None or last is None or last.per_call < MIN_LAST_RATE * whole.per_call:
        return None
    return whole if whole.after - whole.before >= max(least, share * whole.before) else None


def _parts(samples: Sequence[Sample]) -> list[Sequence[Sample]]:
    size = len(samples) / PARTS
    return [samples[round(size * part) : round(size * (part + 1))] for part in range(PARTS)]


def _quartile(part: Sequence[Sample], *, upper: bool = False) -> float:
    values = sorted((value for _, value in part), reverse=upper)
    return values[len(values) // 4]


def _between(one: Sequence[Sample], other: Sequence[Sample]) -> Growth | None:
    """Return the growth from the middle of one part to that of another; None if no call is between."""
    (first, before), (last, after) = (
        (median(calls for calls, _ in part), median(value for _, value in part)) for part in (one, other)
    )
    return Growth(before, after, round(last - first)) if last > first else None
