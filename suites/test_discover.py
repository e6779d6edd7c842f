"""Discovery: what a server says of itself in answer to `server/discover` (spec: server/discover)."""

from __future__ import annotations

import pytest

from conformance.expect import expect, expect_each, require_answer, require_some, skip
from conformance.protocol import revisions
from conformance.protocol.methods import LISTS
from conformance.protocol.value import members
from conformance.scenarios.invalid_requests import undeclared_requests
from conformance.scenarios.request_metadata import first_talk, is_later, versions
from conformance.verdicts import Finding

METHODS = {"completions": ("completion/complete",)} | {
    feature: tuple(method for method, (owner, _) in LISTS.items() if owner == feature)
    for feature in ("tools", "prompts", "resources")
}
"""The methods that have to be there when a feature is declared."""
OPTIONAL = "resources/templates/list"


@pytest.mark.requirement("discover.implemented")
def test_discovery_is_answered_after_other_requests_too(server):
    reply = require_answer(first_talk(server)[0].request("server/discover"))
    if reply.value is None:
        raise Finding("a result", str(reply), reply.lines)


@pytest.mark.requirement("discover.supported-versions")
def test_the_versions_are_a_list_of_strings(server):
    listed = told(server).get("supportedVersions")
    right = listed is not None and listed.is_a(list) and all(one.is_a(str) for one in listed.each())
    expect(listed or told(server), right, "an array of strings in supportedVersions")


@pytest.mark.requirement("discover.versions-include-used")
def test_the_versions_are_those_that_are_served(server, session, revision):
    listed = told(server).get("supportedVersions") or skip("no versions are listed")
    expect(listed, revision in versions(listed), f"{revision} among them, which is served")
    for version in filter(is_later, sorted(versions(listed))):
        reply = session.request("server/discover", {"_meta": {revisions.PROTOCOL_VERSION: version}})
        if reply.code == revisions.UNSUPPORTED_VERSION:
            raise Finding(f"{version} to be served, as it is listed", str(reply), reply.lines)


@pytest.mark.requirement("discover.capabilities")
def test_the_capabilities_are_an_object(server):
    declared = members([told(server)], "capabilities")
    expect(told(server), declared != [], "a member capabilities")
    experimental = members(declared, "experimental")
    objects = [*declared, *experimental, *(each for one in experimental for each in one.each())]
    expect_each(objects, lambda value: isinstance(value, dict), "an object")


@pytest.mark.requirement("discover.capabilities-true")
def test_what_is_declared_is_there(server, session):
    server.require_discovery()
    for feature in require_some(
        [one for one in METHODS if server.declares(one)], skip="no feature is declared"
    ):
        for method in METHODS[feature]:
            reply = require_answer(session.request(method))
            if reply.code == -32601 and method != OPTIONAL:
                raise Finding(f"{method} to be there, since {feature} is declared", str(reply), reply.lines)


@pytest.mark.requirement("discover.capabilities-true")
def test_what_is_there_is_declared(server, session):
    for method, params in require_some(undeclared_requests(server), skip="every feature is declared"):
        reply = require_answer(session.request(method, params))
        held = members([reply.value] if reply.value is not None else [], LISTS.get(method, ("", ""))[1])
        if any(items.json for items in held):
            raise Finding("error -32601, since the feature is not declared", str(held[0]), reply.lines)


@pytest.mark.requirement("discover.instructions")
def test_the_instructions_are_text(server):
    found = require_some(members([told(server)], "instructions"), skip="the server gives no instructions")
    expect_each(found, lambda value: isinstance(value, str), "a string, or no instructions at all")


@pytest.mark.requirement("discover.server-info")
def test_a_server_says_who_it_is(server):
    who = told(server).get("_meta", revisions.SERVER_INFO)
    wanted = f"an object with strings in name and version in _meta, called {revisions.SERVER_INFO}"
    expect(who or told(server), who is not None and is_identity(who.json), wanted)


@pytest.mark.requirement("discover.cacheable")
def test_discovery_says_how_long_it_keeps(server):
    missing = [name for name in ("ttlMs", "cacheScope") if told(server).get(name) is None]
    if missing:
        raise Finding("ttlMs and cacheScope", f"no {' and no '.join(missing)}", server.surface.opening)


def is_identity(value):
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("name", "version"))


def told(server):
    """What the server says of itself; skips the check if it refuses to."""
    server.require_discovery()
    return server.surface.result
