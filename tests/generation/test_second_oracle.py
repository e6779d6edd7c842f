"""hypothesis-jsonschema as a second oracle: it draws from a schema, and rewrites it, by code of its own."""

import json

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis_jsonschema import from_schema

from mcp_conformance.generation import NoExample, draw_value, invalid, seeded, values
from mcp_conformance.json_schema.validation import instance_errors
from support.nightly import nightly

REVISION = "2025-11-25"
QUIET = settings(
    max_examples=150,
    database=None,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
PATTERNS = ("^[a-z]{2,4}$", "^[0-9]{3}-[0-9]{2}$", "^(?:ab|c)+$", "x", "[.]org$")
"""Patterns that Python and ECMA-262 read alike for ASCII texts, in which hypothesis-jsonschema draws."""


def keywords(type_, **optional):
    """Return a strategy for schemas of a type with some of these keywords."""
    return st.fixed_dictionaries({"type": st.just(type_)}, optional=optional)


small = st.integers(0, 4)
LEAVES = st.one_of(
    st.sampled_from(
        [{"type": "null"}, {"type": "boolean"}, {"const": 1}, {"enum": ["a", None, 2]}, True, {}]
    ),
    keywords("integer", minimum=st.integers(-5, 5), maximum=st.integers(-2, 9), multipleOf=st.integers(1, 4)),
    keywords("number", exclusiveMinimum=st.integers(-5, 5), maximum=st.integers(-2, 9)),
    keywords("string", minLength=small, maxLength=small),
    keywords("string", pattern=st.sampled_from(PATTERNS)),
)
NAMES = st.sampled_from("abc")


def combined(inner):
    """Return a strategy for arrays of some schemas, and choices of them."""
    return st.one_of(
        keywords("array", items=inner, minItems=small, maxItems=small),
        st.builds(dict, anyOf=st.lists(inner, min_size=1, max_size=3)),
        st.builds(dict, allOf=st.lists(inner, min_size=1, max_size=2)),
    )


def objects(inner):
    return keywords(
        "object",
        properties=st.dictionaries(NAMES, inner, max_size=3),
        required=st.lists(NAMES, unique=True, max_size=2),
        additionalProperties=st.one_of(st.booleans(), inner),
        patternProperties=st.dictionaries(st.sampled_from(["^x", "^[ab]$"]), inner, max_size=1),
        maxProperties=small,
    )


DRAWN = st.recursive(LEAVES, combined, max_leaves=5)
"""Schemas without objects: with Hypothesis 6.170, whose internals it uses, 0.23.1 can't draw any."""
SCHEMAS = st.recursive(LEAVES, lambda inner: combined(inner) | objects(inner), max_leaves=5)


def arguments(schema):
    """Return the schema of arguments of which one has this schema."""
    return {"type": "object", "properties": {"a": schema}, "required": ["a"]}


def drawn_from(schema):
    """Return the strategy of hypothesis-jsonschema for a schema, nothing where it fails."""
    strategy = from_schema(json.loads(json.dumps(schema)))
    try:
        strategy.validate()
    except InvalidArgument:
        return st.nothing()
    return strategy


def allows(schema, value):
    """Return whether hypothesis-jsonschema can draw a value from a schema."""
    return not drawn_from({"allOf": [{"const": value}, schema]}).is_empty


@QUIET
@given(DRAWN, st.data())
def test_what_it_draws_is_valid_for_our_validator_and_not_called_impossible(schema, data):
    strategy = drawn_from(schema)
    assume(not strategy.is_empty)
    value = data.draw(strategy)
    assume(json.dumps(value, ensure_ascii=False).isascii())  # its patterns are Python's
    assert instance_errors(value, schema, REVISION) == []
    values(schema, REVISION)


@QUIET
@given(SCHEMAS)
def test_it_could_draw_what_we_draw(schema):
    try:
        value = draw_value(schema, REVISION, seeded(0))
    except NoExample:
        assume(False)
    assert allows(schema, value)


@nightly
@QUIET
@given(SCHEMAS)
def test_it_never_draws_what_we_call_invalid(schema):
    whole = arguments(schema)
    try:
        found = invalid(whole, REVISION)
    except NoExample:
        assume(False)
    assert [one.arguments for one in found if allows(whole, one.arguments)] == []
