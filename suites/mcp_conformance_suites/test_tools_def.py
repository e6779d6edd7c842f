"""The definition of a listed tool (spec: server/tools, "Tool")."""

from __future__ import annotations

import re

import pytest

from mcp_conformance.expect import (
    expect,
    expect_each,
    expect_none,
    is_boolean,
    is_number,
    is_object,
    is_string,
    require_some,
    skip,
)
from mcp_conformance.json_schema.subschemas import circular, dangling, subschemas
from mcp_conformance.json_schema.validation import instance_errors, schema_errors
from mcp_conformance.protocol.value import members
from mcp_conformance.verdicts import Finding

pytestmark = pytest.mark.stage("listed")

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
TASK_SUPPORT = ("forbidden", "optional", "required")
HEADER = "x-mcp-header"
NAME = re.compile(r"[A-Za-z0-9_.-]*")
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
MAX_SAFE_INTEGER = 2**53 - 1
"""JavaScript numbers hold all integers up to this one exactly."""
NO_PARAMETERS = {*PARAMETERLESS, "maxProperties", "minProperties", "propertyNames", "not", "default"}


@pytest.mark.requirement("tools.def.name-string")
def test_a_tool_has_a_name(tool):
    name = tool.definition.get("name")
    expect(name or tool.definition, name is not None and name.is_a(str), "a string in name")


@pytest.mark.requirement("tools.def.name-length")
def test_a_name_has_1_to_128_characters(tool):
    names = strings([tool.definition], "name")
    expect_each(names, lambda name: 1 <= len(name) <= 128, "1 to 128 characters")


@pytest.mark.requirement("tools.def.name-charset", "tools.def.name-no-separators")
def test_a_name_is_made_of_plain_characters(tool):
    names = strings([tool.definition], "name")
    expect_each(names, lambda name: NAME.fullmatch(name) is not None, "only A-Z a-z 0-9 _ . -")


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
    expect_each(members([tool.definition], "inputSchema"), lambda schema: schema is not None, "not null")


@pytest.mark.requirement("tools.def.input-schema-object-type")
def test_an_input_schema_is_for_an_object(tool):
    expect_object_type(tool, "inputSchema")


@pytest.mark.requirement("tools.def.input-schema-valid", "jsonschema.emitted-valid")
def test_an_input_schema_is_a_valid_schema(tool, revision):
    expect_valid_schemas(require_schema(tool, "inputSchema"), revision)


@pytest.mark.requirement("tools.def.input-schema-valid", "jsonschema.emitted-valid")
def test_the_references_of_an_input_schema_lead_to_a_schema(tool):
    expect_sound_references(tool, "inputSchema")


@pytest.mark.requirement("tools.def.input-schema-properties")
def test_the_properties_of_an_input_schema_are_objects(tool):
    expect_properties(members([tool.definition], "inputSchema", "properties"))


@pytest.mark.requirement("tools.def.input-schema-required")
def test_required_in_an_input_schema_is_an_array_of_strings(tool):
    expect_required(members([tool.definition], "inputSchema", "required"))


@pytest.mark.requirement("tools.def.default-fits")
def test_a_default_is_a_value_that_its_schema_allows(tool, revision):
    for schema in require_schema(tool, "inputSchema"):
        parts = [part.value for part in subschemas(schema) if not part.is_apart]
        for part, default in require_some(with_default(parts), skip="the schema has no default"):
            errors = instance_errors(default.json, schema.json, revision, part.json)
            if errors:
                raise Finding(
                    "a default that its own schema allows", f"{default}: {errors[0]}", default.lines
                )


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


def expect_object_type(tool, name):
    """Expect that the schema of this name, if the tool has it, is for an object."""
    for schema in members([tool.definition], name):
        type = schema.get("type")
        expect(type or schema, type is not None and type.json == "object", 'the string "object" in its type')


