"""The page of a server: its grade, every finding with its evidence, and its earlier results."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from mcp_conformance.outcome import FAILING, FINDINGS, Outcome, Weight, weighing
from mcp_conformance.protocol.text import named
from mcp_conformance.report import markup as h
from mcp_conformance.report.formats.html import exercise_table, finding, tag, terms
from mcp_conformance.report.markup import Child, Html, joined, together
from mcp_conformance.report.model import Result, grouped, plural
from mcp_conformance.survey.figures import NO_SDK, Entry, Survey
from mcp_conformance.survey.pages.parts import (
    Page,
    cell,
    day,
    kind_of,
    link,
    moment,
    number,
    rule_page,
    sdk_page,
    table,
)
from mcp_conformance.survey.results import Grade

TITLE_WORDS = 120


def render(history: Sequence[Entry], survey: Survey) -> str:
    """Return the page about a server of a survey; ``history`` has its results, that of this survey last."""
    entry = history[-1]
    body: list[Child] = [
        _reason(entry),
        _findings(entry, survey),
        _exercise(entry),
        _counts(entry),
        _facts(entry),
        _history(history) if len(history) > 1 else None,
    ]
    title = f"{named(entry.name, TITLE_WORDS)}: {entry.result.grade} · MCP conformance survey"
    return Page(entry.result.tool_version, scripted=False).document(title, _head(entry), body)


def _head(entry: Entry) -> Iterator[Html]:
    result = entry.result
    yield h.h1(entry.name, " ", h.span(entry.version, class_="version"))
    red, warned = entry.number(*FAILING), entry.number(*weighing(Weight.WARNS))
    words = {
        Grade.CONFORMS: "conforms",
        Grade.DOES_NOT_CONFORM: f"does not conform: {plural(red, 'rule')} red",
        Grade.NOT_JUDGED: f"could not be judged: {result.obstacle}",
    }[result.grade]
    more = f", {plural(warned, 'warning')}" if warned else ""
    yield h.p(words, more, class_=f"verdict {kind_of(result.grade)}")
    shown = [f"revision {', '.join(result.revisions)}" if result.revisions else "", moment(result.started)]
    shown += [f"version {result.tool_version} of this tool", f"{result.seconds:,.1f} s"]
    yield h.p(joined(" · ", shown), class_="facts")


def _reason(entry: Entry) -> Iterator[Html]:
    """Yield why a server has no grade."""
    if entry.result.diagnosis:
        yield h.h2("Diagnosis" if entry.is_judged else "Why it could not be judged")
        yield h.pre(entry.result.diagnosis)


def _findings(entry: Entry, survey: Survey) -> Iterator[Html]:
    if entry.is_judged:
        yield h.h2("Findings")
        yield from _articles(entry.result.findings, survey)
        if not entry.result.findings:
            yield h.p("No tested rule is broken.", class_="soft")
    if entry.result.unsteady:
        yield h.h2("Seen in one of two runs")
        yield h.p("These do not count: a second run did not show them.", class_="soft")
        yield from _articles(entry.result.unsteady, survey)


def _articles(findings: Sequence[Result], survey: Survey) -> Iterator[Html]:
    for group in grouped(findings, *FINDINGS):
        yield finding(group, len(group))
        if group[0].requirement in survey.rules:
            page = link(f"../{rule_page(group[0].requirement)}", "All servers that break this rule")
            yield h.p(page, class_="beside")


def _exercise(entry: Entry) -> Iterator[Html]:
    """Yield the calls of each tool, if some tool was callable."""
    if entry.result.callable_tools:
        yield h.h2(f"Tools exercised: {entry.result.exercised}")
        yield h.div(exercise_table(entry.result.exercise), class_="scroll", tabindex="0")


def _counts(entry: Entry) -> Iterator[Html]:
    """Yield the number of rules with each outcome in each revision."""
    shown = [one for one in Outcome if any(counts[one] for counts in entry.counts.values())]
    if shown:
        columns = [("revision", "text"), *((str(one), "number") for one in shown)]
        rows: Iterator[list[Child]] = (
            [revision, *(number(counts[one], one) for one in shown)]
            for revision, counts in entry.counts.items()
        )
        yield h.h2("Rules by revision")
        yield table("Rules by revision", columns, rows)


def _facts(entry: Entry) -> Html:
    result, target = entry.result, entry.result.target
    built_on = [(link(f"../{sdk_page(name)}", name), " ", version) for name, version in entry.sdks]
    members = {name: value for name, value in asdict(target).items() if value}
    line = json.dumps(members, ensure_ascii=False)
    rows = [
        ("package", " ".join(filter(None, (target.registry, target.package, target.version)))),
        ("command", shlex.join((*target.command, *target.arguments))),
        ("calls itself", f"{result.server} {result.server_version}".strip()),
        ("SDK", joined(" on ", built_on) if result.sdk else NO_SDK),
        ("options", " ".join(result.options)),
        ("needs", ", ".join(target.secrets)),
        ("sandbox", result.sandbox),
        ("cost", f"{result.cpu_seconds:,.1f} CPU seconds, {plural(result.requests, 'request')}"),
        ("run it again", together("A survey of this one line examines it again:", h.pre(line))),
    ]
    return h.div(h.h2("The examination"), h.section("\n", terms(rows), "\n"), class_="run")


def _history(history: Sequence[Entry]) -> Iterator[Html]:
    columns = [("day", "text"), ("version of this tool", "text"), ("options", "text"), ("server", "text")]
    columns += [("SDK", "text"), ("grade", "text"), ("red rules", "number"), ("warnings", "number")]
    yield h.h2("Results")
    yield table("Results", columns, map(_result, reversed(history)))


def _result(entry: Entry) -> list[Child]:
    result = entry.result
    words = (result.tool_version, " ".join(result.options), entry.version, result.sdk)
    return [
        day(result.started),
        *(cell(named(one)) for one in words),
        cell(tag(kind_of(result.grade), result.grade)),
        number(entry.number(*FAILING), "failed") if entry.is_judged else cell(""),
        number(entry.number(*weighing(Weight.WARNS)), "warned") if entry.is_judged else cell(""),
    ]
