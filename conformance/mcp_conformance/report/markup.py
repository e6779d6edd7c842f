"""HTML and SVG as values: an element escapes every text that is put into it, so that no text has an effect.

Only functions of this module make `Html`, and any other text is escaped where it becomes a part of an
element: no call can be forgotten.  A template engine (jinja2) would escape as well, but it would be a
dependency of the report that nearly every run writes, and a variable in a template has no type: the pages
are functions of typed values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import partial
from html import escape
from typing import Any, TypeAlias

from mcp_conformance.protocol.text import shorten

MAX_TEXT = 10_000
"""How many characters of one text a page shows: more than any text of a report has (`report.build`)."""
VOID = frozenset(("br", "input", "meta"))
"""The elements without content, which have no end."""
LINES = frozenset(
    (
        *("article", "body", "button", "div", "footer", "form", "h1", "h2", "head", "header", "input"),
        *("main", "meta", "nav", "p", "section", "select", "table", "thead", "title", "tr"),
    )
)
"""The elements after which a line ends: a browser shows no space there."""
ADDRESSES = ("href", "src")
SAFE_ADDRESS = re.compile(r"https://|(?!//)[\w./%~-]*(#|\Z)", re.ASCII)
"""The beginning of an address that runs nothing: of https, or relative, without a scheme."""


class Html:
    """Markup, which becomes a part of other markup unchanged."""

    __slots__ = ("_markup",)

    def __init__(self, markup: str):
        self._markup = markup

    def __bool__(self) -> bool:
        return bool(self._markup)

    def __str__(self) -> str:
        """Raise `TypeError`: markup in a text, such as an f-string, would be escaped as text."""
        raise TypeError("put Html into an element, not into a text")

    @property
    def markup(self) -> str:
        """The text of a file."""
        return self._markup


Child: TypeAlias = "Html | str | Iterable[Child] | None"
"""A part of an element: markup, a text, nothing, or several of these."""


def element(name: str, /, *children: Child, **attributes: str | bool | None) -> Html:
    """Return an element with these parts.

    The name of an attribute may end in ``_``, and has ``_`` for each ``-``.  An attribute is left out if its
    value is None or False, and if it is an address that could run something; True is one without a value.
    """
    opening = name + "".join(_attribute(one.rstrip("_"), value) for one, value in attributes.items())
    end = "\n" if name in LINES else ""
    if name in VOID:
        return Html(f"<{opening}>{end}")
    return Html(f"<{opening}>{_markup(children)}</{name}>{end}")


def _attribute(name: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    shown = name.replace("_", "-")
    if value is True:
        return f" {shown}"
    if name in ADDRESSES and not SAFE_ADDRESS.match(value):
        return ""
    quoted = escape(shorten(value, MAX_TEXT), quote=False).replace('"', "&quot;")
    return f' {shown}="{quoted}"'


def _markup(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child.markup
    return _text(child) if isinstance(child, str) else "".join(map(_markup, child))


def _text(words: str) -> str:
    return escape(shorten(words, MAX_TEXT))


def together(*children: Child) -> Html:
    """Return parts one after another, without an element around them."""
    return Html(_markup(children))


def joined(separator: str, children: Iterable[Child]) -> Html:
    """Return the parts that are not empty, with a text between any two."""
    shown = filter(None, map(_markup, children))
    return Html(_text(separator).join(shown))


def document(head: Iterable[Child], body: Iterable[Child]) -> str:
    """Return the text of a file with a page."""
    page = element("html", "\n", element("head", "\n", head), element("body", "\n", body), lang="en")
    return f"<!doctype html>\n{page.markup}\n"


def code_of(name: str, text: str) -> Html:
    """Return a ``style`` or ``script`` of ours, whose text a browser does not unescape.

    Raises `ValueError` if the text ends the element.
    """
    if f"</{name}" in text.lower():
        raise ValueError(f"it has the end of a {name}")
    return Html(f"<{name}>{text}</{name}>\n")


def json_data(value: Any) -> Html:
    """Return values for a script of ours, as JSON that cannot end its element, whatever its texts are."""
    data = json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
    return Html(f'<script type="application/json">{data}</script>\n')


a = partial(element, "a")
article = partial(element, "article")
b = partial(element, "b")
br = element("br")
button = partial(element, "button")
code = partial(element, "code")
dd = partial(element, "dd")
details = partial(element, "details")
div = partial(element, "div")
dl = partial(element, "dl")
dt = partial(element, "dt")
footer = partial(element, "footer")
field = partial(element, "input")
form = partial(element, "form")
h1 = partial(element, "h1")
h2 = partial(element, "h2")
h3 = partial(element, "h3")
header = partial(element, "header")
li = partial(element, "li")
main = partial(element, "main")
meta = partial(element, "meta")
nav = partial(element, "nav")
option = partial(element, "option")
p = partial(element, "p")
pre = partial(element, "pre")
section = partial(element, "section")
select = partial(element, "select")
span = partial(element, "span")
strong = partial(element, "strong")
summary = partial(element, "summary")
table = partial(element, "table")
tbody = partial(element, "tbody")
td = partial(element, "td")
th = partial(element, "th")
thead = partial(element, "thead")
title = partial(element, "title")
tr = partial(element, "tr")
ul = partial(element, "ul")
