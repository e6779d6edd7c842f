"""The hints of a tool, as far as calls show whether they are true (spec: schema, ToolAnnotations)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import require_some, skip
from mcp_conformance.scenarios.api_inventory import inventory
from mcp_conformance.scenarios.reading_effects import effects_of_reading_tools, reading_calls
from mcp_conformance.scenarios.tool_effects import UNSEEN, effects_of_tools, named_changes
from mcp_conformance.scenarios.unserved_methods import require_served
from mcp_conformance.verdicts import Finding


@pytest.mark.requirement("tools.hints.read-only")
@pytest.mark.capability("tools")
def test_a_tool_that_only_reads_changes_nothing(server):
    require_served(server, "tools/call")
    calls = reading_calls(server)
    if not calls:
        skip("no tool that declares readOnlyHint was called with success")
    if all(server.newer_revision_with(call.tool) for call in calls):
        skip("the same tools are judged in a newer revision")
    for effect in effects_of_reading_tools(server):
        expected = f"the same {effect.title} before and after {effect.tool}, which declares readOnlyHint"
        raise Finding(expected, str(effect), effect.lines, tool=effect.tool)


@pytest.mark.requirement("tools.hints.read-only-files")
@pytest.mark.capability("tools")
def test_a_tool_that_only_reads_writes_no_files(server):
    effects = _judged(server, lambda tool: tool.read_only, "readOnlyHint")
    for one in effects:
        if one.written:
            expected = "no files written or deleted by a tool that declares readOnlyHint"
            raise Finding(expected, named_changes(one.written), one.lines, tool=one.call.tool.name)
    if unsure := [each for one in effects for each in one.unsure]:
        skip(
            f"{named_changes(unsure)}: by its name it may be the program's own, and no other tool was called"
        )


@pytest.mark.requirement("tools.hints.idempotent")
@pytest.mark.capability("tools")
def test_a_repeated_call_of_an_idempotent_tool_changes_no_files(server):
    hinted = _judged(server, lambda tool: tool.idempotent and not tool.read_only, "idempotentHint")
    for one in hinted:
        if one.changed:
            expected = "the same files after each repeated call of a tool that declares idempotentHint"
            raise Finding(expected, named_changes(one.changed), one.lines, tool=one.call.tool.name)


@pytest.mark.requirement("tools.hints.closed-world")
@pytest.mark.capability("tools")
def test_a_tool_of_a_closed_world_reaches_for_nothing_outside(server):
    if server.settings.backend is not None:
        for one in inventory(server).judged:
            if one.call.tool.closed_world and (asked := one.asked_outside):
                expected = "no host asked by a tool that declares openWorldHint: false"
                raise Finding(expected, ", ".join(dict.fromkeys(map(str, asked))), one.lines, tool=one.tool)
    if server.session.process.traffic is None:
        skip(UNSEEN)
    for one in _judged(server, lambda tool: tool.closed_world, "openWorldHint: false"):
        if one.attempts:
            expected = "nothing reached for outside by a tool that declares openWorldHint: false"
            got = ", ".join(sorted(set(map(str, one.attempts))))
            raise Finding(expected, got, one.lines, tool=one.call.tool.name)


def _judged(server, has_hint, hint):
    """Return the effects of the tools with a hint; skip the check if there are none."""
    effects = [one for one in effects_of_tools(server) if has_hint(one.call.tool)]
    return require_some(effects, skip=f"no tool that declares {hint} was called again with success")
