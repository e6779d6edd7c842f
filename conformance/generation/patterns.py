"""ECMA-262 patterns, as Python reads them."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any

from conformance import matching
from conformance.dialects import TOO_COSTLY
from conformance.generation.errors import NoExample
from conformance.matching import LONGEST_PATTERN, Pattern, TooCostly
from conformance.wire import shorten

PROPERTY = re.compile(r"\\([pP])\{(?:(?:General_Category|gc)=)?(\w+)\}|\\u\{([0-9a-fA-F]+)\}|\(\?<(?![=!])")
"""What Python's patterns write differently: Unicode properties, long escapes, named groups."""

CATEGORIES = {
    "Letter": "L",
    "Uppercase_Letter": "Lu",
    "Lowercase_Letter": "Ll",
    "Number": "N",
    "Decimal_Number": "Nd",
    "Punctuation": "P",
    "Symbol": "S",
    "Separator": "Z",
    "Space_Separator": "Zs",
    "Other": "C",
    "Alphabetic": "L",
    "Uppercase": "Lu",
    "Lowercase": "Ll",
    "White_Space": "Zs",
}


def in_python(schema: Any) -> Any:
    """``schema`` with its patterns in Python's words; raises `NoExample` for one that has none.

    Unicode properties keep their ASCII characters only: no other text is made for a pattern.
    """
    if isinstance(schema, dict):
        return {name: in_python(_content(name, content)) for name, content in schema.items()}
    return [in_python(one) for one in schema] if isinstance(schema, list) else schema


def _content(name: str, content: Any) -> Any:
    if name == "pattern" and isinstance(content, str):
        return translated(content)
    if name == "patternProperties" and isinstance(content, dict):
        return {translated(pattern): schema for pattern, schema in content.items()}
    return content


@lru_cache(maxsize=2048)
def translated(pattern: str) -> str:
    """One pattern in Python's words, unchanged where Python reads it as it is; raises `NoExample`."""
    if len(pattern) > LONGEST_PATTERN:
        raise NoExample(f"a pattern of {len(pattern)} characters is {TOO_COSTLY}")
    python = PROPERTY.sub(lambda found: _replacement(found, pattern), pattern)
    compiled(python)
    return python


def _replacement(found: re.Match[str], pattern: str) -> str:
    if found[3]:
        return re.escape(chr(int(found[3], 16)))
    if not found[1]:
        return "(?P<"
    wanted = CATEGORIES.get(found[2], found[2])
    inside = {chr(code) for code in range(128) if unicodedata.category(chr(code)).startswith(wanted)}
    members = inside if found[1] == "p" else {chr(code) for code in range(128)} - inside
    listed = "".join(re.escape(character) for character in sorted(members))
    before = re.sub(r"\\.", "", pattern[: found.start()])
    return listed if before.rfind("[") > before.rfind("]") else f"[{listed}]"


def compiled(pattern: str) -> Pattern:
    """A pattern with the ASCII classes of ECMA-262; raises `NoExample` if it is not readable here."""
    try:
        return matching.compiled(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise NoExample(f"the pattern {shorten(pattern, 200)!r} is not readable here: {error}") from error
    except TooCostly as error:
        raise NoExample(f"the pattern {shorten(pattern, 200)!r} is {TOO_COSTLY}: {error}") from error


def is_match(pattern: str, text: str) -> bool:
    """Whether a pattern matches somewhere in a text; raises `NoExample` where that takes too long."""
    try:
        return compiled(pattern).search(text)
    except TooCostly as error:
        raise NoExample(f"the pattern {shorten(pattern, 200)!r} is {TOO_COSTLY}: {error}") from error
