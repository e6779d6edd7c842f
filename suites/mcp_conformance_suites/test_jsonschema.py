"""JSON Schema as the protocol uses it (spec: basic, "JSON Schema Usage")."""

from __future__ import annotations

import pytest

from mcp_conformance.client.refusals import refuses_in_words
from mcp_conformance.expect import require_some
from mcp_conformance.scenarios.invalid_requests import calls_invalid_in_2020_12, require_own_refusal
from mcp_conformance.scenarios.network_references import fetched_references
from mcp_conformance.verdicts import Finding


@pytest.mark.requirement("jsonschema.dialect-default")
def test_a_schema_without_a_dialect_is_read_as_2020_12(server, call):
    invalid = calls_invalid_in_2020_12(server, call)
    require_some(invalid, skip="its schema has no keyword that is new in 2020-12")
    for one in invalid:
        is_refused = one.reply.error is not None or one.reply.is_tool_error or refuses_in_words(one.reply)
        if not is_refused:
            raise Finding(f"a refusal: {one.mistake}", str(one.reply), one.reply.lines)
        require_own_refusal(one.reply, [call.reply])


@pytest.mark.requirement("jsonschema.no-network-ref", "jsonschema.no-remote-ref")
@pytest.mark.capability("tools")
def test_a_reference_to_the_network_is_not_fetched(server):
    found, lines = fetched_references(server)
    if found:
        raise Finding(
            "no attempt to fetch what a schema refers to", ", ".join(sorted(set(map(str, found)))), lines
        )
