"""Sets of characters, as ECMA-262 names them: classes, ranges and Unicode properties."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from collections.abc import Iterable
from functools import cache, lru_cache

Points = tuple[tuple[int, int], ...]
"""A set of code points: the first and the last of each range, in order, with a gap between two ranges."""

LAST = 0x10FFFF


def points(ranges: Iterable[tuple[int, int]]) -> Points:
    """Return the set of these ranges, which may overlap."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def of(characters: str) -> Points:
    """Return the set of the characters of a text."""
    return points((ord(one), ord(one)) for one in characters)


@lru_cache(maxsize=1024)
def complement(inside: Points) -> Points:
    """Return all other code points."""
    edges = [-1, *(edge for pair in inside for edge in pair), LAST + 1]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return tuple((before + 1, after - 1) for before, after in pairs if before + 1 < after)


def has(inside: Points, character: str) -> bool:
    """Return whether a character is in a set."""
    at = bisect(inside, (ord(character), LAST))
    return at > 0 and ord(character) <= inside[at - 1][1]


def between(inside: Points, low: int, high: int) -> Points:
    """Return the part of a set from one code point to another, both included."""
    return tuple(
        (max(first, low), min(last, high)) for first, last in inside if first <= high and low <= last
    )


@lru_cache(maxsize=1024)
def to_python(inside: Points) -> str:
    """Return a pattern of `re` for one character of a set: the set or its complement, by what is shorter."""
    if not inside:
        return "(?!)"
    others = complement(inside)
    if not others:
        return "[\\s\\S]"
    if inside[0][0] == inside[-1][1]:
        return re.escape(chr(inside[0][0]))
    return f"[^{members(others)}]" if len(others) < len(inside) else f"[{members(inside)}]"


def members(inside: Points) -> str:
    """Return a set as the inside of a class of `re`."""
    return "".join(
        _escaped(first) if first == last else f"{_escaped(first)}-{_escaped(last)}" for first, last in inside
    )


def _escaped(point: int) -> str:
    return re.escape(chr(point)) if point < 0x80 else chr(point)


DIGIT = points([(0x30, 0x39)])
WORD = points([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
LINE_ENDS = of("\n\r\u2028\u2029")
SPACE = points([*of("\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"), (0x2000, 0x200A)])
SHORTHANDS = {
    "d": DIGIT,
    "D": complement(DIGIT),
    "w": WORD,
    "W": complement(WORD),
    "s": SPACE,
    "S": complement(SPACE),
}

# Unicode properties ------------------------------------------------------------------------------

GROUPS = {
    "L": ("Letter", "Lu Ll Lt Lm Lo"),
    "LC": ("Cased_Letter", "Lu Ll Lt"),
    "M": ("Mark Combining_Mark", "Mn Mc Me"),
    "N": ("Number", "Nd Nl No"),
    "P": ("Punctuation punct", "Pc Pd Ps Pe Pi Pf Po"),
    "S": ("Symbol", "Sm Sc Sk So"),
    "Z": ("Separator", "Zs Zl Zp"),
    "C": ("Other", "Cc Cf Cs Co Cn"),
}
"""The general categories that consist of others: their long names, and these others."""
CATEGORIES = {
    "Lu": "Uppercase_Letter",
    "Ll": "Lowercase_Letter",
    "Lt": "Titlecase_Letter",
    "Lm": "Modifier_Letter",
    "Lo": "Other_Letter",
    "Mn": "Nonspacing_Mark",
    "Mc": "Spacing_Mark",
    "Me": "Enclosing_Mark",
    "Nd": "Decimal_Number digit",
    "Nl": "Letter_Number",
    "No": "Other_Number",
    "Pc": "Connector_Punctuation",
    "Pd": "Dash_Punctuation",
    "Ps": "Open_Punctuation",
    "Pe": "Close_Punctuation",
    "Pi": "Initial_Punctuation",
    "Pf": "Final_Punctuation",
    "Po": "Other_Punctuation",
    "Sm": "Math_Symbol",
    "Sc": "Currency_Symbol",
    "Sk": "Modifier_Symbol",
    "So": "Other_Symbol",
    "Zs": "Space_Separator",
    "Zl": "Line_Separator",
    "Zp": "Paragraph_Separator",
    "Cc": "Control cntrl",
    "Cf": "Format",
    "Cs": "Surrogate",
    "Co": "Private_Use",
    "Cn": "Unassigned",
}
"""The long names of each general category."""
PARTS = {
    name: inside.split()
    for short, (long, inside) in {**{one: (CATEGORIES[one], one) for one in CATEGORIES}, **GROUPS}.items()
    for name in (short, *long.split())
}
"""The categories that each name stands for."""


@cache
def property_of(name: str, value: str) -> Points | None:
    r"""Return the characters of ``\p{name=value}``, or ``\p{value}``; None if Python has no table of them."""
    if value in PARTS and name in ("", "General_Category", "gc"):
        return points(pair for part in PARTS[value] for pair in _categories().get(part, ()))
    return _binary(value) if not name else None


def _binary(name: str) -> Points | None:
    """Return the characters of a property that Python knows exactly."""
    if name == "Assigned":
        return complement(points(_categories()["Cn"]))
    for names, tested in (("Uppercase Upper", str.isupper), ("Lowercase Lower", str.islower)):
        if name in names.split():
            return points((one, one) for one in range(LAST + 1) if tested(chr(one)))
    fixed = {
        "Any": ((0, LAST),),
        "ASCII": ((0, 127),),
        "ASCII_Hex_Digit AHex": of("0123456789abcdefABCDEF"),
        "White_Space space": points(
            [*of("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"), (0x2000, 0x200A)]
        ),
    }
    return next((found for names, found in fixed.items() if name in names.split()), None)


@cache
def _categories() -> dict[str, list[tuple[int, int]]]:
    """Return the ranges of each general category."""
    found: dict[str, list[tuple[int, int]]] = {}
    first, before = 0, "Cc"
    for point in range(1, LAST + 2):
        category = unicodedata.category(chr(point)) if point <= LAST else ""
        if category != before:
            found.setdefault(before, []).append((first, point - 1))
            first, before = point, category
    return found
