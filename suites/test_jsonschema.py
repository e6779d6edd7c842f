"""JSON Schema as the protocol uses it (spec: basic, "JSON Schema Usage")."""

from __future__ import annotations

import pytest

from conformance.verdict import Finding, not_exercised, some


@pytest.mark.requirement("jsonschema.dialect-default")
def test_a_schema_without_a_dialect_is_read_as_2020_12(server, call):
    if "$schema" in call.tool.input_schema:
        not_exercised("the tool names its dialect")
    wrong_calls = server.calls_wrong_in_2020_12(call)
    for wrong in some(wrong_calls, "its schema has no keyword that is new in 2020-12"):
        if wrong.reply.error is None and not wrong.reply.is_tool_error:
            raise Finding(f"a refusal: {wrong.what}", str(wrong.reply), wrong.reply.lines)
