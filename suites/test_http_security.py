"""Whom an HTTP server serves: Origin, Host, the address it listens on (spec: basic/transports)."""

from __future__ import annotations

import pytest

from conformance.expect import expect, require_some, skip
from conformance.scenarios.http_requests import http_session, lines_of, post
from conformance.target.scenario import scenario

FOREIGN_ORIGINS = (
    "http://evil.example",
    "null",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example",
    "http://localhost:1@evil.example",
)


@pytest.mark.requirement("http.security.origin-checked")
def test_a_foreign_origin_is_not_served(server):
    for reply in replies_to_foreign_origins(server):
        expect(reply, not reply.was_served, "a refusal of a page of another site")


@pytest.mark.requirement("http.security.origin-403")
def test_a_foreign_origin_gets_403(server):
    refused = [reply for reply in replies_to_foreign_origins(server) if not reply.was_served]
    for reply in require_some(refused, skip="every origin is served"):
        expect(reply, reply.status == 403, "the status 403")


@scenario
def replies_to_foreign_origins(server):
    """Return the responses to a request with each foreign Origin; skip unless the server is on loopback."""
    session = http_session(server)
    if not lines_of(session).server.endpoint.is_loopback:
        skip("only a server on loopback must protect its user from web pages by itself")
    plain = post(session, session.liveness_method)
    if not plain.was_served:
        skip(f"a request without an Origin is not served: {plain}")
    return [post(session, session.liveness_method, headers={"Origin": one}) for one in FOREIGN_ORIGINS]