def takes_parameters(schema):
    """Return whether an object schema may have parameters."""
    is_unusual = bool(set(schema) - NO_PARAMETERS)
    return bool(schema.get("properties")) or is_unusual or is_object(schema.get("additionalProperties"))


@pytest.mark.requirement("tools.def.output-schema-object-type")
def test_an_output_schema_is_for_an_object(tool):
    expect_object_type(tool, "outputSchema")


@pytest.mark.requirement("tools.def.output-schema-is-object")
def test_an_output_schema_is_an_object(tool):
    expect_each(members([tool.definition], "outputSchema"), is_object, "an object, or no outputSchema")


@pytest.mark.requirement("tools.def.output-schema-valid", "jsonschema.emitted-valid")
def test_an_output_schema_is_a_valid_schema(tool, revision):
    expect_valid_schemas(require_schema(tool, "outputSchema"), revision)


@pytest.mark.requirement("tools.def.output-schema-valid", "jsonschema.emitted-valid")
def test_the_references_of_an_output_schema_lead_to_a_schema(tool):
    expect_sound_references(tool, "outputSchema")


@pytest.mark.requirement("tools.def.output-schema-properties")
def test_the_properties_of_an_output_schema_are_objects(tool):
    expect_properties(members([tool.definition], "outputSchema", "properties"))
    expect_required(members([tool.definition], "outputSchema", "required"))


@pytest.mark.requirement("tools.def.annotations-shape")
def test_the_annotations_of_a_tool_are_hints(tool):
    annotations = members([tool.definition], "annotations")
    expect_each(annotations, is_object, "an object")
    expect_each(members(annotations, "title"), is_string, "a string")
    for hint in HINTS:
        expect_each(members(annotations, hint), is_boolean, "true or false")


@pytest.mark.requirement("tools.def.icons-shape")
def test_the_icons_of_a_tool_are_an_array(tool):
    for icons in members([tool.definition], "icons"):
        expect(icons, icons.is_a(list), "an array")
        expect_each(icons.each(), is_object, "an object")


@pytest.mark.requirement("tools.def.execution-shape")
def test_the_execution_of_a_tool_states_its_task_support(tool):
    execution = members([tool.definition], "execution")
    expect_each(execution, is_object, "an object")
    expected = "forbidden, optional or required"
    expect_each(members(execution, "taskSupport"), lambda value: value in TASK_SUPPORT, expected)


@pytest.mark.requirement("tools.def.meta-object")
def test_meta_of_a_tool_is_an_object(tool):
    expect_each(members([tool.definition], "_meta"), is_object, "an object")


@pytest.mark.requirement("jsonschema.recommended-dialect", "jsonschema.prefer-2020-12")
def test_a_schema_is_in_the_recommended_dialect(tool):
    for name in ("inputSchema", "outputSchema"):
        dialects = strings([tool.definition], name, "$schema")
        expect_each(dialects, lambda dialect: "draft/2020-12/" in dialect, "2020-12")


# Parameters with a header


@pytest.mark.requirement("tools.def.x-mcp-header-nonempty")
def test_the_header_of_a_parameter_has_a_name(server):
    expect_each(require_headers(server), lambda name: name != "", "a name that is not empty")


@pytest.mark.requirement("tools.def.x-mcp-header-token")
def test_the_header_of_a_parameter_is_a_token(server):
    named = [name for name in require_headers(server) if name.json != ""]
    expect_each(named, is_token, "the name of a header field")


def is_token(name):
    return is_string(name) and TOKEN.fullmatch(name) is not None


@pytest.mark.requirement("tools.def.x-mcp-header-unique")
def test_no_two_parameters_of_a_tool_have_the_same_header(server):
    require_headers(server)
    for tool in server.tools:
        named = strings(schemas_with_header(tool), HEADER)
        names = [name.json.lower() for name in named]
        again = [name for at, name in enumerate(named) if name.json.lower() in names[:at]]
        expect_none(again, f"a name that no other parameter of {tool.name} has")


