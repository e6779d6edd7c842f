"""Patterns of servers are read as ECMA-262, by validator, generator and client limits alike."""

import pytest
import regress
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mcp_conformance.generation import draw_valid, invalid, seeded
from mcp_conformance.json_schema.characters import complement, has, of, points
from mcp_conformance.json_schema.ecma import MAX_DEPTH, TooCostly, Unreadable, read
from mcp_conformance.json_schema.regex import compiled, search
from mcp_conformance.json_schema.validation import Unjudgeable, instance_errors

REVISION = "2025-11-25"

TWELVE = [
    (r"^\d+$", "٣", False),
    ("^a$", "a\n", False),
    (r"^\w+$", "é", False),
    (r"^\s$", "\ufeff", True),
    (r"^\S+$", "\x1c", True),
    (r"^\p{L}+$", "é", True),
    (r"^(?<y>\d{4})-\k<y>$", "2020-2020", True),
    (r"^\u{1F600}$", "😀", True),
    (r"^\cJ$", "\n", True),
    ("^[^]$", "\n", True),
    ("^[]$", "", False),
    ("^[a-z]+$", "abc", True),
]
"""Patterns that Python reads otherwise, or not at all, but for the last one."""

WITH_U = [
    ("", "", True),
    ("a|", "b", True),
    ("^.$", "😀", True),
    ("^.$", "\u2028", False),
    ("^[😀-😎]$", "😃", True),
    (r"^\ud83d\ude00$", "😀", True),
    (r"^\ud83d\udc00\udbff\udfff$", "🐀\U0010ffff", True),
    (r"^\ud83d", "😀", False),
    (r"^[^\d\s]$", "é", True),
    (r"^[^\D]$", "5", True),
    (r"^[\w-]+$", "a-b", True),
    (r"^[\b]$", "\b", True),
    (r"^[a\-z]$", "-", True),
    (r"^[a\]]$", "]", True),
    (r"^[--/]$", ".", True),
    (r"^\x41\u0042\t\0$", "AB\t\0", True),
    (r"^\/\.$", "/.", True),
    (r"\B", "", True),
    (r"\bé", "é", False),
    (r"(?<=a+)b", "aab", True),
    (r"(?<!^a*)b", "aab", False),
    (r"(?<=(?<!x)a)b", "xab", False),
    (r"^(?:(?=a)a)+$", "aa", True),
    (r"^(?!.*--)[a-z-]+$", "a--b", False),
    (r"^(['\"])(?:(?!\1).)*\1$", "'it'", True),
    (r"^(['\"])(?:(?!\1).)*\1$", "'it\"", False),
    (r"^(?:(a)|b)\1c$", "bc", True),
    (r"^\1(a)$", "a", True),
    (r"^(a\1)$", "a", True),
    (r"^\P{Lu}$", "A", False),
    (r"^\p{gc=Nd}\p{General_Category=Decimal_Number}$", "٣3", True),
    (r"^\p{Lowercase}\p{Uppercase}\p{ASCII}$", "éÉ!", True),
    (r"^\p{White_Space}$", "\x85", True),
    (r"^[\p{Lu}\d]+$", "Ä1", True),
    (r"^a{2,3}?$", "aaa", True),
    (r"^a{0,99999999999}$", "aa", True),
    ("^$", "\n", False),
    (r"(?<naïve_$>a)\k<naïve_$>", "aa", True),
]
WITHOUT_U = [
    (r"^\d{3}\-\d{2}$", "123-45", True),
    (r"^[\w-.]+$", "a-.", True),
    (r"^[\d-x]+$", "1-x", True),
    (r"^\_\@\'$", "_@'", True),
    ("^{$", "{", True),
    ("^a{b}]$", "a{b}]", True),
    ("^a{1$", "a{1", True),
    ("(?=a)*b", "b", True),
    (r"^.\-$", "é-", True),
    (r"^[^a]\-", "b-😀", True),
]


