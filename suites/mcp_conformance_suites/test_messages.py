"""Every message of every session, judged by the schema of its revision (spec: schema)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import skip
from mcp_conformance.json_schema.validation import TOO_COSTLY
from mcp_conformance.scenarios.messages import judging_limits, schema_findings
from mcp_conformance.scenarios.traffic import exercise_everything
from mcp_conformance.verdicts import Cause

pytestmark = pytest.mark.stage("last")


@pytest.mark.requirement("jsonrpc.message-shape", "tools.list.result-shape")
def test_a_message_has_the_form_of_its_kind(server):
    exercise_everything(server)
    findings = schema_findings(server)
    if findings:
        raise findings[0].with_others(findings[1:])
    limits = judging_limits(server)
    if limits:
        skip(f"a message is {TOO_COSTLY} as a whole: {' and '.join(limits)}", cause=Cause.TOO_COSTLY)
