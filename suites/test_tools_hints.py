"""The hints of a tool, as far as calls show whether they are true (spec: schema, ToolAnnotations)."""

from __future__ import annotations

import pytest

from conformance.expect import skip
from conformance.scenarios.reading_effects import effects_of_reading_tools, reading_calls
from conformance.verdicts import Finding


@pytest.mark.requirement("tools.hints.read-only")
@pytest.mark.capability("tools")
def test_a_tool_that_only_reads_changes_nothing(server):
    calls = reading_calls(server)
    if not calls:
        skip("no tool that declares readOnlyHint was called with success")
    if all(server.newer_revision_with(call.tool) for call in calls):
        skip("the same tools are judged in a newer revision")
    for effect in effects_of_reading_tools(server):
        expected = f"the same {effect.title} before and after {effect.tool}, which declares readOnlyHint"
        raise Finding(expected, str(effect), effect.lines, tool=effect.tool)
