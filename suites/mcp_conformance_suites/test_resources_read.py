"""Reading resources, and the refusal of unknown ones (spec: server/resources, "Reading Resources")."""

from __future__ import annotations

import base64
import binascii
from urllib.parse import unquote

import pytest

from mcp_conformance.client.listing import fetch_list
from mcp_conformance.client.refusals import NO_SUCH_NAME, NO_SUCH_URI
from mcp_conformance.client.reply import results_of
from mcp_conformance.client.session import NO_PARAMS
from mcp_conformance.expect import (
    expect_each,
    expect_error,
    is_number,
    is_string,
    require_answer,
    require_some,
    skip,
)
from mcp_conformance.protocol.revisions import not_found
from mcp_conformance.protocol.uri import NETWORK_SCHEMES, scheme
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.invalid_requests import is_not_found, require_own_refusal
from mcp_conformance.scenarios.path_traversal import path_traversal
from mcp_conformance.scenarios.resource_templates import expansions, is_templated
from mcp_conformance.scenarios.unserved_methods import require_served
from mcp_conformance.verdicts import Finding

INVALID_URIS = (
    "",
    NO_SUCH_NAME,
    f"conformance://{NO_SUCH_NAME} with spaces",
    f"conformance://%zz/{NO_SUCH_NAME}",
)
MAX_SCHEMES = 3
WRONG_CODES = (0, -32700, -32600)
"""Codes that fit no failure of a well-formed request."""
TEXT_CODECS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252")


# The result


@pytest.mark.requirement("resources.read.result-shape")
@pytest.mark.capability("resources")
def test_the_result_of_a_read_has_contents(server):
    results = results_of(answered_reads(server))
    require_some(results, skip="no resource could be read")
    expect_each(results, has_contents, "an object with an array in contents")
    contents = [content for found in members(results, "contents") for content in found.each()]
    expect_each(contents, is_content, "an object with strings in uri and in text or blob")


@pytest.mark.requirement("resources.read.optional-members")
@pytest.mark.capability("resources")
def test_the_mime_type_of_contents_is_a_string(server):
    contents = [content for reply in answered_reads(server) for content in contents_of(reply)]
    types = require_some(members(contents, "mimeType"), skip="no content that was read has a mimeType")
    expect_each(types, is_string, "a string, or no mimeType")


@pytest.mark.requirement("resources.read.contents-uri")
@pytest.mark.capability("resources")
def test_contents_have_the_requested_uri(server):
    singles = [
        (reply, *contents_of(reply)) for reply in answered_reads(server) if len(contents_of(reply)) == 1
    ]
    pairs = [(reply, uri) for reply, content in singles for uri in members([content], "uri") if uri.is_a(str)]
    for reply, uri in require_some(pairs, skip="no read gave a single content with a URI"):
        if not is_same_or_part(requested_uri(reply), uri.json):
            raise Finding(f"{requested_uri(reply)}, or a part of it", str(uri), uri.lines)


@pytest.mark.requirement("resources.read.listed-is-readable")
@pytest.mark.capability("resources")
def test_a_listed_resource_can_be_read(server, session):
    require_served(server, "resources/read")
    replies = [reply for reply in server.resources() if scheme(requested_uri(reply)) not in NETWORK_SCHEMES]
    require_some(replies, skip="no listed resource was read")
    lost = [reply for reply in replies if is_not_found(server, reply)]
    listed = fetch_list(session, "resources/list", "resources").identifiers() if lost else []
    for uri in [requested_uri(reply) for reply in lost if requested_uri(reply) in listed]:
        again = session.request("resources/read", {"uri": uri})
        if is_not_found(server, again):
            raise Finding(f"{uri} to be read, since it is listed", str(again), again.lines)
    require_some(results_of(replies), skip=f"no listed resource can be read: {replies[0]}")


@pytest.mark.requirement("resources.def.size-meaning")
@pytest.mark.capability("resources")
def test_the_size_of_a_resource_is_the_number_of_its_bytes(server, session):
    listed = [item for item in server.listed("resources/list") if item.is_a(dict)]
    sized = [item for item in listed if is_number(item.json.get("size"))]
    replies = server.resources() if sized else []
    pairs = [
        (item, reply) for item in sized for reply in replies if requested_uri(reply) == item.json.get("uri")
    ]
    read = [(item, reply, sizes_of(reply)) for item, reply in pairs if sizes_of(reply)]
    for item, reply, sizes in require_some(read, skip="no resource that has a size was read"):
        if item.json["size"] not in sizes and is_unchanged(session, item, reply):
            expected = f"a size of {min(sizes)}, the bytes that were read"
            raise Finding(expected, str(item.get("size")), item.lines)


