"""The statuses of errors in the modern revisions (spec: basic/transports/streamable-http, basic/index)."""

from __future__ import annotations

import pytest

from mcp_conformance.client.refusals import NO_SUCH_NAME
from mcp_conformance.expect import expect, require_some, skip
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT
from mcp_conformance.protocol.methods import NO_SUCH_METHOD
from mcp_conformance.protocol.revisions import LACKS_CAPABILITY
from mcp_conformance.scenarios.http_modern import (
    plain_method,
    post_incomplete,
    raw_initialize,
    refusals_for_lack_of_capabilities,
    replies_with_results,
    require_modern_only,
)
from mcp_conformance.scenarios.http_requests import http_session, post

UNKNOWN_METHOD, INVALID_PARAMS = -32601, -32602
REMOVED = ("ping", "logging/setLevel", "resources/subscribe")
LACKING = {
    "_meta": None,
    "protocolVersion": revisions.PROTOCOL_VERSION,
    "clientCapabilities": revisions.CLIENT_CAPABILITIES,
}


@pytest.mark.requirement("http.status.unknown-method")
def test_an_unknown_method_gets_404(server):
    plain_method(server)
    reply = post(http_session(server), NO_SUCH_METHOD)
    if reply.messages and not isinstance(reply.messages[0], dict):
        skip("the answer is not an object: see http.post.json-one-object")
    holds = reply.status == 404 and reply.code == UNKNOWN_METHOD
    expect(reply, holds, "the status 404 and error -32601")


@pytest.mark.requirement("http.status.removed-method")
@pytest.mark.parametrize("method", REMOVED)
def test_a_removed_method_gets_404(server, method):
    plain_method(server)
    params = {"ping": {}, "logging/setLevel": {"level": "info"}}.get(method, {"uri": "test://none"})
    reply = post(http_session(server), method, params)
    if reply.code != UNKNOWN_METHOD:
        skip(f"{method} is not answered as an unknown method: see the rules of its chapter")
    expect(reply, reply.status == 404, f"the status 404 with error -32601 for {method}")


@pytest.mark.requirement("http.status.missing-meta")
@pytest.mark.parametrize("lacking", LACKING)
def test_incomplete_metadata_gets_400(server, lacking):
    method = plain_method(server)
    reply = post_incomplete(http_session(server), method, LACKING[lacking])
    if reply.was_served:
        skip("the request is served: see reqmeta.missing-meta")
    expect(reply, reply.status == 400, "the status 400, as the metadata is incomplete")


@pytest.mark.requirement("http.status.missing-capability")
def test_a_missing_capability_gets_400(server):
    found = refusals_for_lack_of_capabilities(server)
    for reply in require_some(found, skip=f"no request is rejected with {LACKS_CAPABILITY}"):
        expect(reply, reply.status == 400, f"the status 400 with error {LACKS_CAPABILITY}")


@pytest.mark.requirement("http.status.result-200")
def test_a_result_has_the_status_200(server):
    for reply in replies_with_results(server):
        expect(reply, reply.status == 200, "the status 200 with a result, also of a tool that failed")


@pytest.mark.requirement("http.status.error-body")
def test_an_error_has_a_json_rpc_body(server):
    plain_method(server)
    reply = post(http_session(server), "tools/call", {"name": NO_SUCH_NAME, "arguments": {}})
    holds = reply.answer is not None and reply.status is not None and reply.status < 500
    expect(reply, holds, "a JSON-RPC response, with the status 200 or one from 400 to 499")


@pytest.mark.requirement("http.status.initialize")
def test_a_handshake_gets_400_or_404(server):
    plain_method(server)
    require_modern_only(server)
    reply = raw_initialize(server, revisions.LATEST_HANDSHAKE)
    if reply.result is not ABSENT:
        skip("the server answers initialize with a result")
    expect(reply, reply.status in (400, 404), "the status 400 or 404")
