"""The page of a rule: which servers break it, on which SDK and version, and how many did before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcp_conformance.outcome import COUNTED, FAILING
from mcp_conformance.protocol.text import named
from mcp_conformance.report.formats.html import prose
from mcp_conformance.report.formats.page import text
from mcp_conformance.report.model import Result
from mcp_conformance.survey.figures import Entry, Survey, with_outcome
from mcp_conformance.survey.pages.parts import (
    Page,
    cell,
    counted,
    described,
    link,
    number,
    percent,
    sdk_page,
    servers,
    table,
)

NUMBERS = [*((str(one), "number") for one in COUNTED), ("judged", "number"), ("red (%)", "number")]


def render(first: Result, surveys: Sequence[Survey]) -> str:
    """Return the page about a rule; ``first`` is a finding in one of these surveys that states it."""
    survey, rule = surveys[-1], first.requirement
    body = [
        *_statement(first),
        "<h2>By SDK and version</h2>",
        *table("By SDK and version", [("SDK", "text"), ("version", "text"), *NUMBERS], _sdks(survey, rule)),
        *(_earlier(surveys, rule) if len(surveys) > 1 else ()),
        "<h2>Servers</h2>",
        *servers(survey.rules.get(rule, ()), rule=rule),
    ]
    return Page(survey.tool_version).document(f"{rule} · MCP conformance survey", _head(survey, first), body)


def _head(survey: Survey, first: Result) -> Iterator[str]:
    rule = first.requirement
    red = with_outcome(rule, survey.rules.get(rule, ()), *FAILING)
    yield f"<h1>{text(rule)}</h1>"
    yield f'<p class="verdict">red in {red:,} of {counted(survey.judged, "judged server")}</p>'
    yield f'<p class="facts">{text(first.level)} · {text(first.basis)} · {described(survey)}</p>'


def _statement(first: Result) -> Iterator[str]:
    place = first.spec if first.spec.startswith("https://") else ""
    spec = f' <a href="{text(place)}">Specification</a>' if place else ""
    yield f"<p>{prose(first.says)}{spec}</p>"
    if first.fix:
        yield f"<p><strong>Fix:</strong> {prose(first.fix)}</p>"


def _sdks(survey: Survey, rule: str) -> Iterator[list[str]]:
    """Yield a row for each version of an SDK with a server that breaks the rule."""
    for name, versions in survey.sdks.items():
        for version, entries in versions.items():
            if any(rule in one.broken for one in entries):
                judged = sum(one.is_judged for one in entries)
                first = [link(f"../{sdk_page(name)}", name), cell(text(named(version)))]
                yield [*first, *_numbers(rule, entries, judged)]


def _earlier(surveys: Sequence[Survey], rule: str) -> Iterator[str]:
    yield "<h2>Surveys</h2>"
    rows = (
        [described(one), *_numbers(rule, one.rules.get(rule, ()), one.judged)] for one in reversed(surveys)
    )
    yield from table("Surveys", [("survey", "text"), *NUMBERS], rows)


def _numbers(rule: str, entries: Sequence[Entry], judged: int) -> Iterator[str]:
    yield from (number(with_outcome(rule, entries, one), one) for one in COUNTED)
    yield number(judged)
    yield percent(with_outcome(rule, entries, *FAILING), judged)
