"""The header MCP-Protocol-Version (spec: basic/transports)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect, skip
from mcp_conformance.protocol import revisions
from mcp_conformance.scenarios.http_modern import (
    error_data,
    expect_mismatch,
    is_mismatch,
    listed_versions,
    plain_method,
    serves_clients_without_version_header,
)
from mcp_conformance.scenarios.http_requests import delete, http_session, post
from mcp_conformance.scenarios.http_sessions import initialize, other_revision
from mcp_conformance.target.scenario import scenario

VERSION, METHOD = "MCP-Protocol-Version", "Mcp-Method"
INVALID = ("banana", "2000-01-01", "2099-01-01")
UNSUPPORTED = "1900-01-01"
HEADER_MISMATCH, UNSUPPORTED_VERSION = revisions.HEADER_MISMATCH, revisions.UNSUPPORTED_VERSION


# The handshake revisions


@pytest.mark.requirement("http.version.invalid-400")
@pytest.mark.parametrize("value", INVALID)
def test_an_invalid_version_gets_400(server, value):
    session = served_session(server)
    reply = post(session, session.liveness_method, headers={VERSION: value})
    expect(reply, reply.status == 400, f"the status 400, as there is no version {value}")


@pytest.mark.requirement("http.version.absent-assumed")
def test_a_request_without_a_version_is_served(server):
    session = served_session(server)
    reply = post(session, session.liveness_method, headers={VERSION: None})
    expect(reply, reply.was_served, "a result, in the version agreed on or in 2025-03-26")


@pytest.mark.requirement("http.version.negotiated-differs")
def test_another_supported_version_is_served_or_refused(server):
    session = served_session(server)
    reply = post(session, session.liveness_method, headers={VERSION: other_revision(session)})
    expect(reply, reply.was_served or reply.is_refusal, "a result, or an error status from 400 to 499")


@pytest.mark.requirement("http.version.at-initialize")
def test_initialize_may_have_the_header(server):
    session = served_session(server)
    reply = initialize(session, {VERSION: session.revision})
    for id in reply.header("Mcp-Session-Id"):
        delete(session, {"Mcp-Session-Id": id})
    expect(reply, reply.was_served, "a result, as without the header")


# The modern revisions


@pytest.mark.requirement("http.version.required-modern")
def test_a_request_without_a_version_is_refused(server):
    method = plain_method(server)
    if serves_clients_without_version_header(server):
        skip("the server serves clients of 2025-03-26, which send no version")
    reply = post(http_session(server), method, headers={VERSION: None})
    expect_mismatch(server, reply)


@pytest.mark.requirement("http.version.matches-meta")
@pytest.mark.parametrize("wrong", ["header", "body"])
def test_a_version_that_is_not_that_of_the_body_is_refused(server, wrong):
    session, method = http_session(server), plain_method(server)
    if wrong == "header":
        reply = wrong_version_header(server)
        if reply.answer is None and reply.status == post(session, method, of_version(UNSUPPORTED)).status:
            skip("an unsupported version gets no other response: see http.version.unsupported-modern")
    else:
        reply = post(session, method, of_version(UNSUPPORTED), {VERSION: server.revision})
    expect_mismatch(server, reply, UNSUPPORTED_VERSION)


@pytest.mark.requirement("http.version.era-by-metadata")
def test_the_metadata_and_not_the_header_selects_the_era(server):
    if not is_mismatch(wrong_version_header(server), UNSUPPORTED_VERSION):
        skip("a header with an unknown version is not refused either: see http.version.matches-meta")
    other = revisions.LATEST_HANDSHAKE
    reply = post(http_session(server), plain_method(server), headers={VERSION: other})
    others = () if other in listed_versions(server) else (UNSUPPORTED_VERSION,)
    expect_mismatch(server, reply, *others, why=", as the body is modern")


@pytest.mark.requirement("http.version.unsupported-modern")
def test_an_unsupported_version_gets_400_and_the_supported_ones(server):
    reply = post(http_session(server), plain_method(server), of_version(UNSUPPORTED))
    data = error_data(reply)
    lists = isinstance(data, dict) and isinstance(data.get("supported"), list) and data["supported"] != []
    holds = reply.status == 400 and reply.code == UNSUPPORTED_VERSION and lists
    expect(reply, holds, "the status 400 and error -32022 with the supported versions")


@pytest.mark.requirement("http.version.precedence")
def test_an_unsupported_version_with_a_wrong_method_gets_400(server):
    reply = post(http_session(server), plain_method(server), of_version(UNSUPPORTED), {METHOD: "x"})
    holds = is_mismatch(reply, UNSUPPORTED_VERSION)
    expect(reply, holds, f"the status 400 and error {HEADER_MISMATCH} or {UNSUPPORTED_VERSION}")


@scenario
def wrong_version_header(server):
    """Return the response to a request whose header has a version that is not that of its body."""
    return post(http_session(server), plain_method(server), headers={VERSION: UNSUPPORTED})


def served_session(server):
    """Return a session whose requests are served; skip if a right one is not."""
    session = http_session(server)
    reply = post(session, session.liveness_method)
    if not reply.was_served:
        skip(f"a request with the right headers is not served: {reply}")
    return session


def of_version(version):
    """Return params of a request of another version; its header follows."""
    return {"_meta": {revisions.PROTOCOL_VERSION: version}}
