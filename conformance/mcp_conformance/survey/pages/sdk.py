"""The page of an SDK: its versions, the rules that servers on it break, and these servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from mcp_conformance.outcome import FAILING
from mcp_conformance.protocol.text import named
from mcp_conformance.report import markup as h
from mcp_conformance.report.markup import Child, Html
from mcp_conformance.survey.figures import Entry, Survey, with_outcome
from mcp_conformance.survey.pages.parts import (
    Page,
    cell,
    chips,
    counted,
    described,
    link,
    number,
    percent,
    rule_page,
    servers,
    table,
)
from mcp_conformance.survey.results import Grade

MAX_RULES = 3
Versions = Mapping[str, tuple[Entry, ...]]


def render(sdk: str, survey: Survey) -> str:
    """Return the page about an SDK that servers of a survey are built on."""
    versions = survey.sdks[sdk]
    entries = [entry for one in versions.values() for entry in one]
    columns = [("version", "text"), ("servers", "number"), *((str(grade), "number") for grade in Grade)]
    columns += [("conform (%)", "number"), ("red rules of most servers", "text")]
    rows: Iterator[list[Child]] = (
        [named(version) or "unknown", *figures(one)] for version, one in versions.items()
    )
    body = [
        *(h.h2("Versions"), table("Versions", columns, rows)),
        *(h.h2("Rules"), _rules(survey, versions, entries)),
        *(h.h2("Servers"), servers(entries)),
    ]
    head = [
        h.h1(named(sdk)),
        h.p(counted(len(entries), "server"), class_="verdict"),
        h.p(described(survey), class_="facts"),
    ]
    return Page(survey.tool_version).document(f"{named(sdk)} · MCP conformance survey", head, body)


def figures(entries: Sequence[Entry]) -> Iterator[Html]:
    """Yield the cells about the servers on one version of an SDK."""
    grades = Counter(one.result.grade for one in entries)
    judged = len(entries) - grades[Grade.NOT_JUDGED]
    yield number(len(entries))
    yield from (number(grades[grade]) for grade in Grade)
    yield percent(grades[Grade.CONFORMS], judged)
    rules = Counter(rule for one in entries for rule, outcome in one.broken.items() if outcome.fails)
    yield cell(chips({rule: f"{count:,}" for rule, count in rules.most_common(MAX_RULES)}))


def _rules(survey: Survey, versions: Versions, entries: Sequence[Entry]) -> Html:
    judged = sum(one.is_judged for one in entries)
    columns = [("rule", "text"), ("red servers", "number"), ("red (%)", "number")]
    columns += [("on all SDKs (%)", "number"), ("versions", "text")]
    reds = Counter({rule: with_outcome(rule, entries, *FAILING) for rule in survey.rules})
    rows = (
        [
            link(f"../{rule_page(rule)}", rule),
            number(red, "failed"),
            percent(red, judged),
            percent(with_outcome(rule, survey.rules[rule], *FAILING), survey.judged),
            cell(chips(_of_versions(rule, versions))),
        ]
        for rule, red in reds.most_common()
        if red
    )
    return table("Rules", columns, rows, search=True)


def _of_versions(rule: str, versions: Versions) -> dict[str, str]:
    """Return how many of the judged servers on each version break a rule."""
    found = {}
    for version, entries in versions.items():
        if red := with_outcome(rule, entries, *FAILING):
            found[version] = f"{red} of {sum(one.is_judged for one in entries)}"
    return found
