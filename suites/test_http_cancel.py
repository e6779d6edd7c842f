"""Closed connections and subscriptions in the modern revisions (spec: basic/patterns/cancellation)."""

from __future__ import annotations

import pytest

from conformance.expect import expect
from conformance.scenarios.http_cancel import closing


@pytest.mark.requirement("http.cancel.only-own")
def test_a_closed_connection_cancels_only_its_own_request(server):
    found = closing(server)
    expect(found.other, found.other.answer is not None, "the answer to the other request with the same id")
