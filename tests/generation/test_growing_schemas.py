"""Schemas that grow in width, depth, references and numbers: all that is made of them ends, with a reason."""

import sys
from contextlib import contextmanager, suppress
from itertools import islice
from random import Random

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
from support.nightly import IS_NIGHTLY, nightly

REVISION = "2025-11-25"
# The growing schemas and the first dozen of those grown at random stayed below 30 million, about ten seconds.
MAX_CALLS = 60_000_000


class TooManyStepsError(BaseException):
    """So many functions were called: work on a schema has no bound, or too high a one."""


@contextmanager
def at_most(calls):
    """Raise `TooManyStepsError` at this number of calls, which no busy machine changes.

    Counting takes four times as long as the work, so the nightly run alone counts.
    """
    if not IS_NIGHTLY:
        yield
        return
    left = [calls]

    def count(frame, event, arg):
        left[0] -= event == "call"
        if left[0] < 0:
            sys.setprofile(None)
            raise TooManyStepsError

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)


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
    for make in work(grown(size)):
        with at_most(MAX_CALLS), suppress(NoExample):
            make()


# Any schema


def grow(random, depth=0):
    """Return a schema of parts that grow: their width, depth, references and numbers are chosen at random."""
    size = 2 ** random.randrange(1, 11 if depth == 0 else 6)
    inner = grow(random, depth + 1) if depth < 3 else {"type": "string"}
    way = random.choice(WAYS)
    return way(size, inner, random)


def in_object(size, inner, random):
    names = [f"m{number}" for number in range(size)]
    return {
        "type": "object",
        "properties": dict.fromkeys(names, inner),
        "required": names[: random.randrange(size + 1)],
    }


def in_nested(size, inner, random):
    for _ in range(size):
        inner = (
            {"type": "object", "properties": {"x": inner}, "required": ["x"]}
            if random.random() < 0.8
            else {"items": inner, "minItems": 1, "type": "array"}
        )
    return inner


def in_branches(size, inner, random):
    word = random.choice(["anyOf", "allOf", "oneOf"])
    return {word: [{"anyOf": [inner, {"required": [f"b{number}"]}]} for number in range(size)]}


def in_denied(size, inner, random):
    return {
        "type": "object",
        "properties": {"x": inner},
        "allOf": [{"not": {"required": [f"n{number}"]}} for number in range(size)],
        "not": {"anyOf": [inner]},
    }


def in_conditional(size, inner, random):
    return {
        "type": "object",
        "allOf": [
            {"if": {"required": [f"c{number}"]}, "then": {"required": [f"c{number + 1}"]}, "else": inner}
            for number in range(size)
        ],
    }


def in_numbers(size, inner, random):
    number = {
        "type": random.choice(["number", "integer"]),
        "multipleOf": random.choice([3, 0.1, 10.0**-size if size < 300 else 7]),
        "minimum": random.choice([0, 10**size, -(10.0 ** min(size, 300))]),
    }
    return {"type": "object", "properties": {"n": number, "x": inner}, "required": ["n", "x"]}


def in_array(size, inner, random):
    return {
        "type": "array",
        "items": inner,
        "minItems": size**2,
        "uniqueItems": random.random() < 0.5,
        "contains": inner,
        "minContains": size,
    }


def in_text(size, inner, random):
    text = {
        "type": "string",
        "minLength": size**2,
        "pattern": random.choice([f"^(a|b){{{size}}}$", f"(x+)+{size}", f"^.{{{size},}}$"]),
    }
    return {"type": "object", "properties": {"t": text, "x": inner}, "required": ["t"]}


def in_dependent(size, inner, random):
    return {
        "type": "object",
        "dependentSchemas": {
            f"d{number}": {"required": [f"d{number + 1}"], "properties": {f"d{number + 1}": inner}}
            for number in range(size)
        },
    }


def in_patterns(size, inner, random):
    return {
        "type": "object",
        "patternProperties": {f"^p{number}+$": inner for number in range(size)},
        "additionalProperties": False,
        "minProperties": size,
    }


def in_enum(size, inner, random):
    return {"anyOf": [{"enum": list(range(size))}, inner], "unevaluatedProperties": False}


WAYS = (
    in_object,
    in_nested,
    in_branches,
    in_denied,
    in_conditional,
    in_numbers,
    in_array,
    in_text,
    in_dependent,
    in_patterns,
    in_enum,
)


def with_references(schema, random):
    """Return a schema beside definitions that each need two of the one before."""
    size = 2 ** random.randrange(1, 8)
    word = random.choice(["anyOf", "allOf", "oneOf"])
    twice = [{word: [{"$ref": f"#/$defs/d{number}"}] * 2} for number in range(size)]
    defs = {
        f"d{number}": {"type": "object", "properties": {"a": one, "b": one}, "required": ["a", "b"]}
        for number, one in enumerate(twice, 1)
    }
    return {
        "type": "object",
        "properties": {"r": {"$ref": f"#/$defs/d{size}"}, "s": schema},
        "required": random.choice([[], ["r"], ["s"]]),
        "$defs": {"d0": schema, **defs},
    }


@nightly
@pytest.mark.parametrize("seed", range(24))
def test_all_that_is_made_of_any_schema_ends(seed):
    random = Random(seed)
    schema = grow(random)
    for make in work(with_references(schema, random) if random.random() < 0.4 else schema):
        with at_most(MAX_CALLS), suppress(NoExample):
            make()


def test_a_choice_that_leaves_no_type_is_another_walk():
    """Of conditions in conditions there are more combinations than are judged."""
    assert list(islice(boundary(grow(Random(2)), REVISION), 60))


def test_hostile_values_are_sent_to_a_tool_whose_schema_is_too_costly():
    for schema in (large(308), doubling(40)):
        assert len(list(islice(hostile(schema, REVISION), 20))) == 20
