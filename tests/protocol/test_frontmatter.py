"""The frontmatter of a SKILL.md against the JSON that an entry has of it."""

import pytest

from mcp_conformance.protocol.frontmatter import MAX_CHARACTERS, YamlError, differences, fields, frontmatter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nname: a\n---\n# A", "name: a\n"),
        ("\ufeff---\r\nname: a\r\n---\r\n", "name: a\r\n"),
        ("---\nname: a\n---", "name: a\n"),
        ("---\nname: a\nrule: ---\n---\n---\n", "name: a\nrule: ---\n"),
        ("---\n---\n", ""),
        ("# A\n---\nname: a\n---\n", None),
        ("---\nname: a\n", None),
        ("", None),
    ],
)
def test_frontmatter_is_between_two_lines(text, expected):
    assert frontmatter(text) == expected


@pytest.mark.parametrize(
    ("source", "json"),
    [
        ("name: a\nversion: '1.0'", {"name": "a", "version": "1.0"}),
        ("version: 1.0", {"version": 1}),
        ("version: 1.0", {"version": "1.0"}),
        ("since: 2026-01-31", {"since": "2026-01-31T00:00:00.000Z"}),
        ("since: 2026-01-31", {"since": "2026-01-31"}),
        ("on: on", {"on": True}),
        ("on: on", {"on": "on"}),
        ("mode: 012", {"mode": 10}),
        ("mode: 012", {"mode": 12}),
        ("mode: 0o12", {"mode": 10}),
        ("at: 1:30", {"at": 90}),
        ("none: ~\nempty:", {"none": None, "empty": None}),
        ("base: &b {x: 1}\nmore: *b", {"base": {"x": 1}, "more": {"x": 1}}),
        (
            "base: &b {x: 1, y: 1}\nmore:\n  <<: *b\n  y: 2",
            {"base": {"x": 1, "y": 1}, "more": {"x": 1, "y": 2}},
        ),
        ("base: &b {x: 1}\nmore:\n  <<: *b", {"base": {"x": 1}, "more": {"<<": {"x": 1}}}),
        ("text: |\n  one\n  two\n", {"text": "one\ntwo"}),
        ("text: >-\n  größer\n  kleiner 😀", {"text": "größer kleiner 😀"}),
        ("tags: [a, b]", {"tags": ["a", "b"]}),
        ("own: !mine x", {"own": {"anything": 1}}),
        ("1: one", {"1": "one"}),
    ],
)
def test_what_libraries_make_of_yaml_is_the_same(source, json):
    assert differences(source, json) == []


@pytest.mark.parametrize(
    ("source", "json", "expected"),
    [
        ("name: a\nlicense: MIT", {"name": "a"}, ["license"]),
        ("name: a", {"name": "a", "license": "MIT"}, ["license"]),
        ("version: '2.0'", {"version": 2}, ["version"]),
        ("flag: true", {"flag": False}, ["flag"]),
        ("flag: 'yes'", {"flag": True}, ["flag"]),
        ("tags: [a, b]", {"tags": ["b", "a"]}, ["tags"]),
        ("tags: [a, b]", {"tags": "a, b"}, ["tags"]),
        ("meta: {x: 1}", {"meta": {"x": 1, "y": 2}}, ["meta"]),
        ("meta: {x: 1}", {"meta": {"y": 1}}, ["meta"]),
        ("number: 3", {"number": 4}, ["number"]),
        ("loop: &l [*l]", {"loop": [[[]]]}, ["loop"]),
        ("name: a", None, ["name"]),
    ],
)
def test_what_differs_is_named(source, json, expected):
    assert differences(source, json) == expected


@pytest.mark.parametrize(
    "source",
    ["description: so: today", "- a", "", "a: [", f"a: {'x' * MAX_CHARACTERS}", "a: " + "[" * 5000],
)
def test_what_is_no_mapping_in_yaml_is_an_error(source):
    with pytest.raises(YamlError):
        fields(source)
