"""The verdict as a badge: an SVG, and the JSON that shields.io makes one from."""

from __future__ import annotations

import json
from html import escape

from mcp_conformance.report.model import Report, broken_rules
from mcp_conformance.verdicts import Outcome

LABEL = "MCP conformance"
COLOURS = {"brightgreen": "#3fa33f", "yellow": "#b58900", "red": "#c8372d", "lightgrey": "#767676"}
"""The colours by their names at shields.io, dark enough for white text."""
NARROW, WIDE = set("fijlrt.,:;!|I'() "), set("mwMW@%")
PADDING = 10


def endpoint(report: Report) -> str:
    """Return the JSON for a badge of shields.io (``https://img.shields.io/endpoint?url=...``)."""
    message, colour = _verdict(report)
    is_error = report.status == "failed"
    badge = {"schemaVersion": 1, "label": LABEL, "message": message, "color": colour, "isError": is_error}
    return json.dumps(badge, indent=1) + "\n"


def svg(report: Report) -> str:
    """Return the badge as SVG."""
    message, colour = _verdict(report)
    left, right = (_width(text) + PADDING for text in (LABEL, message))
    title = escape(f"{LABEL}: {message}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img"'
        f' aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left + right}" height="20" rx="3" fill="{COLOURS[colour]}"/>'
        f'<path d="M{left} 0H3a3 3 0 0 0-3 3v14a3 3 0 0 0 3 3h{left - 3}z" fill="#444"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">'
        f"{_text(LABEL, PADDING // 2)}{_text(message, left + PADDING // 2)}</g></svg>\n"
    )


def _verdict(report: Report) -> tuple[str, str]:
    """Return the text of the badge, and its colour."""
    counts = report.counts
    if report.status == "failed":
        rules = broken_rules(report.results)
        other = "blocked" if Outcome.BLOCKED in counts else "baseline out of date"
        return (f"{rules} rule{'s' if rules != 1 else ''} broken" if rules else other), "red"
    if report.status != "passed":
        return ("not finished" if report.status == "unfinished" else "not tested"), "lightgrey"
    if warned := counts.get(Outcome.WARNED, 0):
        return f"passed, {warned} warning{'s' if warned != 1 else ''}", "yellow"
    passed = counts.get(Outcome.PASSED, 0)
    return f"{passed} check{'s' if passed != 1 else ''} passed", "brightgreen"


def _width(text: str) -> int:
    """Return about how many pixels a text takes; the browser fits it to them."""
    return round(sum(4.1 if char in NARROW else 10.3 if char in WIDE else 6.9 for char in text))


def _text(text: str, x: int) -> str:
    return f'<text x="{x}" y="14" textLength="{_width(text)}">{escape(text)}</text>'
