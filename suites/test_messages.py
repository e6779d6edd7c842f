"""Each message by the schema of its revision, whatever the conversation was about (spec: schema)."""

from __future__ import annotations

import pytest

from conformance import catalogue
from conformance.messages import SERVER, conversation_errors
from conformance.verdict import Finding


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
