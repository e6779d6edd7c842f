"""Modern requests at servers of the handshake revisions (spec: basic/versioning)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect, skip
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT
from mcp_conformance.protocol.revisions import HEADER_MISMATCH, LACKS_CAPABILITY
from mcp_conformance.scenarios.http_modern import error_data, modern_reply

MODERN_CODES = (HEADER_MISMATCH, LACKS_CAPABILITY, revisions.UNSUPPORTED_VERSION)


@pytest.mark.requirement("http.compat.no-modern-error")
def test_a_server_of_handshakes_has_no_modern_errors(server):
    reply = modern_reply(server)
    if reply.result is not ABSENT:
        skip("the server also serves modern requests")
    data = error_data(reply)
    names_versions = isinstance(data, dict) and bool(data.get("supported"))
    holds = reply.code not in MODERN_CODES or names_versions
    expect(reply, holds, "no error by which a client takes the server for a modern one")


@pytest.mark.requirement("http.compat.modern-request-fails")
def test_a_modern_request_is_not_a_failure_of_the_server(server):
    reply = modern_reply(server)
    holds = reply.status is not None and reply.status < 500
    expect(reply, holds, "a status below 500, after which a client begins with initialize")
