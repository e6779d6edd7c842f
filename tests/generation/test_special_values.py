"""The values that handlers often get wrong: drawn, at the boundaries, and made smaller."""

import json
import math
import re
import unicodedata
from datetime import date
from itertools import islice

import pytest
from hypothesis import find, settings
from test_generation import REVISION, SHRINKING, TREE, of

from mcp_conformance.generation import (
    NoExample,
    Unsatisfiable,
    boundary,
    draw_valid,
    example,
    hostile,
    invalid,
    seeded,
    shrunk,
    together,
    valid,
)
from mcp_conformance.json_schema.validation import instance_errors

TEXT, NUMBER, INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}
RANGE = of(
    a={"type": "integer", "minimum": 0, "maximum": 999}, b={"type": "integer", "minimum": 5, "maximum": 99}
)
LIST = {"type": "array", "items": INTEGER}


def depth(value):
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, dict) + max(map(depth, inside), default=0)


CLASSES = {
    "astral": (TEXT, lambda found: max(found, default="") > "\uffff"),
    "not normalised": (TEXT, lambda found: unicodedata.normalize("NFC", found) != found),
    "long text": (TEXT, lambda found: len(found) > 255),
    "blank": (TEXT, lambda found: found != "" and not found.strip()),
    "line end": (TEXT, lambda found: "\n" in found),
    "control character": (TEXT, lambda found: any(one < "\t" for one in found)),
    "path": (TEXT, lambda found: "../" in found),
    "format": (TEXT, lambda found: "%s" in found),
    "quote": (TEXT, lambda found: '"' in found),
    "zero": (INTEGER, lambda found: found == 0),
    "minus zero": (NUMBER, lambda found: found == 0 and math.copysign(1, found) < 0),
    "whole float": (NUMBER, lambda found: isinstance(found, float) and abs(found) < 9 and found.is_integer()),
    "beyond 2**53": (NUMBER, lambda found: abs(found) > 2**53),
    "1e308": (NUMBER, lambda found: abs(found) >= 1e300),
    "tiny": (NUMBER, lambda found: 0 < abs(found) < 1e-3),
    "29 February": ({"type": "string", "format": "date"}, lambda found: found.endswith("02-29")),
    "31": ({"type": "string", "format": "date"}, lambda found: found.endswith("31")),
    "before 2000": ({"type": "string", "format": "date"}, lambda found: found < "2000"),
    "after 2099": ({"type": "string", "format": "date"}, lambda found: found > "2100"),
    "offset": ({"type": "string", "format": "date-time"}, lambda found: found[-6] in "+-"),
    "fraction": ({"type": "string", "format": "date-time"}, lambda found: "." in found),
    "more than 100 items": (LIST, lambda found: len(found) > 100),
    "duplicates": (LIST, lambda found: len(set(found)) < len(found)),
    "no items": (LIST, lambda found: not found),
    "deep": (TREE, lambda found: depth(found) > 6),
    "two edges": (RANGE, lambda found: found == {"a": 999, "b": 5}),
    "equal values": (RANGE, lambda found: found["a"] == found["b"]),
}


@pytest.mark.parametrize(("part", "is_one"), CLASSES.values(), ids=CLASSES)
@pytest.mark.parametrize("seed", range(2))
def test_a_seed_draws_each_class_of_values(part, is_one, seed):
    source = seeded(seed)
    schema = of(x=part)
    assert any(is_one(draw_valid(schema, REVISION, source)["x"]) for _ in range(600))


@pytest.mark.parametrize("name", ["astral", "line end", "whole float", "29 February", "duplicates", "quote"])
def test_hypothesis_draws_and_shrinks_the_same_classes(name):
    part, is_one = CLASSES[name]
    many = settings(SHRINKING, max_examples=3000)
    found = find(valid(of(x=part), REVISION), lambda found: is_one(found["x"]), settings=many)["x"]
    assert len(json.dumps(found)) < 20


EDGES = sorted(CLASSES.keys() - {"31", "equal values", "duplicates", "two edges"})


@pytest.mark.parametrize("name", EDGES)
def test_the_boundary_has_each_class_of_values(name):
    part, is_one = CLASSES[name]
    assert any(is_one(found["x"]) for _, found in islice(boundary(of(x=part), REVISION), 60))


