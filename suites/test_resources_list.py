"""Listing resources, and what a listed resource looks like (spec: server/resources, "Listing Resources")."""

from __future__ import annotations

import pytest

from conformance.client.session import NO_PARAMS
from conformance.expect import expect, expect_each, expect_result, require_answer, require_some, skip
from conformance.protocol.uri import is_uri, scheme
from conformance.protocol.value import members
from conformance.scenarios.list_stability import (
    expect_same_after_reads,
    expect_same_in_every_process,
    repeated_identifiers,
)
from conformance.verdicts import Finding

REGISTERED = (
    *(
        "https",
        "http",
        "file",
        "git",
        "ftp",
        "sftp",
        "ssh",
        "ws",
        "wss",
        "data",
        "urn",
        "tag",
        "mailto",
        "tel",
    ),
    *(
        "about",
        "blob",
        "cid",
        "mid",
        "dav",
        "imap",
        "ldap",
        "nfs",
        "smb",
        "svn",
        "rsync",
        "jar",
        "view-source",
    ),
)
"""Schemes that are no server's own: those of the specification, and the common ones of IANA's registry."""


def is_string(value):
    return isinstance(value, str)


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


# The list


@pytest.mark.requirement("resources.list.answered")
def test_declared_resources_are_listed(server, session):
    if require_answer(listing(server).replies[0]).value is None:
        expect_result(session.request("resources/list", {}))


@pytest.mark.requirement("resources.list.result-shape")
def test_a_page_has_an_array_of_resources(server):
    pages = [reply.value for reply in listing(server).replies if reply.value is not None]
    for page in require_some(pages, skip="resources/list gave no result"):
        resources = page.get("resources")
        expect(resources or page, resources is not None and resources.is_a(list), "an array in resources")
        expect_each(resources.each(), lambda each: isinstance(each, dict), "an object")


@pytest.mark.requirement("resources.list.params-optional")
@pytest.mark.parametrize("form", ["absent", "empty", "meta"])
def test_the_list_of_resources_needs_no_params(server, session, form):
    if listing(server).replies[0].fault is not None:
        skip("resources/list is not answered")
    forms = {"absent": NO_PARAMS, "empty": {}, "meta": {"_meta": {}}}
    replies = {name: session.request("resources/list", params) for name, params in forms.items()}
    if all(reply.value is None for reply in replies.values()):
        skip("resources/list gives no result in any form")
    expect_result(replies[form])


@pytest.mark.requirement("resources.list.same-per-connection", "stateless.list-invariant")
def test_every_process_lists_the_same_resources(server):
    expect_same_in_every_process(server, "resources/list")


@pytest.mark.requirement("resources.list.no-side-effect-variation", "stateless.list-invariant")
def test_requests_that_only_read_leave_the_resources_as_they_are(server):
    expect_same_after_reads(server, "resources/list")


def listing(server):
    if not server.declares("resources"):
        skip("resources are not declared")
    return server.listing("resources/list")


# A resource


@pytest.mark.requirement("resources.def.uri-string")
def test_a_resource_has_a_uri(server):
    expect_each(listed(server), lambda resource: is_string(resource.get("uri")), "a string in uri")


@pytest.mark.requirement("resources.def.uri-syntax")
def test_the_uri_of_a_resource_is_one(server):
    expect_each(uris(server), is_uri, "a URI by RFC 3986")


@pytest.mark.requirement("resources.scheme.custom-rfc3986")
def test_a_uri_of_a_scheme_of_its_own_is_well_formed(server):
    own = [uri for uri in uris(server) if is_own(scheme(uri.json))]
    require_some(own, skip="no listed resource has a scheme of the server's own")
    expect_each(own, is_uri, "a URI by RFC 3986, since its scheme is the server's own")


@pytest.mark.requirement("resources.def.uri-unique")
def test_no_two_resources_share_a_uri(server, session):
    uris(server)
    for uri, namesakes in repeated_identifiers(server, session, "resources/list"):
        raise Finding("each URI once", f"{len(namesakes)} resources with {uri!r}", namesakes[1].lines)


@pytest.mark.requirement("resources.def.name-string")
def test_a_resource_has_a_name(server):
    expect_each(listed(server), lambda resource: is_string(resource.get("name")), "a string in name")


@pytest.mark.requirement("resources.def.optional-members")
def test_a_resource_describes_itself_in_strings_and_its_size_in_a_number(server, revision):
    for member in (
        ("description", "mimeType", "title") if revision >= "2025-06-18" else ("description", "mimeType")
    ):
        expect_each(members(listed(server), member), is_string, f"a string, or no {member}")
    expect_each(members(listed(server), "size"), is_number, "a number, or no size")


def listed(server):
    found = [resource for resource in server.listed("resources/list") if resource.is_a(dict)]
    return require_some(found, skip="no resource is listed")


def uris(server):
    found = [uri for uri in members(listed(server), "uri") if uri.is_a(str)]
    return require_some(found, skip="no listed resource has a URI")


def is_own(name):
    return len(name) > 1 and name not in REGISTERED
