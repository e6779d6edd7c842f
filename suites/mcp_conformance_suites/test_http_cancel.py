"""Closed connections and subscriptions in the modern revisions (spec: basic/patterns/cancellation)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect
from mcp_conformance.scenarios.http_cancel import closing
from mcp_conformance.scenarios.http_shutdown import end_of_subscription
from mcp_conformance.verdicts import Finding


@pytest.mark.requirement("http.cancel.only-own")
def test_a_closed_connection_cancels_only_its_own_request(server):
    found = closing(server)
    expected, got = "the answer to the other request with the same id", f"{found.other}, without it"
    expect(found.other, found.other.answer is not None, expected, got=got)


@pytest.mark.requirement("http.listen.graceful")
def test_a_subscription_ends_with_a_result_when_the_server_ends(server):
    reply = end_of_subscription(server)
    if reply.value is None:
        got = f"{reply}, after SIGTERM"
        raise Finding("a result that ends the subscription", got, reply.lines)  # that it ended was asked for
