"""MCP Apps: the interfaces that tools refer to (extension io.modelcontextprotocol/ui).

This client does not declare the extension: what a server sends only to clients that do is not seen.
"""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect, expect_each, require_some, skip
from mcp_conformance.protocol.jsonrpc import show
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.apps import (
    FLAT_KEY,
    MIME_TYPE,
    assets,
    begins_as_document,
    declared,
    interfaces,
    is_covered,
    listed_interfaces,
    read_interfaces,
    reference,
    references,
)

SCHEME = "ui://"
LISTS = ("connectDomains", "resourceDomains", "frameDomains", "baseUriDomains")
AUDIENCES = ("model", "app")


@pytest.mark.requirement("apps.uri-scheme")
@pytest.mark.stage("listed")
def test_interfaces_have_the_scheme_ui(server):
    found = references(server)
    expect_each(found, lambda uri: isinstance(uri, str) and uri.startswith(SCHEME), f"a URI with {SCHEME}")


@pytest.mark.requirement("apps.flat-key")
@pytest.mark.stage("listed")
def test_the_newer_key_refers_to_the_interface(server):
    references(server)
    flat = [tool.definition for tool in server.tools if tool.definition.get("_meta", FLAT_KEY) is not None]
    for one in require_some(flat, skip=f"no tool has the key {FLAT_KEY}"):
        expected = "_meta.ui.resourceUri beside the older key"
        expect(one, one.get("_meta", "ui", "resourceUri") is not None, expected, got=str(reference(one)))


@pytest.mark.requirement("apps.resource-exists")
def test_interfaces_exist(server):
    references(server)
    named = [one for one in interfaces(server) if one.reference.json.startswith(SCHEME)]
    for one in require_some(named, skip=f"no reference begins with {SCHEME}"):
        reply = one.reply
        if reply.fault is not None:
            skip(f"the interface is not read: {reply.fault}")
        expected = f"the contents of {one.reference.json}, to which {one.reference.path} refers"
        expect(reply, reply.error is None and bool(one.contents), expected)


@pytest.mark.requirement("apps.mime-type")
def test_interfaces_have_their_mime_type(server):
    for each in (one for found in read_interfaces(server) for one in found.contents):
        expect_mime_type(each)


@pytest.mark.requirement("apps.mime-list")
def test_listed_interfaces_have_their_mime_type(server):
    for each in require_some(listed_interfaces(server), skip="no interface is listed").values():
        expect_mime_type(each)


def expect_mime_type(resource):
    """Expect the mimeType of interfaces."""
    kind = resource.get("mimeType")
    text = kind.json if kind is not None else None
    holds = isinstance(text, str) and text.replace(" ", "").lower() == MIME_TYPE
    expect(resource, holds, f"the mimeType {MIME_TYPE}", got=f"the mimeType {show(text)}")


@pytest.mark.requirement("apps.html")
def test_interfaces_are_documents(server):
    found = [each for one in read_interfaces(server) for each in one.html]
    for value, text in require_some(found, skip="no interface has a text or a blob"):
        expect(
            value,
            begins_as_document(text),
            "a document that begins with <!doctype html>",
            got=show(text[:80]),
        )


@pytest.mark.requirement("apps.meta-shape")
def test_the_metadata_of_interfaces_has_its_types(server):
    tools = members([tool.definition for tool in server.tools], "_meta", "ui")
    refers = any(reference(tool.definition) is not None for tool in server.tools)
    found = interfaces(server) if refers else ()
    contents = members([each for one in found for each in one.contents], "_meta", "ui")
    for one in require_some(tools + contents, skip="neither a tool nor an interface has _meta.ui"):
        expect(one, one.is_a(dict), "an object")
        for name, holds, expected in SHAPES:
            expect_each(members([one], *name), holds, expected)
        for each in members([one], "csp"):
            expect_each(members_of(each, LISTS), are_strings, "an array of origins")
        for each in members([one], "permissions"):
            expect_each(each.each(), lambda value: isinstance(value, dict), "an object")


def are_strings(value):
    """Return whether a value is an array of strings."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def members_of(value: Value, names):
    """Return those of these members that a value has."""
    return [one for name in names if (one := value.get(name)) is not None]


SHAPES = (
    (("csp",), lambda value: isinstance(value, dict), "an object"),
    (("permissions",), lambda value: isinstance(value, dict), "an object"),
    (("domain",), lambda value: isinstance(value, str), "a string"),
    (("resourceUri",), lambda value: isinstance(value, str), "a string"),
    (("prefersBorder",), lambda value: isinstance(value, bool), "a boolean"),
    (
        ("visibility",),
        lambda value: are_strings(value) and set(value) <= set(AUDIENCES),
        f"an array of {' and '.join(AUDIENCES)}",
    ),
)


@pytest.mark.requirement("apps.fallback-content")
def test_tools_say_something_without_their_interface(server):
    references(server)
    calls = [
        call for call in server.calls() if reference(call.tool.definition) is not None and not call.failed
    ]
    results = [call.reply.value for call in calls if call.reply.value is not None]
    for result in require_some(results, skip="no call of a tool with an interface succeeded"):
        content = result.get("content")
        says = content is not None and not all(map(is_blank, content.each()))
        expect(result, says, "content that is not empty")


def is_blank(block):
    """Return whether a content block is a text without a word."""
    text = block.get("text")
    return text is not None and isinstance(text.json, str) and not text.json.strip()


@pytest.mark.requirement("apps.csp-covers-assets")
def test_what_interfaces_load_is_declared(server):
    listed = listed_interfaces(server)
    loaded = [
        (one, url, domains)
        for one in read_interfaces(server)
        for _, text in one.html
        for url, domains in assets(text)
    ]
    for one, url, domains in require_some(loaded, skip="no interface loads anything from elsewhere"):
        entry = listed.get(one.reference.json)
        values = [*one.contents, *([entry] if entry is not None else [])]
        if not all(found.is_a(list) for found in members(values, "_meta", "ui", "csp", domains)):
            continue  # another rule reports it
        origins = declared(values, domains)
        expected = f"the origin of {url} in _meta.ui.csp.{domains}"
        expect(one.reply, is_covered(url, origins), expected, got=show(origins))


@pytest.mark.requirement("apps.meta-on-read")
def test_the_metadata_of_an_interface_comes_with_its_contents(server):
    listed = listed_interfaces(server)
    seen = 0
    for one in read_interfaces(server):
        entry = listed.get(one.reference.json)
        for name in ("csp", "permissions"):
            if entry is not None and entry.get("_meta", "ui", name) is not None:
                seen += 1
                has = bool(members(list(one.contents), "_meta", "ui", name))
                expect(one.reply, has, f"_meta.ui.{name} in the contents, as in the list")
    if not seen:
        skip("no interface is listed with csp or permissions")