@pytest.mark.parametrize(("pattern", "text", "matches"), [*TWELVE, *WITH_U, *WITHOUT_U])
def test_a_pattern_is_read_as_ecma_262(pattern, text, matches):
    assert search(pattern, text) is matches
    assert (instance_errors(text, {"pattern": pattern}, REVISION) == []) is matches
    assert (instance_errors({text: 1}, {"patternProperties": {pattern: False}}, REVISION) != []) is matches


@pytest.mark.parametrize("pattern", [pattern for pattern, *_ in WITHOUT_U])
def test_a_pattern_that_the_flag_u_forbids_is_read_without_it(pattern):
    assert not read(pattern).is_unicode


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "group without its end"),
        (")", "without its"),
        ("[a", "an end"),
        ("a\\", "an end"),
        ("*", "repetition of nothing"),
        ("a**", "repetition of nothing"),
        ("a{2}{3}", "repetition of nothing"),
        ("^*", "repetition of nothing"),
        ("(?<=a)*", "repetition of nothing"),
        ("a{3,2}", "wrong order"),
        ("[z-a]", "wrong order"),
        ("a{,3}", "repetition of nothing"),
        (r"^\A\z", r"escape \\A"),
        (r"\Z", r"escape \\Z"),
        (r"\x4", "hexadecimal"),
        (r"\u{110000}", "not a character"),
        (r"\u{}", "not a character"),
        (r"\1", "group 1 of 0"),
        (r"\012", r"escape \\0"),
        (r"\k<x>", "no group"),
        (r"(?<a-b>x)", "name"),
        ("(?<a>x)(?<a>y)", "second group"),
        ("(?i)a", r"\(\?i"),
        ("(?P<x>a)", r"\(\?P"),
        ("(?>a)", r"\(\?>"),
        (r"\p{Script=Greek}", "property"),
        (r"\p{L}\-", r"escape \\-"),
        (r"(?:(a)|b)*\1", "back-reference"),
        (r"(?=(a))\1", "back-reference"),
        (r"(?<=\1(a))", "back-reference"),
    ],
)
def test_what_no_reading_accepts_is_not_judged(pattern, reason):
    with pytest.raises(Unreadable, match=reason):
        compiled(pattern)
    with pytest.raises(Unjudgeable, match="a pattern is not ECMA-262, or not supported"):
        instance_errors("", {"pattern": pattern}, REVISION)


@pytest.mark.parametrize(
    ("pattern", "text"), [(r"^.\-$", "😀-"), (r"^😀?\-$", "-"), (r"^\ud83d\ude00\-$", "😀-")]
)
def test_a_text_that_halves_of_characters_change_is_not_judged(pattern, text):
    with pytest.raises(Unreadable, match="halves"):
        search(pattern, text)


def test_groups_inside_each_other_have_a_limit():
    assert search("(" * (MAX_DEPTH - 1) + "a" + ")" * (MAX_DEPTH - 1), "a")
    with pytest.raises(TooCostly, match="inside each other"):
        read("(" * MAX_DEPTH + ")" * MAX_DEPTH)


@given(st.sets(st.tuples(st.integers(0, 20), st.integers(0, 3))))
def test_sets_of_characters_are_sets(ranges):
    found = points((first, first + more) for first, more in ranges)
    wanted = {point for first, more in ranges for point in range(first, first + more + 1)}
    assert {point for point in range(30) if has(found, chr(point))} == wanted
    assert {point for point in range(30) if not has(complement(found), chr(point))} == wanted
    assert complement(complement(found)) == found


# Another engine ----------------------------------------------------------------------------------

