"""Boundary, invalid and hostile arguments."""

import json
from itertools import pairwise

import pytest
from hypothesis import find, given, settings
from test_generation import IMPOSSIBLE, MIXED, QUIET, REVISION, SCHEMAS, SHRINKING, TREE, of

from mcp_conformance.generation import (
    NoExample,
    boundary,
    clearly_invalid,
    draw_invalid,
    hostile,
    invalid,
    invalid_since_2020_12,
    invalid_strategy,
    seeded,
)
from mcp_conformance.json_schema.validation import instance_errors
from support.nightly import some_of

LARGE = {"meta-schema"}
TABLE = {name: schema for name, schema in SCHEMAS.items() if name not in LARGE}


def edges(schema):
    return [arguments for _, arguments in boundary(schema, REVISION)]


@pytest.mark.parametrize("name", some_of(TABLE, 3))
def test_every_edge_is_valid(name):
    schema = TABLE[name]
    found = edges(schema)
    assert found
    for arguments in found:
        assert not instance_errors(arguments, schema, REVISION)
    assert found == edges(schema)


@pytest.mark.parametrize(
    ("part", "wanted"),
    [
        ({"type": "integer", "minimum": 3, "maximum": 9}, [3, 4, 8, 9]),
        ({"type": "integer", "exclusiveMinimum": 3, "multipleOf": 4, "maximum": 12}, [4, 8, 12]),
        ({"type": "number", "minimum": 0.5, "maximum": 2}, [0.5, 2]),
        ({"type": "boolean"}, [False, True]),
        ({"type": ["null", "boolean"]}, [None, False, True]),
        ({"enum": ["x", 2, None]}, ["x", 2, None]),
        ({"anyOf": [{"const": 1}, {"enum": [2, 3]}, {"type": "null"}]}, [1, 2, 3, None]),
        ({"type": "string", "examples": ["one"], "default": "two"}, ["one", "two"]),
        ({"type": "array", "items": {"const": 1}, "minItems": 1, "maxItems": 3}, [[1], [1, 1], [1, 1, 1]]),
        ({"type": "array", "prefixItems": [{"enum": [1, 2]}], "items": False}, [[], [1], [2]]),
        ({"type": "object", "properties": {"b": {"const": 1}}}, [{}, {"b": 1}]),
    ],
)
def test_each_case_of_a_part_is_an_edge(part, wanted):
    found = [arguments["a"] for arguments in edges(of(a=part))]
    assert [value for value in wanted if value not in found] == []


def test_the_exact_lengths_are_edges():
    found = {
        len(arguments["a"]) for arguments in edges(of(a={"type": "string", "minLength": 2, "maxLength": 9}))
    }
    assert {2, 3, 8, 9} <= found


def test_optional_members_are_present_and_absent():
    found = edges(MIXED)
    for name in MIXED["properties"]:
        assert any(name in arguments for arguments in found)
    assert {"text": "example"} in found
    assert any(arguments.keys() == MIXED["properties"].keys() for arguments in found)


def test_the_users_examples_come_first():
    own = {"text": "mine"}
    assert next(boundary(MIXED, REVISION, [own])) == ("the user's example", own)


@pytest.mark.parametrize("name", some_of(TABLE, 3))
def test_every_invalid_value_has_errors(name):
    schema = TABLE[name]
    found = invalid(schema, REVISION)
    for one in found:
        assert instance_errors(one.arguments, schema, REVISION)
        assert one.keyword
        assert (one.kind == "arguments") == (not isinstance(one.arguments, dict))
    assert found == invalid(schema, REVISION)


