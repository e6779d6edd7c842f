"""Listing resources, and the members of a resource (spec: server/resources, "Listing Resources")."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import (
    expect_each,
    expect_result,
    is_number,
    is_string,
    require_answer,
    require_some,
    skip,
)
from mcp_conformance.protocol.uri import is_uri, scheme
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.list_stability import (
    NO_ARGUMENTS_FORMS,
    expect_items,
    expect_same_after_reads,
    expect_same_each_time,
    expect_same_in_every_process,
    repeated_identifiers,
    require_answered_form,
    require_lists_around_reads,
    require_pages,
)
from mcp_conformance.scenarios.unserved_methods import require_served
from mcp_conformance.verdicts import Finding

LIST = "resources/list"
REGISTERED_SCHEMES = {
    *("https", "http", "file", "git", "ftp", "sftp", "ssh", "ws", "wss", "data", "urn", "tag", "mailto"),
    *("tel", "about", "blob", "cid", "mid", "dav", "imap", "ldap", "nfs", "smb", "svn", "rsync", "jar"),
    "view-source",
}
"""Schemes that are not a server's own: those of the specification, and common ones of IANA's registry."""


# The list


@pytest.mark.requirement("resources.list.answered")
@pytest.mark.capability("resources")
def test_declared_resources_are_listed(server, session):
    require_served(server, LIST)
    if require_answer(server.listing(LIST).replies[0]).value is None:
        expect_result(session.request(LIST, {}))


@pytest.mark.requirement("resources.list.result-shape")
@pytest.mark.capability("resources")
def test_a_page_has_an_array_of_resources(server):
    expect_items(require_pages(server, LIST), LIST)


@pytest.mark.requirement("resources.list.params-optional")
@pytest.mark.parametrize("form", NO_ARGUMENTS_FORMS)
@pytest.mark.capability("resources")
def test_the_list_of_resources_needs_no_params(server, session, form):
    if server.listing(LIST).replies[0].fault is not None:
        skip(f"{LIST} is not answered")
    expect_result(require_answered_form(session, LIST, form))


@pytest.mark.requirement("resources.list.same-per-connection", "stateless.list-invariant")
@pytest.mark.capability("resources")
def test_every_process_lists_the_same_resources(server):
    expect_same_in_every_process(server, LIST)


@pytest.mark.requirement("resources.list.no-side-effect-variation", "stateless.list-invariant")
@pytest.mark.capability("resources")
def test_requests_that_only_read_leave_the_resources_as_they_are(server):
    expect_same_after_reads(require_lists_around_reads(server, LIST), LIST)


@pytest.mark.requirement("resources.list.no-side-effect-variation", "drift.lists")
@pytest.mark.capability("resources")
def test_a_list_of_resources_changes_not_by_being_fetched(server):
    expect_same_each_time(server, LIST)


# A resource


@pytest.mark.requirement("resources.def.uri-string")
@pytest.mark.capability("resources")
def test_a_resource_has_a_uri(server):
    resources = require_some(resources_of(server), skip="no resource is listed")
    expect_each(resources, lambda resource: is_string(resource.get("uri")), "a string in uri")


@pytest.mark.requirement("resources.def.uri-syntax")
@pytest.mark.capability("resources")
def test_the_uri_of_a_resource_is_valid(server):
    expect_each(require_uris(server), is_uri, "a URI by RFC 3986")


@pytest.mark.requirement("resources.scheme.custom-rfc3986")
@pytest.mark.capability("resources")
def test_a_uri_with_a_custom_scheme_is_valid(server):
    custom = [uri for uri in require_uris(server) if is_custom(scheme(uri.json))]
    require_some(custom, skip="no listed resource has a scheme of the server's own")
    expect_each(custom, is_uri, "a URI by RFC 3986, since its scheme is the server's own")


@pytest.mark.requirement("resources.def.uri-unique")
@pytest.mark.capability("resources")
def test_no_two_resources_share_a_uri(server, session):
    require_uris(server)
    for uri, namesakes in repeated_identifiers(server, session, LIST):
        raise Finding("each URI once", f"{len(namesakes)} resources with {uri!r}", namesakes[1].lines)


@pytest.mark.requirement("resources.def.name-string")
@pytest.mark.capability("resources")
def test_a_resource_has_a_name(server):
    resources = require_some(resources_of(server), skip="no resource is listed")
    expect_each(resources, lambda resource: is_string(resource.get("name")), "a string in name")


@pytest.mark.requirement("resources.def.optional-members")
@pytest.mark.capability("resources")
def test_a_resource_describes_itself_in_strings_and_its_size_in_a_number(server, revision):
    resources = require_some(resources_of(server), skip="no resource is listed")
    described = ("description", "mimeType", "title")
    for member in described if revision >= "2025-06-18" else described[:2]:
        expect_each(members(resources, member), is_string, f"a string, or no {member}")
    expect_each(members(resources, "size"), is_number, "a number, or no size")


def resources_of(server):
    return [resource for resource in server.listed(LIST) if resource.is_a(dict)]


def require_uris(server):
    """Return the URIs of the listed resources; skip the check if there are none."""
    resources = require_some(resources_of(server), skip="no resource is listed")
    uris = [uri for uri in members(resources, "uri") if uri.is_a(str)]
    return require_some(uris, skip="no listed resource has a URI")


def is_custom(scheme):
    return len(scheme) > 1 and scheme not in REGISTERED_SCHEMES