@pytest.mark.requirement("tools.def.x-mcp-header-primitive")
def test_only_a_primitive_parameter_has_a_header(server):
    require_headers(server)
    types = [type for tool in server.tools for type in strings(schemas_with_header(tool), "type")]
    expect_each(types, lambda name: name in ("integer", "string", "boolean"), "integer, string or boolean")


@pytest.mark.requirement("tools.def.x-mcp-header-integer-range")
def test_an_integer_with_a_header_is_a_safe_integer(server):
    schemas = [schema for tool in server.tools for schema in schemas_with_header(tool)]
    integers = [schema for schema in schemas if schema.json.get("type") == "integer"]
    require_some(integers, skip="no integer has a header")
    listed = [one for array in members(integers, "enum") for one in array.each()]
    exact = [one for one in [*members(integers, "const"), *listed] if is_number(one.json)]
    least = [one for one in members(integers, "minimum") if is_number(one.json)]
    most = [one for one in members(integers, "maximum") if is_number(one.json)]
    expect_each(exact, lambda number: abs(number) <= MAX_SAFE_INTEGER, "at most 2^53 - 1")
    expect_each(least, lambda number: number <= MAX_SAFE_INTEGER, "at most 2^53 - 1")
    expect_each(most, lambda number: number >= -MAX_SAFE_INTEGER, "at least 1 - 2^53")


@pytest.mark.requirement("tools.def.x-mcp-header-reachable")
def test_a_parameter_with_a_header_is_reached_through_properties(server):
    require_headers(server)
    for tool in server.tools:
        schemas = members([tool.definition], "inputSchema")
        parts = [part for schema in schemas for part in subschemas(schema) if not part.is_parameter]
        astray = members([part.value for part in parts], HEADER)
        expect_none(astray, f"no {HEADER} but on what properties alone lead to")


def schemas_with_header(tool):
    """Return the schemas in the input schema of a tool that have a header."""
    parts = [part for schema in members([tool.definition], "inputSchema") for part in subschemas(schema)]
    return [part.value for part in parts if HEADER in part.value.json]


def require_headers(server):
    """Return every header that a parameter of a tool has; skip if there are none."""
    found = [name for tool in server.tools for name in members(schemas_with_header(tool), HEADER)]
    return require_some(found, skip=f"no parameter has {HEADER}")


# Words of these checks


def strings(values, *names):
    """Return the member at the path ``names`` of each value in which it is a string."""
    return [member for member in members(values, *names) if member.is_a(str)]


def with_default(parts):
    """Return each schema that has a default, with that default."""
    return [(part, default) for part in parts if (default := part.get("default")) is not None]


def require_schema(tool, name):
    """Return the schema of a tool under this name, if any; skip if it is neither an object nor a boolean."""
    schemas = members([tool.definition], name)
    if not all(isinstance(schema.json, dict | bool) for schema in schemas):
        skip("the schema is not an object")
    return schemas


def expect_valid_schemas(schemas, revision):
    """Expect that each schema is valid.  Raises `Unjudgeable`, which skips the check."""
    for schema in schemas:
        errors = schema_errors(schema.json, revision)
        if errors:
            raise Finding("a valid JSON Schema", f"{schema}: {'; '.join(errors)}", schema.lines)


def expect_sound_references(tool, name):
    """Expect that the local references of a schema lead to a schema, and not back to themselves."""
    for schema in require_schema(tool, name):
        expect_none(dangling(schema), "a reference that leads to a schema")
        expect_none(circular(schema), "a reference that does not lead back to itself")


def expect_properties(properties):
    """Expect that `properties` is an object of objects."""
    expect_each(properties, is_object, "an object")
    expect_each([each for value in properties for each in value.each()], is_object, "an object")


def expect_required(required):
    """Expect that `required` is an array of strings."""
    expect_each(required, lambda value: isinstance(value, list), "an array")
    expect_each([each for value in required for each in value.each()], is_string, "a string")