CHARACTERS = "aabbA1é😀.-_/ \n\t\x00\x1c\ufeff\u2028\x85٣ßÀ{}]"
"""Characters that engines read differently; Unicode changes none of them."""
ATOMS = st.one_of(
    st.sampled_from([one for one in CHARACTERS if one not in "./{}]"]),
    st.sampled_from(
        [*(rf"\{letter}" for letter in "dDwWsSnt./"), r"\cJ", r"\x41", r"\u0061", r"\u{61}", r"\ud83d\ude00"]
    ),
    st.sampled_from([r"\p{L}", r"\P{L}", r"\p{Lu}", r"\p{gc=Nd}", r"\p{Uppercase}", r"\p{White_Space}", "."]),
    st.sampled_from(
        ["[^]", "[a-c]", "[^a]", r"[\w-]", r"[^\W\d]", r"[\b]", r"[\-a\]]", r"[\p{Lu}\d]", "[😀é]"]
    ),
)
QUANTIFIERS = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "*?", "+?", "{0,2}", "{2,}"])
PATTERNS = st.recursive(
    st.one_of(ATOMS, st.tuples(ATOMS, QUANTIFIERS).map("".join), st.sampled_from([r"\b", r"\B", "^", "$"])),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda ways: f"(?:{'|'.join(ways)})"),
        st.tuples(st.sampled_from(["(?=", "(?!", "(?<=", "(?<!"]), inner).map(
            lambda pair: f"{''.join(pair)})"
        ),
    ),
    max_leaves=8,
)
"""Patterns without a repetition inside another, on which the other engine takes exponential time."""
WITH_REFERENCES = st.tuples(PATTERNS, PATTERNS).map(lambda pair: rf"({pair[0]})(?:{pair[1]})\1")
"""Patterns with a back-reference, but not inside its own group, where the other engine is wrong."""


@settings(deadline=None, max_examples=500)
@given(PATTERNS | WITH_REFERENCES, st.lists(st.text(CHARACTERS, max_size=7), min_size=1, max_size=5))
def test_matching_agrees_with_another_engine(pattern, texts):
    other = regress.Regex(pattern, "u")
    try:
        found = [search(pattern, text) for text in texts]
    except (Unreadable, TooCostly) as error:
        assume("back-reference" not in str(error))
        raise
    assert found == [other.find(text) is not None for text in texts]


# The generator -----------------------------------------------------------------------------------


def of_text(pattern):
    return {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}, "required": ["a"]}


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\p{Lu}(?<rest>[\p{Ll}\u{2d}]+)$",
        r"^\d{3}\-\d{2}$",
        "^[^]{3}$",
        r"^\u{1F600}\cJ?x$",
        r"^\s\S$",
        r"^\W$",
        "^é+$",
    ],
)
def test_generated_texts_match_in_every_reading(pattern):
    source = seeded(0)
    for _ in range(20):
        arguments = draw_valid(of_text(pattern), REVISION, source)
        assert instance_errors(arguments, of_text(pattern), REVISION) == []
        assert not compiled(pattern).is_disputed(arguments["a"])


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^\d$", "٣"),
        (r"^\W$", "é"),
        (r"^\s$", "\ufeff"),
        (r"^\S$", "\x1c"),
        ("^a$", "a\n"),
        ("^.$", "😀"),
        (r"^[\w-]$", "é"),
        (r"\bé", "é"),
        ("(?<=a+)é", "aé"),
    ],
)
def test_texts_that_engines_read_differently_are_disputed(pattern, text):
    assert compiled(pattern).is_disputed(text)
    assert text not in [
        one.arguments.get("a") for one in invalid(of_text(pattern), REVISION) if one.keyword == "pattern"
    ]


def test_texts_that_all_engines_read_alike_are_not_disputed():
    texts = {r"^\d$": "1", r"^\w$": "\n", "^é$": "é", r"^[\d]$": "é", r"^\p{L}$": "é", "^[^]+$": "a\nb"}
    assert [text for pattern, text in texts.items() if compiled(pattern).is_disputed(text)] == []


def test_a_set_of_characters_is_made_of_a_text():
    assert of("cab") == ((97, 99),)
