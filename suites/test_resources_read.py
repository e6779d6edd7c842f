"""Reading resources, and being refused what does not exist (spec: server/resources, "Reading Resources")."""

from __future__ import annotations

import base64
import binascii
from urllib.parse import unquote

import pytest

from conformance.client.listing import fetch_list
from conformance.client.refusals import NO_SUCH_NAME, NO_SUCH_URI
from conformance.client.session import NO_PARAMS
from conformance.expect import expect_each, expect_error, require_answer, require_some, skip
from conformance.protocol.revisions import not_found
from conformance.protocol.uri import scheme
from conformance.protocol.value import members
from conformance.scenarios.invalid_requests import is_not_found
from conformance.scenarios.path_traversal import climbing
from conformance.scenarios.resource_templates import expansions, is_templated
from conformance.verdicts import Finding

FETCHED = ("http", "https", "ws", "wss", "ftp", "sftp", "ssh", "git")
"""Schemes behind which a read may leave for the network."""
MALFORMED = (
    "",
    NO_SUCH_NAME,
    f"conformance://{NO_SUCH_NAME} with spaces",
    f"conformance://%zz/{NO_SUCH_NAME}",
)
MOST_SCHEMES = 3
WRONG_CODES = (0, -32700, -32600)
"""What no failure of a well-formed request can be."""


def is_string(value):
    return isinstance(value, str)


# What is read


@pytest.mark.requirement("resources.read.result-shape")
def test_what_is_read_has_contents(server):
    results = require_some(
        [reply.value for reply in reads(server) if reply.value is not None], skip="nothing could be read"
    )
    expect_each(results, has_contents, "an object with an array in contents")
    contents = [content for result in results for content in result.get("contents").each()]
    expect_each(contents, is_content, "an object with strings in uri and in text or blob")


@pytest.mark.requirement("resources.read.optional-members")
def test_the_type_of_what_is_read_is_a_string(server):
    types = members([content for reply in reads(server) for content in contents_of(reply)], "mimeType")
    expect_each(
        require_some(types, skip="nothing that was read says its type"), is_string, "a string, or no mimeType"
    )


@pytest.mark.requirement("resources.read.contents-uri")
def test_what_is_read_is_what_was_asked_for(server):
    singles = [(reply, *contents_of(reply)) for reply in reads(server) if len(contents_of(reply)) == 1]
    pairs = [(reply, uri) for reply, content in singles for uri in members([content], "uri") if uri.is_a(str)]
    for reply, uri in require_some(pairs, skip="no read gave a single content with a URI"):
        if not is_akin(asked(reply), uri.json):
            raise Finding(f"{asked(reply)}, or a part of it", str(uri), uri.lines)


@pytest.mark.requirement("resources.read.listed-is-readable")
def test_what_is_listed_can_be_read(server, session):
    replies = [reply for reply in server.resources() if scheme(asked(reply)) not in FETCHED]
    lost = [
        reply
        for reply in require_some(replies, skip="no listed resource was read")
        if is_not_found(server, reply)
    ]
    listed = fetch_list(session, "resources/list", "resources").identifiers() if lost else []
    for uri in [asked(reply) for reply in lost if asked(reply) in listed]:
        again = session.request("resources/read", {"uri": uri})
        if is_not_found(server, again):
            raise Finding(f"{uri} to be read, since it is listed", str(again), again.lines)


@pytest.mark.requirement("resources.def.size-meaning")
def test_a_size_counts_the_bytes(server, session):
    sized = [
        item for item in server.listed("resources/list") if is_count(getattr(item.get("size"), "json", None))
    ]
    reads = server.resources() if sized else []
    judged = [(item, one) for item in sized for one in reads if asked(one) == item.json.get("uri")]
    known = [(item, one, sizes_of(one)) for item, one in judged if sizes_of(one)]
    for item, one, sizes in require_some(known, skip="no resource that has a size was read"):
        if item.json["size"] not in sizes and is_settled(session, item, one):
            raise Finding(
                f"a size of {min(sizes)}, the bytes that were read", str(item.get("size")), item.lines
            )


def reads(server):
    """Every read that was answered, of listed resources and of what templates stand for."""
    return server.resources() + [expansion.reply for expansion in expansions(server)]


def asked(reply):
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


def is_akin(one, other):
    """Whether two URIs are the same but for their writing, or one is a part of the other."""
    one, other = plain(one), plain(other)
    return other != "" and (one.startswith(other) or other.startswith(one))


def plain(uri):
    return unquote(uri).rstrip("/").lower()


