"""Numbers and strings that meet the keywords of several schemas."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from conformance.generation.choices import Source
from conformance.generation.errors import NoExample, Rejected
from conformance.generation.regex_strings import compiled, is_match, text_of
from conformance.json_schema.regex import Pattern

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON implementation reads exactly."""

USUAL_ROOM = 60
"""The most characters of a string beyond its least length, if ``maxLength`` sets no limit."""

MAX_LENGTH = 1_000_000
"""The most characters of a generated string."""

REPEATED_LENGTH = 400
"""The length above which a string repeats a short piece."""

USUAL_LENGTH = 200
MAX_MATCH_STEPS = 10_000_000
"""The most steps to match a text of `USUAL_LENGTH`, for Hypothesis to draw from the pattern."""


class Numbers:
    """The numbers that meet the keywords of several schemas."""

    def __init__(self, schemas: Sequence[dict[str, Any]], *, integer: bool) -> None:
        self.integer = integer
        steps = [Fraction(str(one["multipleOf"])) for one in schemas if "multipleOf" in one]
        self.step = _common_multiple([*steps, Fraction(1)] if integer else steps) if steps else None
        low, self._open_below = _tightest(schemas, "minimum", "exclusiveMinimum", max)
        high, self._open_above = _tightest(schemas, "maximum", "exclusiveMaximum", min)
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
        low, high = float(self.low), float(self.high)
        gap = min((high - low) / 4, 1e-6 * max(1.0, abs(low), abs(high)))
        return low + gap * self._open_below, high - gap * self._open_above

    def at(self, multiple: int) -> float:
        """Return the number at a place of the grid."""
        number = (self.step or Fraction(1)) * multiple
        return int(number) if number.denominator == 1 else float(number)

    def draw(self, source: Source) -> float:
        """Draw one of the numbers; an integer is an ``int``."""
        if self.step or self.integer:
            return self.at(source.integer(*self.grid))
        return plain(source.number(*self.span))

    def edges(self) -> list[float]:
        """Return the numbers in range at and next to the bounds that the schemas set."""
        if self.step or self.integer:
            least, most = self.grid
            return [
                *(self.at(n) for n in (least, least + 1) if n <= most and self.low > -MAX_SAFE_INTEGER),
                *(self.at(n) for n in (most - 1, most) if n >= least and self.high < MAX_SAFE_INTEGER),
            ]
        low, high = self.span
        return [plain(edge) for edge in (low, high) if abs(edge) < MAX_SAFE_INTEGER]


def plain(number: float) -> float:
    """Return the number, as an ``int`` if it is a safe integer."""
    return int(number) if number.is_integer() and abs(number) <= MAX_SAFE_INTEGER else number


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
        return low, max(low, high) if high != MAX_SAFE_INTEGER else low * 2
    return (min(low, high) if low != -MAX_SAFE_INTEGER else high * 2), high


def _common_multiple(steps: list[Fraction]) -> Fraction:
    common = steps[0]
    for step in steps[1:]:
        top = math.lcm(common.numerator * step.denominator, step.numerator * common.denominator)
        common = Fraction(top, common.denominator * step.denominator)
    return common