def test_each_member_has_edges_among_the_first():
    names = [f"m{index}" for index in range(20)]
    part = {"type": "integer", "minimum": 3, "maximum": 9}
    found = [one for _, one in islice(boundary(of(**dict.fromkeys(names, part)), REVISION), 60)]
    assert all(any(one[name] == 9 for one in found) for name in names)


def test_a_simple_schema_has_valid_values_after_its_proofs():
    schema = of(
        a={"anyOf": [{"type": "string", "maxLength": 4}, {"type": "null"}]}, b={**LIST, "maxItems": 4}
    )
    schema["properties"] |= {"c": {"enum": [1, "x"]}, "d": {"type": "number", "minimum": 0.5}}
    source = seeded(3)
    for _ in range(500):
        assert not instance_errors(draw_valid(schema, REVISION, source), schema, REVISION)


# Hostile -----------------------------------------------------------------------------------------


def test_hostile_values_go_to_every_member_of_their_type():
    found = dict(hostile(of(a=TEXT, b=TEXT, c=INTEGER, d=NUMBER), REVISION))
    for name in "ab":
        assert f"a lone high surrogate as member {name!r}" in found
    for name in "cd":
        assert f"2**64 as member {name!r}" in found


def test_valid_values_that_every_parser_reads_alike_are_not_hostile():
    names = {what.partition(" as ")[0] for what, _ in hostile(of(a=TEXT, b={"type": "array"}), REVISION)}
    assert names.isdisjoint({"an astral character", "10000 items", "combining characters"})
    strict = {what.partition(" as ")[0] for what, _ in hostile(of(a={**TEXT, "pattern": "^x$"}), REVISION)}
    assert "an astral character" in strict


# Wrong ones --------------------------------------------------------------------------------------


def test_a_listed_value_that_is_not_an_object_is_not_drawn_as_arguments():
    with pytest.raises(Unsatisfiable):
        valid({"const": 2}, REVISION)
    source = seeded(0)
    assert all(draw_valid({"enum": [1, {}]}, REVISION, source) == {} for _ in range(20))


def test_names_beside_a_pattern_are_ascii():
    schema = {
        "type": "object",
        "patternProperties": {r"\p{Letter}": INTEGER},
        "additionalProperties": TEXT,
    }
    source = seeded(0)
    names = {name for _ in range(300) for name in draw_valid(schema, REVISION, source)}
    assert names
    assert all(name.isascii() for name in names)


@pytest.mark.parametrize(
    "denied",
    [
        {"type": "object", "properties": {"foo": TEXT}},
        {"required": ["foo"], "properties": {"foo": INTEGER}},
        {"minProperties": 3, "type": "object"},
        {"type": "object", "maxProperties": 2},
    ],
    ids=json.dumps,
)
def test_several_keywords_are_denied_together(denied):
    schema = {"not": denied}
    source = seeded(0)
    for _ in range(20):
        assert not instance_errors(draw_valid(schema, REVISION, source), schema, REVISION)


UNPLAIN = {
    "not": {"type": "string", "not": {"const": "example"}},
    "propertyNames": {"type": "object", "propertyNames": {"pattern": "^[a-c]{2}$"}, "minProperties": 3},
    "contains": {**LIST, "contains": {"minimum": 5}, "uniqueItems": True, "minItems": 3},
}


@pytest.mark.parametrize("part", UNPLAIN.values(), ids=UNPLAIN)
def test_a_part_without_plain_value_hides_no_other_part(part):
    schema = of(x=part, n={"type": "integer", "maximum": 5})
    assert {"maximum", "type", "required"} <= {one.keyword for one in invalid(schema, REVISION)}
    assert any(found["n"] == 5 for _, found in islice(boundary(schema, REVISION), 60))


# Large schemas -----------------------------------------------------------------------------------


def branch(index):
    return of(kind={"const": index}, text=TEXT)


UNIQUE = {"type": "array", "uniqueItems": True}
LARGE = {
    "anyOf": of(a={"anyOf": [branch(index) for index in range(300)]}),
    "oneOf": of(a={"oneOf": [branch(index) for index in range(100)]}),
    "enum": of(a={"enum": [f"v{index}" for index in range(1000)]}),
    "required": of(**{f"m{index}": {**TEXT, "maxLength": 5} for index in range(200)}),
    "unique": of(
        a={**LIST, "items": {**INTEGER, "minimum": 0, "maximum": 500}, "minItems": 300, "uniqueItems": True}
    ),
}


