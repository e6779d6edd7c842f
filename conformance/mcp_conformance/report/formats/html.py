"""A report as one HTML file: it needs no network, and text of the server has no effect in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from mcp_conformance.outcome import Listed, Outcome, listed_by
from mcp_conformance.protocol.text import shell_line
from mcp_conformance.report.formats.page import document, footer, text
from mcp_conformance.report.model import Interface, Report, Result, by_reason, grouped
from mcp_conformance.report.text import figures_of, sdk_note
from mcp_conformance.requirements.catalogue import families

LONG = 300
"""How many characters a value has that is shown at once."""
MAX_NAMES, MAX_CASES = 40, 10
STATES = {"tested": "tested", "refused": "not spoken", "dead": "no session"}


def render(report: Report) -> str:
    """Return the page."""
    parts = [
        *_header(report),
        "<main>",
        *_filters(report),
        *_findings(report),
        *_rules(report),
        *_matrix(report),
        *_run(report),
        "</main>",
        footer(report.tool_version),
    ]
    return document(f"{report.server}: {report.status} · MCP conformance", parts, script="report.js")


def _code(words: str) -> str:
    return f"<code>{text(words)}</code>"


def _link(url: str, words: str) -> str:
    return f'<a href="{text(url)}">{words}</a>' if url.startswith("https://") else words


def _tag(outcome: str, words: str) -> str:
    return f'<span class="tag {text(outcome)}">{words}</span>'


def _chips(words: Iterable[str]) -> str:
    known = list(dict.fromkeys(words))
    shown = [f'<span class="chip">{text(one)}</span>' for one in known[:MAX_NAMES]]
    more = f'<span class="soft">and {len(known) - MAX_NAMES} more</span>'
    return " ".join([*shown, *([more] if len(known) > MAX_NAMES else [])])


def terms(rows: Iterable[tuple[str, str]]) -> str:
    """Return a list of names and what is said about each; those about which nothing is said are left out."""
    items = "".join(f"<dt>{name}</dt><dd{_class(name)}>{shown}</dd>" for name, shown in rows if shown)
    return f"<dl>{items}</dl>" if items else ""


def _class(name: str) -> str:
    return f' class="{name}"' if name in ("expected", "got") else ""


# The head ----------------------------------------------------------------------------------------


def _header(report: Report) -> Iterator[str]:
    yield '<header><div>\n<p class="kind">MCP conformance report</p>'
    yield f'<h1>{text(report.server)} <span class="version">{text(report.version)}</span></h1>'
    yield f'<p class="verdict {report.status}">{text(report.headline)}</p>'
    yield f'<p class="facts">{_facts(report)}</p>'
    total = max(1, len(report.results))
    parts = [
        f'<span class="{outcome}" style="flex:{number / total:.4f}" title="{number} {outcome}"></span>'
        for outcome, number in report.counts.items()
    ]
    yield f'<div class="bar" aria-hidden="true">{"".join(parts)}</div>'
    counts = [f'<li class="{one}"><b>{number:,}</b>{one}</li>' for one, number in report.counts.items()]
    yield f'<ul class="counts">{"".join(counts)}</ul>\n</div></header>'


def _facts(report: Report) -> str:
    revisions = ", ".join(report.tested)
    began = report.started.replace("T", " ").replace("+00:00", " UTC")
    words = [f"revision {revisions}" if revisions else "", began, f"{report.seconds:,.1f} s"]
    return " · ".join(text(one) for one in words if one)


def _filters(report: Report) -> Iterator[str]:
    if report.ended:
        yield f'<p class="banner">{_ended(report)}</p>'
    if not report.results:
        return
    yield '<form class="filters" hidden aria-label="Filter what is shown">'
    for outcome in report.counts:
        yield (
            f'<button type="button" class="{outcome}" data-shows="{outcome}" aria-pressed="true">'
            f"{outcome}</button>"
        )
    yield _select("chapter", "all chapters", {name: families()[name].title for name in report.chapters})
    revisions = sorted({one.revision for one in report.results})
    yield _select("revision", "all revisions", {one: one for one in revisions})
    yield '<input type="search" name="words" placeholder="Search" aria-label="Words to look for">\n</form>'


def _ended(report: Report) -> str:
    """Return why the run ended early, and how many checks of each chapter did not run."""
    chapters = [f"{families()[name].title} ({number})" for name, number in report.not_run.items()]
    lacking = f". Checks that did not run: {', '.join(map(text, chapters))}" if chapters else ""
    return f"The run ended before all checks had run: {text(report.ended)}{lacking}"


def _select(name: str, every: str, choices: Mapping[str, str]) -> str:
    options = "".join(f'<option value="{text(one)}">{text(words)}</option>' for one, words in choices.items())
    return f'<select name="{name}" aria-label="{name}"><option value="">{every}</option>{options}</select>'


# Findings ----------------------------------------------------------------------------------------


def _findings(report: Report) -> Iterator[str]:
    groups = list(grouped(report.judged, *listed_by(Listed.ON_PAGE)))
    yield "<h2>Findings</h2>"
    empty = "No tested rule is broken." if report.status == "passed" else "There are none."
    hidden = " hidden" if groups else ""
    yield f'<p class="soft none"{hidden}>{"No finding matches the filter." if groups else empty}</p>'
    for group in groups:
        yield from finding(group)


def anchor(first: Result) -> str:
    """Return the anchor of the findings with one outcome and requirement: the part of a link after ``#``."""
    return text(f"{first.outcome}-{first.requirement}")