class Texts:
    """The strings that meet the keywords of several schemas."""

    def __init__(self, schemas: Sequence[dict[str, Any]]) -> None:
        self.low = max((math.ceil(one["minLength"]) for one in schemas if "minLength" in one), default=0)
        limits = [math.floor(one["maxLength"]) for one in schemas if "maxLength" in one]
        self.bounded = bool(limits)
        self.high = min(limits, default=self.low + USUAL_ROOM)
        self.patterns = tuple(dict.fromkeys(one["pattern"] for one in schemas if "pattern" in one))
        self.formats = tuple(dict.fromkeys(one["format"] for one in schemas if "format" in one))

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
        if len(self.patterns) == 1:
            return source.drawn(matching(self.patterns[0], self.low, self.high if self.bounded else None))
        if self.patterns:
            return self._matching_all(source)
        for name in self.formats:
            if name in FORMATS:
                return FORMATS[name](source)
            if name in FURTHER_FORMATS:
                return source.drawn(of_format(name))
        return self.of_length(source, self.low, min(self.high, self.low + USUAL_ROOM))

    def _matching_all(self, source: Source) -> str:
        """Draw a text from the first two patterns: one of them, or both joined."""
        first, second = (source.drawn(matching(pattern, 0, None)) for pattern in self.patterns[:2])
        candidates = (first, second, first + second, second + first)
        return next(filter(self.meets, candidates), first)

    def of_length(self, source: Source, low: int, high: int) -> str:
        """Draw any text between two lengths."""
        if low > MAX_LENGTH:
            raise Rejected(f"a text of {low} characters is too long to generate")
        if low <= REPEATED_LENGTH:
            return source.text(low, high)
        piece = source.text(1, 20)
        return (piece * (low // len(piece) + 1))[:low]

    def meets(self, text: str) -> bool:
        """Return whether a text has the lengths and matches the patterns, read as ECMA-262 and as Python."""
        return (
            self.low <= len(text)
            and not (self.bounded and len(text) > self.high)
            and all(is_match(pattern, text) for pattern in self.patterns)
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
    sized = compiled(_sized(pattern, low, high))
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
    if pattern.cost(USUAL_LENGTH) <= MAX_MATCH_STEPS:
        return st.from_regex(pattern.python, alphabet=alphabet)
    return text_of(pattern.tree, pattern.python.flags).filter(
        lambda text: is_match(pattern.python.pattern, text)
    )


def _sized(pattern: str, low: int, high: int | None) -> str:
    """Put the lengths into the pattern's quantifier, if it is one repeated class between anchors."""
    repeated = re.fullmatch(r"\^(\[(?:\\.|[^\]\\])+\]|\\[wds]|\.)([*+])\$", pattern)
    if repeated is None:
        return pattern
    least = max(low, 1 if repeated[2] == "+" else 0)
    most = least + USUAL_ROOM if high is None else min(high, least + USUAL_ROOM)
    return f"^{repeated[1]}{{{least},{most}}}$" if most >= least else pattern


@lru_cache(maxsize=256)
def of_format(name: str) -> st.SearchStrategy[str]:
    """Return a strategy for strings of a format that hypothesis-jsonschema supports."""
    from hypothesis_jsonschema import from_schema  # noqa: PLC0415  (slow while pytest starts)

    return from_schema({"type": "string", "format": name}).map(str)


def _date(source: Source) -> str:
    return f"{2000 + source.integer(0, 99):04}-{1 + source.index(12):02}-{1 + source.index(28):02}"


def _time(source: Source) -> str:
    return f"{source.index(24):02}:{source.index(60):02}:{source.index(60):02}Z"


def _duration(source: Source) -> str:
    unit = ("TS", "TM", "TH", "D", "W", "M", "Y")[source.index(7)]
    amount = source.integer(0, 99)
    return f"P{unit[:-1]}{amount}{unit[-1]}"


def _name(source: Source) -> str:
    return ("example", "a", "test-1", "x2", "localhost")[source.index(5)]


def _host(source: Source) -> str:
    return _name(source) + (".org", ".com", ".example.net")[source.index(3)]


def _uuid(source: Source) -> str:
    bits = [source.integer(0, 2**48 - 1) for _ in range(2)]
    digits = f"{bits[0]:012x}400080{bits[1]:012x}00"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def _ipv4(source: Source) -> str:
    """Draw an address of this machine, of a private network, or for documentation."""
    nets = ("127.0.0", "10.0.0", "192.168.1", "192.0.2", "198.51.100", "203.0.113")
    return f"{nets[source.index(6)]}.{source.integer(0, 255)}"


def _ipv6(source: Source) -> str:
    return "2001:db8::" + ":".join(f"{source.integer(0, 0xFFFF):x}" for _ in range(1 + source.index(3)))


def _path(source: Source) -> str:
    return ("", "/a", "/a/b-c", "/a?q=1", "/#top", "/%20")[source.index(6)]


FORMATS: dict[str, Callable[[Source], str]] = {
    "date": _date,
    "time": _time,
    "date-time": lambda source: f"{_date(source)}T{_time(source)}",
    "duration": _duration,
    "email": lambda source: f"{_name(source)}@{_host(source)}",
    "hostname": _host,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "uuid": _uuid,
    "uri": lambda source: f"https://{_host(source)}{_path(source)}",
    "url": lambda source: f"https://{_host(source)}{_path(source)}",
    "uri-reference": lambda source: _path(source) or "a",
}
FORMATS |= {f"idn-{name}": FORMATS[name] for name in ("email", "hostname")}
FORMATS |= {"iri": FORMATS["uri"], "iri-reference": FORMATS["uri-reference"], "uri-template": FORMATS["uri"]}
"""Formats, each drawn from the core that all validators accept, without real addresses."""

FURTHER_FORMATS = frozenset({"regex", "color", "json-pointer", "relative-json-pointer"})
"""Formats that hypothesis-jsonschema draws."""