def answered_reads(server):
    """Return the reads of listed resources and of expanded templates."""
    return server.resources() + [expansion.reply for expansion in expansions(server)]


def requested_uri(reply):
    return reply.request.message["params"]["uri"]


def has_contents(result):
    return isinstance(result, dict) and isinstance(result.get("contents"), list)


def is_content(value):
    if not isinstance(value, dict) or not is_string(value.get("uri")):
        return False
    return is_string(value.get("text")) or is_string(value.get("blob"))


def contents_of(reply):
    array = reply.value.get("contents") if reply.value is not None else None
    return list(array.each()) if array is not None and array.is_a(list) else []


def is_same_or_part(one, other):
    """Return whether two URIs are equal but for case and escapes, or one is a prefix of the other."""
    one, other = normalized(one), normalized(other)
    return other != "" and (one.startswith(other) or other.startswith(one))


def normalized(uri):
    return unquote(uri).rstrip("/").lower()


def sizes_of(reply):
    """Return the numbers of bytes that a single content may have, in any common encoding."""
    contents = contents_of(reply)
    if len(contents) != 1 or not is_content(contents[0].json):
        return set()
    content = contents[0].json
    if is_string(content.get("blob")):
        return blob_sizes(content["blob"])
    forms = (content["text"], content["text"].replace("\n", "\r\n"))
    return {len(form.encode(codec, "replace")) for form in forms for codec in TEXT_CODECS}


def blob_sizes(blob):
    try:
        return {len(base64.b64decode(blob, validate=True))}
    except (binascii.Error, ValueError):
        return set()


def is_unchanged(session, item, reply):
    """Return whether a resource is still listed, and still read, as it was."""
    again = session.request("resources/read", {"uri": requested_uri(reply)})
    listed = [other.json for other in fetch_list(session, "resources/list", "resources").items]
    return again.result == reply.result and item.json in listed


# Unknown resources


@pytest.mark.requirement("resources.read.not-found-is-error")
@pytest.mark.capability("resources")
def test_an_unknown_resource_is_refused(server):
    require_served(server, "resources/read")
    for reply in unknown_reads(server):
        expect_error(require_own_refusal(reply, server.resources()))


@pytest.mark.requirement("resources.read.not-found-code")
@pytest.mark.capability("resources")
def test_an_unknown_resource_is_refused_as_not_found(server, revision):
    refused = require_some(refusals(server), skip="no read of an unknown resource is refused")
    require_own_refusal(refused[0], server.resources())
    code = not_found(revision)
    wrong = [reply for reply in refused if reply.code != code]
    if wrong:
        raise Finding(f"error {code}", f"{requested_uri(wrong[0])}: {wrong[0]}", wrong[0].lines)


@pytest.mark.requirement("resources.read.not-found-not-empty")
@pytest.mark.capability("resources")
def test_an_unknown_resource_is_not_empty(server):
    require_served(server, "resources/read")
    for reply in unknown_reads(server):
        contents = reply.value.get("contents") if require_answer(reply).value is not None else None
        if contents is not None and contents.json == []:
            raise Finding(
                "an error, as empty contents mean that the resource exists", str(contents), contents.lines
            )
        require_own_refusal(reply, server.resources())


@pytest.mark.requirement("resources.read.not-found-data-uri")
@pytest.mark.capability("resources")
def test_the_refusal_names_the_unknown_uri(server):
    for reply in require_some(refusals(server), skip="no read of an unknown resource is refused"):
        data, uri = reply.error_value.get("data"), reply.error_value.get("data", "uri")
        if data is not None and uri is None:
            skip("the error has data of another shape, as it may")
        if uri is None or normalized(str(uri.json)) != normalized(requested_uri(reply)):
            raise Finding(f"data.uri: {requested_uri(reply)}", str(reply.error_value), reply.lines)


