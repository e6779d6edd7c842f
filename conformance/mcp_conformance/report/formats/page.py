"""An HTML page that needs no network, and in which text of the server has no effect."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path

from mcp_conformance.outcome import Outcome
from mcp_conformance.protocol.text import shorten

ASSETS = Path(__file__).parents[1] / "assets"
MAX_TEXT = 10_000


def document(title: str, parts: Iterable[str], *, styles: Iterable[str] = (), script: str = "") -> str:
    """Return a page with its own style; ``styles`` and ``script`` name further assets."""
    code = _asset(script) if script else ""
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    policy += f"; script-src 'sha256-{digest}'" if code else ""
    css = "".join([_asset("report.css"), hues(), *map(_asset, styles)])
    head = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{text(title)}</title>",
        f"<style>\n{css}</style>\n</head>\n<body>",
    ]
    end = f"<script>{code}</script>\n</body>\n</html>\n" if code else "</body>\n</html>\n"
    return "\n".join([*head, *parts, end])


@cache
def hues() -> str:
    """Return the style that gives each outcome its colour."""
    return "".join(f".{one} {{ --hue: var(--{one.style.hue}); }}\n" for one in Outcome)


@cache
def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def text(words: str, limit: int = MAX_TEXT) -> str:
    """Escape and shorten a text for the page."""
    return escape(shorten(words, limit))


def footer(tool_version: str) -> str:
    """Return the line at the end of a page."""
    return f"<footer>pytest-mcp-conformance {text(tool_version)}</footer>"
