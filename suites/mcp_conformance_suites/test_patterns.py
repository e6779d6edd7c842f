"""The notifications of a modern server, and when it sends them (spec: basic/patterns)."""

from __future__ import annotations

import pytest

from mcp_conformance.client.subscriptions import ACKNOWLEDGED, FILTER_MEMBERS
from mcp_conformance.expect import expect_none, require_some
from mcp_conformance.protocol.jsonrpc import Kind
from mcp_conformance.protocol.methods import CANCELLED
from mcp_conformance.protocol.progress import progress_in
from mcp_conformance.scenarios.log_messages import MESSAGE, log_messages_in
from mcp_conformance.scenarios.subscriptions import trigger_notifications
from mcp_conformance.scenarios.traffic import exercise_everything
from mcp_conformance.scenarios.xtasks import STATUS
from mcp_conformance.verdicts import Finding

KNOWN = sorted([ACKNOWLEDGED, CANCELLED, MESSAGE, "notifications/progress", *FILTER_MEMBERS, STATUS])


@pytest.mark.requirement("patterns.request-scoped-notifications")
def test_notifications_of_a_request_come_before_its_answer(server):
    exercise_everything(server)
    trigger_notifications(server)
    progress = [one for session in server.sessions for one in progress_in(session.lines)]
    logged = [one for session in server.sessions for one in log_messages_in(session.lines)]
    require_some(progress + logged, skip="the server sent no progress and no log messages")
    late = [one.notification for one in progress if one.late] + [one.message for one in logged if one.is_late]
    expect_none(late, "nothing of a request that was answered before")


@pytest.mark.requirement("patterns.known-notifications")
def test_only_notifications_of_the_revision_are_sent(server):
    exercise_everything(server)
    trigger_notifications(server)
    sent = require_some(server.received(Kind.NOTIFICATION), skip="the server sent no notifications")
    for one in sent:
        if one.json["method"] not in KNOWN:
            raise Finding(f"one of {', '.join(KNOWN)}", str(one), one.lines, advisory=True)
