"""Schemas that grow in width, depth, references and numbers: all that is made of them ends, with a reason."""

import time
from contextlib import suppress
from itertools import islice

import pytest

from mcp_conformance.generation import (
    NoExample,
    boundary,
    draw_invalid,
    draw_valid,
    example,
    hostile,
    invalid,
    seeded,
    shrunk,
    together,
)
from support.nightly import nightly

REVISION = "2025-11-25"
# Schemas that are given up take a second; a busy machine takes ten times as long.
MAX_SECONDS = 30.0


def doubling(size):
    """Return definitions that each need two of the one before: 2**size values."""
    either = [
        {"anyOf": [{"$ref": f"#/$defs/d{number}"}, {"$ref": f"#/$defs/d{number}"}]} for number in range(size)
    ]
    defs = {
        f"d{number + 1}": {"type": "object", "properties": {"a": one, "b": one}, "required": ["a", "b"]}
        for number, one in enumerate(either)
    }
    return {
        "type": "object",
        "properties": {"x": {"$ref": f"#/$defs/d{size}"}},
        "required": ["x"],
        "$defs": {"d0": {"type": "string"}, **defs},
    }


def wide(size):
    return {"type": "object", "required": [f"m{number}" for number in range(size)]}


def chained(size):
    each = {f"m{number}": {"required": [f"m{number + 1}"]} for number in range(size)}
    return {"type": "object"} | {"dependentSchemas": each}


def branching(size):
    either = {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    return {"type": "object", "allOf": [either] * size}


def nested(size):
    schema: dict[str, object] = {"type": "string"}
    for _ in range(size):
        schema = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    return schema


def large(size):
    number = {"type": "number", "multipleOf": 10.0**-size, "minimum": 10.0**size}
    return {"type": "object", "properties": {"x": number}, "required": ["x"]}


SIZES = {doubling: (40, 400), wide: (20, 50_000), chained: (10, 2000), branching: (6, 2000)}
SIZES |= {nested: (5, 5000), large: (10, 308)}
NIGHTLY = {(doubling, 400), (wide, 50_000), (chained, 2000), (branching, 2000)}


def work(schema):
    """Yield what makes values of a schema, in all ways."""
    yield lambda: example(schema, REVISION)
    yield lambda: list(islice(boundary(schema, REVISION), 60))
    yield lambda: list(together(schema, REVISION))
    yield lambda: [draw_valid(schema, REVISION, seeded(seed)) for seed in range(3)]
    yield lambda: invalid(schema, REVISION)
    yield lambda: draw_invalid(schema, REVISION, seeded(0))
    yield lambda: list(islice(hostile(schema, REVISION), 20))
    yield lambda: shrunk(schema, REVISION, {"a": [1] * 100}, lambda _: True, 50)


@pytest.mark.parametrize(
    ("grown", "size"),
    [
        pytest.param(
            grown, size, marks=nightly if (grown, size) in NIGHTLY else (), id=f"{grown.__name__}-{size}"
        )
        for grown, sizes in SIZES.items()
        for size in sizes
    ],
)
def test_all_that_is_made_of_a_schema_ends(grown, size):
    begun = time.process_time()
    for make in work(grown(size)):
        with suppress(NoExample):
            make()
    assert time.process_time() - begun < MAX_SECONDS


def test_hostile_values_are_sent_to_a_tool_whose_schema_is_too_costly():
    for schema in (large(308), doubling(40)):
        assert len(list(islice(hostile(schema, REVISION), 20))) == 20
