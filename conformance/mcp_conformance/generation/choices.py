"""Sources of the walker's choices: Hypothesis, or always the plainest choice."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, Protocol

from hypothesis import HealthCheck, Phase, given, reject, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

from mcp_conformance.generation import special
from mcp_conformance.generation.errors import Rejected
from mcp_conformance.generation.special import MAX_SAFE_INTEGER, shortest

# Not measured: drawn once for each pattern, by Hypothesis; with fewer, a seeded run repeats the same texts.
POOL_SIZE = 48
"""The number of strings of a strategy from which sources without Hypothesis choose."""
# Twice what the patterns of our tests take at most, and as much as texts of 2,000 characters; 2 s of CPU.
MAX_DRAWN = 100_000
"""The most choices, about one a character, that Hypothesis makes for all of these strings."""

# Of the values of 278 real tools 99 % have 5 levels or fewer.  26, not measured, are for handlers whose time
# doubles with each level.
USUAL_DEPTH, DEEP = 5, 26
"""The depths from which a walk takes only the shortest way to a value: in most values, and in deep ones."""

MAX_USUAL_ITEMS = 8
# What an example of Hypothesis can hold (8 kB) beside the other members.
MAX_TEXT_LENGTH = 2000
"""The most characters that Hypothesis draws, beyond the least, if no keyword sets a limit."""


class Source(Protocol):
    """Choices; the plainest is always the first or the one nearest to zero or to empty."""

    def begin(self) -> int:
        """Begin a value; return the depth from which only the shortest way to a value is taken."""

    def index(self, size: int) -> int:
        """Choose a number from 0 to ``size - 1``; ``size`` is at least 1."""

    def boolean(self) -> bool:
        """Choose false or true."""

    def takes(self) -> bool:
        """Choose whether an optional member is present."""

    def more(self, count: int) -> bool:
        """Choose whether a list of ``count`` items, already long enough, goes on."""

    def repeats(self) -> bool:
        """Choose whether to repeat a value made before."""

    def integer(self, low: int, high: int) -> int:
        """Choose an integer between two bounds, both included."""

    def number(self, low: float, high: float) -> float:
        """Choose a finite number between two bounds, both included: an ``int``, or a float such as 1.0."""

    def text(self, low: int, high: int | None) -> str:
        """Choose a text of ``low`` to ``high`` characters, without NUL and surrogates.

        With a limit, it also has as few units in UTF-16.
        """

    def drawn(self, strategy: st.SearchStrategy[str]) -> str:
        """Draw a string; the strategy must be the same object for the same purpose."""

    def familiar(self, size: int) -> int | None:
        """Choose one of ``size`` values that the schema itself names; None for a new value."""

    def known(self, size: int) -> int | None:
        """Choose one of ``size`` values that exist, the likeliest first; None for a new value."""


class HypothesisSource:
    """Choices made by Hypothesis, through the ``draw`` of a composite strategy or of ``data()``."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def begin(self) -> int:
        """Choose a deep value now and then."""
        # The last of eight: shrinking goes to the first, an ordinary depth.
        return DEEP if self.index(8) == 7 else USUAL_DEPTH

    def index(self, size: int) -> int:
        """Choose a number from 0 to ``size - 1``."""
        return 0 if size == 1 else int(self._draw(_integers(0, size - 1)))

    def boolean(self) -> bool:
        """Choose false or true."""
        return bool(self._draw(_BOOLEANS))

    def takes(self) -> bool:
        """Choose whether an optional member is present."""
        return self.boolean()

    def more(self, count: int) -> bool:
        """Choose whether a list goes on; one that is long goes on and on."""
        return self.boolean() if count < MAX_USUAL_ITEMS else self.index(40) > 0

    def repeats(self) -> bool:
        """Choose no earlier value: Hypothesis repeats values itself, and would take a repeat for simpler."""
        return False

    def integer(self, low: int, high: int) -> int:
        """Choose an integer between two bounds."""
        return int(self._draw(_integers(low, high)))

    def number(self, low: float, high: float) -> float:
        """Choose a whole number or any float between two bounds."""
        number: float = self._draw(_numbers(low, high))
        return number

    def text(self, low: int, high: int | None) -> str:
        """Choose any text of ``low`` to ``high`` characters, or one that handlers often get wrong."""
        return str(self._draw(_texts(low, high)))

    def drawn(self, strategy: st.SearchStrategy[str]) -> str:
        """Draw a string from a strategy."""
        return str(self._draw(strategy))

    def familiar(self, size: int) -> int | None:
        """Choose one of the named values now and then."""
        # The first three are new values, so that shrinking leaves the named ones.
        chosen = self.index(size + 3)
        return chosen - 3 if chosen >= 3 else None

    def known(self, size: int) -> int | None:
        """Choose the first of the known values half of the time, any a quarter, and a new value the rest.

        Shrinking goes to the first: a failure is the plainer for values that exist, and a new one may be
        refused before the fault.
        """
        chosen = self.index(4 * size)
        if chosen >= 3 * size:
            return None
        return max(0, chosen - 2 * size)


