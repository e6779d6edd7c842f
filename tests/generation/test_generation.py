"""Valid values: from Hypothesis and from a seed, for every keyword and dialect."""

import json
import re
import socket

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from mcp_conformance.generation import (
    HypothesisSource,
    NoExample,
    PlainSource,
    Unsatisfiable,
    boundary,
    draw_valid,
    example,
    invalid,
    seeded,
    valid,
    values,
)
from mcp_conformance.json_schema.validation import DIALECTS, instance_errors

REVISION = "2025-11-25"
WITHOUT_DIALECT = "2024-11-05"
QUIET = settings(
    max_examples=25,
    database=None,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
SHRINKING = settings(QUIET, max_examples=600, phases=[Phase.generate, Phase.shrink])


def of(**properties):
    """Return the schema of an object that requires these properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def old(dialect, **keywords):
    """Return the schema of an object that names its dialect."""
    return {"$schema": DIALECTS[dialect], "type": "object", **keywords}


TREE = {
    "type": "object",
    "properties": {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["value"],
}
PAIR = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2}
SCHEMAS = {
    "no parameters": {"type": "object", "properties": {}, "additionalProperties": False},
    "anything": {"type": "object"},
    "true": True,
    "scalars": of(a={"type": "integer"}, b={"type": "number"}, c={"type": "boolean"}, d={"type": "null"}),
    "bounds": of(
        a={"type": "integer", "minimum": 3, "exclusiveMaximum": 5},
        b={"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        c={"type": "integer", "multipleOf": 7, "minimum": 1},
        d={"type": "number", "multipleOf": 0.5},
    ),
    "beyond 2**53": of(a={"type": "integer", "minimum": 2**60}),
    "texts": of(
        a={"type": "string", "minLength": 3, "maxLength": 4},
        b={"type": "string", "pattern": "^[a-z]+-[0-9]{2}$"},
        c={"type": "string", "pattern": "^[A-Z]+$", "minLength": 10, "maxLength": 12},
        d={"type": "string", "minLength": 3000},
    ),
    "formats": of(
        **{
            name: {"type": "string", "format": name}
            for name in ("date", "date-time", "email", "uuid", "ipv4", "ipv6", "uri", "json-pointer", "odd")
        }
    ),
    "listed": of(
        a={"enum": [1, "two", None]}, b={"const": {"c": [1]}}, c={"type": "string", "enum": ["x", 1]}
    ),
    "several types": of(a={"type": ["string", "null"]}, b={"type": ["integer", "array"], "minimum": 2}),
    "array": of(a={"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3}),
    "unique": of(a={"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3}),
    "many items": of(a={"type": "array", "items": {"type": "integer"}, "minItems": 3000}),
    "two patterns": of(a={"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "z$"}]}),
    "not writable": of(a={"type": "number", "default": float("1e400")}),
    "impossible option": {"type": "object", "properties": {"a": {"pattern": "^a$", "minLength": 3}}},
    "names like keywords": of(
        **{"$ref": {"type": "string"}, "$id": {"type": "string"}, "enum": {"type": "null"}}
    ),
    "negations": {
        **of(
            a={"not": {"anyOf": [{"type": "string"}, {"required": ["b"]}]}},
            b={"not": {"not": {"type": "null"}}},
        ),
        "not": {"required": ["b", "c"]},
    },
    "other patterns": of(a={"pattern": "^\t.$", "type": "string"}, b={"pattern": "^é+$", "type": "string"}),
    "if required": {
        "type": "object",
        "if": {"required": ["a"]},
        "then": {"required": ["b"]},
        "else": {"required": ["c"]},
    },
    "prefixItems": of(a=PAIR, b={**PAIR, "items": False}),
    "contains": of(a={"type": "array", "contains": {"const": 5}, "minContains": 2, "maxContains": 3}),
    "allOf": {
        "type": "object",
        "allOf": [of(a={"type": "integer"}), of(a={"minimum": 5}, b={"type": "null"})],
    },
    "anyOf": {"type": "object", "anyOf": [of(a={"type": "integer"}), of(b={"type": "string"})]},
    "oneOf": {"type": "object", "oneOf": [of(kind={"const": "a"}), of(kind={"const": "b"}, size=True)]},
    "not": {**of(a={"type": ["integer", "string"], "not": {"type": "string"}}), "not": {"required": ["b"]}},
    "if": {
        **of(a={"type": "boolean"}),
        "if": of(a={"const": True}),
        "then": of(b={"type": "string"}),
        "else": of(c={"type": "integer"}),
    },
    "maps": of(
        a={"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2},
        b={"type": "object", "patternProperties": {"^x-": {"type": "null"}}, "additionalProperties": False},
        c={
            "type": "object",
            "propertyNames": {"pattern": "^[a-c]{2}$"},
            "minProperties": 1,
            "maxProperties": 2,
        },
    ),
    "dependentRequired": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "dependentRequired": {"a": ["b", "c"]},
    },
    "dependentSchemas": {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "dependentSchemas": {"a": of(b={"type": "string"})},
    },
    "unevaluatedProperties": {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "anyOf": [of(b={"type": "string"}), {"properties": {"c": {"type": "null"}}}],
        "unevaluatedProperties": False,
    },
    "unevaluatedItems": of(
        a={**PAIR, "anyOf": [{"items": {"type": "integer"}}, True], "unevaluatedItems": False}
    ),
    "references": {
        "type": "object",
        "$defs": {
            "a": {"$anchor": "here", "type": "integer"},
            "b": {"$id": "https://example.org/b", "$defs": {"c": {"type": "null"}}, "$ref": "#/$defs/c"},
        },
        "properties": {"a": {"$ref": "#here", "minimum": 3}, "b": {"$ref": "https://example.org/b"}},
        "required": ["a", "b"],
    },
    "recursion": TREE,
    "mutual recursion": {
        "type": "object",
        "$defs": {
            "a": of(b={"anyOf": [{"$ref": "#/$defs/b"}, {"type": "null"}]}),
            "b": of(a={"$ref": "#/$defs/a"}),
        },
        "$ref": "#/$defs/a",
    },
    "dynamicRef": {
        "$id": "https://example.org/strict-tree",
        "$dynamicAnchor": "node",
        "type": "object",
        "$ref": "tree",
        "unevaluatedProperties": False,
        "$defs": {
            "tree": {
                "$id": "https://example.org/tree",
                "$dynamicAnchor": "node",
                "type": "object",
                "properties": {
                    "data": True,
                    "children": {"type": "array", "items": {"$dynamicRef": "#node"}},
                },
            }
        },
    },
    "meta-schema": of(schema={"$ref": "https://json-schema.org/draft/2020-12/schema"}),
    "examples and default": of(a={"type": "string", "examples": ["one", 2], "default": "three"}),
    "2019-09": old(
        "2019-09",
        properties={
            "a": {"items": [{"type": "string"}], "additionalItems": {"type": "null"}, "type": "array"}
        },
        dependentRequired={"a": ["b"]},
        required=["a"],
    ),
    "2019-09 recursion": old("2019-09", properties={"a": {"$recursiveRef": "#"}}, additionalProperties=False),
    "draft-07": old(
        "draft-07",
        definitions={"a": {"type": "integer"}},
        properties={"a": {"$ref": "#/definitions/a", "type": "string"}, "b": {"items": [{"const": 1}]}},
        dependencies={"a": ["b"], "c": {"required": ["d"]}},
        required=["a", "c"],
    ),
    "draft-06": old("draft-06", properties={"a": {"const": 1, "if": False}}, required=["a"]),
    "draft-04": old(
        "draft-04",
        id="https://example.org/four",
        properties={"a": {"type": "integer", "minimum": 3, "exclusiveMinimum": True, "maximum": 5}},
        required=["a"],
        additionalProperties=False,
    ),
}
IMPOSSIBLE = {
    "false": False,
    "bounds": of(a={"type": "integer", "minimum": 3, "maximum": 2}),
    "integers": of(a={"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 4}),
    "lengths": of(a={"type": "string", "minLength": 3, "maxLength": 2}),
    "types": {"allOf": [of(a={"type": "string"}), of(a={"type": "integer"})]},
    "enum": of(a={"type": "string", "enum": [1, 2]}),
    "not": of(a={"not": {}}),
    "closed": {"type": "object", "required": ["a"], "additionalProperties": False},
    "unevaluated": {"type": "object", "required": ["a"], "unevaluatedProperties": False},
    "forbidden": {"type": "object", "required": ["a"], "not": {"required": ["a"]}},
    "members": {"type": "object", "required": ["a", "b"], "maxProperties": 1},
    "items": of(a={"type": "array", "prefixItems": [True], "items": False, "minItems": 2}),
    "recursion": {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    "branches": {"anyOf": [of(a=False), of(b={"type": "null", "const": 1})]},
    "not an object": {"type": "string"},
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_hypothesis_draws_valid_arguments(schema):
    drawn = []

    @QUIET
    @given(valid(schema, REVISION))
    def collect(arguments):
        drawn.append(arguments)

    collect()
    assert drawn
    for arguments in drawn:
        assert isinstance(arguments, dict)
        assert not instance_errors(arguments, schema, REVISION)
        json.dumps(arguments, allow_nan=False).encode()


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_seed_draws_the_same_valid_arguments(schema):
    first, second = seeded(7), seeded(7)
    for _ in range(30):
        arguments = draw_valid(schema, REVISION, first)
        assert not instance_errors(arguments, schema, REVISION)
        assert json.dumps(arguments) == json.dumps(draw_valid(schema, REVISION, second))


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_the_example_is_valid_and_always_the_same(schema):
    arguments = example(schema, REVISION)
    assert not instance_errors(arguments, schema, REVISION)
    assert arguments == example(schema, REVISION)


@pytest.mark.parametrize("schema", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_an_unsatisfiable_schema_is_recognised(schema):
    with pytest.raises(Unsatisfiable, match=r"\w"):
        valid(schema, REVISION)
    with pytest.raises(Unsatisfiable):
        draw_valid(schema, REVISION, seeded(0))
    with pytest.raises(Unsatisfiable):
        example(schema, REVISION)


def test_patterns_are_read_as_ecma_262():
    schema = of(a={"type": "string", "pattern": r"^\p{Lu}(?<rest>[\p{Ll}\u{2d}]+)$"})
    source = seeded(0)
    for _ in range(20):
        assert re.fullmatch("[A-Z][a-z-]+", draw_valid(schema, REVISION, source)["a"])


def test_different_seeds_draw_different_arguments():
    schema = SCHEMAS["scalars"]
    assert len({json.dumps(draw_valid(schema, REVISION, seeded(seed))) for seed in range(20)}) > 15


def test_seeded_numbers_come_from_both_halves_of_their_range():
    schema = of(a={"type": "number", "minimum": 0, "maximum": 100})
    drawn = [draw_valid(schema, REVISION, seeded(seed))["a"] for seed in range(100)]
    assert min(sum(0 < one < 50 for one in drawn), sum(50 < one < 100 for one in drawn)) > 10


def test_the_schema_is_not_changed():
    schema = json.loads(json.dumps(SCHEMAS["texts"]))
    draw_valid(schema, REVISION, seeded(0))
    assert schema == SCHEMAS["texts"]


MIXED = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "text": {"type": "string"},
        "list": {"type": "array", "items": {"type": "integer"}},
        "inner": {"type": "object", "properties": {"ratio": {"type": "number"}}},
        "choice": {"anyOf": [{"type": "null"}, {"type": "string", "minLength": 3}]},
    },
    "required": ["text"],
}


def depth(tree):
    return 1 + max((depth(child) for child in tree.get("children", [])), default=0)


@pytest.mark.parametrize(
    ("schema", "condition", "smallest"),
    [
        (MIXED, lambda _: True, {"text": ""}),
        (MIXED, lambda found: found.get("count", 0) > 1000, {"count": 1001, "text": ""}),
        (MIXED, lambda found: len(found["text"]) > 5, {"text": "000000"}),
        (MIXED, lambda found: sum(found.get("list", [])) > 100, {"text": "", "list": [101]}),
        (MIXED, lambda found: "ratio" in found.get("inner", {}), {"text": "", "inner": {"ratio": 0}}),
        (MIXED, lambda found: isinstance(found.get("choice"), str), {"text": "", "choice": "000"}),
        (MIXED, lambda found: {"count", "list"} <= found.keys(), {"count": 0, "text": "", "list": []}),
        (TREE, lambda found: depth(found) > 1, {"value": 0, "children": [{"value": 0}]}),
    ],
)
def test_a_failure_shrinks_to_the_obvious_minimum(schema, condition, smallest):
    assert find(valid(schema, REVISION), condition, settings=SHRINKING) == smallest


def test_draw_valid_takes_its_choices_from_hypothesis_data():
    @settings(QUIET, max_examples=10)
    @given(st.data())
    def draw(data):
        arguments = draw_valid(TREE, REVISION, HypothesisSource(data.draw))
        assert not instance_errors(arguments, TREE, REVISION)

    draw()


def test_an_example_has_the_values_that_the_schema_names():
    schema = of(
        a={"type": "string", "examples": [1, "one"]}, b={"default": 5}, c={"const": 6}, d={"enum": [7]}
    )
    assert example(schema, REVISION) == {"a": "one", "b": 5, "c": 6, "d": 7}


def test_plain_choices_make_simple_values():
    schema = of(a={"type": "string"}, b={"type": "integer"}, c={"type": "boolean"}, d={"type": "array"})
    schema["properties"]["e"] = {"type": "string"}
    assert draw_valid(schema, REVISION, PlainSource()) == {"a": "example", "b": 1, "c": False, "d": []}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": ["null", "string"]}, "example"),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1),
        ({"oneOf": [{"const": None}, {"const": 3}]}, 3),
        ({"enum": [None, "x"]}, "x"),
        ({"type": ["string", "null"], "default": None}, "example"),
        ({"type": ["string", "integer"]}, "example"),
        ({"type": ["integer", "boolean"]}, 1),
        ({}, "example"),
        ({"enum": ["a", "b", "c"], "default": "b"}, "b"),
        ({"enum": ["a", "b", "c"], "default": "b", "examples": ["d", "c"]}, "c"),
        ({"type": "null"}, None),
        ({"type": "string", "format": "ipv4"}, "127.0.0.1"),
        ({"type": "string", "format": "duration"}, "PT1S"),
        ({"type": "string", "format": "iri"}, "https://example.org"),
    ],
    ids=str,
)
def test_an_example_is_a_typical_value(schema, value):
    assert example(of(a=schema), REVISION) == {"a": value}


def test_the_users_examples_are_drawn():
    own = {"text": "mine", "count": -12345}
    assert find(valid(MIXED, REVISION, [own]), lambda found: found == own, settings=SHRINKING) == own


def test_an_invalid_example_of_the_user_is_an_error():
    with pytest.raises(ValueError, match="not valid"):
        valid(MIXED, REVISION, [{"text": 5}])


HARD_PATTERN = of(a={"type": "string", "pattern": "^(?=[a-z]{9}$)(?=.*zqx)(?=qyj)"})


@pytest.mark.parametrize("schema", [HARD_PATTERN, {"type": "sometimes"}])
def test_the_users_examples_are_used_if_none_can_be_generated(schema):
    own = {"a": "qyjaaazqx"}
    with pytest.raises(NoExample):
        valid(schema, REVISION)
    assert find(valid(schema, REVISION, [own]), lambda _: True, settings=SHRINKING) == own
    assert list(boundary(schema, REVISION, [own])) == [("the user's example", own)]


@pytest.mark.parametrize("reference", ["https://example.org/other", "other.json", "#/nowhere", "#nowhere"])
def test_a_dangling_reference_is_an_error_and_nothing_is_fetched(reference, monkeypatch):
    def connect(*_):
        pytest.fail("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(NoExample, match="cannot be resolved"):
        valid(of(a={"$ref": reference}), REVISION)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "sometimes"},
        {"type": "object", "properties": []},
        {"$schema": "https://example.org/dialect", "type": "object"},
        of(a={"type": "string", "pattern": "(["}),
        5,
    ],
)
def test_a_broken_schema_has_no_example(schema):
    with pytest.raises(NoExample):
        example(schema, REVISION)


MANY = 10**9


@pytest.mark.parametrize(
    "huge",
    [
        {"type": "string", "minLength": MANY},
        {"type": "string", "minLength": MANY, "pattern": "^[a-z]+$"},
        {"type": "array", "minItems": MANY},
        {"type": "array", "minItems": 5000, "items": {"type": "string", "minLength": 5000}},
        {"type": "array", "minContains": MANY, "contains": {"const": 1}},
        {"type": "object", "minProperties": MANY},
    ],
    ids=json.dumps,
)
def test_a_huge_value_is_not_generated(huge):
    with pytest.raises(NoExample, match="would"):
        example(of(a=huge), REVISION)
    without = {"type": "object", "properties": {"a": huge}}
    assert example(without, REVISION) == {}
    assert [arguments for _, arguments in boundary(without, REVISION) if "a" in arguments] == []
    assert invalid(of(a=huge), REVISION)


def test_a_failed_search_names_the_keyword():
    with pytest.raises(NoExample, match="oneOf"):
        example(of(a={"oneOf": [True, True]}), REVISION)


def test_a_schema_nested_too_deeply_has_no_example():
    schema = {}
    for _ in range(3000):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    with pytest.raises(NoExample, match="deep"):
        example(schema, REVISION)


def test_without_a_dialect_values_are_valid_in_every_dialect():
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/a", "minimum": 5}},
        "$defs": {"a": {"type": "integer"}},
        "required": ["a"],
    }
    source = seeded(1)
    for _ in range(30):
        arguments = draw_valid(schema, WITHOUT_DIALECT, source)
        for dialect in DIALECTS.values():
            assert not instance_errors(arguments, {"$schema": dialect, **schema}, REVISION)


def test_values_need_not_be_objects():
    found = set()

    @settings(QUIET, max_examples=60)
    @given(values({"type": ["integer", "array"], "items": {"type": "null"}}, REVISION))
    def collect(value):
        found.add(type(value))

    collect()
    assert found == {int, list}


def test_ambiguous_values_are_not_drawn():
    schema = of(
        a={"type": "string", "pattern": r"^\d+$"},
        b={"type": "integer"},
        c={"type": "string", "maxLength": 5},
        d={"type": "string", "pattern": "^.$"},
    )
    source = seeded(2)
    for _ in range(300):
        arguments = draw_valid(schema, REVISION, source)
        assert arguments["a"].isascii()
        assert not arguments["a"].endswith("\n")
        assert type(arguments["b"]) is int
        assert abs(arguments["b"]) < 2**53
        assert len(arguments["c"].encode("utf-16-le")) <= 2 * 5
        assert arguments["d"].isprintable()
