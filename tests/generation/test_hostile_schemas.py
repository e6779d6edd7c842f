"""Hostile schemas and messages: each takes bounded time and memory, and no reference is fetched."""

import json
import socket
from contextlib import suppress

import pytest

from mcp_conformance import generation
from mcp_conformance.generation import NoExample
from mcp_conformance.json_schema import validation as dialects
from mcp_conformance.json_schema.validation import (
    MAX_SCHEMA_LENGTH,
    TOO_COSTLY,
    TooLarge,
    Unjudgeable,
    instance_errors,
    schema_errors,
)
from mcp_conformance.protocol.jsonrpc import MAX_DEPTH, TOO_DEEP, TOO_LONG, decode
from mcp_conformance.protocol.text import named
from mcp_conformance_fixtures.hostile import cyclic_refs, evil_pattern, exponential_schema, remote_ref
from support.nightly import nightly, some_of

REVISION = "2025-11-25"
SCHEMAS = {
    **{f"remote_{name}": schema for name, schema in remote_ref.SCHEMAS.items()},
    **{f"cyclic_{name}": schema for name, schema in cyclic_refs.SCHEMAS.items()},
    **{f"doubles_{word}": exponential_schema.doubling(word) for word in ("allOf", "anyOf", "oneOf")},
    **{f"pattern_{name}": evil_pattern.schema(pattern) for name, pattern in evil_pattern.PATTERNS.items()},
    "everywhere": evil_pattern.EVERYWHERE,
    "unevaluated": {
        "unevaluatedProperties": False,
        "$ref": "#/$defs/0",
        "$defs": {
            **{str(n): {"$ref": f"#/$defs/{n + 1}", "$dynamicRef": f"#/$defs/{n + 1}"} for n in range(40)},
            "40": {},
        },
    },
    "long enum": {"properties": {"a": {"items": {"enum": [str(n) for n in range(50_000)]}}}},
    "many patterns": {
        "patternProperties": {f"^(a+)+{n}$": {} for n in range(1000)},
        "additionalProperties": False,
    },
    "deep": json.loads('{"properties": {"a": ' * 300 + "{}" + "}}" * 300),
    "wide": {"properties": {f"member_{n}": {"description": "x" * 1000} for n in range(1500)}},
    "infinite": {"properties": {"a": {"maximum": float("inf"), "multipleOf": 1e-320}}, "required": ["a"]},
}
VALUES = ({}, {"a": 1}, {"a": {"a": {}}, "text": "a" * 40 + "!"}, {"a": ["x"] * 5000, "a" * 1000: 1})
GENERATORS = {
    "drawn": lambda schema: generation.draw_valid(schema, REVISION, generation.seeded(1)),
    "boundary": lambda schema: list(generation.boundary(schema, REVISION)),
    "invalid": lambda schema: generation.invalid(schema, REVISION),
    "hostile": lambda schema: list(generation.hostile(schema, REVISION)),
}


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise SystemExit("a reference was fetched")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize("name", some_of(SCHEMAS, 2))
def test_a_value_is_judged_or_the_schema_is_unjudgeable(name):
    schema = SCHEMAS[name]
    for value in VALUES:
        with suppress(Unjudgeable):
            assert isinstance(instance_errors(value, schema, REVISION), list)
    with suppress(Unjudgeable):
        assert isinstance(schema_errors(schema, REVISION), list)


@pytest.mark.parametrize("keyword", ["anyOf", pytest.param("oneOf", marks=nightly)])
def test_a_value_is_made_and_judged_where_it_is_one_of_many_constants(keyword):
    branches = [{"const": f"value {n}", "title": str(n)} for n in range(1000)]
    schema = {"type": "object", "properties": {"one": {keyword: branches}}, "required": ["one"]}
    made = dict(generation.boundary(schema, REVISION)).values()
    assert {"value 0", "value 999"} <= {one["one"] for one in made}
    assert all(
        instance_errors(one.arguments, schema, REVISION) for one in generation.invalid(schema, REVISION)
    )


@pytest.mark.parametrize(
    ("value", "branches", "is_valid"),
    [
        (1, [{"const": 2}, {"const": 1.0}], True),
        (True, [{"const": 2}, {"const": 1}], False),
        (3, [{"const": 2}, {"const": 1}, {"type": "integer"}], True),
        (1, [{"const": 1}, {"const": 2}, {"type": "integer"}], False),
        (1, [{"const": 2}, {"const": 1, "type": "string"}], False),
        ([1], [{"const": 1}, {"const": [2]}, {"const": [1]}], True),
        (1, [{"const": 2}, {"const": 1}, {"const": 1}], False),
    ],
)
def test_one_of_several_constants_is_judged_as_json_schema_says(value, branches, is_valid):
    schema = {"properties": {"one": {"oneOf": branches}}}
    assert (instance_errors({"one": value}, schema, REVISION) == []) is is_valid


@pytest.mark.parametrize("generate", GENERATORS.values(), ids=GENERATORS)
@pytest.mark.parametrize("name", some_of(SCHEMAS, 4))
def test_values_are_generated_or_there_is_no_example(name, generate):
    with suppress(NoExample):
        generate(SCHEMAS[name])


