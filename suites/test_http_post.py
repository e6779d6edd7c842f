"""What a POST gets: the status, the content type, the body (spec: basic/transports)."""

from __future__ import annotations

import pytest

from conformance.expect import expect, require_some
from conformance.protocol.jsonrpc import Kind, kind
from conformance.scenarios.http_requests import exchanges


@pytest.mark.requirement("http.post.notification-202")
def test_an_accepted_notification_gets_202(server):
    for reply in accepted_notifications(server):
        expect(reply, reply.status == 202, "the status 202")


@pytest.mark.requirement("http.post.notification-no-body")
def test_the_response_to_a_notification_has_no_body(server):
    for reply in accepted_notifications(server):
        expect(reply, not reply.body, "no body")


def accepted_notifications(server):
    """Return the responses to `notifications/initialized`, which every server accepts."""
    server.session.drain()
    sent = [one for one in exchanges(server) if kind(one.sent) is Kind.NOTIFICATION]
    found = [one for one in sent if one.sent["method"] == "notifications/initialized"]
    return require_some(found, skip="no session was initialized")
