"""JSON Schema as the protocol uses it (spec: basic, "JSON Schema Usage")."""

from __future__ import annotations

import pytest

from conformance.expect import expect_each, not_exercised, some
from conformance.json_schema.subschemas import dangling
from conformance.protocol.value import members
from conformance.scenarios.invalid_requests import calls_wrong_in_2020_12
from conformance.verdicts import Finding


@pytest.mark.requirement("jsonschema.dialect-default")
def test_a_schema_without_a_dialect_is_read_as_2020_12(server, call):
    if call.tool.definition.get("inputSchema", "$schema") is not None:
        not_exercised("the tool names its dialect")
    wrong_calls = calls_wrong_in_2020_12(server, call)
    for wrong in some(wrong_calls, "its schema has no keyword that is new in 2020-12"):
        if wrong.reply.error is None and not wrong.reply.is_tool_error:
            raise Finding(f"a refusal: {wrong.what}", str(wrong.reply), wrong.reply.lines)


@pytest.mark.requirement("jsonschema.keywords-preserved")
def test_no_reference_of_a_schema_leads_nowhere(server):
    schemas = some(members([tool.definition for tool in server.tools], "inputSchema"), "no tool has a schema")
    missed = [ref for schema in schemas for ref in dangling(schema)]
    expect_each(missed, lambda _: False, "a place in the schema that is there")
