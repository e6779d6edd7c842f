"""The verdict as a badge, in SVG."""

from __future__ import annotations

from mcp_conformance.outcome import FAILING, Outcome, Weight, weighing, worst
from mcp_conformance.report.file_format import FileFormat
from mcp_conformance.report.markup import Html, element
from mcp_conformance.report.model import Report, is_of_specification, plural, rules_with

LABEL = "MCP conformance"
COLOURS = {"brightgreen": "#3fa33f", "yellow": "#b58900", "red": "#c8372d", "lightgrey": "#767676"}
"""The colours by their names at shields.io, dark enough for white text."""
NARROW, WIDE = set("fijlrt.,:;!|I'() "), set("mwMW@%")
PADDING = 10
FONTS = "Verdana,DejaVu Sans,Geneva,sans-serif"


def render(report: Report) -> str:
    """Return the badge as SVG."""
    message, colour = badge_verdict(report)
    left, right = (_width(text) + PADDING for text in (LABEL, message))
    title, whole = f"{LABEL}: {message}", str(left + right)
    edge = f"M{left} 0H3a3 3 0 0 0-3 3v14a3 3 0 0 0 3 3h{left - 3}z"
    words = [_text(LABEL, PADDING // 2), _text(message, left + PADDING // 2)]
    image = element(
        "svg",
        element("title", title),
        element("rect", width=whole, height="20", rx="3", fill=COLOURS[colour]),
        element("path", d=edge, fill="#444"),
        element("g", words, fill="#fff", font_family=FONTS, font_size="11"),
        xmlns="http://www.w3.org/2000/svg",
        width=whole,
        height="20",
        role="img",
        aria_label=title,
    )
    return f"{image.markup}\n"


def badge_verdict(report: Report) -> tuple[str, str]:
    """Return the text of the badge, and its colour."""
    counts = report.counts
    if report.status == "failed":
        return _failure(report), "red"
    if report.status == "unexercised":
        return "no tool exercised", "yellow"
    if report.status != "passed":
        return ("not finished" if report.status == "unfinished" else "not tested"), "lightgrey"
    if warned := sum(counts.get(one, 0) for one in weighing(Weight.WARNS)):
        return f"passed, {plural(warned, 'warning')}", "yellow"
    return f"{plural(counts.get(Outcome.PASSED, 0), 'check')} passed", "brightgreen"


def _failure(report: Report) -> str:
    """Return why the run failed: the broken rules, else the defects, else the worst of what failed."""
    if rules := rules_with(filter(is_of_specification, report.results), Outcome.FAILED):
        return f"{plural(rules, 'rule')} broken"
    if defects := [one for one in report.defects if one.outcome.fails]:
        return plural(len(defects), "defect")
    failing = [one for one in FAILING if one in report.counts]
    reason = "baseline out of date" if report.outdated else "too few tools exercised"
    return str(worst(failing)) if failing else reason


def _width(text: str) -> int:
    """Return about how many pixels a text takes; the browser fits it to them."""
    return round(sum(4.1 if char in NARROW else 10.3 if char in WIDE else 6.9 for char in text))


def _text(text: str, x: int) -> Html:
    return element("text", text, x=str(x), y="14", textLength=str(_width(text)))


FILE_FORMAT = FileFormat((".svg",), "a badge", render)
