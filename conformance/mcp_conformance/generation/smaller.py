"""Smaller neighbours of a valid value, for failures at values that Hypothesis did not draw."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any

from mcp_conformance.generation.errors import NoExample
from mcp_conformance.generation.generator import Generator
from mcp_conformance.generation.known import ITEM, KnownPlace, inside
from mcp_conformance.generation.shape import is_same

# Twice the steps for edges: a failure was found, and neighbours are tried one after the other.
MAX_STEPS = 200_000
"""The most validation steps for the neighbours of one value."""

# Not measured: a value of 10,000 items has neighbours that take milliseconds each.
MAX_SECONDS = 20.0
"""The most seconds of our CPU for the neighbours of one value."""

# A text of 5,000 characters has as many neighbours; halves shorten it in 12 calls.
MAX_CUTS = 40
"""The most items, members or characters that are left out one by one."""

MAX_READ = 1000
"""The characters of a text that is short enough to be read: a longer one is only made shorter."""


def shrunk(generator: Generator, value: Any, fails: Callable[[Any], bool], most: int) -> Any:
    """Return the plainest valid value reached from ``value``, step by step, while ``fails`` is true.

    ``fails`` is called at most ``most`` times, never twice for equal values.  A text where the schema has a
    ``format`` keeps it: a server may refuse one without.
    """
    validator = generator.validator
    texts = frozenset(_texts_in(value))
    validator.refill(MAX_STEPS)
    tried, until = {_key(value)}, time.process_time() + MAX_SECONDS
    goes_on = True
    while goes_on:
        goes_on = False
        for one in neighbours(value, generator.known):
            if most <= 0 or time.process_time() > until:
                return value
            if _key(one) in tried:
                continue
            tried.add(_key(one))
            try:
                is_valid = validator.is_valid(one) and validator.keeps_formats(one, texts)
            except NoExample:
                return value
            if is_valid:
                most -= 1
                if fails(one):
                    value, goes_on = one, True
                    break
    return value


def _key(value: Any) -> str:
    return json.dumps(value)


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a value."""
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts_in(one)


def neighbours(value: Any, known: KnownPlace | None = None) -> Iterator[Any]:
    """Yield plainer values of the same type next to ``value``, the plainest first; they may be invalid.

    Known values are the plainest, whatever their type; a known text or number becomes a likelier one only.
    """
    if known is not None:
        likelier = list(takewhile(lambda one: not is_same(one, value), known.values))
        yield from likelier
        if len(likelier) < len(known.values) and not isinstance(value, list | dict):
            return
    if isinstance(value, bool):
        yield from [False] if value else []
    elif isinstance(value, int | float):
        yield from _numbers(value)
    elif isinstance(value, str):
        yield from _texts(value)
    elif isinstance(value, list):
        yield from _lists(value, inside(known, ITEM))
    elif isinstance(value, dict):
        for name in value:
            yield {key: content for key, content in value.items() if key != name}
        for name, content in value.items():
            yield from ({**value, name: one} for one in neighbours(content, inside(known, name)))


def _numbers(number: float) -> Iterator[float]:
    """Yield a power of two, 0, and numbers ever nearer to this one, as integers where possible."""
    if isinstance(number, float) and abs(number) >= 2**53:
        yield from _large(number)
        return
    if isinstance(number, float):
        yield int(number)
        yield from (float(f"{number:.{digits}g}") for digits in (1, 2))
        return
    sign = 1 if number > 0 else -1
    if sign < 0:
        yield -number
    size = abs(number)
    if size > 1:
        yield sign * 2 ** (size.bit_length() - 1)
    gap = size
    while gap:
        yield sign * (size - gap)
        gap //= 2


def _large(number: float) -> Iterator[float]:
    """Yield powers of ten ever nearer to a large number, and itself with fewer digits, not written out."""
    if number < 0:
        yield -number
    exponent = int(f"{number:e}".partition("e")[2])
    gap = exponent
    while gap:
        power = 10.0 ** (exponent - gap)
        yield math.copysign(power, number) if power >= 2**53 else int(math.copysign(power, number))
        gap //= 2
    yield from (float(f"{number:.{digits}g}") for digits in (1, 2))


def _texts(text: str) -> Iterator[str]:
    """Yield shorter texts, then texts with plainer characters."""
    for start, end in _cuts(len(text)):
        yield text[:start] + text[end:]
    for index, one in enumerate(text[:MAX_CUTS] if len(text) <= MAX_READ else ""):
        if one not in "0a":
            yield from (text[:index] + other + text[index + 1 :] for other in "0a")


def _lists(items: list[Any], known: KnownPlace | None) -> Iterator[list[Any]]:
    """Yield shorter lists, then lists with a plainer item."""
    for start, end in _cuts(len(items)):
        yield items[:start] + items[end:]
    for index, one in enumerate(items[:MAX_CUTS]):
        yield from ([*items[:index], other, *items[index + 1 :]] for other in neighbours(one, known))


def _cuts(length: int) -> Iterator[tuple[int, int]]:
    """Yield ranges to leave out: all, then halves, quarters, and so on from the end, single ones last."""
    size = length
    while size >= 1:
        if length // size <= MAX_CUTS:
            for end in range(length, 0, -size):
                yield max(0, end - size), end
        else:
            yield length - size, length
        size //= 2