VIOLATIONS = {
    "type": {"type": "integer"},
    "enum": {"enum": ["a", "b"]},
    "const": {"const": 5},
    "minimum": {"type": "integer", "minimum": 3},
    "maximum": {"type": "number", "maximum": 3},
    "exclusiveMinimum": {"exclusiveMinimum": 3},
    "exclusiveMaximum": {"exclusiveMaximum": 3},
    "multipleOf": {"type": "integer", "multipleOf": 5},
    "minLength": {"type": "string", "minLength": 1},
    "maxLength": {"type": "string", "maxLength": 10},
    "pattern": {"type": "string", "pattern": "^[a-z]+$"},
    "minItems": {"type": "array", "minItems": 2},
    "maxItems": {"type": "array", "items": {"type": "integer"}, "maxItems": 10_000},
    "uniqueItems": {"type": "array", "uniqueItems": True},
    "contains": {"type": "array", "contains": {"type": "string"}},
    "maxContains": {"type": "array", "contains": {"type": "string"}, "maxContains": 1},
    "items": {"type": "array", "prefixItems": [True], "items": False},
    "unevaluatedItems": {"type": "array", "prefixItems": [True], "unevaluatedItems": False},
    "required": of(b={"type": "string"}),
    "additionalProperties": {"type": "object", "additionalProperties": False},
    "unevaluatedProperties": {"type": "object", "properties": {"b": True}, "unevaluatedProperties": False},
    "minProperties": {"type": "object", "minProperties": 2},
    "maxProperties": {"type": "object", "maxProperties": 2},
    "dependentRequired": {"type": "object", "properties": {"b": True}, "dependentRequired": {"b": ["c"]}},
    "not": {"not": {"type": "string"}},
    "anyOf": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "oneOf": {"oneOf": [{"type": "integer"}, {"minimum": 2}]},
}


@pytest.mark.parametrize(("keyword", "part"), VIOLATIONS.items(), ids=VIOLATIONS)
def test_each_keyword_is_violated(keyword, part):
    found = invalid(of(a=part), REVISION)
    assert any(one.keyword == keyword and one.pointer == "/a" for one in found)


def test_too_many_items_differ_if_items_are_unique():
    part = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "maxItems": 3}
    found = [one.arguments["a"] for one in invalid(of(a=part), REVISION) if one.keyword == "maxItems"]
    assert [len(set(items)) for items in found][:1] == [4]


def test_other_keywords_beside_enum_are_violated():
    found = invalid(of(a={"enum": ["aa", "bbb"], "minLength": 2, "maxLength": 3}), REVISION)
    assert {"enum", "minLength", "maxLength"} <= {one.keyword for one in found}


def test_property_names_are_violated():
    schema = of(a={"type": "object", "propertyNames": {"maxLength": 3}})
    assert any(one.kind == "name" and one.keyword == "maxLength" for one in invalid(schema, REVISION))


def test_nested_schemas_are_violated():
    schema = of(a={"type": "array", "items": {"anyOf": [of(b={"type": "integer"}), {"type": "null"}]}})
    found = {(one.pointer, one.location) for one in invalid(schema, REVISION)}
    assert ("/a/0/b", "/properties/a/items/anyOf/0/properties/b/type") in found
    assert ("/a/0", "/properties/a/items/anyOf/0/required") in found


def test_a_recursive_schema_is_violated_at_some_depths():
    pointers = {one.pointer for one in invalid(TREE, REVISION)}
    assert {"/value", "/children", "/children/0/value"} <= pointers


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"type": "integer"}, "5"),
        ({"type": "boolean"}, "true"),
        ({"type": "string"}, 5),
        ({"enum": ["on", "off"]}, "ON"),
    ],
)
def test_a_value_that_servers_may_coerce_is_coercible(part, value):
    found = [one for one in invalid(of(a=part), REVISION) if one.arguments == {"a": value}]
    assert [one.coercible for one in found] == [True]


def test_a_value_that_no_server_coerces_is_not_coercible():
    found = [one for one in invalid(of(a={"type": "integer"}), REVISION) if one.kind == "type"]
    uncoercible = [one.arguments["a"] for one in found if not one.coercible]
    assert uncoercible
    assert all(isinstance(value, dict | list) for value in uncoercible)


def test_a_missing_member_is_coercible_if_it_has_a_default():
    found = [one for one in invalid(of(a={"default": 5}, b={}), REVISION) if one.kind == "missing"]
    assert {one.detail: one.coercible for one in found} == {"a": True, "b": False}


