"""Values that handlers often get wrong: fragments of text, and numbers at which representations change."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

WORDS = ("a", "Example", "x y", "two words", "name", "0", "é", "日本", "ß", "https://example.org/?q=1")
"""Ordinary words."""

SYNTAX = (
    *(
        '"',
        "'",
        "a\"b'c",
        "../%s{'\"<&\\",
        "'; --",
        "\\",
        "`",
        "%",
        "%s",
        "%d",
        "{",
        "}",
        "{x}",
        "${x}",
        "{{",
        "<b>",
        "&amp;",
        "$1",
    ),
    *(
        "../",
        "../up",
        "/",
        "/etc/hosts",
        "C:\\",
        "~",
        ".",
        "..",
        "*",
        "?",
        "#",
        ",",
        ";",
        "|",
        "=",
        "--",
        "-",
    ),
    *("[", "(", "-1", "0", "1e9", "null", "None", "true", "NaN", "undefined", "__proto__", "a@b", "+", "%00"),
)
"""Fragments with a meaning in paths, formats, queries and shells, and words that read as other values."""

BLANKS = (
    " ",
    "\n",
    "\r\n",
    "\t",
    "  ",
    "\r",
    "\xa0",
    "\u3000",
    "\v",
    " a ",
    "a\nb",
    "\n\n",
    "\x01",
    "\x1b[0m",
    "\x7f",
)
"""White space and control characters."""

BASIC = (
    *("e\u0301", "A\u030a", "\u212b", "\ufb01", "\u0130", "\u0131", "\u01c4", "\u0390", "\u1e9b\u0323"),
    *("\u05d0\u05d1", "\u0627\u0644", "\u200b", "\u200d", "\ufeff", "\u2028", "\u0e33", "\u1100\u1161", "ﬀ"),
)
"""Characters of the basic plane that combine, change length with case, join, or run from right to left."""

ASTRAL = (
    *("\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\U00020000"),
    *("\U0001d400", "\U0001f44d\U0001f3fd", "\U00010348"),
)
"""Characters that UTF-16 writes as two units."""

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON implementation reads exactly."""


def is_readable(value: Any) -> bool:
    """Return whether every JSON reader reads all integers in a value (RFC 8259, section 6)."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not (isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER) and all(map(is_readable, inside))


MAX_NUMBER = 1e308
"""The greatest number where no keyword sets a limit."""

INTEGERS = (0, 0, 0, 1, 1, -1, -1, 2, 2**31 - 1, 2**31, -(2**31), 2**32, 255, 256, 65_535, 65_536, 1000, 100)
FLOATS = (
    *(0, 0, 0, 1, -1, 0.0, -0.0, 1.0, -1.0, 0.5, 0.1, 1e-7, -0.5, 2.0, 100.0, 1e16, -1e16),
    *(float(2**53), 1e21, 1e308, -1e308, 1.5),
)
"""Numbers next to which integers, floats or their texts behave differently."""


@lru_cache(maxsize=4096)
def integers(low: int, high: int) -> tuple[int, ...]:
    """Return the integers in a range that handlers get wrong: half of them at its ends."""
    inside = [one for one in INTEGERS if low <= one <= high]
    ends = [one for one in (low, high, low + 1, high - 1) if low <= one <= high]
    times = max(1, len(inside) // 4) if abs(low) < MAX_SAFE_INTEGER and high < MAX_SAFE_INTEGER else 1
    return (*ends * times, *[low, high] * times, *inside)


@lru_cache(maxsize=1024)
def floats(low: float, high: float) -> tuple[float, ...]:
    """Return the numbers in a range that handlers get wrong, its ends among them."""
    inside = [one for one in (*FLOATS, MAX_SAFE_INTEGER) if low <= one <= high]
    ends = [one for end in (low, high) for one in (end, shortest(end))]
    is_bounded = low > -MAX_NUMBER or high < MAX_NUMBER
    return (*ends * max(1, is_bounded * len(inside) // 6), *inside)


def shortest(number: float) -> float:
    """Return the number, as an ``int`` if it is a safe integer."""
    return int(number) if number.is_integer() and abs(number) <= MAX_SAFE_INTEGER else number


def fitted(text: str, low: int, high: int | None) -> str:
    """Cut or pad a text to a length that is the same in characters and, up to ``high``, in UTF-16 units."""
    if len(text) < low:
        text = (text or "x").ljust(low, "x")
    if high is None or (len(text) <= high and text.isascii()):
        return text
    text = text[:high]
    if len(text) + sum(one > "\uffff" for one in text) > high:
        text = "".join("\u4e2d" if one > "\uffff" else one for one in text)
    return text


@lru_cache(maxsize=1024)
def texts(low: int, high: int | None) -> tuple[str, ...]:
    """Return texts of a length that handlers get wrong."""
    found = [fitted(one, low, high) for one in (*SYNTAX, *BLANKS, *BASIC, *ASTRAL)]
    return tuple(dict.fromkeys(found))
