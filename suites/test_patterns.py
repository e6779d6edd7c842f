"""What a modern server sends, and when (spec: basic/patterns)."""

from __future__ import annotations

import pytest

from conformance.client.subscriptions import ACKNOWLEDGED, CANCELLED, FILTER_MEMBERS
from conformance.expect import expect_none, require_some
from conformance.protocol.jsonrpc import Kind
from conformance.protocol.progress import progress_in
from conformance.scenarios.log_messages import MESSAGE, logged_in
from conformance.scenarios.subscriptions import evoke_news
from conformance.verdicts import Finding

KNOWN = sorted([ACKNOWLEDGED, CANCELLED, MESSAGE, "notifications/progress", *FILTER_MEMBERS])


@pytest.mark.requirement("patterns.request-scoped-notifications")
def test_what_belongs_to_a_request_comes_while_it_is_under_way(server, traffic):
    evoke_news(server)
    progress = [one for session in server.sessions for one in progress_in(session.lines)]
    logged = [one for session in server.sessions for one in logged_in(session.lines)]
    require_some(progress + logged, skip="the server sent no progress and no log messages")
    late = [one.notification for one in progress if one.late] + [one.message for one in logged if one.is_late]
    expect_none(late, "nothing of a request that was answered before")


@pytest.mark.requirement("patterns.known-notifications")
def test_only_notifications_of_the_revision_are_sent(server, traffic):
    evoke_news(server)
    sent = require_some(traffic(Kind.NOTIFICATION), skip="the server sent no notifications")
    for one in sent:
        if one.json["method"] not in KNOWN:
            expected = f"one of {', '.join(KNOWN)}"
            raise Finding(expected, str(one), one.lines, advisory=True)
