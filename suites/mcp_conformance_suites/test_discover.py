"""Discovery: the result of `server/discover` (spec: server/discover)."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import (
    expect,
    expect_each,
    is_array_of_strings,
    is_identity,
    is_object,
    is_string,
    require,
    require_answer,
    require_some,
)
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.methods import LISTS
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.invalid_requests import undeclared_requests
from mcp_conformance.scenarios.request_metadata import first_exchange, is_later, versions
from mcp_conformance.scenarios.unserved_methods import expect_declared_methods
from mcp_conformance.verdicts import Finding

FEATURES = ("tools", "prompts", "resources", "completions")


@pytest.mark.requirement("discover.implemented")
def test_discovery_is_answered_after_other_requests_too(server):
    reply = require_answer(first_exchange(server)[0].request("server/discover"))
    if reply.value is None:
        raise Finding("a result", str(reply), reply.lines)


@pytest.mark.requirement("discover.supported-versions")
@pytest.mark.stage("listed")
def test_the_versions_are_a_list_of_strings(server):
    listed = discovery(server).get("supportedVersions")
    is_right = listed is not None and is_array_of_strings(listed.json)
    expect(listed or discovery(server), is_right, "an array of strings in supportedVersions")


@pytest.mark.requirement("discover.versions-include-used")
def test_each_listed_version_is_served(server, session, revision):
    listed = require(discovery(server).get("supportedVersions"), skip="no versions are listed")
    expect(listed, revision in versions(listed), f"{revision}, which is served, among the versions")
    for version in filter(is_later, sorted(versions(listed))):
        reply = session.request("server/discover", {"_meta": {revisions.PROTOCOL_VERSION: version}})
        if reply.code == revisions.UNSUPPORTED_VERSION:
            raise Finding(f"{version} to be served, as it is listed", str(reply), reply.lines)


@pytest.mark.requirement("discover.capabilities")
@pytest.mark.stage("listed")
def test_the_capabilities_are_an_object(server):
    declared = members([discovery(server)], "capabilities")
    expect(discovery(server), declared != [], "a member capabilities")
    experimental = members(declared, "experimental")
    objects = [*declared, *experimental, *(each for one in experimental for each in one.each())]
    expect_each(objects, is_object, "an object")


@pytest.mark.requirement("discover.capabilities-true")
def test_a_declared_feature_is_served(server):
    server.require_discovery()
    require_some([one for one in FEATURES if server.declares(one)], skip="no feature is declared")
    expect_declared_methods(server)


@pytest.mark.requirement("discover.capabilities-true")
def test_a_served_feature_is_declared(server, session):
    requests = require_some(undeclared_requests(server), skip="every feature is declared")
    for method, params in requests:
        reply = require_answer(session.request(method, params))
        results = [reply.value] if reply.value is not None else []
        arrays = members(results, LISTS.get(method, ("", ""))[1])
        if any(items.json for items in arrays):
            raise Finding("error -32601, since the feature is not declared", str(arrays[0]), reply.lines)


@pytest.mark.requirement("discover.instructions")
@pytest.mark.stage("listed")
def test_the_instructions_are_text(server):
    found = members([discovery(server)], "instructions")
    require_some(found, skip="the server gives no instructions")
    expect_each(found, is_string, "a string, or no instructions at all")


@pytest.mark.requirement("discover.server-info")
@pytest.mark.stage("listed")
def test_server_info_is_in_meta(server):
    info = discovery(server).get("_meta", revisions.SERVER_INFO)
    expected = f"an object with strings in name and version in _meta, called {revisions.SERVER_INFO}"
    expect(info or discovery(server), info is not None and is_identity(info.json), expected)


@pytest.mark.requirement("discover.cacheable")
@pytest.mark.stage("listed")
def test_discovery_is_cacheable(server):
    missing = [name for name in ("ttlMs", "cacheScope") if discovery(server).get(name) is None]
    if missing:
        raise Finding("ttlMs and cacheScope", f"no {' and no '.join(missing)}", server.surface.opening)


def discovery(server):
    """Return the result of server/discover; skip the check if the server rejects it."""
    server.require_discovery()
    return server.surface.result
