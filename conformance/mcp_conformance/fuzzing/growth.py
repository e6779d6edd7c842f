"""Growth that keeps on: whether a figure that was measured again and again levels off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

# Six in each part after the warm-up, of which a quartile leaves one out: with half as many, single samples
# decide.
MIN_SAMPLES = 32
# The first quarter does not count: caches fill, code is compiled, modules are imported.
WARM_UP = 4
# Four parts have three steps: a figure that grows once has none in two of them.
PARTS = 4
# The growth a call from each part to the next, and to the last one, as a share of the mean.  The last of a
# line is 1.0, of a square root 0.85, of a logarithm 0.72; of a figure that is 63 % nearer to its limit in
# each half of the run, 0.66: that one levels off.
MIN_RATE, MIN_LAST_RATE = 0.3, 0.7

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

    It is at least ``least``, and at least ``share`` of the figure before.  From each part of the samples to
    the next the figure grows, in the end as fast as before, and three quarters of one part are above three
    quarters of the other.  So neither a heap that grows in steps, nor garbage that is collected at times, nor
    noise counts.
    """
    if len(samples) < MIN_SAMPLES:
        return None
    parts = _parts(samples[len(samples) // WARM_UP :])
    if any(_quartile(after) <= _quartile(before, upper=True) for before, after in pairwise(parts)):
        return None
    whole = _between(parts[0], parts[-1])
    if whole is None or whole.after - whole.before < max(least, share * whole.before):
        return None
    steps = [_between(before, after) for before, after in pairwise(parts)]
    rates = [step.per_call / whole.per_call if step is not None else 0.0 for step in steps]
    return whole if min(rates) >= MIN_RATE and rates[-1] >= MIN_LAST_RATE else None


def merged(samples: Sequence[Sample]) -> list[Sample]:
    """Return half as many samples, each the mean of two; an odd last one is dropped."""
    pairs = zip(samples[::2], samples[1::2], strict=False)
    return [((first + last) // 2, (before + after) / 2) for (first, before), (last, after) in pairs]


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
