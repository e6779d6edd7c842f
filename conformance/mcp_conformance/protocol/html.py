"""What an HTML document loads from elsewhere, and what a browser loses of it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib.util import find_spec
from typing import Literal
from urllib.parse import urljoin, urlsplit

from mcp_conformance.deadline import Deadline, bounded

Purpose = Literal["resource", "frame", "base"]
"""What an address is for, which decides the list of a policy that has to have its origin."""
DOCTYPE = re.compile(r"(?:\s|<!--.*?-->)*<!doctype\s+html\b", re.IGNORECASE | re.DOTALL)
LOADED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "image": ("href", "xlink:href"),
    "input": ("src",),
    "audio": ("src",),
    "video": ("src", "poster"),
    "source": ("src", "srcset"),
    "track": ("src",),
    "link": ("href", "imagesrcset"),
    "iframe": ("src",),
    "base": ("href",),
}
"""The elements that load something, or say where from, and the attributes with the addresses."""
PURPOSES: dict[str, Purpose] = {"iframe": "frame", "base": "base"}
LISTS = {"srcset", "imagesrcset"}
"""The attributes with several addresses."""
LOADING_LINKS = {"stylesheet", "icon", "preload", "modulepreload"}
"""The relations of links that load something."""
INERT = {"template", "noscript"}
"""The elements whose content loads nothing where scripts run."""
LINE_END = re.compile(r"\r\n|\r|\n")
CANDIDATE = re.compile(r"[\s,]*(\S*[^\s,])[^,]*")
"""An address of a srcset, and its descriptors (HTML, "parsing a srcset attribute")."""
# Errors of html5lib that today's standard has too and after which a browser drops a part.  It leaves out what
# came after html5lib: the content of template and of select.
LOSSES = {
    "duplicate-attribute": "an attribute stands twice, and the second is dropped",
    "unexpected-end-tag": "</{name}> closes nothing",
    "expected-named-closing-tag-but-got-eof": "<{name}> takes up the rest of the document",
    "eof-in-comment": "a comment takes up the rest of the document",
    "eof-in-comment-double-dash": "a comment takes up the rest of the document",
    "eof-in-comment-end-dash": "a comment takes up the rest of the document",
    "eof-in-tag-name": "the document ends in a tag",
    "eof-in-attribute-name": "the document ends in a tag",
    "eof-in-attribute-value-double-quote": "an attribute takes up the rest of the document",
    "eof-in-attribute-value-single-quote": "an attribute takes up the rest of the document",
    "unexpected-doctype": "a doctype stands inside the document",
}


def can_find_losses() -> bool:
    """Return whether the losses of a document can be found, which takes html5lib."""
    return find_spec("html5lib") is not None


def begins_as_document(text: str) -> bool:
    """Return whether a text begins with a doctype of HTML."""
    return DOCTYPE.match(text.removeprefix("\ufeff")) is not None


@bounded
def losses(text: str) -> list[str]:
    """Return what a browser loses of a document where scripts run, with lines and columns; needs html5lib."""
    import html5lib  # noqa: PLC0415 - an extra

    parser = html5lib.HTMLParser(html5lib.getTreeBuilder("etree"))
    parser.parse(text, scripting=True)
    knows_all = "<template" not in text.lower()
    found = [
        one for one in parser.errors if one[1] in LOSSES and (knows_all or one[1] != "unexpected-end-tag")
    ]
    return [
        f"{LOSSES[code].format(**values)} (line {line}, column {column}: {_excerpt(text, line, column)})"
        for (line, column), code, values in found
    ]


def _excerpt(text: str, line: int, column: int) -> str:
    lines = LINE_END.split(text)
    found = lines[line - 1] if line <= len(lines) else ""
    return repr(found[max(0, column - 40) : column + 1].strip())


class Document(HTMLParser):
    """The addresses that a document loads, each with its purpose, and its style sheets and style attributes.

    Content that is inert, and relative addresses without a ``<base>``, are left out.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses = list[tuple[str, Purpose]]()
        self.sheets = list[str]()
        self.styles = list[str]()
        self._base = ""
        self._inert = 0
        self._in_style = False
        with Deadline():
            self.feed(text)
            self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element loads, and its style."""
        self._inert += tag in INERT
        if self._inert:
            return
        values = {name: value.strip() for name, value in reversed(attrs) if value}
        self._in_style = tag == "style"
        self.styles += [values["style"]] if "style" in values else []
        if _loads(tag, values):
            self._note(tag, values)

    def _note(self, tag: str, values: dict[str, str]) -> None:
        for name in LOADED[tag]:
            value = values.get(name, "")
            for one in CANDIDATE.findall(value) if name in LISTS else [value]:
                self.addresses += [(url, PURPOSES.get(tag, "resource")) for url in self.absolute(one)]
        if tag == "base" and not self._base:
            self._base = values.get("href", "")

    def handle_endtag(self, tag: str) -> None:
        """Note the end of content that is inert, or of a style sheet."""
        self._inert -= tag in INERT and self._inert > 0
        self._in_style = False

    def handle_data(self, data: str) -> None:
        """Note a style sheet."""
        if self._in_style:
            self.sheets.append(data)

    def absolute(self, address: str) -> list[str]:
        """Return an address with its scheme and host, if it has these and is of the web; else nothing."""
        try:
            url = urlsplit(urljoin(self._base or "https:", address))
        except ValueError:
            return []
        return [url.geturl()] if address and url.scheme in ("http", "https") and url.netloc else []


def _loads(tag: str, values: dict[str, str]) -> bool:
    """Return whether an element loads something, or says where from."""
    if tag == "link":
        return not LOADING_LINKS.isdisjoint(values.get("rel", "").lower().split())
    return tag in LOADED and (tag != "input" or values.get("type", "").lower() == "image")
