"""Numbers and strings that meet the keywords of several schemas."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from mcp_conformance.generation.choices import Source
from mcp_conformance.generation.errors import NoExample, Rejected
from mcp_conformance.generation.formats import formatted
from mcp_conformance.generation.regex_strings import compiled, is_disputed, is_match, text_of
from mcp_conformance.generation.special import MAX_NUMBER, MAX_SAFE_INTEGER, fitted, shortest
from mcp_conformance.json_schema.ecma import Edge, One, Repeat, Series
from mcp_conformance.json_schema.regex import Pattern

USUAL_ROOM = 60
"""The most characters of a string beyond its least length, if a pattern sets no limit."""

SPECIAL_INTEGERS = (0, -1, 1, 2**31)
BEYOND_64_BITS = (2**64, -(2**63) - 1)
"""Integers that neither a signed nor an unsigned word of 64 bits holds."""
# Of more digits is no number that a user has: some readers refuse it.
MAX_BOUND = 10**40
"""The greatest bound beyond the safe integers that is tried."""
SPECIAL_NUMBERS = (0, -1, 0.5, -0.0, 1.0, 1e308, 1e-7, 2.0**53 + 2, -1e308, 1e21)

# As long as a line may be that every server should read.
MAX_LENGTH = 1_000_000
"""The most characters of a generated string."""

# Longer ones are about length, not content; to draw a million characters one by one takes 0.3 s.
REPEATED_LENGTH = 400
"""The length above which a string repeats a short piece."""

USUAL_LENGTH = 200
# Not measured: Hypothesis matches each text that it draws; for a costlier pattern texts are made from its
# tree.
MAX_MATCH_STEPS = 10_000_000
"""The most steps to match a text of `USUAL_LENGTH`, for Hypothesis to draw from the pattern."""


class Numbers:
    """The numbers that meet the keywords of several schemas."""

    def __init__(self, schemas: Sequence[dict[str, Any]], *, integer: bool) -> None:
        self.integer = integer
        self.kind: Hashable = "number"
        steps = [Fraction(str(one["multipleOf"])) for one in schemas if "multipleOf" in one]
        self.step = _common_multiple([*steps, Fraction(1)] if integer else steps) if steps else None
        low, self._open_below = _tightest(schemas, "minimum", "exclusiveMinimum", max)
        high, self._open_above = _tightest(schemas, "maximum", "exclusiveMaximum", min)
        self._is_unbounded = low is None, high is None
        self._bounds = low, high
        self._has_format = any("format" in one for one in schemas)
        self.low, self.high = _safe(low, high)

    @cached_property
    def contradiction(self) -> str | None:
        """Why no number is possible."""
        if self.low > self.high or (self.low == self.high and (self._open_below or self._open_above)):
            return f"no number is both at least {self.low} and at most {self.high}"
        low, high = self.grid if self.step or self.integer else (0, 0)
        return (
            f"no multiple of {self.step or 1} is between {self.low} and {self.high}" if low > high else None
        )

    @cached_property
    def grid(self) -> tuple[int, int]:
        """The least and the greatest integer that, times the step, is in range."""
        step = self.step or Fraction(1)
        low, high = Fraction(self.low) / step, Fraction(self.high) / step
        least, most = math.ceil(low), math.floor(high)
        return least + (self._open_below and least == low), most - (self._open_above and most == high)

    @cached_property
    def span(self) -> tuple[float, float]:
        """The least and the greatest float, with a gap to an excluded bound."""
        low = -MAX_NUMBER if self._is_unbounded[0] else float(self.low)
        high = MAX_NUMBER if self._is_unbounded[1] else float(self.high)
        room = high / 4 - low / 4
        above, below = (min(room, 1e-6 * max(1.0, abs(bound))) for bound in (low, high))
        return low + above * self._open_below, high - below * self._open_above

    def at(self, multiple: int) -> float:
        """Return the number at a place of the grid."""
        number = (self.step or Fraction(1)) * multiple
        return int(number) if number.denominator == 1 else float(number)

    def draw(self, source: Source) -> float:
        """Draw one of the numbers; an integer is an ``int``."""
        if self.step or self.integer:
            return self.at(source.integer(*self.grid))
        return source.number(*self.span)

    def allows(self, number: float) -> bool:
        """Return whether a number is one of these."""
        if self.step or self.integer:
            multiple = Fraction(number) / (self.step or 1)
            least, most = self.grid
            return type(number) is int and multiple.denominator == 1 and least <= multiple <= most
        low, high = self.span
        return low <= number <= high

    def in_order(self, start: int, count: int) -> Iterator[float]:
        """Yield up to ``count`` different numbers near zero, from the one at a place on."""
        least, most = self.grid
        first = min(max(0, least), most)
        size = min(most - first + 1, count + start)
        up = (self.at(first + (start + index) % size) for index in range(size))
        yield from filter(self.allows, up)
        yield from filter(
            self.allows, (self.at(first - 1 - index) for index in range(min(count, first - least)))
        )

    def special(self) -> list[float]:
        """Return numbers in range that handlers often get wrong."""
        if not (self.step or self.integer):
            return list(filter(self.allows, SPECIAL_NUMBERS))
        return [*self._beyond_safe(), *filter(self.allows, SPECIAL_INTEGERS)]

    def _beyond_safe(self) -> Iterator[int]:
        """Yield bounds and others beyond the safe integers that the schemas allow, but for their steps.

        A format such as int64 has bounds of its own.
        """
        low, high = (None if one is None or math.isinf(one) else one for one in self._bounds)
        if self._has_format or (low is not None and low > MAX_SAFE_INTEGER):
            return
        bounds = [int(one) for one in (high, low) if one is not None and int(one) == one]
        for one in (*(bound for bound in bounds if abs(bound) <= MAX_BOUND), *BEYOND_64_BITS):
            is_allowed = (low is None or low <= one) and (high is None or one <= high)
            if abs(one) > MAX_SAFE_INTEGER and is_allowed:
                yield one

    def edges(self) -> list[float]:
        """Return the numbers in range at and next to the bounds that the schemas set."""
        if self.step or self.integer:
            least, most = self.grid
            has_low, has_high = self.low > -MAX_SAFE_INTEGER, self.high < MAX_SAFE_INTEGER
            pairs = ((has_low, least), (has_high, most), (has_low, least + 1), (has_high, most - 1))
            ends = [one for is_set, one in pairs if is_set]
            return [self.at(one) for one in ends if least <= one <= most]
        low, high = self.span
        return [shortest(edge) for edge in (low, high) if abs(edge) < MAX_SAFE_INTEGER]


def _tightest(
    schemas: Sequence[dict[str, Any]], inclusive: str, exclusive: str, pick: Callable[[list[float]], float]
) -> tuple[float | None, bool]:
    bounds = [one[word] for one in schemas for word in (inclusive, exclusive) if word in one]
    if not bounds:
        return None, False
    bound = pick(bounds)
    return bound, any(one.get(exclusive) == bound for one in schemas)


def _safe(low: float | None, high: float | None) -> tuple[float, float]:
    """Return bounds that leave the range of safe integers only where they must."""
    low = -MAX_SAFE_INTEGER if low is None else low
    high = MAX_SAFE_INTEGER if high is None else high
    if low <= MAX_SAFE_INTEGER and high >= -MAX_SAFE_INTEGER:
        return (max(low, -MAX_SAFE_INTEGER), min(high, MAX_SAFE_INTEGER)) if low <= high else (low, high)
    if low > MAX_SAFE_INTEGER:
        return low, max(low, high) if high != MAX_SAFE_INTEGER else _doubled(low)
    return (min(low, high) if low != -MAX_SAFE_INTEGER else _doubled(high)), high


def _doubled(bound: float) -> float:
    """Return twice a bound, or itself where that is no finite number."""
    return bound * 2 if math.isfinite(bound * 2) else bound


def _common_multiple(steps: list[Fraction]) -> Fraction:
    common = steps[0]
    for step in steps[1:]:
        top = math.lcm(common.numerator * step.denominator, step.numerator * common.denominator)
        common = Fraction(top, common.denominator * step.denominator)
    return common


# Not measured: a pattern beside a format mostly says the same, and the first text meets it.
FORMATTED_TRIES = 5
"""The most texts of a format that are drawn before one of the pattern beside it."""


class Texts:
    """The strings that meet the keywords of several schemas."""

    def __init__(self, schemas: Sequence[dict[str, Any]]) -> None:
        self.low = max((math.ceil(one["minLength"]) for one in schemas if "minLength" in one), default=0)
        limits = [math.floor(one["maxLength"]) for one in schemas if "maxLength" in one]
        self.bounded = bool(limits)
        self.high = min(limits, default=self.low + USUAL_ROOM)
        self.patterns = tuple(dict.fromkeys(one["pattern"] for one in schemas if "pattern" in one))
        self.formats = tuple(dict.fromkeys(one["format"] for one in schemas if "format" in one))
        self.kind: Hashable = (self.formats, self.patterns)

    @cached_property
    def contradiction(self) -> str | None:
        """Why no string is possible."""
        return f"no text has {self.low} characters and at most {self.high}" if self.low > self.high else None

    def draw(self, source: Source) -> str:
        """Draw one of the strings; raises `Rejected` if it doesn't meet all keywords."""
        text = self._draw(source)
        if not self.meets(text):
            raise Rejected(f"no text was found for {self._described}")
        return text

    def _draw(self, source: Source) -> str:
        if self.patterns and self.formats:
            for _ in range(FORMATTED_TRIES):
                text = formatted(self.formats[0], source)
                if text is not None and self.meets(text):
                    return text
        if len(self.patterns) == 1:
            return source.drawn(matching(self.patterns[0], self.low, self.high if self.bounded else None))
        if self.patterns:
            return self._matching_all(source)
        for name in self.formats:
            text = formatted(name, source)
            if text is not None:
                return text
        return self.of_length(source, self.low, self.high if self.bounded else None)

    def _matching_all(self, source: Source) -> str:
        """Draw a text from the first two patterns: one of them, or both joined."""
        first, second = (source.drawn(matching(pattern, 0, None)) for pattern in self.patterns[:2])
        candidates = (first, second, first + second, second + first)
        return next(filter(self.meets, candidates), first)

    def of_length(self, source: Source, low: int, high: int | None) -> str:
        """Draw any text between two lengths."""
        if low > MAX_LENGTH:
            raise Rejected(f"a text of {low} characters is too long to generate")
        if low <= REPEATED_LENGTH:
            return source.text(low, high)
        piece = source.text(1, 20)
        return fitted((piece * (low // len(piece) + 1))[:low], low, high)

    def allows(self, text: str) -> bool:
        """Return whether a text made for other rules is one of these."""
        return self.meets(text) and not (self.bounded and fitted(text, 0, self.high) != text)

    def meets(self, text: str) -> bool:
        """Return whether a text has the lengths and matches the patterns, as all engines read them."""
        return (
            self.low <= len(text)
            and not (self.bounded and len(text) > self.high)
            and all(is_match(one, text) and not is_disputed(one, text) for one in self.patterns)
        )

    @property
    def _described(self) -> str:
        wants = [*(f"pattern {one!r}" for one in self.patterns), *(f"format {one!r}" for one in self.formats)]
        return ", ".join([*wants, f"length {self.low} to {self.high}"])


PRINTABLE = st.characters(min_codepoint=32, max_codepoint=126)
ASCII = st.characters(max_codepoint=127)


@lru_cache(maxsize=2048)
def matching(pattern: str, low: int, high: int | None) -> st.SearchStrategy[str]:
    """Return a strategy for matching strings between two lengths, in printable ASCII if possible."""
    if compiled(pattern).shortest > MAX_LENGTH:
        raise NoExample(f"every text for the pattern {pattern!r} is too long to generate")
    sized = _sized(compiled(pattern), low, high)
    for alphabet in (PRINTABLE, ASCII, None):
        try:
            strategy = _drawn(sized, alphabet)
            strategy.validate()
        except InvalidArgument:
            continue
        return strategy.filter(
            lambda text: low <= len(text) and (high is None or len(text) <= high) and text[-1:] != "\n"
        )
    raise NoExample(f"no text was found for the pattern {pattern!r}")


def _drawn(pattern: Pattern, alphabet: st.SearchStrategy[str] | None) -> st.SearchStrategy[str]:
    """Return a strategy for matching strings; Hypothesis's own, unless matching could be too slow."""
    if pattern.narrow is not None and pattern.cost(USUAL_LENGTH) <= MAX_MATCH_STEPS:
        return st.from_regex(pattern.narrow, alphabet=alphabet)
    return text_of(pattern.tree).filter(lambda text: is_match(pattern.source, text))


def _sized(pattern: Pattern, low: int, high: int | None) -> Pattern:
    """Put the lengths into the pattern's quantifier, if it is one repeated class between anchors."""
    match pattern.tree:
        case Series((Edge.START, Repeat(One() as body, (0 | 1) as some, None), Edge.END)):
            least = max(low, some)
            most = least + USUAL_ROOM if high is None else min(high, least + USUAL_ROOM)
            if least <= most:
                return pattern.with_tree(Series((Edge.START, Repeat(body, least, most), Edge.END)))
    return pattern
