"""A seeded source of choices, which takes the values that handlers often get wrong much more than others."""

from __future__ import annotations

import random
import string

from hypothesis import strategies as st

from mcp_conformance.generation import special
from mcp_conformance.generation.choices import DEEP, MAX_USUAL_ITEMS, USUAL_DEPTH, pooled

# Some values have edges at most members, so that faults meet which need two of them; in others one edge is
# not hidden by another.
EDGE_RATE, HIGH_EDGE_RATE = 0.1, 0.65
"""How often a number or a text is one that handlers get wrong, in most values and in the others."""

# Around the powers of two, and around round numbers, where buffers and columns end.
LONG_LENGTHS = (61, 100, 127, 128, 255, 256, 257, 300, 512, 1000, 1024, 1025, 2000)
ALPHABET = string.ascii_letters + string.digits
# Not measured: fragments of syntax twice, as handlers build paths, queries and formats from a text.
KINDS = (special.WORDS, special.SYNTAX, special.SYNTAX, special.BLANKS, special.BASIC, special.ASTRAL)

# Measured with three members that must all be known: they are in 0.42 of the values, and in 0.29 all but one
# is (0.61 and 0.39 with one member, 0.33 and 0.34 with five).
KNOWN_RATES = (0.95, 1.0, 0.2)
"""How often a member has a known value: in a third of the values each; the second leaves one member out."""

# The likeliest values often go together: with five members of eight values each, 0.22 of all values have the
# likeliest in all of them; if the others were drawn for each member alone, it were 0.13.
FIRST_RATE = 0.8
"""How often a known value is the likeliest, in half of the values; in the others it always is."""