class PlainSource:
    """The plainest choice each time: always the same value, ordinary rather than empty."""

    def begin(self) -> int:
        """Choose an ordinary depth."""
        return USUAL_DEPTH

    def index(self, size: int) -> int:  # noqa: ARG002
        """Choose the first."""
        return 0

    def boolean(self) -> bool:
        """Choose false."""
        return False

    def takes(self) -> bool:
        """Choose false."""
        return False

    def more(self, count: int) -> bool:  # noqa: ARG002
        """Choose false."""
        return False

    def repeats(self) -> bool:
        """Choose false."""
        return False

    def integer(self, low: int, high: int) -> int:
        """Choose 1, or the allowed number nearest to it."""
        return min(max(1, low), high)

    def number(self, low: float, high: float) -> float:
        """Choose 1, or the allowed number nearest to it."""
        return shortest(min(max(1.0, low), high))

    def text(self, low: int, high: int | None) -> str:
        """Choose the word "example", cut or padded to fit."""
        return "example".ljust(low, "x")[:high]

    def drawn(self, strategy: st.SearchStrategy[str]) -> str:
        """Choose the shortest of the strategy's pooled strings."""
        return min(pooled(strategy), key=lambda text: (not text, len(text), text))

    def familiar(self, size: int) -> int | None:  # noqa: ARG002
        """Choose the first of the named values."""
        return 0

    def known(self, size: int) -> int | None:  # noqa: ARG002
        """Choose the first of the known values."""
        return 0


class FilledSource(PlainSource):
    """The plainest choices, but no list is empty; ``has_all`` adds the optional members too."""

    def __init__(self, *, has_all: bool) -> None:
        self._has_all = has_all

    def takes(self) -> bool:
        """Choose whether optional members are present: all or none."""
        return self._has_all

    def more(self, count: int) -> bool:
        """Choose one item."""
        return count == 0


_BOOLEANS = st.booleans()


@lru_cache(maxsize=4096)
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


@lru_cache(maxsize=1024)
def _numbers(low: float, high: float) -> st.SearchStrategy[float]:
    least, most = math.ceil(max(low, -MAX_SAFE_INTEGER)), math.floor(min(high, MAX_SAFE_INTEGER))
    any_float = st.floats(low, high, allow_nan=False, allow_infinity=False).map(shortest)
    if least > most:
        return any_float
    whole = st.integers(least, most)
    return whole | any_float | whole.map(float)  # 1.0 shrinks to 1, which comes first


@lru_cache(maxsize=1024)
def _texts(low: int, high: int | None) -> st.SearchStrategy[str]:
    plane = 0x10FFFF if high is None else 0xFFFF
    characters = st.characters(min_codepoint=1, max_codepoint=plane, exclude_categories=["Cs"])
    most = low + MAX_TEXT_LENGTH if high is None else high
    return st.text(characters, min_size=low, max_size=most) | st.sampled_from(special.texts(low, high))


@lru_cache(maxsize=2048)
def pool(strategy: st.SearchStrategy[str]) -> tuple[str, ...]:
    """Return some strings of a strategy, the same each time; none if Hypothesis finds none."""
    found: list[str] = []
    drawn = 0

    @settings(
        max_examples=POOL_SIZE,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @seed(0)  # a derandomized test without a seed takes it from the text of the function
    @given(st.data())
    def collect(data: Any) -> None:
        nonlocal drawn
        if drawn > MAX_DRAWN:
            reject()
        try:
            found.append(data.draw(strategy))
        finally:
            drawn += data.conjecture_data.length

    with suppress(HypothesisException):
        collect()
    return tuple(dict.fromkeys(found))


def pooled(strategy: st.SearchStrategy[str]) -> tuple[str, ...]:
    """Return some strings of a strategy, the same each time; raise `Rejected` if there are none."""
    found = pool(strategy)
    if not found:
        raise Rejected("no text was found that meets its pattern, format and lengths")
    return found
