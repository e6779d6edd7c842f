"""Patterns of servers: they match as in Python, and in bounded time."""

import re
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_conformance.json_schema.regex import (
    MAX_PATTERN_LENGTH,
    MAX_PYTHON_STEPS,
    Automaton,
    Pattern,
    TooCostly,
    compiled,
    search,
)

EVIL = {
    "nested": "^(a+)+$",
    "split": "^(a|a)*$",
    "optional": "^(a?){60}$",
    "ahead": "^(a+)+(?=b)c$",
    "not ahead": "^(?!(a+)+$)b",
    "behind": "(a+)+(?<=b)c",
    "many": "^.*.*.*.*.*.*.*.*.*.*x$",
    "anywhere": ".*.*.*.*.*.*=",
    "a slug": r"^([a-z0-9]+-?)*$",
    "an address": r"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}([a-z]{2,3})$",
    "cases": "(?i)^(A+)+$",
}
TEXT = "a" * 3000 + "!"


@pytest.mark.parametrize("pattern", EVIL.values(), ids=EVIL)
def test_evil_pattern_is_matched_in_seconds(pattern):
    start = time.process_time()
    with suppress(TooCostly):
        assert search(pattern, TEXT) is False
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("^((a{1,1000}){1,1000}){1,1000}$", "states"),
        (r"^(a+)+\1b$", "groupref"),
        ("a" * (MAX_PATTERN_LENGTH + 1), "characters"),
    ],
)
def test_unsupported_pattern_is_too_costly(pattern, reason):
    with pytest.raises(TooCostly, match=reason):
        search(pattern, TEXT)


def test_cheap_pattern_is_matched_by_python():
    pattern = compiled(r"^(\w+)@(\w+)\.\1$")
    assert pattern.cost(20) <= MAX_PYTHON_STEPS
    assert pattern.search("a@b.a")
    assert not pattern.search("a@b.c")


def test_long_text_is_searched_to_its_end():
    assert search("b$", "a" * 5_000_000 + "b")
    assert search(r"^(\w+,)*\w+$", "word," * 50_000 + "word")


def test_broken_pattern_raises_as_in_python():
    with pytest.raises(re.error):
        search("(", "")


@pytest.mark.filterwarnings("error")
def test_pattern_that_python_warns_of_is_accepted():
    assert search("[[a]", "[")


ATOMS = st.sampled_from(
    [
        "a",
        "b",
        ".",
        "[ab]",
        "[^a]",
        r"\w",
        r"\d",
        r"\W",
        r"\b",
        r"\B",
        "^",
        "$",
        r"\A",
        r"\Z",
        "(?:)",
        "é",
        "[a-c\\d]",
    ]
)
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "*?", "{0,2}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        inner.map("(?={})".format),
        inner.map("(?!{})".format),
        st.sampled_from(["(?<=a)", "(?<!ab)", r"(?<=\b[ab])", "(?i:A|[^b])", "(?s:.)", "(?m:^a$)"]),
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=300)
@given(PATTERNS, st.lists(st.text("aabbcA1 \né", max_size=8), min_size=1, max_size=4))
def test_automaton_agrees_with_python(pattern, texts):
    usual = Pattern(pattern)
    automaton = Automaton(usual.tree, usual.python.flags)
    for text in texts:
        assert automaton.search(text) == (re.search(pattern, text) is not None), (pattern, text)