def test_ambiguous_values_are_not_invalid():
    schema = of(
        a={"type": "integer"}, b={"type": "string", "format": "email"}, c={"type": "number", "maximum": 2**53}
    )
    found = list(invalid(schema, REVISION))
    assert {one.keyword for one in found} == {"type", "required"}
    assert not any(type(one.arguments.get("a")) is bool for one in found if isinstance(one.arguments, dict))


def test_without_a_dialect_a_value_is_invalid_in_every_dialect():
    schema = of(a={"type": "array", "prefixItems": [{"type": "integer"}]}, b={"type": "integer"})
    pointers = {one.pointer for one in invalid(schema, "2024-11-05")}
    assert "/b" in pointers
    assert "/a/0" not in pointers
    assert "/a/0" in {one.pointer for one in invalid(schema, REVISION)}


@pytest.mark.parametrize(
    "name", ["scalars", "bounds", "texts", "oneOf", "maps", "recursion", "draft-04", "if"]
)
def test_random_faults_have_errors_and_a_seed_repeats_them(name):
    schema = SCHEMAS[name]

    @settings(QUIET, max_examples=40)
    @given(invalid_strategy(schema, REVISION))
    def check(one):
        assert instance_errors(one.arguments, schema, REVISION)

    check()
    first, second = seeded(3), seeded(3)
    for _ in range(40):
        one = draw_invalid(schema, REVISION, first)
        assert instance_errors(one.arguments, schema, REVISION)
        assert one == draw_invalid(schema, REVISION, second)


def test_clear_faults_are_objects_and_not_coercible():
    @settings(QUIET, max_examples=60)
    @given(invalid_strategy(MIXED, REVISION, clear=True))
    def check(one):
        assert isinstance(one.arguments, dict)
        assert not one.coercible

    check()


def test_a_clear_fault_is_put_into_the_given_arguments():
    schema = of(n={"type": "integer"}, t={"type": "string", "default": "x"}, o={"type": "object"})
    schema |= {"dependentRequired": {"o": ["t"]}}
    own = {"o": {"mine": 1}, "n": 5, "t": "mine"}
    found = [one.arguments for one in clearly_invalid(schema, REVISION, own)]
    assert found == [{"o": {"mine": 1}, "t": "mine"}, {**own, "n": {"unexpected": {}}}]


def test_faults_since_2020_12_violate_newer_keywords_only():
    pair = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False}
    schema = of(at={"type": "object", "properties": {"x": {}, "y": {}}, "dependentRequired": {"x": ["y"]}})
    schema["properties"] |= {"pair": pair, "prefixItems": {"type": "string", "maxLength": 3}}
    found = {one.location for one in invalid_since_2020_12(schema, REVISION)}
    assert found == {"/properties/at/dependentRequired", "/properties/pair/prefixItems/0/type"}


def test_random_faults_vary():
    source = seeded(4)
    found = [draw_invalid(MIXED, REVISION, source) for _ in range(200)]
    assert len({json.dumps(one.arguments) for one in found}) > len(invalid(MIXED, REVISION))


