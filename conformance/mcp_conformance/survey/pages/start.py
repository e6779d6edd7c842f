"""The start page: totals, surveys, broken rules, SDKs, servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from mcp_conformance.outcome import COUNTED, FAILING
from mcp_conformance.protocol.text import named
from mcp_conformance.report import markup as h
from mcp_conformance.report.formats.html import prose, soft
from mcp_conformance.report.markup import Child, Html, together
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
        _contents(surveys),
        _surveys(surveys) if len(surveys) > 1 else None,
        _rules(survey, before(surveys), stated),
        _sdks(survey),
        h.h2("Servers", id="servers"),
        servers(survey.entries, ""),
    ]
    return Page(survey.tool_version, "").document(title, _head(survey, title), body)


def _head(survey: Survey, title: str) -> Iterator[Html]:
    yield h.h1(title)
    right, judged = survey.grades[Grade.CONFORMS], survey.judged
    verb = "conforms" if right == 1 else "conform"
    words = f"{right:,} of {counted(judged, 'judged server')} {verb}" if judged else "no server was judged"
    yield h.p(words, class_="verdict")
    yield h.p(described(survey), class_="facts")
    yield bar(survey.grades)
    yield h.ul((_grade(survey, grade) for grade in Grade), class_="counts")
    if survey.callable_tools:
        yield h.p(_tools(survey), class_="facts")
    if survey.obstacles:
        said = {one: f"{count:,}" for one, count in survey.obstacles.items()}
        yield h.p("Not judged, because: ", chips(said), class_="facts")


def _grade(survey: Survey, grade: Grade) -> Html:
    part = "" if grade is Grade.NOT_JUDGED else share(survey.grades[grade], survey.judged)
    more = (" ", soft(f"({part} of those judged)")) if part else None
    return h.li(h.b(f"{survey.grades[grade]:,}"), grade, more, class_=kind_of(grade))


def _tools(survey: Survey) -> str:
    """Return how many tools were exercised, and in how many servers none was."""
    tools = f"{survey.exercised_tools:,} of {counted(survey.callable_tools, 'callable tool')} exercised"
    return f"{tools}; none in {counted(survey.at_the_door, 'server')}" if survey.at_the_door else tools


def _contents(surveys: Sequence[Survey]) -> Html:
    places = {"surveys": "Surveys"} if len(surveys) > 1 else {}
    places |= {"rules": "Broken rules", "sdks": "SDKs", "servers": "Servers"}
    links = [h.a(title, href=f"#{place}") for place, title in places.items()]
    return h.nav(links, class_="contents", aria_label="On this page")


def _surveys(surveys: Sequence[Survey]) -> Iterator[Html]:
    yield h.h2("Surveys", id="surveys")
    columns = [("survey", "text"), ("servers", "number"), *((str(grade), "number") for grade in Grade)]
    columns += [("conform (%)", "number"), ("tools exercised (%)", "number"), ("parts", "text")]
    yield table("Surveys", columns, map(_survey, reversed(surveys)))


def _survey(survey: Survey) -> list[Child]:
    return [
        described(survey),
        number(len(survey.entries)),
        *(number(survey.grades[grade]) for grade in Grade),
        percent(survey.grades[Grade.CONFORMS], survey.judged),
        percent(survey.exercised_tools, survey.callable_tools),
        cell(bar(survey.grades)),
    ]


def _rules(survey: Survey, earlier: Survey | None, stated: Mapping[str, Result]) -> Iterator[Html]:
    yield h.h2("Broken rules", id="rules")
    yield h.p(_lead(survey), class_="soft")
    columns = [("rule", "text"), *((str(name), "number") for name in COUNTED)]
    columns += [("red (%)", "number")]
    columns += [("red before", "number")] if earlier else []
    columns += [("SDKs", "text")]
    rows = (_rule(survey, earlier, first) for first in stated.values())
    yield table("Broken rules", columns, rows, search=True)


def _lead(survey: Survey) -> str:
    if not survey.rules:
        return "No server breaks a rule."
    return f"Servers that break each rule, of {survey.judged:,} that were judged. Red is failed or blocked."


def _rule(survey: Survey, earlier: Survey | None, first: Result) -> list[Child]:
    rule = first.requirement
    entries = survey.rules.get(rule, ())
    sdks = Counter(name for entry in entries for name, _ in entry.sdks)
    row: list[Child] = [together(link(rule_page(rule), rule), h.span(prose(first.says), class_="says"))]
    row += [number(with_outcome(rule, entries, one), one) for one in COUNTED]
    row += [percent(with_outcome(rule, entries, *FAILING), survey.judged)]
    row += [number(with_outcome(rule, earlier.rules.get(rule, ()), *FAILING))] if earlier else []
    return [*row, cell(chips({name: f"{count:,}" for name, count in sdks.most_common()}, MAX_SDKS))]


def _sdks(survey: Survey) -> Iterator[Html]:
    yield h.h2("SDKs", id="sdks")
    columns = [("SDK", "text"), ("version", "text"), ("servers", "number")]
    columns += [(str(grade), "number") for grade in Grade]
    columns += [("conform (%)", "number"), ("red rules of most servers", "text")]
    rows = (
        [link(sdk_page(name), name), cell(named(version)), *figures(entries)]
        for name, versions in survey.sdks.items()
        for version, entries in versions.items()
    )
    yield table("SDKs", columns, rows, search=True)
