"""Sessions over HTTP: their ids, their end, their isolation (spec: basic/transports)."""

from __future__ import annotations

import pytest

from conformance.expect import expect, skip
from conformance.scenarios.http_requests import delete, lines_of, post


@pytest.mark.requirement("http.session.unknown-404")
def test_a_session_that_has_ended_is_unknown(server):
    with server.fresh("a session that ends with DELETE") as session:
        if not lines_of(session).mirror.session_id:
            skip("the server assigns no session ids")
        ended = delete(session)
        if ended.status is None or ended.status >= 300:
            skip(f"the server does not end sessions at DELETE: {ended}")
        reply = post(session, "ping")
        expect(reply, reply.status == 404, "the status 404, as the session has ended")
