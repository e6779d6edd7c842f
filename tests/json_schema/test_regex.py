"""Patterns of servers are matched in bounded time, by Python or by an automaton that agrees with it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_conformance.json_schema import regex
from mcp_conformance.json_schema.automaton import MAX_MATCH_STEPS, Automaton
from mcp_conformance.json_schema.ecma import TooCostly
from mcp_conformance.json_schema.regex import MAX_PATTERN_LENGTH, MAX_PYTHON_STEPS, compiled, search

EVIL = {
    "nested": "^(a+)+$",
    "split": "^(a|a)*$",
    "optional": "^(a?){60}$",
    "ahead": "^(a+)+(?=b)c$",
    "not ahead": "^(?!(a+)+$)b",
    "behind": "(a+)+(?<=b)c",
    "of any width behind": "(?<=(a+)+b)c",
    "many": "^.*.*.*.*.*.*.*.*.*.*x$",
    "anywhere": ".*.*.*.*.*.*=",
    "a slug": r"^([a-z0-9]+-?)*$",
    "an address": r"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}([a-z]{2,3})$",
    "letters": r"^(\p{Lu}+|\p{Ll}+)+$",
    "read without u": r"^(a+\-?)+$",
    "halves": r"^(?:(?:a|😀)+)+\-$",
}
TEXT = "a" * 3000 + "!"


@pytest.mark.parametrize("pattern", EVIL.values(), ids=EVIL)
def test_evil_pattern_is_matched_in_linear_time(pattern):
    found, steps = compiled(pattern).searched(TEXT)
    assert found is False
    assert steps <= 2 * MAX_MATCH_STEPS


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("^((a{1,1000}){1,1000}){1,1000}$", "states"),
        ("(?:(?:(?:(?:){1000}){1000}){1000}){1000}", "parts"),
        ("(?:){2000000000}", "parts"),
        (r"(?:(?:\b|^){1000}){1000}x", "states"),
        (r"^(a+)+(b+)\2$", "back-reference"),
        ("a" * (MAX_PATTERN_LENGTH + 1), "characters"),
        (r"(?:\p{L}\P{Lu})+" * 500 + "!", "steps"),
    ],
)
def test_unsupported_pattern_is_too_costly(pattern, reason):
    with pytest.raises(TooCostly, match=reason):
        search(pattern, TEXT)


def test_a_text_that_is_too_long_for_the_automaton_is_too_costly():
    with pytest.raises(TooCostly, match="a text of"):
        search("^(a+)+$", "a" * (MAX_MATCH_STEPS + 1))


def test_a_pattern_that_is_long_in_python_is_matched_by_the_automaton():
    pattern = compiled(r"^\p{L}" * 400 + "|x")
    assert pattern.python is None
    assert pattern.search("x")


def test_cheap_pattern_is_matched_by_python():
    pattern = compiled(r"^(\w+)@(\w+)\.\1$")
    assert pattern.cost(20) <= MAX_PYTHON_STEPS
    assert pattern.search("a@b.a")
    assert not pattern.search("a@b.c")


def test_long_text_is_searched_to_its_end():
    assert search("b$", "a" * 5_000_000 + "b")
    assert search(r"^(\w+,)*\w+$", "word," * 50_000 + "word")


def test_an_automaton_forgets_before_it_holds_too_much(monkeypatch):
    monkeypatch.setattr("mcp_conformance.json_schema.automaton.MAX_REMEMBERED", 10)
    automaton = Automaton(compiled("^(a+b?)+$").tree)
    assert [automaton.search(text)[0] for text in ("aab" * 5, "abc", "bb", "aab", "")] == [
        True,
        False,
        False,
        True,
        False,
    ]


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
        "(?:)",
        "é",
        "[a-c\\d]",
        "[^]",
        "[]",
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
        st.sampled_from(["(?<=a)", "(?<!ab)", r"(?<=\b[ab])", "(?<=a|b)", "(?<!(?=a)[ab])"]),
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=300)
@given(PATTERNS, st.lists(st.text("aabbcA1 \né", max_size=8), min_size=1, max_size=4))
def test_automaton_agrees_with_python(pattern, texts):
    tree, python = compiled(pattern).tree, compiled(pattern).python
    automaton = Automaton(tree)
    for text in texts:
        assert automaton.search(text)[0] == (python.search(text) is not None), (pattern, text)


def test_the_cost_for_python_counts_empty_repetitions():
    assert compiled("(?:(?:){1000}){1000}").cost(0) >= 1_000_000
    assert compiled("(?:a{1000}){1000}").cost(0) == 1
    assert compiled("(?:a|b){2}").cost(5) >= regex.UNBOUNDED_WAYS
