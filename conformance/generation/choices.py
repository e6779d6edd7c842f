"""Sources of the walker's choices: Hypothesis, a seeded generator, or always the plainest choice."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, Protocol

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

from conformance.generation.errors import Rejected

POOL_SIZE = 48
"""The number of strings of a strategy from which sources without Hypothesis choose."""

WORDS = (
    "a",
    "x y",
    "Example",
    "é",
    "日本",
    "https://example.org/?q=1",
    "../up",
    "'; --",
    '"',
    "\\",
    "%s",
    "-1",
)


class Source(Protocol):
    """Choices; the plainest is always the first or the one nearest to zero or to empty."""

    def index(self, size: int) -> int:
        """Choose a number from 0 to ``size - 1``; ``size`` is at least 1."""

    def boolean(self) -> bool:
        """Choose false or true."""

    def integer(self, low: int, high: int) -> int:
        """Choose an integer between two bounds, both included."""

    def number(self, low: float, high: float) -> float:
        """Choose a finite float between two bounds, both included."""

    def text(self, low: int, high: int) -> str:
        """Choose a text of ``low`` to ``high`` characters of the basic plane, without NUL and surrogates."""

    def drawn(self, strategy: st.SearchStrategy[str]) -> str:
        """Draw a string; the strategy must be the same object for the same purpose."""

    def familiar(self, size: int) -> int | None:
        """Choose one of ``size`` values that the schema itself names; None for a new value."""


class HypothesisSource:
    """Choices made by Hypothesis, through the ``draw`` of a composite strategy or of ``data()``."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def index(self, size: int) -> int:
        """Choose a number from 0 to ``size - 1``."""
        return 0 if size == 1 else int(self._draw(_integers(0, size - 1)))

    def boolean(self) -> bool:
        """Choose false or true."""
        return bool(self._draw(_BOOLEANS))

    def integer(self, low: int, high: int) -> int:
        """Choose an integer between two bounds."""
        return int(self._draw(_integers(low, high)))

    def number(self, low: float, high: float) -> float:
        """Choose a float between two bounds."""
        return float(self._draw(_floats(low, high)))

    def text(self, low: int, high: int) -> str:
        """Choose any text of ``low`` to ``high`` characters."""
        return str(self._draw(_texts(low, high)))

    def drawn(self, strategy: st.SearchStrategy[str]) -> str:
        """Draw a string from a strategy."""
        return str(self._draw(strategy))

    def familiar(self, size: int) -> int | None:
        """Choose one of the named values now and then."""
        chosen = self.index(size + 3)
        return chosen - 3 if chosen >= 3 else None


class RandomSource:
    """Choices made by a seeded generator; the same seed makes the same choices."""

    def __init__(self, generator: random.Random) -> None:
        self._generator = generator
        self._random = generator.random

    def index(self, size: int) -> int:
        """Choose a number from 0 to ``size - 1``."""
        return int(self._random() * size)

    def boolean(self) -> bool:
        """Choose false or true."""
        return self._random() < 0.5

    def integer(self, low: int, high: int) -> int:
        """Choose an integer between two bounds: at a bound, small, or anywhere."""
        way = self._random()
        if way < 0.1:
            return low if way < 0.05 else high
        if way < 0.7:
            near = min(max(0, low), high)
            return self._generator.randint(max(low, near - 100), min(high, near + 100))
        return self._generator.randint(low, high)

    def number(self, low: float, high: float) -> float:
        """Choose a float between two bounds: at a bound, small, or anywhere."""
        way = self._random()
        if way < 0.1:
            return low if way < 0.05 else high
        if way < 0.7:
            near = min(max(0.0, low), high)
            low, high = max(low, near - 100), min(high, near + 100)
        share = self._random()
        return low * (1 - share) + high * share

    def text(self, low: int, high: int) -> str:
        """Choose a text: letters, sentences of awkward words, or any characters."""
        way = self._random()
        length = min(high, low + int(self._generator.expovariate(0.15)))
        if way < 0.3:
            return "".join(self._generator.choices(string.ascii_letters, k=length))
        if way < 0.7:
            words = "".join(self._generator.choices(WORDS, k=length // 4 + 1))
            return words[:length] if len(words) >= low else words.ljust(low)
        return "".join(self._character() for _ in range(length))

    def _character(self) -> str:
        code = self._generator.randint(1, 0xFFFF)
        return chr(code if not 0xD800 <= code <= 0xDFFF else code - 0x1000)

    def drawn(self, strategy: st.SearchStrategy[str]) -> str:
        """Choose one of the strategy's pooled strings."""
        return self._generator.choice(_some(strategy))

    def familiar(self, size: int) -> int | None:
        """Choose one of the named values now and then."""
        return self.index(size) if self._random() < 0.3 else None


def seeded(seed: int) -> RandomSource:
    """Return the source of a seed."""
    return RandomSource(random.Random(seed))  # noqa: S311


class PlainSource:
    """The plainest choice each time: always the same value, ordinary rather than empty."""

    def index(self, size: int) -> int:  # noqa: ARG002
        """Choose the first."""
        return 0

    def boolean(self) -> bool:
        """Choose false."""
        return False

    def integer(self, low: int, high: int) -> int:
        """Choose 1, or the allowed number nearest to it."""
        return min(max(1, low), high)

    def number(self, low: float, high: float) -> float:
        """Choose 1, or the allowed number nearest to it."""
        return min(max(1.0, low), high)

    def text(self, low: int, high: int) -> str:
        """Choose the word "example", cut or padded to fit."""
        return "example".ljust(low, "x")[:high]

    def drawn(self, strategy: st.SearchStrategy[str]) -> str:
        """Choose the shortest of the strategy's pooled strings."""
        return min(_some(strategy), key=lambda text: (not text, len(text), text))

    def familiar(self, size: int) -> int | None:  # noqa: ARG002
        """Choose the first of the named values."""
        return 0


_BOOLEANS = st.booleans()


@lru_cache(maxsize=4096)
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


@lru_cache(maxsize=1024)
def _floats(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False, allow_infinity=False)


@lru_cache(maxsize=1024)
def _texts(low: int, high: int) -> st.SearchStrategy[str]:
    characters = st.characters(min_codepoint=1, max_codepoint=0xFFFF, exclude_categories=["Cs"])
    return st.text(characters, min_size=low, max_size=high)


@lru_cache(maxsize=2048)
def pool(strategy: st.SearchStrategy[str]) -> tuple[str, ...]:
    """Return some strings of a strategy, the same each time; none if Hypothesis finds none."""
    found: list[str] = []

    @settings(
        max_examples=POOL_SIZE,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @seed(0)  # a derandomized test without a seed takes it from the text of the function
    @given(strategy)
    def collect(text: str) -> None:
        found.append(text)

    with suppress(HypothesisException):
        collect()
    return tuple(dict.fromkeys(found))


def _some(strategy: st.SearchStrategy[str]) -> tuple[str, ...]:
    found = pool(strategy)
    if not found:
        raise Rejected("no text was found that meets its pattern, format and lengths")
    return found