def is_count(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def sizes_of(reply):
    """How many bytes a single content may have had, in any common encoding."""
    contents = contents_of(reply)
    content = contents[0].json if len(contents) == 1 and is_content(contents[0].json) else {}
    if is_string(content.get("blob")):
        return blob_sizes(content["blob"])
    text = content.get("text", "") if content else None
    return (
        set()
        if text is None
        else {size for form in (text, text.replace("\n", "\r\n")) for size in encoded(form)}
    )


def encoded(text):
    codecs = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252")
    return [len(text.encode(codec, "replace")) for codec in codecs]


def blob_sizes(blob):
    try:
        return {len(base64.b64decode(blob, validate=True))}
    except (binascii.Error, ValueError):
        return set()


def is_settled(session, item, reply):
    """Whether a resource is still listed and still read as it was."""
    again = session.request("resources/read", {"uri": asked(reply)})
    listed = [other.json for other in fetch_list(session, "resources/list", "resources").items]
    return again.result == reply.result and item.json in listed


# What does not exist


@pytest.mark.requirement("resources.read.not-found-is-error")
def test_what_does_not_exist_is_refused(server):
    for reply in unknown(server):
        expect_error(reply)


@pytest.mark.requirement("resources.read.not-found-code")
def test_what_does_not_exist_is_not_found(server, revision):
    code = not_found(revision)
    wrong = [reply for reply in refusals(server) if reply.code != code]
    if wrong:
        raise Finding(f"error {code}", f"{asked(wrong[0])}: {wrong[0]}", wrong[0].lines)


@pytest.mark.requirement("resources.read.not-found-not-empty")
def test_what_does_not_exist_is_not_empty(server):
    for reply in unknown(server):
        contents = reply.value.get("contents") if require_answer(reply).value is not None else None
        if contents is not None and contents.json == []:
            raise Finding("an error, for contents that are empty exist", str(contents), contents.lines)


@pytest.mark.requirement("resources.read.not-found-data-uri")
def test_the_refusal_names_what_does_not_exist(server):
    for reply in refusals(server):
        data = reply.error_value.get("data", "uri")
        if data is None or plain(str(data.json)) != plain(asked(reply)):
            raise Finding(f"data.uri: {asked(reply)}", str(reply.error_value), reply.lines)


@pytest.mark.requirement("resources.read.internal-error-code")
def test_a_resource_that_cannot_be_read_is_an_internal_error(server):
    failed = [
        reply for reply in server.resources() if reply.error is not None and not is_not_found(server, reply)
    ]
    for reply in require_some(failed, skip="every listed resource could be read"):
        if reply.code in WRONG_CODES:
            raise Finding("error -32603", f"{asked(reply)}: {reply}", reply.lines)


def unknown(server):
    """Reads of what does not exist and no template fits, in schemes the server lists and in one of ours."""
    if not server.declares("resources"):
        skip("resources are not declared")
    listed = [uri.json for uri in members(server.listed("resources/list"), "uri") if uri.is_a(str)]
    near = dict.fromkeys(nowhere(uri) for uri in listed if scheme(uri) not in ("", *FETCHED))
    uris = [uri for uri in [*list(near)[:MOST_SCHEMES], NO_SUCH_URI] if not is_templated(server, uri)]
    return [server.read(uri) for uri in require_some(uris, skip="a template stands for any URI")]


def nowhere(uri):
    """A URI like another, of nothing that exists."""
    slashes = "///" if uri.startswith("file:") else "//" if "://" in uri else ""
    return f"{scheme(uri)}:{slashes}{NO_SUCH_NAME}"


def refusals(server):
    """Refused reads of what does not exist; one in a foreign scheme only if there is no other."""
    found = require_some(
        [reply for reply in unknown(server) if reply.error is not None], skip="no such read is refused"
    )
    return [reply for reply in found if asked(reply) != NO_SUCH_URI] or found


# What is no URI


@pytest.mark.requirement("resources.read.uri-validated")
def test_what_is_no_uri_is_never_read(server, malformed_session):
    is_refused = any(reply.error is not None for reply in unknown(server))
    served = [bytes_of(content) for reply in server.resources() for content in contents_of(reply)]
    for uri in [uri for uri in MALFORMED if not is_templated(server, uri)]:
        reply = require_answer(malformed_session.request("resources/read", {"uri": uri}))
        require_answer(malformed_session.drain())
        got = [bytes_of(content) for content in contents_of(reply)]
        if got and (is_refused or any(text in served for text in got if text)):
            raise Finding(f"an error, since {uri!r} is no URI", str(reply), reply.lines)


@pytest.mark.requirement("resources.read.uri-required")
def test_a_read_without_a_uri_is_refused(server, malformed_session):
    if not server.declares("resources"):
        skip("resources are not declared")
    for params in (NO_PARAMS, {}, {"uri": 5}):
        expect_error(malformed_session.request("resources/read", params))


@pytest.mark.requirement("resources.read.path-traversal")
def test_no_path_leads_out_of_what_is_served(server, malformed_session):
    files = [
        asked(reply) for reply in server.resources() if contents_of(reply) and scheme(asked(reply)) == "file"
    ]
    with climbing(require_some(files, skip="no listed resource is a file that can be read")) as climb:
        if carries(malformed_session.request("resources/read", {"uri": climb.direct}), climb.secret):
            skip("the server reads files anywhere")
        for uri in climb.uris:
            reply = require_answer(malformed_session.request("resources/read", {"uri": uri}))
            if carries(reply, climb.secret):
                raise Finding("an error, as for the same file by its own path", str(reply), reply.lines)


def carries(reply, secret):
    """Whether a text or a blob that was read has a secret in it."""
    carried = [bytes_of(content) for content in contents_of(reply)]
    blob = base64.b64encode(secret.encode()).decode()
    return any(secret in each or blob in each for each in carried)


def bytes_of(content):
    """What a content carries, as text or blob; nothing if it is misshapen."""
    carried = [each.json for name in ("text", "blob") for each in members([content], name)]
    return next((each for each in carried if is_string(each)), "")
