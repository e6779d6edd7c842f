"""A page that needs no network: its style and its script are in it, and nothing else may run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from mcp_conformance.outcome import Outcome
from mcp_conformance.report import markup as h
from mcp_conformance.report.markup import Child, Html, code_of, meta

ASSETS = Path(__file__).parents[1] / "assets"


def document(title: str, parts: Iterable[Child], *, styles: Iterable[str] = (), script: str = "") -> str:
    """Return a page with its own style; ``styles`` and ``script`` name further assets."""
    code = _asset(script) if script else ""
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    policy += f"; script-src 'sha256-{digest}'" if code else ""
    css = "".join([_asset("report.css"), hues(), *map(_asset, styles)])
    head = [
        meta(charset="utf-8"),
        meta(http_equiv="Content-Security-Policy", content=policy),
        meta(name="viewport", content="width=device-width, initial-scale=1"),
        meta(name="referrer", content="no-referrer"),
        h.title(title),
        code_of("style", f"\n{css}"),
    ]
    return h.document(head, [*parts, code_of("script", code) if code else None])


@cache
def hues() -> str:
    """Return the style that gives each outcome its colour."""
    return "".join(f".{one} {{ --hue: var(--{one.style.hue}); }}\n" for one in Outcome)


@cache
def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def footer(tool_version: str) -> Html:
    """Return the line at the end of a page."""
    return h.footer(f"pytest-mcp-conformance {tool_version}")
