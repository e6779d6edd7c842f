"""Each message by the schema of its revision, whatever the conversation was about (spec: schema)."""

from __future__ import annotations

import pytest

from conformance.expect import skip
from conformance.json_schema.validation import TOO_COSTLY
from conformance.protocol.jsonrpc import TOO_DEEP, TOO_LONG, TOO_MANY
from conformance.protocol.wire_schema import SERVER, conversation_errors
from conformance.requirements import catalogue
from conformance.verdicts import Cause, Finding

pytestmark = pytest.mark.stage("last")


@pytest.mark.requirement("jsonrpc.message-shape", "tools.list.result-shape")
def test_a_message_has_the_form_of_its_kind(server, traffic, revision):
    found = {}
    for session in server.sessions:
        for lines, wrong in conversation_errors(session.lines, session.revision, SERVER):
            if catalogue.requirement(wrong.rule).holds_in(revision):
                finding = Finding(f"a message as {revision} has it", str(wrong), lines, wrong.rule)
                found.setdefault(wrong.rule, finding)
    if found:
        first, *others = found.values()
        raise first.with_others(others)
    told = {oddity for session in server.sessions for line in session.lines for oddity in line.oddities}
    if shortened := sorted(one for one in told if one.endswith((TOO_DEEP, TOO_LONG, TOO_MANY))):
        skip(f"a message is {TOO_COSTLY} as a whole: {' and '.join(shortened)}", cause=Cause.TOO_COSTLY)
