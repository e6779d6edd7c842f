"""The page of a rule: which servers break it, on which SDK and version, and how many did before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcp_conformance.outcome import COUNTED, FAILING
from mcp_conformance.protocol.text import named
from mcp_conformance.report import markup as h
from mcp_conformance.report.formats.html import prose
from mcp_conformance.report.markup import Child, Html
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
    body: list[Child] = [
        _statement(first),
        h.h2("By SDK and version"),
        table("By SDK and version", [("SDK", "text"), ("version", "text"), *NUMBERS], _sdks(survey, rule)),
        _earlier(surveys, rule) if len(surveys) > 1 else None,
        h.h2("Servers"),
        servers(survey.rules.get(rule, ()), rule=rule),
    ]
    return Page(survey.tool_version).document(f"{rule} · MCP conformance survey", _head(survey, first), body)


def _head(survey: Survey, first: Result) -> Iterator[Html]:
    rule = first.requirement
    red = with_outcome(rule, survey.rules.get(rule, ()), *FAILING)
    yield h.h1(rule)
    yield h.p(f"red in {red:,} of {counted(survey.judged, 'judged server')}", class_="verdict")
    yield h.p(f"{first.level} · {first.basis} · {described(survey)}", class_="facts")


def _statement(first: Result) -> Iterator[Html]:
    has_place = first.spec.startswith("https://")
    yield h.p(prose(first.says), (" ", h.a("Specification", href=first.spec)) if has_place else None)
    if first.fix:
        yield h.p(h.strong("Fix:"), " ", prose(first.fix))


def _sdks(survey: Survey, rule: str) -> Iterator[list[Child]]:
    """Yield a row for each version of an SDK with a server that breaks the rule."""
    for name, versions in survey.sdks.items():
        for version, entries in versions.items():
            if any(rule in one.broken for one in entries):
                judged = sum(one.is_judged for one in entries)
                first = link(f"../{sdk_page(name)}", name)
                yield [first, cell(named(version)), *_numbers(rule, entries, judged)]


def _earlier(surveys: Sequence[Survey], rule: str) -> Iterator[Html]:
    yield h.h2("Surveys")
    rows: Iterator[list[Child]] = (
        [described(one), *_numbers(rule, one.rules.get(rule, ()), one.judged)] for one in reversed(surveys)
    )
    yield table("Surveys", [("survey", "text"), *NUMBERS], rows)


def _numbers(rule: str, entries: Sequence[Entry], judged: int) -> Iterator[Html]:
    yield from (number(with_outcome(rule, entries, one), one) for one in COUNTED)
    yield number(judged)
    yield percent(with_outcome(rule, entries, *FAILING), judged)
