"""Texts made from the parts of a pattern, without matching it."""

from __future__ import annotations

from hypothesis import strategies as st

from mcp_conformance.generation.errors import NoExample
from mcp_conformance.json_schema import ecma, regex
from mcp_conformance.json_schema.characters import Points, has
from mcp_conformance.json_schema.ecma import Node, One, TooCostly, Unreadable
from mcp_conformance.json_schema.regex import Pattern
from mcp_conformance.json_schema.validation import TOO_COSTLY
from mcp_conformance.protocol.text import shorten


def compiled(pattern: str) -> Pattern:
    """Return a pattern; raise `NoExample` if it can't be read."""
    try:
        return regex.compiled(pattern)
    except Unreadable as error:
        raise NoExample(
            f"the pattern {shorten(pattern, 200)!r} is not ECMA-262, or not supported: {error}"
        ) from error
    except (TooCostly, RecursionError) as error:
        raise _too_costly(pattern, error) from error


def _too_costly(pattern: str, error: Exception) -> NoExample:
    return NoExample(f"the pattern {shorten(pattern, 200)!r} is {TOO_COSTLY}: {error}", is_too_costly=True)


def is_match(pattern: str, text: str) -> bool:
    """Return whether a pattern matches anywhere in a text; raise `NoExample` if that can't be decided."""
    try:
        return compiled(pattern).search(text)
    except Unreadable as error:
        raise NoExample(str(error)) from error
    except TooCostly as error:
        raise _too_costly(pattern, error) from error


def is_disputed(pattern: str, text: str) -> bool:
    """Return whether engines read a pattern differently for a text, or too costly to know."""
    try:
        return compiled(pattern).is_disputed(text)
    except (Unreadable, TooCostly):
        return True


PRINTABLE = "".join(map(chr, range(32, 127)))
OTHERS = "\t\n\r\x00\x1b\x7f\x80\xa0é\u0416\u4e2d\u2028\ufffd\U0001f600"
MAX_FURTHER_REPEATS = 4
"""The most repetitions of a part beyond its least number."""


def text_of(node: Node) -> st.SearchStrategy[str]:
    """Return a strategy for texts that are likely to match; assertions are not taken into account.

    Raises `NoExample` for an unsupported part.
    """
    match node:
        case One(points):
            return st.sampled_from(_characters(points))
        case ecma.Series(parts):
            return st.tuples(*map(text_of, parts)).map("".join)
        case ecma.Choice(ways):
            return st.one_of([text_of(one) for one in ways])
        case ecma.Repeat(body, least, most):
            further = least + MAX_FURTHER_REPEATS
            most = further if most is None else min(most, further)
            return st.lists(text_of(body), min_size=least, max_size=most).map("".join)
        case ecma.Group(body):
            return text_of(body)
        case ecma.Same():
            raise NoExample(f"a pattern with a back-reference is {TOO_COSTLY}", is_too_costly=True)
    return st.just("")


def _characters(points: Points) -> list[str]:
    inside = [one for one in PRINTABLE if has(points, one)] or [one for one in OTHERS if has(points, one)]
    found = inside or [chr(first) for first, _ in points if not 0xD800 <= first < 0xE000]
    if not found:
        raise NoExample("a class of the pattern has no character")
    return found
