"""What an interface loads, and whether its csp permits that."""

import pytest

from mcp_conformance.scenarios.apps import assets, begins_as_document, is_covered

PAGE = """<!doctype html><link rel="stylesheet" href="//cdn.example.org/a.css"><link rel="canonical" href="https://x.example">
<script src="https://cdn.example.org/a.js"></script><img src="data:image/png;base64,"><img src="/logo.png">
<iframe src="HTTPS://video.example.org/1"></iframe><a href="https://elsewhere.example">more</a>"""


def test_a_document_loads_what_its_elements_name():
    assert assets(PAGE) == [
        ("https://cdn.example.org/a.css", "resourceDomains"),
        ("https://cdn.example.org/a.js", "resourceDomains"),
        ("HTTPS://video.example.org/1", "frameDomains"),
    ]


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
