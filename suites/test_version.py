"""The version that each request names (spec: basic/versioning, "Protocol Version Negotiation").

All is seen in one process, whose first message names a version that does not exist.
"""

from __future__ import annotations

import pytest

from conformance.expect import expect, expect_each, expect_error, require_answer, require_some, skip
from conformance.protocol import revisions
from conformance.protocol.value import Value, members
from conformance.scenarios.request_metadata import is_later, plain_method, said_of, versions
from conformance.verdicts import Finding

UNKNOWN = "1900-01-01"


@pytest.mark.requirement("version.unsupported-error")
def test_a_version_that_is_none_is_refused_at_once(server):
    first = 1 if server.surface.found_features else 2
    for reply in talk(server)[:first]:
        expect_error(reply, revisions.UNSUPPORTED_VERSION)


@pytest.mark.requirement("version.unsupported-error", "version.per-request")
def test_a_version_that_is_none_is_refused_after_good_ones(server):
    later = [reply for reply in talk(server)[2:] if names_unknown(reply)]
    for reply in require_some(later, skip="the server does not get so far"):
        expect_error(reply, revisions.UNSUPPORTED_VERSION)


@pytest.mark.requirement("version.per-request")
def test_a_version_that_is_refused_leaves_other_requests_alone(server):
    for reply in [reply for reply in talk(server) if not names_unknown(reply)]:
        if require_answer(reply).value is None:
            raise Finding("a result, as the version of this request is right", str(reply), reply.lines)


@pytest.mark.requirement("version.unsupported-supported-list")
def test_the_refusal_lists_the_versions_there_are(server, session):
    errors = refusals(server)
    expect_each(errors, lists_versions, "a list of strings in data.supported, not empty")
    listed = {version for error in errors for version in error.json["data"]["supported"]}
    for version in filter(is_later, sorted(listed)):
        reply = session.request("server/discover", {"_meta": {revisions.PROTOCOL_VERSION: version}})
        if reply.code == revisions.UNSUPPORTED_VERSION:
            raise Finding(f"{version} to be served, as it is listed", str(reply), reply.lines)


@pytest.mark.requirement("version.unsupported-requested")
def test_the_refusal_repeats_the_version(server):
    for error in refusals(server):
        requested = error.get("data", "requested")
        expect(error, requested is not None and requested.json == UNKNOWN, f"{UNKNOWN!r} in data.requested")


@pytest.mark.requirement("version.list-consistent")
def test_the_versions_are_the_same_in_a_refusal_as_in_discovery(server):
    told = versions(server.surface.result.get("supportedVersions"))
    for listed in require_some(
        members(refusals(server), "data", "supported"), skip="the refusals list no versions"
    ):
        if told and versions(listed):
            expect(listed, versions(listed) == told, f"those of server/discover: {', '.join(sorted(told))}")


def talk(server):
    """The replies to good requests and to those that name an unknown version, up to one without answer."""
    return server.once("talk of versions", lambda: list(held(server)))


def held(server):
    plain, unknown = plain_method(server), {"_meta": {revisions.PROTOCOL_VERSION: UNKNOWN}}
    methods = [plain] if server.surface.found_features else ["server/discover", plain]
    bad, good = [(method, unknown) for method in methods], [(method, {}) for method in methods]
    timeout = server.settings.start_timeout
    with server.launch() as session:
        for method, params in [*bad, *good, *bad, good[-1], bad[-1], good[0]]:
            reply = session.request(method, params, timeout=timeout)
            yield reply
            if reply.fault is not None:
                return
            timeout = session.timeout


def names_unknown(reply):
    return said_of(reply.request.message, revisions.PROTOCOL_VERSION) == UNKNOWN


def lists_versions(error):
    listed = Value(error).get("data", "supported")
    return listed is not None and bool(versions(listed)) and versions(listed) == set(listed.json)


def refusals(server):
    """The errors that refuse the unknown version as they should."""
    refused = [require_answer(reply) for reply in talk(server) if names_unknown(reply)]
    errors = [reply.error_value for reply in refused if reply.code == revisions.UNSUPPORTED_VERSION]
    return errors or skip("the unknown version is not refused with -32022")
