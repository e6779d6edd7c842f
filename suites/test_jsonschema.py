"""JSON Schema as the protocol uses it (spec: basic, "JSON Schema Usage")."""

from __future__ import annotations

import pytest

from conformance.expect import require_some
from conformance.scenarios.invalid_requests import calls_invalid_in_2020_12
from conformance.verdicts import Finding


@pytest.mark.requirement("jsonschema.dialect-default")
def test_a_schema_without_a_dialect_is_read_as_2020_12(server, call):
    invalid = calls_invalid_in_2020_12(server, call)
    require_some(invalid, skip="its schema has no keyword that is new in 2020-12")
    for one in invalid:
        if one.reply.error is None and not one.reply.is_tool_error:
            raise Finding(f"a refusal: {one.mistake}", str(one.reply), one.reply.lines)
