"""The schemas inside a schema, and references that dangle."""

from typing import Any

import pytest

from mcp_conformance.json_schema.subschemas import circular, dangling, subschemas
from mcp_conformance.protocol.value import Value

MARK = {"mark": 1}


def marked(schema):
    """Return for each marked part of a schema whether properties alone lead to it."""
    return [part.is_parameter for part in subschemas(Value(schema)) if "mark" in part.value.json]


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": MARK}},
        {"properties": {"a": {"properties": {"b": MARK}}}},
        {"properties": {"properties": MARK}},
    ],
)
def test_a_property_of_properties_is_a_parameter(schema):
    assert marked(schema) == [True]


@pytest.mark.parametrize(
    "schema",
    [
        MARK,
        {"items": MARK},
        {"items": [MARK]},
        {"prefixItems": [MARK]},
        {"properties": {"a": {"items": MARK}}},
        {"properties": {"a": {"anyOf": [MARK]}}},
        {"anyOf": [{"properties": {"a": MARK}}]},
        {"if": {"properties": {"a": MARK}}},
        {"not": MARK},
        {"$defs": {"a": MARK}},
        {"additionalProperties": MARK},
        {"dependentSchemas": {"a": {"properties": {"b": MARK}}}},
    ],
)
def test_a_schema_under_another_keyword_is_not_a_parameter(schema):
    assert marked(schema) == [False]


@pytest.mark.parametrize(
    "schema",
    [
        {"const": MARK},
        {"enum": [MARK]},
        {"default": MARK},
        {"examples": [{"properties": {"a": MARK}}]},
        {"properties": {"mark": {"type": "string"}}},
        {"anyOf": MARK},
        {"properties": [MARK]},
        {"dependencies": {"a": ["mark"]}},
        True,
        None,
    ],
)
def test_values_and_names_are_not_schemas(schema):
    assert marked(schema) == []


def nested(depth):
    """Return a schema nested in this number of schemas."""
    schema: Any = MARK
    for _ in range(depth):
        schema = {"items": schema}
    return schema


def test_a_deeply_nested_schema_is_found():
    assert marked(nested(2_000)) == [False]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"properties": {"a": {"$ref": "#/properties/b"}, "b": {}}},
        {"items": {"$ref": "#/$defs/a~1b~0c"}, "$defs": {"a/b~c": {}}},
        {"items": {"$ref": "#/$defs/a%20b"}, "$defs": {"a b": {}}},
        {"items": {"$ref": "#/anyOf/1"}, "anyOf": [{}, {}]},
        {"items": {"$ref": "#here"}, "$defs": {"a": {"$anchor": "here"}}},
        {"items": {"$ref": "#here"}, "definitions": {"a": {"$id": "#here"}}},
        {"items": {"$ref": "https://example.com/other#/$defs/a"}},
        {"items": {"$id": "https://example.com/other", "items": {"$ref": "#/$defs/a"}}},
        {"properties": {"$ref": {"type": "string"}}},
        {"const": {"$ref": "#/nowhere"}},
        {"$ref": 5},
    ],
)
def test_a_reference_that_resolves_or_leaves_the_document_does_not_dangle(schema):
    assert dangling(Value(schema)) == []


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({"$ref": "#/$defs/a"}, "$ref"),
        ({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"b": {}}}, "properties.a.$ref"),
        ({"anyOf": [{}, {"$ref": "#/anyOf/2"}]}, "anyOf[1].$ref"),
        ({"items": {"$ref": "#here"}}, "items.$ref"),
    ],
)
def test_a_reference_without_a_target_dangles(schema, where):
    assert [ref.path for ref in dangling(Value(schema))] == [where]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"properties": {"x": {"$ref": "#/properties/x"}}},
        {"$defs": {"a": {"$anchor": "me", "allOf": [{"type": "object"}, {"$ref": "#me"}]}}},
    ],
)
def test_a_reference_that_leads_back_to_itself_is_circular(schema):
    assert circular(Value(schema))


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"child": {"$ref": "#"}}},
        {"$defs": {"tree": {"items": {"$ref": "#/$defs/tree"}}}, "$ref": "#/$defs/tree"},
        {"$defs": {"a": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/a"}]}}},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "string"}}, "allOf": [{"$ref": "#/$defs/a"}]},
        {"$ref": "https://example.org/other"},
        {"$ref": "#/$defs/nothing"},
        {"const": {"$ref": "#"}},
    ],
)
def test_a_reference_that_descends_or_ends_is_not_circular(schema):
    assert circular(Value(schema)) == []


def test_a_reference_to_something_else_than_a_schema_dangles():
    schema = {"title": "words", "properties": {"x": {"$ref": "#/title"}}}
    assert [ref.path for ref in dangling(Value(schema))] == ["properties.x.$ref"]
