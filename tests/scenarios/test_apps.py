"""What an interface loads, whether its csp permits that, and what a browser drops of it."""

import json

import pytest

from mcp_conformance.protocol import css
from mcp_conformance.protocol.html import Document, begins_as_document, losses
from mcp_conformance.scenarios.apps import EXTENSION, is_covered
from support.bench import run_checks, settings_in_memory
from support.in_memory import mutated

PAGE = """<!doctype html><link rel="stylesheet" href="//cdn.example.org/a.css">
<link rel="canonical" href="https://x.example">
<link rel=preload as=image imagesrcset="https://p.example/1 2x">
<script src="https://cdn.example.org/a.js"></script><img src="data:image/png;base64,"><img src="/logo.png">
<iframe src="HTTPS://video.example.org/1"></iframe><a href="https://elsewhere.example">more</a>
<template><img src="https://x.example"></template><noscript><img src="https://x.example"></noscript>
<video poster="https://[bad"></video><svg><image xlink:href="https://s.example/1"/></svg>
<script>fetch("https://x.example"); document.write('<img src="https://x.example">')</script>"""
BASED = """<base href="https://b.example/app/"><base href="https://x.example"><script src="a.js"></script>
<img src="/b.png" srcset="c.png, d,e.png 1x,data:image/png;base64,AA== 2x,//f.example/g.png 3x">"""
SHEET = """@charset "utf-8"; @import "https://a.example/x.css" layer(y); @import url(//b.example/y.css);
@namespace svg url(http://www.w3.org/2000/svg); /* url(https://x.example) */
@font-face { font-family: "url(https://x.example)"; src: local("x"), url(c.woff2) format("woff2") }
@media print { a:hover { background: URL('https://d.example/d.png') }
  .k { --later: url(https://x.example); & b { background: image-set("e.png" 1x, url(f.png) 2x) } } }
.q::before { content: "url(https://x.example)"; mask: src("g.svg") } .broken { url(https://h.example/ }
"""


def test_a_document_loads_what_its_elements_name():
    assert Document(PAGE).addresses == [
        ("https://cdn.example.org/a.css", "resource"),
        ("https://p.example/1", "resource"),
        ("https://cdn.example.org/a.js", "resource"),
        ("https://video.example.org/1", "frame"),
        ("https://s.example/1", "resource"),
    ]


def test_relative_addresses_come_from_the_base():
    assert Document(BASED).addresses == [
        ("https://b.example/app/", "base"),
        ("https://x.example", "base"),
        ("https://b.example/app/a.js", "resource"),
        ("https://b.example/b.png", "resource"),
        ("https://b.example/app/c.png", "resource"),
        ("https://b.example/app/d,e.png", "resource"),
        ("https://f.example/g.png", "resource"),
    ]


def test_a_style_sheet_loads_what_its_rules_name():
    document = Document(f"<style>{SHEET}</style><p style='background: url(i.png)'>")
    found = [url for sheet in document.sheets for url in css.sheet_addresses(sheet)]
    assert found == [
        "https://a.example/x.css",
        "//b.example/y.css",
        "c.woff2",
        "https://d.example/d.png",
        "e.png",
        "f.png",
        "g.svg",
    ]
    assert [url for style in document.styles for url in css.block_addresses(style)] == ["i.png"]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>Weather<br/><div/><custom-element></custom-element><svg><path d=''/></svg>", 0),
        ("<p>\x07 a < b &nope; <table><b>1</b></table>", 0),
        ("<template><tr><td>1</td></tr></template>", 0),
        ("<select><button><selectedcontent></selectedcontent></button><option>1</option></select>", 0),
        (
            "<head><noscript><p>No scripts.</p></noscript></head><dialog open><search></search></dialog>",
            0,
        ),
        ("<script>const end = '<\\/script>', start = '<\\!--<script>';</script>", 0),
        ("<script>const end = '</script>';</script>", 1),
        ("<script>const start = '<!--<script>';</script><p>Weather</p>", 1),
        ("<title>Weather<p>", 1),
        ("<p id=a id=b>", 1),
        ("<!-- Weather", 1),
        ("<p>Weather</p></p></b>", 2),
    ],
)
def test_a_browser_loses_what_the_grammar_does_not_have(html, expected):
    assert len(losses(f"<!doctype html><title>Weather</title>{html}")) == expected


@pytest.mark.parametrize(
    ("origins", "expected"),
    [
        (["https://cdn.example.org"], True),
        (["https://cdn.example.org/"], True),
        (["https://*.example.org"], True),
        (["cdn.example.org"], True),
        (["https:"], True),
        (["*"], True),
        (["http://cdn.example.org"], False),
        (["https://example.org"], False),
        (["https://*.cdn.example.org"], False),
        ([], False),
    ],
)
def test_a_csp_has_the_origin_of_an_address(origins, expected):
    assert is_covered("https://cdn.example.org/a.js", origins) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<!DOCTYPE html><html>", True),
        ("\ufeff\n<!-- made by hand -->\n<!doctype HTML>", True),
        ("<html><body>", False),
        ("<div>", False),
        ("", False),
    ],
)
def test_a_document_begins_with_a_doctype(text, expected):
    assert begins_as_document(text) is expected


def lists_an_interface(server, request, reply):
    """Refer to an interface that does not exist."""
    if isinstance(request, dict) and request.get("method") == "tools/list":
        reply["result"]["tools"][0]["_meta"] = {"ui": {"resourceUri": "ui://reference/nothing"}}


def test_interfaces_are_judged_in_revisions_before_meta_of_tools():
    """The text's own example speaks 2024-11-05, and n8n-mcp 2025-03-26."""
    settings = settings_in_memory(mutated(lists_an_interface))
    found = run_checks(settings, "2025-03-26", lambda one: "apps.resource-exists" in one.ids)
    assert {verdict.row.id for verdict in found.verdicts} == {"apps.resource-exists"}


class ForHosts:
    """A server that shows interfaces to clients with the extension alone; one of them leads nowhere."""

    def __init__(self):
        self.hosts = set()

    def __call__(self, server, request, reply):
        """Show a host what the others do not see."""
        if not isinstance(request, dict) or reply is None:
            return
        declares = EXTENSION in json.dumps(request.get("params", {}))
        if request.get("method") == "initialize" and declares:
            self.hosts.add(id(server))
        is_host = declares or id(server) in self.hosts
        if request.get("method") == "tools/list":
            for tool in reply["result"]["tools"]:
                ui = tool.get("_meta", {}).pop("ui", None)
                if ui and is_host:
                    tool["_meta"]["ui"] = {"resourceUri": f"{ui['resourceUri']}.html"}
        if request.get("method") == "resources/list" and "nextCursor" not in reply["result"]:
            reply["result"]["resources"].append({"uri": "ui://reference/weather", "name": "weather"})


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_interfaces_that_only_hosts_see_are_judged(revision):
    settings = settings_in_memory(mutated(ForHosts()))
    found = run_checks(settings, revision, lambda one: "apps.resource-exists" in one.ids)
    assert {verdict.row.id for verdict in found.verdicts} == {"apps.resource-exists"}