@pytest.mark.requirement("resources.read.internal-error-code")
@pytest.mark.capability("resources")
def test_a_resource_that_cannot_be_read_is_an_internal_error(server):
    refused = [reply for reply in server.resources() if reply.error is not None]
    failed = [reply for reply in refused if not is_not_found(server, reply)]
    for reply in require_some(failed, skip="every listed resource could be read"):
        if reply.code in WRONG_CODES:
            raise Finding("error -32603", f"{requested_uri(reply)}: {reply}", reply.lines)
    require_some(results_of(server.resources()), skip="no listed resource can be read")


def unknown_reads(server):
    """Read URIs that do not exist and match no template, in the schemes of listed resources and in ours.

    Skips the check if there are none.
    """
    require_served(server, "resources/read")
    listed = [uri.json for uri in members(server.listed("resources/list"), "uri") if uri.is_a(str)]
    similar = dict.fromkeys(unknown_like(uri) for uri in listed if scheme(uri) not in ("", *NETWORK_SCHEMES))
    uris = [uri for uri in [*list(similar)[:MAX_SCHEMES], NO_SUCH_URI] if not is_templated(server, uri)]
    return [server.read(uri) for uri in require_some(uris, skip="a template matches any URI")]


def unknown_like(uri):
    """Return an unknown URI in the scheme of another."""
    slashes = "///" if uri.startswith("file:") else "//" if "://" in uri else ""
    return f"{scheme(uri)}:{slashes}{NO_SUCH_NAME}"


def refusals(server):
    """Return the refused reads of unknown URIs; one in our own scheme only if there is no other."""
    found = [reply for reply in unknown_reads(server) if reply.error is not None]
    return [reply for reply in found if requested_uri(reply) != NO_SUCH_URI] or found


# Invalid URIs


@pytest.mark.requirement("resources.read.uri-validated")
@pytest.mark.capability("resources")
def test_an_invalid_uri_is_never_read(server, malformed_session):
    require_served(server, "resources/read")
    refuses_unknown = any(reply.error is not None for reply in unknown_reads(server))
    served = [data_of(content) for reply in server.resources() for content in contents_of(reply)]
    for uri in [uri for uri in INVALID_URIS if not is_templated(server, uri)]:
        reply = require_answer(malformed_session.request("resources/read", {"uri": uri}))
        require_answer(malformed_session.drain())
        read = [data_of(content) for content in contents_of(reply)]
        if read and (refuses_unknown or any(data in served for data in read if data)):
            raise Finding(f"an error, since {uri!r} is not a URI", str(reply), reply.lines)
        require_own_refusal(reply, server.resources())


@pytest.mark.requirement("resources.read.uri-required")
@pytest.mark.capability("resources")
def test_a_read_without_a_uri_is_refused(server, malformed_session):
    require_served(server, "resources/read")
    for params in (NO_PARAMS, {}, {"uri": 5}):
        reply = malformed_session.request("resources/read", params)
        expect_error(require_own_refusal(reply, server.resources()))


@pytest.mark.requirement("resources.read.path-traversal")
@pytest.mark.capability("resources")
def test_path_traversal_is_refused(server, malformed_session):
    read = [requested_uri(reply) for reply in server.resources() if contents_of(reply)]
    files = [uri for uri in read if scheme(uri) == "file"]
    require_some(files, skip="no listed resource is a file that can be read")
    with path_traversal(files[0]) as traversal:
        direct = malformed_session.request("resources/read", {"uri": traversal.direct})
        if contains(direct, traversal.secret):
            skip("the server reads files anywhere")
        for uri in traversal.uris:
            reply = require_answer(malformed_session.request("resources/read", {"uri": uri}))
            if contains(reply, traversal.secret):
                raise Finding("an error, as for the same file by its own path", str(reply), reply.lines)


def contains(reply, secret):
    """Return whether a secret is in a text or a blob that was read."""
    data = [data_of(content) for content in contents_of(reply)]
    blob = base64.b64encode(secret.encode()).decode()
    return any(secret in each or blob in each for each in data)


def data_of(content):
    """Return the text or blob of a content; an empty string if it has neither."""
    found = [each.json for name in ("text", "blob") for each in members([content], name)]
    return next((each for each in found if is_string(each)), "")