def _marks(group: Sequence[Result]) -> str:
    """Return the attributes that the filters read."""
    first, revisions = group[0], " ".join(sorted({one.revision for one in group}))
    return (
        f'data-outcome="{first.outcome}" data-chapter="{text(first.family)}"'
        f' data-revisions="{text(revisions)}"'
    )


def finding(group: Sequence[Result], max_cases: int = MAX_CASES) -> Iterator[str]:
    """Yield the findings with one outcome and requirement, with the evidence of some cases."""
    first, cases = group[0], by_reason(group)
    yield f'<article id="{anchor(first)}" class="{first.outcome}" {_marks(group)}>'
    yield f"<header>{_tag(first.outcome, first.outcome)}<h3>{text(first.requirement)}</h3>"
    yield f'<span class="soft">{text(first.level)} · {text(first.basis)}</span></header>'
    yield f"<p>{prose(first.says)} {_link(first.spec, 'Specification')}</p>"
    if first.fix:
        yield f"<p><strong>Fix:</strong> {prose(first.fix)}</p>"
    for case in cases[:max_cases]:
        yield from _case(case)
    if len(cases) > max_cases:
        yield f'<p class="soft">and {len(cases) - max_cases} more</p>'
    yield "</article>"


def prose(words: str) -> str:
    """Return a sentence of the catalogue; text in backticks becomes code."""
    parts = text(words).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))


def _case(case: Sequence[Result]) -> Iterator[str]:
    first = case[0]
    yield '<div class="case">'
    yield f'<div class="where">{_chips(f"{one.revision} {one.tool}".strip() for one in case)}</div>'
    yield terms(
        [
            ("expected", _foldable(first.expected)),
            ("got", _foldable(first.got or first.reason)),
            ("SDK", text(sdk_note(first))),
            ("new" if first.outcome is Outcome.NEW else "baseline", text(first.baseline)),
        ]
    )
    if first.wire:
        lines = "".join(_wire(line) for line in first.wire)
        yield f'<details><summary>on the wire</summary><pre class="wire">{lines}</pre></details>'
    yield from _folded("stderr", first.stderr)
    yield from _folded("transcripts, for mcp-conformance replay", "\n".join(first.transcripts))
    yield from _folded("reproduce", first.reproduce, "reproduce")
    yield "</div>"


def _wire(line: str) -> str:
    return f'<span class="{"sent" if line.startswith(">") else "received"}">{text(line)}</span>'


def _foldable(words: str) -> str:
    """Return a value; a long one shows its beginning, and opens."""
    if len(words) <= LONG:
        return text(words)
    return f"<details><summary>{text(words[:LONG])} …</summary>{text(words)}</details>"


def _folded(title: str, words: str, kind: str = "") -> Iterator[str]:
    if words:
        yield f'<details><summary>{title}</summary><pre class="{kind}">{text(words)}</pre></details>'


# All rules ---------------------------------------------------------------------------------------


def _rules(report: Report) -> Iterator[str]:
    if report.results:
        yield "<h2>All rules, by chapter</h2>"
    for family, results in groupby(report.results, lambda one: one.family):
        yield from _chapter(families()[family].title, list(results), report.chapters[family])


