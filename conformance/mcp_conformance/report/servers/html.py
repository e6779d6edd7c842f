"""The combined report as one HTML page: the servers, their chapters, and the rules that they break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from mcp_conformance.outcome import COUNTED, Outcome
from mcp_conformance.report.exit_status import FAILED, INTERNAL_ERROR, PASSED
from mcp_conformance.report.formats.html import anchor, prose
from mcp_conformance.report.formats.page import document, footer, text
from mcp_conformance.report.model import Report
from mcp_conformance.report.servers.model import ServerOutcome, ServersReport
from mcp_conformance.requirements.catalogue import families

CHAPTER_OUTCOMES = (Outcome.PASSED, *COUNTED)
UNTESTED = "–"  # noqa: RUF001
MAX_REASON = 300
STATUS_CLASSES = {PASSED: "passed", FAILED: "failed", INTERNAL_ERROR: "internal-error"}


def render(servers: ServersReport) -> str:
    """Return the page, with links to each server's own page."""
    kind = "passed" if servers.status == PASSED else "failed"
    parts = [
        '<header><div>\n<p class="kind">MCP conformance reports</p>',
        f"<h1>{text(servers.file)}</h1>",
        f'<p class="verdict {kind}">{text(servers.headline)}</p>\n</div></header>\n<main>',
        *_servers(servers),
        *_chapters(servers),
        *_rules(servers),
        "</main>",
        footer(servers.tool_version),
    ]
    return document(f"{servers.file}: {servers.headline}", parts, styles=("servers.css",))


# Servers -----------------------------------------------------------------------------------------


def _servers(servers: ServersReport) -> Iterator[str]:
    """Yield the table of servers with their counts."""
    shown = servers.outcomes_shown
    yield "<h2>Servers</h2>"
    columns = ("server", "outcome", *shown, "revisions", "seconds")
    heads = "".join(f'<th scope="col">{name}</th>' for name in columns)
    rows = [
        _head(one, servers.pages) + _outcome(one) + "".join(_facts(one, shown)) for one in servers.outcomes
    ]
    yield from _table("Servers", heads, rows)


def _head(one: ServerOutcome, pages: Mapping[str, str]) -> str:
    """Return the first cell of a row."""
    return f'<th scope="row">{_linked(text(one.name), one, pages)}</th>'


def _linked(words: str, one: ServerOutcome, pages: Mapping[str, str], place: str = "", kind: str = "") -> str:
    """Return words with a link to a server's own page, if it has one."""
    if one.report is None or one.name not in pages:
        return words
    marked = f' class="{kind}"' if kind else ""
    return f'<a{marked} href="{quote(pages[one.name])}{place}">{words}</a>'


def _outcome(one: ServerOutcome) -> str:
    kind = STATUS_CLASSES.get(one.status, "untested") if one.status is not None else "untested"
    return f'<td><span class="tag {kind}">{text(one.word)}</span></td>'


def _facts(one: ServerOutcome, shown: Iterable[Outcome]) -> Iterator[str]:
    outcomes = list(shown)
    if one.report is None:
        yield f'<td class="soft" colspan="{len(outcomes) + 2}">{text(one.text)}</td>'
        return
    for outcome in outcomes:
        yield f'<td class="number">{_number(one.counts.get(outcome, 0), outcome)}</td>'
    yield f'<td>{text(", ".join(one.report.tested))}</td><td class="number">{one.report.seconds:.0f}</td>'


def _number(number: int, outcome: Outcome) -> str:
    """Return a number, marked if it counts against the server."""
    sign = f"{outcome.style.mark} " if outcome.counts else ""
    return f'<span class="tag {outcome}">{sign}{number}</span>' if number else "0"


def _table(label: str, heads: str, rows: Iterable[str]) -> Iterator[str]:
    """Yield a table that scrolls."""
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
    yield f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>"
    yield from (f"<tr>{row}</tr>" for row in rows)
    yield "</tbody></table></div>"


# Chapters ----------------------------------------------------------------------------------------


def _chapters(servers: ServersReport) -> Iterator[str]:
    """Yield the table of chapters, each count linked to its first finding."""
    names = [name for name in families() if any(_counts(report, name) for _, report in servers.reports)]
    if not names:
        return
    marks = " ".join(f'<span class="mark {one}">{one.style.mark}</span> {one}' for one in COUNTED)
    yield f'<h2>By chapter</h2>\n<p class="soft">Plain numbers passed; {marks}; {UNTESTED} not tested.</p>'
    titles = (text(families()[name].title) for name in names)
    heads = "".join(f'<th scope="col" class="chapter"><span>{title}</span></th>' for title in titles)
    rows = [
        _head(one, servers.pages) + "".join(_cell(one, report, name, servers.pages) for name in names)
        for one, report in servers.reports
    ]
    yield from _table("By chapter", f'<th scope="col">server</th>{heads}', rows)


def _counts(report: Report, family: str) -> dict[Outcome, int]:
    """Return the counts of a chapter that the table shows."""
    counts = report.chapters.get(family, {})
    return {outcome: counts[outcome] for outcome in CHAPTER_OUTCOMES if outcome in counts}


def _cell(one: ServerOutcome, report: Report, family: str, pages: Mapping[str, str]) -> str:
    """Return the counts of a chapter; the number of each outcome links to its first finding."""
    counts = _counts(report, family)
    if not counts:
        return f'<td class="cell" title="not tested">{UNTESTED}</td>'
    shown = [str(counts.get(Outcome.PASSED, 0))]
    for outcome in COUNTED:
        if outcome in counts:
            place = _anchor(one, family, outcome)
            shown.append(
                _linked(f"{outcome.style.mark}{counts[outcome]}", one, pages, place, f"mark {outcome}")
            )
    said = ", ".join(f"{number} {outcome}" for outcome, number in counts.items())
    title = text(f"{one.name}, {families()[family].title}: {said}")
    return f'<td class="cell" title="{title}">{"".join(shown)}</td>'


def _anchor(one: ServerOutcome, family: str, outcome: Outcome) -> str:
    """Return the end of a link to the first finding of a chapter with that outcome."""
    firsts = (group[0] for group in one.broken)
    fitting = (first for first in firsts if first.family == family and first.outcome is outcome)
    return next((f"#{anchor(first)}" for first in fitting), "")


# Rules -------------------------------------------------------------------------------------------


def _rules(servers: ServersReport) -> Iterator[str]:
    """Yield each broken rule, and what was found first in each server."""
    yield "<h2>Broken rules</h2>"
    rules = list(servers.broken_rules())
    if not rules:
        yield '<p class="soft">There are none.</p>'
    for rule, places in rules:
        yield f'<article class="{rule.outcome}"><header><h3>{text(rule.requirement)}</h3>'
        yield f'<span class="soft">{text(rule.level)} · {text(rule.basis)}</span></header>'
        yield f"<p>{prose(rule.says)}</p><ul>"
        for one, first in places:
            mark = f'<span class="tag {first.outcome}">{first.outcome}</span>'
            name = _linked(text(one.name), one, servers.pages, f"#{anchor(first)}")
            yield f"<li>{mark} {name}: {text(first.reason, MAX_REASON)}</li>"
        yield "</ul></article>"