def test_a_costly_schema_is_rejected_at_once_the_second_time(monkeypatch):
    schema = exponential_schema.doubling("allOf")
    with pytest.raises(TooLarge, match=TOO_COSTLY):
        instance_errors({}, schema, REVISION)
    monkeypatch.setattr(dialects, "_errors", None)
    with pytest.raises(TooLarge, match=TOO_COSTLY):
        instance_errors({"a": 1}, schema, REVISION)


def test_a_large_value_is_judged():
    rows = [{"id": n, "name": str(n), "tags": ["a", "b"]} for n in range(5000)]
    row = {"properties": {"id": {"type": "integer"}, "name": {"pattern": "^[0-9]+$"}}, "required": ["id"]}
    schema = {"type": "array", "items": row, "uniqueItems": True}
    assert instance_errors(rows, schema, REVISION) == []
    assert instance_errors([*rows, rows[0]], schema, REVISION) != []


def test_a_schema_that_is_too_long_is_not_read():
    with pytest.raises(TooLarge, match="characters"):
        instance_errors({}, {"description": "x" * MAX_SCHEMA_LENGTH}, REVISION)
    with pytest.raises(NoExample, match=TOO_COSTLY):
        generation.example({"description": "x" * MAX_SCHEMA_LENGTH}, REVISION)


@pytest.mark.parametrize(
    ("values", "unique"),
    [
        ([1, 1.0], False),
        ([1, True], True),
        ([0, False], True),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], False),
        ([[1, 2], [2, 1]], True),
        ([None, 0, "", [], {}], True),
        (["array", ["array"]], True),
        ([[True], [1]], True),
    ],
)
def test_equal_items_are_found(values, unique):
    assert (instance_errors(values, {"uniqueItems": True}, REVISION) == []) is unique


@pytest.mark.parametrize("dialect", ["2020-12", "draft-07"])
def test_a_schema_that_names_its_dialect_is_judged_within_limits(dialect):
    inner = {"a": {"$ref": "#"}, "b": {"pattern": "^(a+)+$"}}
    schema = {"$schema": dialects.DIALECTS[dialect], "properties": inner}
    assert instance_errors({"a": {"b": "a" * 60 + "!"}}, schema, REVISION) != []


def test_parts_in_another_dialect_are_not_judged():
    schema = {"properties": {"a": {"$schema": dialects.DIALECTS["draft-07"], "type": "string"}}}
    with pytest.raises(Unjudgeable, match="another dialect"):
        instance_errors({}, schema, REVISION)


@pytest.mark.parametrize("word", ["const", "enum", "default", "examples"])
def test_a_schema_member_inside_a_value_does_not_name_a_dialect(word):
    value = {"$schema": "http://json-schema.org/draft-07/schema#", "a": 1}
    schema = {word: [value] if word in ("enum", "examples") else value}
    assert instance_errors(value, schema, REVISION) == []


@pytest.mark.parametrize(
    ("value", "schema", "message"),
    [
        (
            {"b": 1},
            {"additionalProperties": False},
            "Additional properties are not allowed ('b' was unexpected)",
        ),
        (
            {"b": 1, "ab": 2},
            {"patternProperties": {"^a": {}}, "additionalProperties": False},
            "'b' does not match any of the regexes: '^a'",
        ),
        ({"b": 1}, {"additionalProperties": {"type": "string"}}, "b: 1 is not of type 'string'"),
        ({"ab": 1}, {"patternProperties": {"^a": {"type": "string"}}}, "ab: 1 is not of type 'string'"),
        ("b", {"pattern": "^a"}, "'b' does not match '^a'"),
        ([1, 1], {"uniqueItems": True}, "[1, 1] has non-unique elements"),
        (True, {"enum": [1, None]}, "True is not one of [1, None]"),
    ],
)
def test_our_keywords_report_the_messages_of_jsonschema(value, schema, message):
    assert instance_errors(value, schema, REVISION) == [message]


# Messages ----------------------------------------------------------------------------------------


def nesting(value):
    """Return the depth of a value along its first members."""
    depth = 0
    while isinstance(value, list | dict) and value:
        value, depth = next(iter(value.values())) if isinstance(value, dict) else value[0], depth + 1
    return depth


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5_000, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")], ids=["arrays", "objects"])
def test_a_part_nested_too_deeply_is_left_out(opening, closing, depth):
    message, fault, oddities = decode(b'{"a":' + opening * depth + b"0" + closing * depth + b',"b":2}')
    assert (fault, oddities, message["b"]) == ("", (TOO_DEEP,), 2)
    assert nesting(message) < MAX_DEPTH


def test_a_message_at_the_depth_limit_is_read_unchanged():
    raw = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert decode(raw) == (json.loads(raw), "", ())
    text = json.dumps(["[" * 1000, '"[{' * 300])
    assert decode(text.encode()) == (json.loads(text), "", ())


def test_an_unclosed_array_is_not_json():
    assert decode(b"[" * 100_000)[1].startswith("not JSON")


def test_a_long_number_is_infinite():
    assert decode(b'{"id":' + b"9" * 10_000 + b"}") == ({"id": float("inf")}, "", (TOO_LONG,))


def test_a_name_is_one_short_line_without_control_characters():
    assert named("a\nb\x1b[2J\u202e\ud800\x00") == r"a\nb\u001b[2J\u202e\ud800\u0000"
    assert len(named("x" * 100_000)) < 100