def test_a_later_item_of_an_array_is_broken_too():
    pair = {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer", "minimum": 3}}
    schema = of(list={"type": "array", "items": {"type": "integer", "maximum": 5}}, pair=pair)
    found = {one.pointer for one in invalid(schema, REVISION) if one.keyword == "type"}
    assert {"/list/0", "/list/1", "/pair/0", "/pair/1", "/pair/2"} <= found


def test_a_fault_in_a_name_is_varied():
    schema = of(a={"type": "object", "propertyNames": {"maxLength": 2}})
    source = seeded(4)
    found = [draw_invalid(schema, REVISION, source) for _ in range(200)]
    assert len({str(one.arguments) for one in found if one.keyword == "maxLength"}) > 1


def test_a_fault_shrinks_to_the_plainest_arguments_around_it():
    smallest = find(
        invalid_strategy(MIXED, REVISION), lambda one: one.pointer == "/count", settings=SHRINKING
    )
    fault = smallest.arguments.pop("count")
    assert fault in ({"unexpected": {}}, [[]])
    assert smallest.arguments == {"text": "example"}


def test_a_violation_in_an_array_is_not_placed_in_a_text():
    schema = of(
        a={"anyOf": [{"type": "array", "items": {"type": "array", "maxItems": 1}}, {"type": "string"}]}
    )
    source = seeded(0)
    for _ in range(100):
        assert instance_errors(draw_invalid(schema, REVISION, source).arguments, schema, REVISION)


def test_a_schema_that_forbids_nothing_has_no_invalid_arguments():
    with pytest.raises(NoExample, match="forbids no"):
        invalid_strategy(True, "2024-11-05")


HOSTILE = ["scalars", "texts", "array", "recursion", "no parameters", "anything", "draft-04"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_arguments_are_json_text(name):
    found = dict(hostile(SCHEMAS[name], REVISION))
    assert found["arguments absent"] is None
    assert found["arguments null"] == b"null"
    for case, raw in found.items():
        if raw is not None and "5000 deep" not in case and "digits" not in case:
            json.loads(raw)
        assert raw is None or b"\n" not in raw


def test_hostile_values_are_placed_where_the_schema_allows_them():
    found = dict(hostile(of(n={"type": "integer"}, t={"type": "string"}, u={"const": 1}), REVISION))
    assert json.loads(found["2**53 + 1 as member 'n'"]) == {"n": 2**53 + 1, "t": "example", "u": 1}
    assert json.loads(found["a text with NUL as member 't'"])["t"] == "a\0b"
    assert len(found["a text of 1 MiB as member 't'"]) > 2**20
    assert found["a lone high surrogate as member 't'"].count(rb'"\ud800"') == 1
    assert found["arrays 5000 deep as an undeclared member"].count(b"[") == 5000


def test_a_duplicate_member_is_written_twice():
    raw = dict(hostile(of(n={"type": "integer"}), REVISION))["a duplicate member"]
    names = [name for name, _ in json.loads(raw, object_pairs_hook=list)]
    assert any(one == other for one, other in pairwise(sorted(names)))


@pytest.mark.parametrize("schema", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_an_unsatisfiable_schema_still_gets_hostile_arguments(schema):
    assert len(list(hostile(schema, REVISION))) > 40


def test_a_violation_in_an_array_is_not_moved_into_a_text():
    text = {"type": "string"}
    either = {"anyOf": [text, {"type": "array", "items": text}]}
    schema = {"type": "object", "properties": {"paths": either}, "required": ["paths"]}
    for seed in range(200):
        wrong = draw_invalid(schema, REVISION, seeded(seed))
        assert instance_errors(wrong.arguments, schema, REVISION)


def test_a_text_in_place_of_a_list_has_no_items_to_be_made_invalid():
    names = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    schema = of(names=names, n={"type": "integer"})
    for seed in range(300):
        wrong = draw_invalid(schema, REVISION, seeded(seed))
        assert instance_errors(wrong.arguments, schema, REVISION)


ROW = {"type": "object", "properties": {name: {"type": "string"} for name in "abcdefghij"}}


@pytest.mark.parametrize("items", [{"type": "integer"}, ROW, {}], ids=["integers", "rows", "any"])
@pytest.mark.parametrize("most", [10_000, 100_000])
def test_an_array_that_may_be_long_does_not_keep_other_keywords_from_being_violated(items, most):
    schema = of(
        rows={"type": "array", "items": items, "maxItems": most}, count={"type": "integer", "minimum": 1}
    )
    violated = {(one.keyword, one.pointer) for one in invalid(schema, REVISION)}
    assert {("type", "/rows"), ("type", "/count"), ("minimum", "/count")} <= violated
    assert clearly_invalid(schema, REVISION, {"rows": [], "count": 1})
    assert draw_invalid(schema, REVISION, seeded(0)).keyword


@pytest.mark.parametrize("order", [1, -1])
def test_a_text_or_a_list_of_texts_has_invalid_values_in_each_seed(order):
    text = {"type": "string"}
    branches = [text, {"type": "array", "items": text}][::order]
    schema = {"type": "object", "properties": {"path": {"anyOf": branches}}, "required": ["path"]}
    for seed in range(40):
        one = draw_invalid(schema, REVISION, seeded(seed))
        assert instance_errors(one.arguments, schema, REVISION)
