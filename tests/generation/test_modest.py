"""Numbers of members that say how much a tool does stay modest, and all other values are as before."""

import json

import pytest

from mcp_conformance.generation import boundary, draw_valid, hostile, seeded
from mcp_conformance.generation.adversarial import NUMBERS
from mcp_conformance.generation.modest import MODEST, is_amount, modest
from mcp_conformance.json_schema.validation import instance_errors

REVISION = "2025-11-25"
INTEGER = {"type": "integer"}


def of(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize(
    "name", ["threads", "maxWorkers", "row_count", "limit", "pageSize", "TIMEOUT", "maxRetries", "depth"]
)
def test_a_member_that_says_how_much_is_recognised(name):
    assert is_amount(name)


@pytest.mark.parametrize("name", ["a", "amount", "discount", "account", "year", "timezone", "limitless"])
def test_another_member_is_not(name):
    assert not is_amount(name)


@pytest.mark.parametrize(
    "schema",
    [
        of(limit=INTEGER, year=INTEGER),
        of(limit={"anyOf": [INTEGER, {"type": "null"}]}, year=INTEGER),
        of(limit={"type": "number", "minimum": 1, "maximum": 10**9}, year=INTEGER),
        of(query=of(limit=INTEGER), year=INTEGER),
        of(queries={"type": "array", "items": {"$ref": "#/$defs/q"}, "minItems": 1}, year=INTEGER)
        | {"$defs": {"q": of(limit=INTEGER)}},
    ],
    ids=["integer", "or null", "large maximum", "nested", "referenced"],
)
def test_its_numbers_are_modest_and_others_are_not(schema):
    smaller = modest(schema, REVISION)
    drawn = [draw_valid(smaller, REVISION, seeded(seed)) for seed in range(150)]
    drawn += [value for _, value in boundary(smaller, REVISION)]
    assert [value for value in drawn if instance_errors(value, schema, REVISION)] == []
    assert max(limits(drawn)) <= MODEST
    assert max(value["year"] for value in drawn) > MODEST


def limits(value):
    """Yield the numbers of all members ``limit``."""
    for name, each in value.items() if isinstance(value, dict) else enumerate(value):
        if name == "limit" and each is not None:
            yield each
        elif isinstance(each, dict | list):
            yield from limits(each)


@pytest.mark.parametrize(
    "schema",
    [
        of(limit={"type": "integer", "minimum": 1000}),
        of(limit={"type": "integer", "multipleOf": 512, "minimum": 1}),
        of(limit={"enum": [1000, 2000]}),
        of(limit={"type": "integer", "maximum": 10}),
        of(limit={"allOf": [{"type": "integer", "minimum": 1000}]}),
        of(name={"type": "string", "default": {"properties": {"limit": {}}}}),
        {"type": "object", "properties": {"properties": {"type": "object", "additionalProperties": INTEGER}}},
        json.loads('{"properties": {"limit": ' * 400 + "{}" + "}}" * 400),
    ],
    ids=[
        "minimum",
        "multiple",
        "enum",
        "own maximum",
        "minimum inside",
        "data",
        "a member properties",
        "deep",
    ],
)
def test_a_schema_that_needs_large_numbers_or_none_stays_as_it_is(schema):
    assert modest(schema, REVISION) == schema


def test_an_example_of_the_user_with_a_large_number_is_valid():
    schema = of(limit=INTEGER)
    assert modest(schema, REVISION, [{"limit": 5000}]) == schema
    assert modest(schema, REVISION, [{"limit": 50}]) != schema


def test_a_spared_member_gets_no_hostile_number():
    found = dict(hostile(of(limit=INTEGER, year=INTEGER), REVISION, is_amount))
    assert [what for what in found if "limit" in what and what.partition(" as ")[0] in NUMBERS] == []
    assert "2**63 as member 'year'" in found
    assert "2**63 as member 'limit'" in dict(hostile(of(limit=INTEGER, year=INTEGER), REVISION))
