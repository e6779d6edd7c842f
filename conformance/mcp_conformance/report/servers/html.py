"""The combined report as one HTML page: the servers, their chapters, and the rules that they break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from mcp_conformance.outcome import COUNTED, Outcome
from mcp_conformance.protocol.text import shorten
from mcp_conformance.report import markup as h
from mcp_conformance.report.exit_status import FAILED, INTERNAL_ERROR, PASSED
from mcp_conformance.report.file_format import CombinedFormat
from mcp_conformance.report.formats.html import anchor, basis, prose, tag
from mcp_conformance.report.formats.page import document, footer
from mcp_conformance.report.markup import Child, Html, joined
from mcp_conformance.report.model import Report
from mcp_conformance.report.servers.model import ServerOutcome, ServersReport
from mcp_conformance.requirements.catalogue import families

CHAPTER_OUTCOMES = (Outcome.PASSED, *COUNTED)
UNTESTED = "–"  # noqa: RUF001
MAX_REASON = 300
CLIENTS = "Clients that can connect"
STATUS_CLASSES = {PASSED: "passed", FAILED: "failed", INTERNAL_ERROR: "internal-error"}


def render(servers: ServersReport) -> str:
    """Return the page, with links to each server's own page."""
    kind = "passed" if servers.status == PASSED else "failed"
    head = [
        h.p("MCP conformance reports", class_="kind"),
        h.h1(servers.file),
        h.p(servers.headline, class_=f"verdict {kind}"),
    ]
    parts = [
        h.header(h.div("\n", head)),
        h.main("\n", _servers(servers), _clients(servers), _chapters(servers), _rules(servers)),
        footer(servers.tool_version),
    ]
    return document(f"{servers.file}: {servers.headline}", parts, styles=("servers.css",))


# Servers -----------------------------------------------------------------------------------------


def _servers(servers: ServersReport) -> Iterator[Html]:
    """Yield the table of servers with their counts."""
    names = ("server", "outcome", *servers.outcomes_shown, *servers.further_columns, "revisions")
    heads = [h.th(name, scope="col") for name in names]
    rows = ([_head(one, servers.pages), _outcome(one), *_facts(one, servers)] for one in servers.outcomes)
    yield h.h2("Servers")
    yield _table("Servers", heads, rows)


def _head(one: ServerOutcome, pages: Mapping[str, str]) -> Html:
    """Return the first cell of a row."""
    return h.th(_linked(one.name, one, pages), scope="row")


def _linked(
    words: str, one: ServerOutcome, pages: Mapping[str, str], place: str = "", kind: str | None = None
) -> Html | str:
    """Return words with a link to a server's own page, if it has one."""
    if one.report is None or one.name not in pages:
        return words
    return h.a(words, class_=kind, href=f"{quote(pages[one.name])}{place}")


def _outcome(one: ServerOutcome) -> Html:
    kind = STATUS_CLASSES.get(one.status, "untested") if one.status is not None else "untested"
    return h.td(tag(kind, one.word), f" {one.left_out}" if one.left_out else None)


def _facts(one: ServerOutcome, servers: ServersReport) -> Iterator[Html]:
    outcomes, further = servers.outcomes_shown, servers.further_columns
    if one.report is None:
        yield h.td(one.text, class_="soft", colspan=str(len(outcomes) + len(further) + 1))
        return
    for outcome in outcomes:
        yield h.td(_number(one.counts.get(outcome, 0), outcome), class_="number")
    if len(further) > 1:
        is_empty = one.report.status == "unexercised"
        yield h.td(tag("warned", one.exercised) if is_empty else one.exercised, class_="number")
    yield h.td(f"{one.report.seconds:.0f}", class_="number")
    yield h.td(", ".join(one.report.tested))


def _number(number: int, outcome: Outcome) -> Html | str:
    """Return a number, marked if it counts against the server."""
    sign = f"{outcome.style.mark} " if outcome.counts else ""
    return tag(outcome, f"{sign}{number}") if number else "0"


