"""The page of a server: its grade, every finding with its evidence, and its earlier results."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from mcp_conformance.outcome import FAILING, FINDINGS, Outcome, Weight, weighing
from mcp_conformance.protocol.text import named
from mcp_conformance.report.formats.html import finding, terms
from mcp_conformance.report.formats.page import text
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
    body = [
        *_reason(entry),
        *_findings(entry, survey),
        *_counts(entry),
        *_facts(entry),
        *(_history(history) if len(history) > 1 else ()),
    ]
    title = f"{named(entry.name, TITLE_WORDS)}: {entry.result.grade} · MCP conformance survey"
    return Page(entry.result.tool_version, scripted=False).document(title, _head(entry), body)


def _head(entry: Entry) -> Iterator[str]:
    result = entry.result
    yield f'<h1>{text(entry.name)} <span class="version">{text(entry.version)}</span></h1>'
    red, warned = entry.number(*FAILING), entry.number(*weighing(Weight.WARNS))
    words = {
        Grade.CONFORMS: "conforms",
        Grade.DOES_NOT_CONFORM: f"does not conform: {plural(red, 'rule')} red",
        Grade.NOT_JUDGED: f"could not be judged: {result.obstacle}",
    }[result.grade]
    more = f", {plural(warned, 'warning')}" if warned else ""
    yield f'<p class="verdict {kind_of(result.grade)}">{text(words + more)}</p>'
    shown = [f"revision {', '.join(result.revisions)}" if result.revisions else "", moment(result.started)]
    shown += [f"version {result.tool_version} of this tool", f"{result.seconds:,.1f} s"]
    yield f'<p class="facts">{" · ".join(text(one) for one in shown if one)}</p>'


def _reason(entry: Entry) -> Iterator[str]:
    """Yield why a server has no grade."""
    if entry.result.diagnosis:
        title = "Diagnosis" if entry.is_judged else "Why it could not be judged"
        yield f"<h2>{title}</h2>\n<pre>{text(entry.result.diagnosis)}</pre>"


def _findings(entry: Entry, survey: Survey) -> Iterator[str]:
    if entry.is_judged:
        yield "<h2>Findings</h2>"
        yield from _articles(entry.result.findings, survey) if entry.result.findings else _none()
    if entry.result.unsteady:
        yield "<h2>Seen in one of two runs</h2>"
        yield '<p class="soft">These do not count: a second run did not show them.</p>'
        yield from _articles(entry.result.unsteady, survey)


def _none() -> Iterator[str]:
    yield '<p class="soft">No tested rule is broken.</p>'


def _articles(findings: Sequence[Result], survey: Survey) -> Iterator[str]:
    for group in grouped(findings, *FINDINGS):
        yield from finding(group, len(group))
        if group[0].requirement in survey.rules:
            page = link(f"../{rule_page(group[0].requirement)}", "All servers that break this rule")
            yield f'<p class="beside">{page}</p>'


def _counts(entry: Entry) -> Iterator[str]:
    """Yield the number of rules with each outcome in each revision."""
    shown = [one for one in Outcome if any(counts[one] for counts in entry.counts.values())]
    if shown:
        columns = [("revision", "text"), *((str(one), "number") for one in shown)]
        rows = (
            [text(revision), *(number(counts[one], one) for one in shown)]
            for revision, counts in entry.counts.items()
        )
        yield "<h2>Rules by revision</h2>"
        yield from table("Rules by revision", columns, rows)


def _facts(entry: Entry) -> Iterator[str]:
    result, target = entry.result, entry.result.target
    built_on = [f"{link(f'../{sdk_page(name)}', name)} {text(version)}" for name, version in entry.sdks]
    members = {name: value for name, value in asdict(target).items() if value}
    line = json.dumps(members, ensure_ascii=False)
    yield '<div class="run"><h2>The examination</h2>\n<section>'
    yield terms(
        [
            ("package", text(" ".join(filter(None, (target.registry, target.package, target.version))))),
            ("command", text(shlex.join((*target.command, *target.arguments)))),
            ("calls itself", text(f"{result.server} {result.server_version}".strip())),
            ("SDK", " on ".join(built_on) if result.sdk else NO_SDK),
            ("options", text(" ".join(result.options))),
            ("needs", text(", ".join(target.secrets))),
            ("sandbox", text(result.sandbox)),
            ("cost", f"{result.cpu_seconds:,.1f} CPU seconds, {plural(result.requests, 'request')}"),
            ("run it again", f"A survey of this one line examines it again:<pre>{text(line)}</pre>"),
        ]
    )
    yield "</section></div>"


def _history(history: Sequence[Entry]) -> Iterator[str]:
    columns = [("day", "text"), ("version of this tool", "text"), ("options", "text"), ("server", "text")]
    columns += [("SDK", "text"), ("grade", "text"), ("red rules", "number"), ("warnings", "number")]
    yield "<h2>Results</h2>"
    yield from table("Results", columns, map(_result, reversed(history)))


def _result(entry: Entry) -> list[str]:
    result = entry.result
    words = (result.tool_version, " ".join(result.options), entry.version, result.sdk)
    return [
        text(day(result.started)),
        *(cell(text(named(one))) for one in words),
        cell(f'<span class="tag {kind_of(result.grade)}">{result.grade}</span>'),
        number(entry.number(*FAILING), "failed") if entry.is_judged else cell(""),
        number(entry.number(*weighing(Weight.WARNS)), "warned") if entry.is_judged else cell(""),
    ]
