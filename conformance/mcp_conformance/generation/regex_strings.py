"""Texts made from the parts of a regular expression, without matching it."""

from __future__ import annotations

import re
import re._constants as op  # type: ignore[import-not-found]
import unicodedata
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from mcp_conformance.generation.errors import NoExample
from mcp_conformance.json_schema import regex
from mcp_conformance.json_schema.regex import (
    ASSERTIONS,
    CHARACTERS,
    MAX_PATTERN_LENGTH,
    REPEATS,
    Pattern,
    TooCostly,
    place_test,
    to_pattern,
)
from mcp_conformance.json_schema.validation import TOO_COSTLY
from mcp_conformance.protocol.text import shorten

PROPERTY = re.compile(r"\\([pP])\{(?:(?:General_Category|gc)=)?(\w+)\}|\\u\{([0-9a-fA-F]+)\}|\(\?<(?![=!])")
"""Syntax that Python writes differently: Unicode properties, long escapes, named groups."""

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
    """Translate the patterns of ``schema`` to Python; raises `NoExample` for an untranslatable one.

    Unicode properties keep their ASCII characters only: texts for a pattern are ASCII.
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
    """Translate a pattern to Python, unchanged where Python reads it as it is; raises `NoExample`."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise NoExample(f"a pattern of {len(pattern)} characters is {TOO_COSTLY}", is_too_costly=True)
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
    """Compile a pattern with the ASCII classes of ECMA-262; raises `NoExample` if Python can't."""
    try:
        return regex.compiled(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise NoExample(f"the pattern {shorten(pattern, 200)!r} is not supported: {error}") from error
    except TooCostly as error:
        raise NoExample(
            f"the pattern {shorten(pattern, 200)!r} is {TOO_COSTLY}: {error}", is_too_costly=True
        ) from error


def is_match(pattern: str, text: str) -> bool:
    """Return whether a pattern matches anywhere in a text; raises `NoExample` if matching is too costly."""
    try:
        return compiled(pattern).search(text)
    except TooCostly as error:
        raise NoExample(
            f"the pattern {shorten(pattern, 200)!r} is {TOO_COSTLY}: {error}", is_too_costly=True
        ) from error


PRINTABLE = "".join(map(chr, range(32, 127)))
OTHERS = "\t\n\r\x00\x1b\x7f\x80\xa0é\u0416\u4e2d\u2028\ufffd\U0001f600"
MAX_FURTHER_REPEATS = 4
"""The most repetitions of a part beyond its least number."""


def text_of(tree: Any, flags: int = 0) -> st.SearchStrategy[str]:
    """Return a strategy for texts that are likely to match; assertions are not taken into account.

    Raises `NoExample` for an unsupported part.
    """
    parts = [_part(code, value, flags) for code, value in tree]
    return parts[0] if len(parts) == 1 else st.tuples(*parts).map("".join)


def _part(code: Any, value: Any, flags: int) -> st.SearchStrategy[str]:
    if code in CHARACTERS:
        return st.sampled_from(_characters(to_pattern(code, value), flags))
    if code in REPEATS:
        least, most, body = value
        most = min(most, least + MAX_FURTHER_REPEATS)
        return st.lists(text_of(body, flags), min_size=least, max_size=most).map("".join)
    if code is op.BRANCH:
        return st.one_of([text_of(one, flags) for one in value[1]])
    if code is op.SUBPATTERN:
        _, added, removed, body = value
        return text_of(body, (flags | added) & ~removed)
    if code is op.AT or code in ASSERTIONS:
        return st.just("")
    raise NoExample(f"a pattern with a back-reference is {TOO_COSTLY}", is_too_costly=True)


@lru_cache(maxsize=1024)
def _characters(words: str, flags: int) -> list[str]:
    test = place_test(words, flags)
    found = [one for one in PRINTABLE if test(one, 0)] or [one for one in OTHERS if test(one, 0)]
    if not found:
        raise NoExample(f"no character was found for {words}")
    return found