@pytest.mark.parametrize("schema", LARGE.values(), ids=LARGE)
def test_a_large_schema_has_values_of_all_kinds(schema):
    assert example(schema, REVISION)
    assert draw_valid(schema, REVISION, seeded(0))
    assert len(list(islice(boundary(schema, REVISION), 10))) == 10
    assert invalid(schema, REVISION)


# Smaller values ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "fails", "smallest"),
    [
        ({"x": [5] * 10_000}, lambda found: len(found.get("x", ())) >= 28, {"x": [0] * 28}),
        ({"x": [], "n": 2668230382}, lambda found: found.get("n", 0) >= 2**31, {"n": 2**31}),
        ({"n": -9000}, lambda found: found.get("n", 0) < -100, {"n": -101}),
        ({"t": "\U0001f600abc../%s"}, lambda found: "%" in found.get("t", ""), {"t": "%"}),
        ({"t": "x", "n": 1}, lambda found: "t" in found, {"t": ""}),
        ({"t": "first\nsecond\nthird"}, lambda found: "con" in found.get("t", ""), {"t": "con"}),
        ({"t": "x" * 70_000}, lambda found: len(found.get("t", "")) > 10_000, {"t": "x" * 10_001}),
        ({"f": 1e308}, lambda found: found.get("f", 0) > 1e99, {"f": 1e100}),
        ({"f": -1e308}, lambda found: found.get("f", 0) < -(2**60), {"f": -1e19}),
        ({"f": 1e308}, lambda found: found.get("f", 0) > 5, {"f": 6}),
        ({"n": 10**30}, lambda found: found.get("n", 0) >= 2**63, {"n": 2**63}),
    ],
)
def test_a_failing_value_is_made_smaller(value, fails, smallest):
    schema = {"type": "object", "properties": {"x": LIST, "n": INTEGER, "t": TEXT, "f": NUMBER}}
    sent = []
    found = shrunk(schema, REVISION, value, lambda one: not sent.append(one) and fails(one), 2000)
    assert json.dumps(found) == json.dumps(smallest)
    assert [one for one in sent if instance_errors(one, schema, REVISION)] == []


@pytest.mark.parametrize(
    ("part", "beyond"),
    [
        (INTEGER, [2**64, -(2**63) - 1]),
        ({**INTEGER, "minimum": 0}, [2**64]),
        ({**INTEGER, "minimum": -(10**30), "maximum": 10**30}, [10**30, -(10**30), 2**64, -(2**63) - 1]),
        ({**INTEGER, "maximum": 2**62}, [2**62, -(2**63) - 1]),
        ({**INTEGER, "maximum": 100, "minimum": 0}, []),
        ({**INTEGER, "maximum": 10**300, "minimum": 0}, [2**64]),
        ({**INTEGER, "format": "int64"}, []),
        ({**INTEGER, "multipleOf": 3}, [-(2**63) - 1]),
    ],
)
def test_integers_beyond_the_safe_ones_are_edges_where_the_schema_allows_them(part, beyond):
    found = [one["x"] for _, one in boundary(of(x=part), REVISION)]
    large = [one for one in found if isinstance(one, int) and abs(one) > 2**53]
    assert sorted(large) == sorted(beyond)


def test_long_texts_come_beside_each_listed_value():
    schema = of(data=TEXT, codec={"enum": ["hex", "url", "gzip"]})
    found = [*(one for _, one in islice(boundary(schema, REVISION), 60)), *together(schema, REVISION)]
    assert {one["codec"] for one in found if len(one["data"]) > 10_000} == {"hex", "url", "gzip"}
    assert any(len(one["data"]) > 65_535 for one in found)


def test_a_smaller_value_keeps_its_format():
    schema = of(day={**TEXT, "format": "date"}, mail={**TEXT, "format": "email"})
    value = {"day": "9999-12-31", "mail": "somebody.else@long.example.com"}
    found = shrunk(schema, REVISION, value, lambda _: True, 60)
    date.fromisoformat(found["day"])
    assert re.fullmatch(r"[^@]+@[^@]+", found["mail"])


def test_a_smaller_value_is_valid_and_costs_few_calls():
    schema = of(x={**LIST, "minItems": 3, "items": {**INTEGER, "minimum": 7}})
    calls = []
    found = shrunk(schema, REVISION, {"x": [500] * 40}, lambda one: not calls.append(one), 30)
    assert not instance_errors(found, schema, REVISION)
    assert len(calls) <= 30
    with pytest.raises(NoExample):
        shrunk({"type": "sometimes"}, REVISION, {}, lambda _: True, 1)
