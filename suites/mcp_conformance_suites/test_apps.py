"""MCP Apps: the interfaces that tools refer to (extension io.modelcontextprotocol/ui).

A server that shows interfaces only to clients with the extension is asked as by one.
"""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect, expect_each, require_some, skip
from mcp_conformance.protocol import css
from mcp_conformance.protocol.frontmatter import INSTALL
from mcp_conformance.protocol.html import Document, begins_as_document, can_find_losses, losses
from mcp_conformance.protocol.jsonrpc import show
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.apps import (
    FLAT_KEY,
    MIME_TYPE,
    SCHEME,
    interfaces,
    listed_interfaces,
    read_interfaces,
    reference,
    references,
    shown,
    undeclared,
)

LISTS = ("connectDomains", "resourceDomains", "frameDomains", "baseUriDomains")
AUDIENCES = ("model", "app")
PERMISSIONS = ("camera", "microphone", "geolocation", "clipboardWrite")
MAX_PLACES = 3
# Not measured: the largest interface seen has 4.3 million characters and takes a second.
MAX_CHARACTERS = 10_000_000
"""The longest document whose grammar is judged."""


@pytest.mark.requirement("apps.uri-scheme")
def test_interfaces_have_the_scheme_ui(server):
    found = references(server)
    expect_each(found, lambda uri: isinstance(uri, str) and uri.startswith(SCHEME), f"a URI with {SCHEME}")


@pytest.mark.requirement("apps.flat-key")
def test_the_newer_key_refers_to_the_interface(server):
    references(server)
    flat = [tool for tool in shown(server).tools if tool.get("_meta", FLAT_KEY) is not None]
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
    for value, text in documents(server):
        expect(
            value,
            begins_as_document(text),
            "a document that begins with <!doctype html>",
            got=show(text[:80]),
        )


@pytest.mark.requirement("apps.html5")
def test_browsers_lose_nothing_of_interfaces(server):
    found = documents(server)
    if not can_find_losses():
        skip(f"the grammar of HTML is read by html5lib: {INSTALL}")
    whole = [one for one in found if len(one[1]) <= MAX_CHARACTERS]
    for value, text in require_some(whole, skip=f"each has more than {MAX_CHARACTERS} characters"):
        lost = losses(text)
        shown = "; ".join(lost[:MAX_PLACES]) + (f"; {len(lost) - MAX_PLACES} more" * (len(lost) > MAX_PLACES))
        expect(value, not lost, "HTML of which a browser drops nothing", got=shown)


def documents(server):
    """Return the contents of interfaces with their texts; skip if there are none."""
    found = [each for one in read_interfaces(server) for each in one.html]
    return require_some(found, skip="no interface has a text or a blob")


@pytest.mark.requirement("apps.meta-shape")
def test_the_metadata_of_interfaces_has_its_types(server):
    host = shown(server)
    tools = members(list(host.tools), "_meta", "ui")
    contents = members([each for one in host.interfaces for each in one.contents], "_meta", "ui")
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
    names = {tool.json.get("name") for tool in shown(server).tools if reference(tool) is not None}
    calls = [call for call in server.calls() if call.tool.name in names and not call.failed]
    results = [call.reply.value for call in calls if call.reply.value is not None]
    for result in require_some(results, skip="no call of a tool with an interface succeeded"):
        content = result.get("content")
        says = content is not None and not all(map(is_blank, content.each()))
        expect(result, says, "content that is not empty")


def is_blank(block):
    """Return whether a content block is a text without a word."""
    text = block.get("text")
    return text is not None and isinstance(text.json, str) and not text.json.strip()


@pytest.mark.requirement("apps.permissions-known")
def test_the_permissions_of_interfaces_are_known(server):
    listed = listed_interfaces(server)
    contents = [each for one in read_interfaces(server) for each in one.contents]
    found = members([*contents, *listed.values()], "_meta", "ui", "permissions")
    wanted = [Value(name, one.path, one.lines) for one in found if one.is_a(dict) for name in one.json]
    some = require_some(wanted, skip="no interface asks for a permission")
    expect_each(some, lambda name: name in PERMISSIONS, f"one of {', '.join(PERMISSIONS)}")


@pytest.mark.requirement("apps.csp-covers-assets")
def test_what_interfaces_load_is_declared(server):
    expect_declared(server, lambda document: document.addresses)


@pytest.mark.requirement("apps.csp-covers-styles")
def test_what_styles_of_interfaces_load_is_declared(server):
    references(server)
    if not css.is_available():
        skip(f"style sheets are read by tinycss2: {INSTALL}")
    expect_declared(server, addresses_of_styles)


def addresses_of_styles(document):
    """Return the addresses in the style sheets and style attributes of a document."""
    found = [url for sheet in document.sheets for url in css.sheet_addresses(sheet)]
    found += [url for style in document.styles for url in css.block_addresses(style)]
    return [(each, "resource") for url in found for each in document.absolute(url)]


def expect_declared(server, addresses_of):
    """Expect that the csp of each interface has the origins of these addresses of its documents."""
    listed = listed_interfaces(server)
    loaded = [
        (one, [each for _, text in one.html for each in addresses_of(Document(text))])
        for one in read_interfaces(server)
    ]
    loaded = [(one, addresses) for one, addresses in loaded if addresses]
    for one, addresses in require_some(loaded, skip="no interface loads anything from elsewhere"):
        lacking = undeclared(one, listed.get(one.reference.json), addresses)
        shown = ", ".join(f"none in {domains} for {url}" for url, domains in lacking[:MAX_PLACES])
        expect(one.reply, not lacking, "the origins of what is loaded in _meta.ui.csp", got=shown)


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
