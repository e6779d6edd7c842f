"""JSON Schema as the protocol uses it (spec: basic, "JSON Schema Usage")."""

from __future__ import annotations

import pytest

from conformance.expect import expect_none, require_some, skip
from conformance.json_schema.subschemas import dangling
from conformance.protocol.value import members
from conformance.scenarios.invalid_requests import calls_wrong_in_2020_12
from conformance.verdicts import Finding


@pytest.mark.requirement("jsonschema.dialect-default")
def test_a_schema_without_a_dialect_is_read_as_2020_12(server, call):
    if call.tool.definition.get("inputSchema", "$schema") is not None:
        skip("the tool names its dialect")
    wrong_calls = calls_wrong_in_2020_12(server, call)
    for wrong in require_some(wrong_calls, skip="its schema has no keyword that is new in 2020-12"):
        if wrong.reply.error is None and not wrong.reply.is_tool_error:
            raise Finding(f"a refusal: {wrong.what}", str(wrong.reply), wrong.reply.lines)


@pytest.mark.requirement("jsonschema.keywords-preserved")
def test_no_reference_of_a_schema_leads_nowhere(server):
    schemas = require_some(
        members([tool.definition for tool in server.tools], "inputSchema"), skip="no tool has a schema"
    )
    missed = [ref for schema in schemas for ref in dangling(schema)]
    expect_none(missed, "a place in the schema that is there")
