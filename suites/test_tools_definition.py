"""What a listed tool looks like (spec: server/tools, "Tool")."""

from __future__ import annotations

import re

import pytest

from conformance.expect import expect, expect_each, expect_none, require_some, skip
from conformance.json_schema.subschemas import subschemas
from conformance.json_schema.validation import Unjudgeable, schema_errors
from conformance.protocol.value import members
from conformance.verdicts import Finding

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
PARAMETERLESS = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
}
HEADER = "x-mcp-header"
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
SAFE = 2**53 - 1
"""The greatest integer that a number of JavaScript holds without loss, like all that are smaller."""
NO_PARAMETERS = {*PARAMETERLESS, "maxProperties", "minProperties", "propertyNames", "not", "default"}


def is_string(value):
    return isinstance(value, str)


def is_object(value):
    return isinstance(value, dict)


@pytest.mark.requirement("tools.def.name-string")
def test_a_tool_has_a_name(tool):
    name = tool.definition.get("name")
    expect(name or tool.definition, name is not None and name.is_a(str), "a string in name")


@pytest.mark.requirement("tools.def.name-length")
def test_a_name_has_1_to_128_characters(tool):
    for name in strings(tool.definition, "name"):
        expect(name, 1 <= len(name.json) <= 128, "1 to 128 characters")


@pytest.mark.requirement("tools.def.name-charset", "tools.def.name-no-separators")
def test_a_name_is_made_of_plain_characters(tool):
    for name in strings(tool.definition, "name"):
        expect(name, re.fullmatch(r"[A-Za-z0-9_.-]*", name.json) is not None, "only A-Z a-z 0-9 _ . -")


@pytest.mark.requirement("tools.def.title-string")
def test_a_title_is_a_string(tool):
    expect_each(members([tool.definition], "title"), is_string, "a string, or no title")


@pytest.mark.requirement("tools.def.description-string")
def test_a_description_is_a_string(tool):
    expect_each(members([tool.definition], "description"), is_string, "a string, or no description")


@pytest.mark.requirement("tools.def.input-schema-present")
def test_a_tool_has_an_input_schema(tool):
    expect(tool.definition, tool.definition.get("inputSchema") is not None, "a member inputSchema")


@pytest.mark.requirement("tools.def.input-schema-not-null")
def test_an_input_schema_is_not_null(tool):
    expect_each(members([tool.definition], "inputSchema"), lambda schema: schema is not None, "no null")


@pytest.mark.requirement("tools.def.input-schema-object-type")
def test_an_input_schema_is_for_an_object(tool):
    for schema in members([tool.definition], "inputSchema"):
        type = schema.get("type")
        expect(type or schema, type is not None and type.json == "object", 'the string "object" in its type')


@pytest.mark.requirement("tools.def.input-schema-valid", "jsonschema.emitted-valid")
def test_an_input_schema_is_a_valid_schema(tool, revision):
    judge_schema(members([tool.definition], "inputSchema"), revision)


@pytest.mark.requirement("tools.def.input-schema-properties")
def test_the_properties_of_an_input_schema_are_objects(tool):
    judge_properties(members([tool.definition], "inputSchema", "properties"))


@pytest.mark.requirement("tools.def.input-schema-required")
def test_required_in_an_input_schema_is_an_array_of_strings(tool):
    judge_required(members([tool.definition], "inputSchema", "required"))


@pytest.mark.requirement("tools.def.schema-keyword-string")
def test_the_dialect_of_a_schema_is_a_string(tool):
    for name in ("inputSchema", "outputSchema"):
        expect_each(members([tool.definition], name, "$schema"), is_string, "a string, or no $schema")


@pytest.mark.requirement("tools.def.no-params-form")
def test_a_schema_without_parameters_has_the_usual_form(tool):
    schema = tool.definition.get("inputSchema")
    if schema is None or not isinstance(schema.json, dict) or takes_parameters(schema.json):
        skip("the tool may take parameters")
    unusual = set(schema.json) - PARAMETERLESS
    expect(schema, not unusual, '{"type": "object"}, with "additionalProperties": false at best')


def takes_parameters(schema):
    closed = schema.get("additionalProperties", True) is not False
    odd = set(schema) - NO_PARAMETERS
    return (
        bool(schema.get("properties"))
        or bool(odd)
        or (closed and isinstance(schema.get("additionalProperties"), dict))
    )


@pytest.mark.requirement("tools.def.output-schema-object-type")
def test_an_output_schema_is_for_an_object(tool):
    for schema in members([tool.definition], "outputSchema"):
        type = schema.get("type")
        expect(type or schema, type is not None and type.json == "object", 'the string "object" in its type')


@pytest.mark.requirement("tools.def.output-schema-is-object")
def test_an_output_schema_is_an_object(tool):
    expect_each(members([tool.definition], "outputSchema"), is_object, "an object, or no outputSchema")


@pytest.mark.requirement("tools.def.output-schema-valid", "jsonschema.emitted-valid")
def test_an_output_schema_is_a_valid_schema(tool, revision):
    judge_schema(members([tool.definition], "outputSchema"), revision)


@pytest.mark.requirement("tools.def.output-schema-properties")
def test_the_properties_of_an_output_schema_are_objects(tool):
    judge_properties(members([tool.definition], "outputSchema", "properties"))
    judge_required(members([tool.definition], "outputSchema", "required"))


