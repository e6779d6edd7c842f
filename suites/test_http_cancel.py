"""Closed connections and subscriptions in the modern revisions (spec: basic/patterns/cancellation)."""

from __future__ import annotations

import pytest

from conformance.expect import expect, skip
from conformance.protocol.jsonrpc import ABSENT
from conformance.scenarios.http_cancel import closing, subscription


@pytest.mark.requirement("http.cancel.only-own")
def test_a_closed_connection_cancels_only_its_own_request(server):
    found = closing(server)
    expect(found.other, found.other.answer is not None, "the answer to the other request with the same id")


@pytest.mark.requirement("http.cancel.listen-stream")
def test_a_subscription_is_answered_with_an_event_stream(server):
    reply = subscription(server)
    if reply.code is not ABSENT:
        skip(f"the subscription is rejected: {reply}")
    holds = reply.status == 200 and reply.media_type == "text/event-stream"
    expect(reply, holds, "the status 200 and an event stream")