class RandomSource:
    """Choices made by a seeded generator; the same seed makes the same choices.

    Each value has its own rates of members, items and edges, so that some values have all members, and some
    have several edges at once.
    """

    def __init__(
        self, generator: random.Random, *, only_edges: bool = False, only_known: bool = False
    ) -> None:
        self._generator = generator
        self._random = generator.random
        self._only_edges = only_edges
        self._only_known = only_known
        self._edge_rate = EDGE_RATE
        self._member_rate = 0.5
        self._item_rate = 0.5
        self._is_deep = False
        self._way = 0.0
        self._members = 0

    def begin(self) -> int:
        """Choose the rates of one value, and its depth."""
        self._way = way = self._random()
        self._members = 0
        self._edge_rate = HIGH_EDGE_RATE if way < 0.4 or self._only_edges else EDGE_RATE
        # Digits of one number choose the rates, so that a value begins with a single draw.
        self._member_rate = (0.5, 0.5, 0.2, 0.9)[int(way * 1000) % 4]
        self._item_rate = (0.5, 0.6, 0.75, 0.3)[int(way * 10_000) % 4]
        self._is_deep = int(way * 100_000) % 10 == 0
        return DEEP if self._is_deep else USUAL_DEPTH

    def index(self, size: int) -> int:
        """Choose a number from 0 to ``size - 1``."""
        return int(self._random() * size)

    def boolean(self) -> bool:
        """Choose false or true."""
        return self._random() < 0.5

    def takes(self) -> bool:
        """Choose whether an optional member is present."""
        return self._random() < self._member_rate

    def repeats(self) -> bool:
        """Choose now and then to repeat an earlier value."""
        return self._random() < 0.12

    def more(self, count: int) -> bool:
        """Choose whether a list goes on: most are short, a few very long."""
        if count < MAX_USUAL_ITEMS:
            rate = self._item_rate if not self._is_deep else (0.95 if count == 0 else 0.2)
        else:
            # Of the lists that have grown past the usual length, half reach 50 items, one in seven
            # `walker.MAX_FURTHER_ITEMS`.
            rate = 0.985
        return self._random() < rate

    def integer(self, low: int, high: int) -> int:
        """Choose an integer between two bounds: one that handlers get wrong, a small one, or any."""
        way = self._random()
        if way < self._edge_rate:
            found = special.integers(low, high)
            return found[int(self._random() * len(found))]
        way = self._random()
        near = min(max(0, low), high)
        if way < 0.75:
            room = 5 if way < 0.3 else 100
        else:
            room = 1 << int(self._random() * 54) if way < 0.9 else high - low
        low, high = max(low, near - room), min(high, near + room)
        span = high - low + 1
        return low + (int(self._random() * span) if span <= 2**52 else self._generator.randrange(span))

    def number(self, low: float, high: float) -> float:
        """Choose a number between two bounds: one that handlers get wrong, a short one, or any."""
        if self._random() < self._edge_rate:
            found = special.floats(low, high)
            return found[int(self._random() * len(found))]
        way = self._random()
        near = min(max(0.0, low), high)
        if way < 0.85:
            room = 5.0 if way < 0.3 else 100.0 if way < 0.6 else 10.0 ** (self._random() * 26 - 8)
            low, high = max(low, near - room), min(high, near + room)
        share = self._random()
        any_one = low * (1 - share) + high * share
        short = round(any_one, 0 if way < 0.4 else 2) if way < 0.5 else any_one
        found_one = short if low <= short <= high else any_one
        return special.shortest(found_one) if way < 0.9 else found_one

    def text(self, low: int, high: int | None) -> str:
        """Choose a text: empty or full, fragments that handlers get wrong, letters, or any characters."""
        way = self._random()
        if way < self._edge_rate:
            return self._edge(low, high)
        kind = KINDS[int(self._random() * len(KINDS))]
        if way < 0.8:
            count = 1 + int(self._generator.expovariate(0.5))
            choose = kind if way < 0.35 else special.WORDS + kind
            return special.fitted("".join(self._generator.choices(choose, k=count)), low, high)
        length = low + int(self._generator.expovariate(0.12))
        if way < 0.9:
            return special.fitted("".join(self._generator.choices(ALPHABET, k=length)), low, high)
        return special.fitted("".join(self._character() for _ in range(length)), low, high)

    def _edge(self, low: int, high: int | None) -> str:
        """Choose a text of the least or the greatest length, or of one fragment."""
        way = self._random()
        if way < 0.25:
            return special.fitted("", low, high) if low == 0 else "x" * low
        if way < 0.45:
            length = low + self._generator.choice(LONG_LENGTHS)
            word = self._generator.choice(special.WORDS + special.ASTRAL if high is None else special.WORDS)
            length = length if high is None else min(high, 2 * length)
            return (word * length)[:length]
        found = special.texts(low, high)
        return found[int(self._random() * len(found))]

    def _character(self) -> str:
        code = int(self._random() * (0xFFFF if self._random() < 0.9 else 0x10FFFE)) + 1
        return chr(code if not 0xD800 <= code <= 0xDFFF else code - 0x1000)

    def drawn(self, strategy: st.SearchStrategy[str]) -> str:
        """Choose one of the strategy's pooled strings."""
        return self._generator.choice(pooled(strategy))

    def familiar(self, size: int) -> int | None:
        """Choose one of the named values now and then."""
        return self.index(size) if self._random() < 0.2 else None

    def known(self, size: int) -> int | None:
        """Choose known values for nearly all members of a value, for all but one, or for few."""
        if self._only_known:
            return 0
        self._members += 1
        way = int(self._way * 1_000_000)
        if way % 3 == 1 and self._members == self._left_out:
            return None
        if self._random() >= KNOWN_RATES[way % 3]:
            return None
        return 0 if way % 2 or self._random() < FIRST_RATE else self.index(size)

    @property
    def _left_out(self) -> int:
        """The one member that gets no known value: one of the first eight, the more likely the earlier."""
        return int(9 ** (self._way * 10_000_000 % 1))


def seeded(seed: int, *, only_edges: bool = False, only_known: bool = False) -> RandomSource:
    """Return the source of a seed.

    With ``only_edges``, most of its values have several edges; with ``only_known``, all members have their
    first known value.
    """
    generator = random.Random(seed)  # noqa: S311
    return RandomSource(generator, only_edges=only_edges, only_known=only_known)
