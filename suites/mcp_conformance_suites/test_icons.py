"""Icons of tools, prompts, resources and the server (spec: basic, icons)."""

from __future__ import annotations

import re

import pytest

from mcp_conformance.expect import expect_each, is_array_of_strings, is_object, is_string, require_some
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.content import all_icons, with_icons

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@pytest.mark.requirement("content.icons-array", "icons.shape")
def test_icons_are_an_array(server):
    found = require_some(members(with_icons(server), "icons"), skip="nothing but tools has icons")
    expect_each(found, is_array, "an array")
    expect_each([icon for icons in found for icon in icons.each()], is_object, "an object")


@pytest.mark.requirement("content.icon.src", "icons.shape", "icons.src-scheme")
def test_an_icon_has_a_source(server):
    icons = require_some(all_icons(server), skip="nothing has icons")
    expect_each(icons, lambda icon: is_string(icon.get("src")), "a string in src")
    expect_each(members(icons, "src"), has_scheme, "a URI with a scheme")


@pytest.mark.requirement("content.icon.src-scheme", "icons.src-scheme")
def test_an_icon_comes_over_https_or_data(server):
    sources = [source for source in members(all_icons(server), "src") if source.is_a(str)]
    uris = [source for source in sources if has_scheme(source.json)]
    require_some(uris, skip="nothing has icons")
    known = ("https", "http", "data")
    expect_each(uris, lambda src: src.partition(":")[0].lower() in known, "http(s) or data")


@pytest.mark.requirement("content.icon.optional-members", "icons.shape")
def test_an_icon_has_typed_members(server):
    icons = require_some(all_icons(server), skip="nothing has icons")
    expect_each(members(icons, "mimeType"), is_string, "a string")
    expect_each(members(icons, "sizes"), is_array_of_strings, "an array of strings")
    expect_each(members(icons, "theme"), lambda theme: theme in ("light", "dark"), "light or dark")


@pytest.mark.requirement("content.icon.size-format")
def test_a_size_is_width_by_height_or_any(server):
    sizes = [size for array in members(all_icons(server), "sizes") for size in array.each() if size.is_a(str)]
    require_some(sizes, skip="no icon has sizes")
    expect_each(sizes, lambda size: re.fullmatch(r"\d+x\d+|any", size) is not None, "such as 48x48, or any")


def is_array(value):
    return isinstance(value, list)


def has_scheme(value):
    """Return whether a string begins with a URI scheme and has no space; True for any other value."""
    return not isinstance(value, str) or (SCHEME.match(value) is not None and " " not in value)
