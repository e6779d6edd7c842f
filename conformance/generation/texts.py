"""Texts made from the parts of a regular expression, without ever trying it."""

from __future__ import annotations

import re._constants as op  # type: ignore[import-not-found]
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from conformance.dialects import TOO_COSTLY
from conformance.generation.errors import NoExample
from conformance.matching import ASSERTIONS, CHARACTERS, REPEATS, test_of, written

PRINTABLE = "".join(map(chr, range(32, 127)))
OTHERS = "\t\n\r\x00\x1b\x7f\x80\xa0é\u0416\u4e2d\u2028\ufffd\U0001f600"
MORE = 4
"""How often more than it must a part is repeated."""


def text_of(tree: Any, flags: int = 0) -> st.SearchStrategy[str]:
    """Texts that are likely to match, for what stands in a text's place cannot be seen from its parts.

    Raises `NoExample` for a part of which nothing is known.
    """
    parts = [_part(code, value, flags) for code, value in tree]
    return parts[0] if len(parts) == 1 else st.tuples(*parts).map("".join)


def _part(code: Any, value: Any, flags: int) -> st.SearchStrategy[str]:
    if code in CHARACTERS:
        return st.sampled_from(_characters(written(code, value), flags))
    if code in REPEATS:
        least, most, body = value
        most = min(most, least + MORE)
        return st.lists(text_of(body, flags), min_size=least, max_size=most).map("".join)
    if code is op.BRANCH:
        return st.one_of([text_of(one, flags) for one in value[1]])
    if code is op.SUBPATTERN:
        _, added, removed, body = value
        return text_of(body, (flags | added) & ~removed)
    if code is op.AT or code in ASSERTIONS:
        return st.just("")
    raise NoExample(f"a pattern that refers to what it has matched is {TOO_COSTLY}")


@lru_cache(maxsize=1024)
def _characters(words: str, flags: int) -> list[str]:
    test = test_of(words, flags)
    found = [one for one in PRINTABLE if test(one, 0)] or [one for one in OTHERS if test(one, 0)]
    if not found:
        raise NoExample(f"no character was found for {words}")
    return found
