"""The version that each request names (spec: basic/versioning, "Protocol Version Negotiation").

The checks use one process, whose first message names an unknown version.
"""

from __future__ import annotations

import pytest

from mcp_conformance.client.reply import Unanswered
from mcp_conformance.expect import expect, expect_each, expect_error, require_answer, require_some, skip
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.request_metadata import (
    UNKNOWN_VERSION,
    is_later,
    meta_value,
    replies_by_version,
    versions,
)
from mcp_conformance.verdicts import Finding


@pytest.mark.requirement("version.unsupported-error")
def test_an_unknown_version_is_rejected_at_once(server):
    first = 1 if server.surface.found_features else 2
    for reply in answered(server)[:first]:
        expect_error(reply, revisions.UNSUPPORTED_VERSION)


@pytest.mark.requirement("version.unsupported-error", "version.per-request")
def test_an_unknown_version_is_rejected_after_good_ones(server):
    later = [reply for reply in answered(server)[2:] if names_unknown(reply)]
    for reply in require_some(later, skip="the server did not answer an earlier request"):
        expect_error(reply, revisions.UNSUPPORTED_VERSION)


@pytest.mark.requirement("version.per-request")
def test_a_rejected_version_leaves_other_requests_alone(server):
    for reply in [reply for reply in answered(server) if not names_unknown(reply)]:
        if require_answer(reply).value is None:
            raise Finding("a result, as the version of this request is right", str(reply), reply.lines)


@pytest.mark.requirement("version.unsupported-supported-list")
def test_the_error_lists_the_supported_versions(server, session):
    errors = require_rejections(server)
    expect_each(errors, lists_versions, "a list of strings in data.supported, not empty")
    listed = {version for error in errors for version in error.json["data"]["supported"]}
    for version in filter(is_later, sorted(listed)):
        reply = session.request("server/discover", {"_meta": {revisions.PROTOCOL_VERSION: version}})
        if reply.code == revisions.UNSUPPORTED_VERSION:
            raise Finding(f"{version} to be served, as it is listed", str(reply), reply.lines)


@pytest.mark.requirement("version.unsupported-requested")
def test_the_error_repeats_the_version(server):
    for error in require_rejections(server):
        requested = error.get("data", "requested")
        expect(
            error,
            requested is not None and requested.json == UNKNOWN_VERSION,
            f"{UNKNOWN_VERSION!r} in data.requested",
        )


@pytest.mark.requirement("version.list-consistent")
def test_the_error_lists_the_versions_of_discovery(server):
    discovered = versions(server.surface.result.get("supportedVersions"))
    lists = members(require_rejections(server), "data", "supported")
    expected = f"those of server/discover: {', '.join(sorted(discovered))}"
    for listed in require_some(lists, skip="the errors list no versions"):
        if discovered and versions(listed):
            expect(listed, versions(listed) == discovered, expected)


def answered(server):
    """Return the replies by version; skip if HTTP alone, without JSON-RPC, refuses the unknown one."""
    replies = replies_by_version(server)
    for reply in filter(names_unknown, replies):
        if isinstance(reply.fault, Unanswered) and reply.fault.status == 400:
            skip(f"{reply.fault}: see http.version.unsupported-modern")
    return replies


def names_unknown(reply):
    """Return whether the request of a reply names the unknown version."""
    return meta_value(reply.request.message, revisions.PROTOCOL_VERSION) == UNKNOWN_VERSION


def lists_versions(error):
    """Return whether an error lists versions, and nothing else."""
    listed = Value(error).get("data", "supported")
    return listed is not None and bool(versions(listed)) and versions(listed) == set(listed.json)


def require_rejections(server):
    """Return the errors that reject the unknown version with the right code; skip if there are none."""
    replies = [require_answer(reply) for reply in answered(server) if names_unknown(reply)]
    errors = [reply.error_value for reply in replies if reply.code == revisions.UNSUPPORTED_VERSION]
    return require_some(errors, skip="the unknown version is not rejected with -32022")
