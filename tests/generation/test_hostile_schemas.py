"""No schema and no message keeps this tool busy for long, and nothing is fetched from where one points."""

import json
import socket
from contextlib import suppress

import pytest
from conformance.fixtures.hostile import cyclic_refs, evil_pattern, exponential_schema, remote_ref

from conformance import generation
from conformance.generation import NoExample
from conformance.json_schema import validation as dialects
from conformance.json_schema.validation import (
    MAX_SCHEMA_LENGTH,
    TOO_COSTLY,
    TooLarge,
    Unjudgeable,
    instance_errors,
    schema_errors,
)
from conformance.protocol.jsonrpc import MAX_DEPTH, TOO_DEEP, TOO_LONG, decode
from conformance.protocol.text import named

REVISION = "2025-11-25"
SCHEMAS = {
    **{f"refers_{name}": schema for name, schema in remote_ref.SCHEMAS.items()},
    **{f"goes_round_{name}": schema for name, schema in cyclic_refs.SCHEMAS.items()},
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
WAYS = {
    "drawn": lambda schema: generation.draw_valid(schema, REVISION, generation.seeded(1)),
    "boundary": lambda schema: list(generation.boundary(schema, REVISION)),
    "invalid": lambda schema: generation.invalid(schema, REVISION),
    "hostile": lambda schema: list(generation.hostile(schema, REVISION)),
}


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise SystemExit("something was to be fetched")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_value_is_judged_or_it_is_said_why_not(schema):
    for value in VALUES:
        with suppress(Unjudgeable):
            assert isinstance(instance_errors(value, schema, REVISION), list)
    with suppress(Unjudgeable):
        assert isinstance(schema_errors(schema, REVISION), list)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_values_are_made_or_it_is_said_why_not(schema, way):
    with suppress(NoExample):
        way(schema)


def test_a_costly_schema_is_named_so_at_once_when_it_is_met_again(monkeypatch):
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
def test_a_schema_that_names_its_dialect_is_judged_within_limits_too(dialect):
    inner = {"a": {"$ref": "#"}, "b": {"pattern": "^(a+)+$"}}
    schema = {"$schema": dialects.DIALECTS[dialect], "properties": inner}
    assert instance_errors({"a": {"b": "a" * 60 + "!"}}, schema, REVISION) != []


def test_parts_in_another_dialect_are_not_judged():
    schema = {"properties": {"a": {"$schema": dialects.DIALECTS["draft-07"], "type": "string"}}}
    with pytest.raises(Unjudgeable, match="another dialect"):
        instance_errors({}, schema, REVISION)


@pytest.mark.parametrize("word", ["const", "enum", "default", "examples"])
def test_what_looks_like_a_dialect_in_a_value_is_part_of_the_value(word):
    value = {"$schema": "http://json-schema.org/draft-07/schema#", "a": 1}
    schema = {word: [value] if word in ("enum", "examples") else value}
    assert instance_errors(value, schema, REVISION) == []


@pytest.mark.parametrize(
    ("value", "schema", "said"),
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
def test_keywords_of_our_own_say_what_those_of_jsonschema_say(value, schema, said):
    assert instance_errors(value, schema, REVISION) == [said]


# Messages ----------------------------------------------------------------------------------------


def nesting(value):
    depth = 0
    while isinstance(value, list | dict) and value:
        value, depth = next(iter(value.values())) if isinstance(value, dict) else value[0], depth + 1
    return depth


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5_000, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")], ids=["arrays", "objects"])
def test_what_lies_too_deep_is_left_out(opening, closing, depth):
    message, fault, oddities = decode(b'{"a":' + opening * depth + b"0" + closing * depth + b',"b":2}')
    assert (fault, oddities, message["b"]) == ("", (TOO_DEEP,), 2)
    assert nesting(message) < MAX_DEPTH


def test_what_is_not_too_deep_is_read_as_it_is():
    raw = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert decode(raw) == (json.loads(raw), "", ())
    text = json.dumps(["[" * 1000, '"[{' * 300])
    assert decode(text.encode()) == (json.loads(text), "", ())


def test_an_open_end_is_no_json():
    assert decode(b"[" * 100_000)[1].startswith("not JSON")


def test_a_long_number_is_infinite():
    assert decode(b'{"id":' + b"9" * 10_000 + b"}") == ({"id": float("inf")}, "", (TOO_LONG,))


def test_a_name_is_one_line_without_anything_a_terminal_obeys():
    assert named("a\nb\x1b[2J\u202e\ud800\x00") == r"a\nb\u001b[2J\u202e\ud800\u0000"
    assert len(named("x" * 100_000)) < 100
