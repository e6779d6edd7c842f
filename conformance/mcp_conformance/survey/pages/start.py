"""The start page: totals, surveys, broken rules, SDKs, servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from mcp_conformance.outcome import COUNTED, FAILING
from mcp_conformance.protocol.text import named
from mcp_conformance.report.formats.html import prose
from mcp_conformance.report.formats.page import text
from mcp_conformance.report.model import Result
from mcp_conformance.survey.figures import Survey, before, with_outcome
from mcp_conformance.survey.pages.parts import (
    Page,
    bar,
    cell,
    chips,
    counted,
    described,
    kind_of,
    link,
    number,
    percent,
    rule_page,
    sdk_page,
    servers,
    share,
    table,
)
from mcp_conformance.survey.pages.sdk import figures
from mcp_conformance.survey.results import Grade

MAX_SDKS = 3


def render(surveys: Sequence[Survey], stated: Mapping[str, Result]) -> str:
    """Return the page about the newest of these surveys; ``stated`` is what `broken_rules` returns."""
    survey = surveys[-1]
    title = f"Survey of {counted(len(survey.entries), 'MCP server')}"
    body = [
        *_contents(surveys),
        *(_surveys(surveys) if len(surveys) > 1 else ()),
        *_rules(survey, before(surveys), stated),
        *_sdks(survey),
        '<h2 id="servers">Servers</h2>',
        *servers(survey.entries, ""),
    ]
    return Page(survey.tool_version, "").document(title, _head(survey, title), body)


def _head(survey: Survey, title: str) -> Iterator[str]:
    yield f"<h1>{title}</h1>"
    right, judged = survey.grades[Grade.CONFORMS], survey.judged
    verb = "conforms" if right == 1 else "conform"
    words = f"{right:,} of {counted(judged, 'judged server')} {verb}" if judged else "no server was judged"
    yield f'<p class="verdict">{words}</p>'
    yield f'<p class="facts">{described(survey)}</p>'
    yield bar(survey.grades)
    yield '<ul class="counts">'
    for grade in Grade:
        part = "" if grade is Grade.NOT_JUDGED else share(survey.grades[grade], judged)
        yield (
            f'<li class="{kind_of(grade)}"><b>{survey.grades[grade]:,}</b>{grade}'
            f"{f' <span class=soft>({part} of those judged)</span>' if part else ''}</li>"
        )
    yield "</ul>"
    if survey.obstacles:
        said = {one: f"{count:,}" for one, count in survey.obstacles.items()}
        yield f'<p class="facts">Not judged, because: {chips(said)}</p>'


def _contents(surveys: Sequence[Survey]) -> Iterator[str]:
    places = {"surveys": "Surveys"} if len(surveys) > 1 else {}
    places |= {"rules": "Broken rules", "sdks": "SDKs", "servers": "Servers"}
    links = "".join(f'<a href="#{place}">{title}</a>' for place, title in places.items())
    yield f'<nav class="contents" aria-label="On this page">{links}</nav>'


def _surveys(surveys: Sequence[Survey]) -> Iterator[str]:
    yield '<h2 id="surveys">Surveys</h2>'
    columns = [("survey", "text"), ("servers", "number"), *((str(grade), "number") for grade in Grade)]
    columns += [("conform (%)", "number"), ("parts", "text")]
    yield from table("Surveys", columns, map(_survey, reversed(surveys)))


def _survey(survey: Survey) -> list[str]:
    return [
        described(survey),
        number(len(survey.entries)),
        *(number(survey.grades[grade]) for grade in Grade),
        percent(survey.grades[Grade.CONFORMS], survey.judged),
        cell(bar(survey.grades)),
    ]


def _rules(survey: Survey, earlier: Survey | None, stated: Mapping[str, Result]) -> Iterator[str]:
    yield f'<h2 id="rules">Broken rules</h2>\n<p class="soft">{_lead(survey)}</p>'
    columns = [("rule", "text"), *((str(name), "number") for name in COUNTED)]
    columns += [("red (%)", "number")]
    columns += [("red before", "number")] if earlier else []
    columns += [("SDKs", "text")]
    rows = (_rule(survey, earlier, first) for first in stated.values())
    yield from table("Broken rules", columns, rows, search=True)


def _lead(survey: Survey) -> str:
    if not survey.rules:
        return "No server breaks a rule."
    return f"Servers that break each rule, of {survey.judged:,} that were judged. Red is failed or blocked."


def _rule(survey: Survey, earlier: Survey | None, first: Result) -> list[str]:
    rule = first.requirement
    entries = survey.rules.get(rule, ())
    sdks = Counter(name for entry in entries for name, _ in entry.sdks)
    row = [f'{link(rule_page(rule), rule)}<span class="says">{prose(first.says)}</span>']
    row += [number(with_outcome(rule, entries, one), one) for one in COUNTED]
    row += [percent(with_outcome(rule, entries, *FAILING), survey.judged)]
    row += [number(with_outcome(rule, earlier.rules.get(rule, ()), *FAILING))] if earlier else []
    return [*row, cell(chips({name: f"{count:,}" for name, count in sdks.most_common()}, MAX_SDKS))]


def _sdks(survey: Survey) -> Iterator[str]:
    yield '<h2 id="sdks">SDKs</h2>'
    columns = [("SDK", "text"), ("version", "text"), ("servers", "number")]
    columns += [(str(grade), "number") for grade in Grade]
    columns += [("conform (%)", "number"), ("red rules of most servers", "text")]
    rows = (
        [link(sdk_page(name), name), cell(text(named(version))), *figures(entries)]
        for name, versions in survey.sdks.items()
        for version, entries in versions.items()
    )
    yield from table("SDKs", columns, rows, search=True)