@pytest.mark.requirement("tools.def.annotations-shape")
def test_the_annotations_of_a_tool_are_hints(tool):
    annotations = members([tool.definition], "annotations")
    expect_each(annotations, is_object, "an object")
    expect_each(members(annotations, "title"), is_string, "a string")
    for hint in HINTS:
        expect_each(members(annotations, hint), lambda value: isinstance(value, bool), "true or false")


@pytest.mark.requirement("tools.def.icons-shape")
def test_the_icons_of_a_tool_are_an_array(tool):
    for icons in members([tool.definition], "icons"):
        expect(icons, icons.is_a(list), "an array")
        expect_each(icons.each(), is_object, "an object")


@pytest.mark.requirement("tools.def.execution-shape")
def test_the_execution_of_a_tool_says_how_it_takes_tasks(tool):
    execution = members([tool.definition], "execution")
    expect_each(execution, is_object, "an object")
    support = members(execution, "taskSupport")
    expect_each(
        support,
        lambda value: value in ("forbidden", "optional", "required"),
        "forbidden, optional or required",
    )


@pytest.mark.requirement("tools.def.meta-object")
def test_meta_of_a_tool_is_an_object(tool):
    expect_each(members([tool.definition], "_meta"), is_object, "an object")


@pytest.mark.requirement("jsonschema.recommended-dialect", "jsonschema.prefer-2020-12")
def test_a_schema_is_in_the_recommended_dialect(tool):
    for name in ("inputSchema", "outputSchema"):
        for dialect in strings(tool.definition, name, "$schema"):
            expect(dialect, "draft/2020-12/" in dialect.json, "2020-12")


# Parameters that become headers


@pytest.mark.requirement("tools.def.x-mcp-header-nonempty")
def test_the_header_of_a_parameter_has_a_name(server):
    expect_each(headers(server), lambda name: name != "", "a name that is not empty")


@pytest.mark.requirement("tools.def.x-mcp-header-token")
def test_the_header_of_a_parameter_is_a_token(server):
    named = [name for name in headers(server) if name.json != ""]
    expect_each(named, lambda name: is_string(name) and TOKEN.fullmatch(name), "the name of a header field")


@pytest.mark.requirement("tools.def.x-mcp-header-unique")
def test_no_two_parameters_of_a_tool_have_the_same_header(server):
    headers(server)
    for tool in server.tools:
        named = [name for name in members(annotated(tool), HEADER) if name.is_a(str)]
        names = [name.json.lower() for name in named]
        again = [name for at, name in enumerate(named) if name.json.lower() in names[:at]]
        expect_none(again, f"a name that no other parameter of {tool.name} has")


@pytest.mark.requirement("tools.def.x-mcp-header-primitive")
def test_only_a_plain_parameter_has_a_header(server):
    headers(server)
    types = [type for tool in server.tools for type in members(annotated(tool), "type") if type.is_a(str)]
    expect_each(types, lambda name: name in ("integer", "string", "boolean"), "integer, string or boolean")


@pytest.mark.requirement("tools.def.x-mcp-header-integer-range")
def test_a_number_with_a_header_is_one_that_all_can_read(server):
    schemas = [schema for tool in server.tools for schema in annotated(tool)]
    whole = [schema for schema in schemas if schema.json.get("type") == "integer"]
    for schema in require_some(whole, skip="no integer has a header"):
        listed = [
            *members([schema], "const"),
            *(one for list in members([schema], "enum") for one in list.each()),
        ]
        expect_each(listed, lambda number: not is_number(number) or abs(number) <= SAFE, "at most 2^53 - 1")
        expect_each(
            members([schema], "minimum"),
            lambda least: not is_number(least) or least <= SAFE,
            "at most 2^53 - 1",
        )
        expect_each(
            members([schema], "maximum"),
            lambda most: not is_number(most) or most >= -SAFE,
            "at least 1 - 2^53",
        )


@pytest.mark.requirement("tools.def.x-mcp-header-reachable")
def test_properties_alone_lead_to_a_parameter_with_a_header(server):
    headers(server)
    for tool in server.tools:
        inner = [part for schema in members([tool.definition], "inputSchema") for part in subschemas(schema)]
        astray = [
            part.value.get(HEADER) for part in inner if HEADER in part.value.json and not part.is_parameter
        ]
        expect_none(astray, f"no {HEADER} but on what properties alone lead to")


def annotated(tool):
    """The schemas in the input schema of a tool that have a header."""
    inner = [part for schema in members([tool.definition], "inputSchema") for part in subschemas(schema)]
    return [part.value for part in inner if HEADER in part.value.json]


def headers(server):
    """Every header that a parameter of a tool has."""
    found = [name for tool in server.tools for name in members(annotated(tool), HEADER)]
    return require_some(found, skip=f"no parameter has {HEADER}")


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def strings(value, *names):
    return [member for member in members([value], *names) if member.is_a(str)]


def judge_schema(schemas, revision):
    for schema in schemas:
        if not isinstance(schema.json, dict | bool):
            skip("the schema is no object")
        try:
            errors = schema_errors(schema.json, revision)
        except Unjudgeable as reason:
            skip(str(reason))
        if errors:
            raise Finding("a valid JSON Schema", f"{schema}: {'; '.join(errors)}", schema.lines)


def judge_properties(properties):
    expect_each(properties, is_object, "an object")
    expect_each([each for value in properties for each in value.each()], is_object, "an object")


def judge_required(required):
    expect_each(required, lambda value: isinstance(value, list), "an array")
    expect_each([each for value in required for each in value.each()], is_string, "a string")