def _table(label: str, heads: Child, rows: Iterable[Child]) -> Html:
    """Return a table that scrolls."""
    body = h.tbody("\n", map(h.tr, rows))
    table = h.table("\n", h.thead(h.tr(heads)), body)
    return h.div("\n", table, class_="scroll", tabindex="0", role="region", aria_label=label)


def _clients(servers: ServersReport) -> Iterator[Html]:
    """Yield the table of the clients that can connect to each server."""
    if not servers.connecting:
        return
    heads, *rows = servers.connecting
    cells: Iterable[Child] = ([h.th(name, scope="row"), map(h.td, others)] for name, *others in rows)
    yield h.h2(CLIENTS)
    yield _table(CLIENTS, [h.th(name, scope="col") for name in heads], cells)


# Chapters ----------------------------------------------------------------------------------------


def _chapters(servers: ServersReport) -> Iterator[Html]:
    """Yield the table of chapters, each count linked to its first finding."""
    names = [name for name in families() if any(_counts(report, name) for _, report in servers.reports)]
    if not names:
        return
    marks = joined(" ", [(h.span(one.style.mark, class_=f"mark {one}"), " ", one) for one in COUNTED])
    titles = [h.th(h.span(families()[name].title), scope="col", class_="chapter") for name in names]
    rows = (
        [_head(one, servers.pages), *(_cell(one, report, name, servers.pages) for name in names)]
        for one, report in servers.reports
    )
    yield h.h2("By chapter")
    yield h.p("Plain numbers passed; ", marks, f"; {UNTESTED} not tested.", class_="soft")
    yield _table("By chapter", [h.th("server", scope="col"), titles], rows)


def _counts(report: Report, family: str) -> dict[Outcome, int]:
    """Return the counts of a chapter that the table shows."""
    counts = report.chapters.get(family, {})
    return {outcome: counts[outcome] for outcome in CHAPTER_OUTCOMES if outcome in counts}


def _cell(one: ServerOutcome, report: Report, family: str, pages: Mapping[str, str]) -> Html:
    """Return the counts of a chapter; the number of each outcome links to its first finding."""
    counts = _counts(report, family)
    if not counts:
        return h.td(UNTESTED, class_="cell", title="not tested")
    shown: list[Html | str] = [str(counts.get(Outcome.PASSED, 0))]
    for outcome in COUNTED:
        if outcome in counts:
            words, place = f"{outcome.style.mark}{counts[outcome]}", _anchor(one, family, outcome)
            shown.append(_linked(words, one, pages, place, f"mark {outcome}"))
    said = ", ".join(f"{number} {outcome}" for outcome, number in counts.items())
    return h.td(shown, class_="cell", title=f"{one.name}, {families()[family].title}: {said}")


def _anchor(one: ServerOutcome, family: str, outcome: Outcome) -> str:
    """Return the end of a link to the first finding of a chapter with that outcome."""
    firsts = (group[0] for group in one.broken)
    fitting = (first for first in firsts if first.family == family and first.outcome is outcome)
    return next((f"#{anchor(first)}" for first in fitting), "")


# Rules -------------------------------------------------------------------------------------------


def _rules(servers: ServersReport) -> Iterator[Html]:
    """Yield each broken rule, and what was found first in each server."""
    yield h.h2("Broken rules")
    rules = list(servers.broken_rules())
    if not rules:
        yield h.p("There are none.", class_="soft")
    for rule, places in rules:
        found = (
            h.li(
                tag(first.outcome, first.outcome),
                " ",
                _linked(one.name, one, servers.pages, f"#{anchor(first)}"),
                f": {shorten(first.reason, MAX_REASON)}",
            )
            for one, first in places
        )
        yield h.article(
            h.header(h.h3(rule.requirement), basis(rule)),
            h.p(prose(rule.says)),
            h.ul(found),
            class_=rule.outcome,
        )


COMBINED = CombinedFormat(render)