def _chapter(title: str, results: Sequence[Result], counts: Mapping[Outcome, int]) -> Iterator[str]:
    numbers = "".join(_tag(one, f"{number} {one}") for one, number in counts.items())
    yield f'<details class="fold"><summary><span class="title">{text(title)}</span>'
    yield f'<span class="numbers">{numbers}</span></summary>\n<div class="scroll"><table>'
    for _, rule in groupby(results, lambda one: one.requirement):
        yield from _rule(list(rule))
    yield "</table></div></details>"


def _rule(results: Sequence[Result]) -> Iterator[str]:
    """Yield a row for each outcome of a rule."""
    for outcome in Outcome:
        same = [one for one in results if one.outcome is outcome]
        if same:
            yield _row(outcome, same)


def _row(outcome: Outcome, same: Sequence[Result]) -> str:
    first = same[0]
    times = f" ({len(same)})" if len(same) > 1 else ""
    reasons = Counter(one.reason for one in same if one.reason and outcome is Outcome.SKIPPED)
    why = "".join(f'<span class="reason">{text(one)}</span>' for one in list(reasons)[:3])
    return (
        f"<tr {_marks(same)}><td>{_tag(outcome, f'{outcome}{times}')}</td>"
        f'<td class="rule">{_link(first.page, _code(first.requirement))}<br>'
        f'<span class="soft">{text(first.level)} · {text(first.basis)}</span></td>'
        f'<td class="says">{prose(first.says)}{why}</td></tr>'
    )


def _matrix(report: Report) -> Iterator[str]:
    """Yield the outcome of each rule in each revision, if there are several."""
    revisions = sorted({one.revision for one in report.judged})
    if len(revisions) < 2:
        return
    heads = "".join(f'<th scope="col">{text(one)}</th>' for one in revisions)
    yield '<details class="fold"><summary><span class="title">Rules by revision</span></summary>'
    yield f'<div class="scroll"><table class="matrix"><tr><th scope="col">rule</th>{heads}</tr>'
    for rule, results in groupby(report.judged, lambda one: one.requirement):
        worst = sorted(results, key=lambda one: one.outcome.place)
        found = report.matrix[rule]
        cells = "".join(
            f"<td>{_tag(found[one], found[one]) if one in found else ''}</td>" for one in revisions
        )
        yield f'<tr {_marks(worst)}><th scope="row">{_link(worst[0].page, _code(rule))}</th>{cells}</tr>'
    yield "</table></div></details>"


# The run ----------------------------------------------------------------------------------------


def _run(report: Report) -> Iterator[str]:
    yield '<div class="run"><h2>The run</h2>\n<section>'
    deviations = [
        f"Not only this server: every server built on the {text(sdk)} breaks {_chips(rules)}"
        for sdk, rules in report.deviations.items()
    ]
    notices = [text(one) for one in report.notices]
    yield terms(
        [
            ("command", _code(shell_line(report.command))),
            ("options", _chips(_option(name, given) for name, given in report.options.items())),
            *((text(one.revision), _interface(one)) for one in report.revisions),
            ("not called", _chips(report.not_called)),
            ("notices", _items(notices)),
            ("measured", _items(text(f"{revision}: {figures}") for revision, figures in figures_of(report))),
            ("baseline", _items(text(one) for one in report.outdated)),
            ("SDK", _items(deviations)),
        ]
    )
    yield "</section></div>"


def _option(name: str, given: Any) -> str:
    if given is True:
        return f"--{name}"
    words = given if isinstance(given, list) else [given]
    return f"--{name} {' '.join(one if isinstance(one, str) else json.dumps(one) for one in words)}"


def _items(words: Iterable[str]) -> str:
    items = "".join(f"<li>{one}</li>" for one in words)
    return f"<ul>{items}</ul>" if items else ""


def _interface(one: Interface) -> str:
    if one.state != "tested":
        answered = f": {text(one.answered)}" if one.answered else ""
        return f"{STATES.get(one.state, text(one.state))}{answered}"
    names = [f"tools ({len(one.tools)})" if name == "tools" else name for name in one.offers]
    found = " found by trying; the server does not declare it" if one.found else ""
    noise = f" {one.noise} lines on stdout were not JSON" if one.noise else ""
    return f'{_chips(names) or "offers nothing"}<span class="soft">{found}{noise}</span>'
