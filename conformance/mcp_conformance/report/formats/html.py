"""A report as one HTML file: it needs no network, and text of the server has no effect in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from mcp_conformance.outcome import Listed, Outcome, listed_by
from mcp_conformance.protocol.text import shell_line, shorten
from mcp_conformance.report import markup as h
from mcp_conformance.report.exercise import FETCHED, ExercisedTool
from mcp_conformance.report.file_format import FileFormat
from mcp_conformance.report.formats.page import document, footer
from mcp_conformance.report.hosts import HOSTS, AskedHost
from mcp_conformance.report.markup import MAX_TEXT, Child, Html, joined, together
from mcp_conformance.report.model import Interface, Report, Result, by_reason, grouped
from mcp_conformance.report.picture import picture
from mcp_conformance.report.text import clients_title, defect_lines, figures_of, sdk_note, vain_lines
from mcp_conformance.report.tool_links import ToolLink
from mcp_conformance.requirements.catalogue import families

LONG = 300
"""How many characters a value has that is shown at once."""
MAX_NAMES, MAX_CASES = 40, 10
EXCUSES = {Outcome.NEW: "new", Outcome.INFO: "note"}
"""What the reason is called why a finding does not count; of others it is the baseline."""
STATES = {"tested": "tested", "refused": "not spoken", "dead": "no session"}


def render(report: Report) -> str:
    """Return the page."""
    parts = [
        _header(report),
        h.main(
            "\n",
            *(_filters(report), _findings(report), _rules(report)),
            *(_matrix(report), _exercise(report), _links(report), _hosts(report), _run(report)),
        ),
        footer(report.tool_version),
    ]
    return document(f"{report.server}: {report.status} · MCP conformance", parts, script="report.js")


def soft(*children: Child) -> Html:
    """Return a part that matters less."""
    return h.span(*children, class_="soft")


def tag(kind: str, *children: Child) -> Html:
    """Return a few words in the colour of an outcome, or of another class."""
    return h.span(*children, class_=f"tag {kind}")


def more(number: int) -> str:
    """Return that so many others are left out."""
    return f"and {number} more"


def _link(url: str, *children: Child) -> Html:
    return h.a(*children, href=url) if url.startswith("https://") else together(*children)


def _chips(words: Iterable[str]) -> Html:
    known = list(dict.fromkeys(words))
    left = len(known) - MAX_NAMES
    chips = [h.span(one, class_="chip") for one in known[:MAX_NAMES]]
    return joined(" ", [*chips, soft(more(left)) if left > 0 else None])


def terms(rows: Iterable[tuple[str, Html | str]]) -> Html | None:
    """Return a list of names and what is said about each; those about which nothing is said are left out."""
    items = [
        (h.dt(name), h.dd(shown, class_=name if name in ("expected", "got") else None))
        for name, shown in rows
        if shown
    ]
    return h.dl(items) if items else None


# The head ----------------------------------------------------------------------------------------


def _header(report: Report) -> Html:
    total = max(1, len(report.results))
    parts = [
        h.span(class_=outcome, style=f"flex:{number / total:.4f}", title=f"{number} {outcome}")
        for outcome, number in report.counts.items()
    ]
    counts = [h.li(h.b(f"{number:,}"), one, class_=one) for one, number in report.counts.items()]
    content = [
        h.p("MCP conformance report", class_="kind"),
        h.h1(report.server, " ", h.span(report.version, class_="version")),
        h.p(report.headline, class_=f"verdict {report.status}"),
        _defects(report),
        h.p(_facts(report), class_="facts"),
        h.div(parts, class_="bar", aria_hidden="true"),
        h.ul(counts, class_="counts"),
    ]
    return h.header(h.div("\n", content))


def _defects(report: Report) -> Html | None:
    defects = defect_lines(report)
    left = len(defects) - len(defects[:MAX_CASES])
    items = [h.li(tag(one.outcome, one.kind), " ", line) for one, line in defects[:MAX_CASES]]
    items += [h.li(line) for line in vain_lines(report)]
    return h.ul(items, h.li(more(left)) if left else None, class_="defects") if items else None


def _facts(report: Report) -> Html:
    revisions = ", ".join(report.tested)
    began = report.started.replace("T", " ").replace("+00:00", " UTC")
    return joined(" · ", [f"revision {revisions}" if revisions else None, began, f"{report.seconds:,.1f} s"])


def _filters(report: Report) -> Iterator[Html]:
    if report.ended:
        yield h.p(_ended(report), class_="banner")
    if not report.results:
        return
    revisions = sorted({one.revision for one in report.results})
    yield h.form(
        "\n",
        [switch(one, class_=one) for one in report.counts],
        _select("chapter", "all chapters", {name: families()[name].title for name in report.chapters}),
        _select("revision", "all revisions", {one: one for one in revisions}),
        h.field(type="search", name="words", placeholder="Search", aria_label="Words to look for"),
        class_="filters",
        hidden=True,
        aria_label="Filter what is shown",
    )


def switch(shows: str, **attributes: str) -> Html:
    """Return a button that hides the rows with a word, or shows them again."""
    return h.button(shows, type="button", **attributes, data_shows=shows, aria_pressed="true")


def _ended(report: Report) -> str:
    """Return why the run ended early, and how many checks of each chapter did not run."""
    chapters = [f"{families()[name].title} ({number})" for name, number in report.not_run.items()]
    lacking = f". Checks that did not run: {', '.join(chapters)}" if chapters else ""
    return f"The run ended before all checks had run: {report.ended}{lacking}"


def _select(name: str, every: str, choices: Mapping[str, str]) -> Html:
    options = [h.option(words, value=one) for one, words in choices.items()]
    return h.select(h.option(every, value=""), options, name=name, aria_label=name)


# Findings ----------------------------------------------------------------------------------------


def _findings(report: Report) -> Iterator[Html]:
    groups = list(grouped(report.judged, *listed_by(Listed.ON_PAGE)))
    is_green = report.status in ("passed", "unexercised")
    empty = "No tested rule is broken." if is_green else "There are none."
    yield h.h2("Findings")
    yield h.p("No finding matches the filter." if groups else empty, class_="soft none", hidden=bool(groups))
    yield from map(finding, groups)


def anchor(first: Result) -> str:
    """Return the anchor of the findings with one outcome and requirement: the part of a link after ``#``."""
    return f"{first.outcome}-{first.requirement}"


def _marks(group: Sequence[Result]) -> dict[str, str]:
    """Return the attributes that the filters read."""
    first, revisions = group[0], sorted({one.revision for one in group})
    return {
        "data_outcome": first.outcome,
        "data_chapter": first.family,
        "data_revisions": " ".join(revisions),
    }


def finding(group: Sequence[Result], max_cases: int = MAX_CASES) -> Html:
    """Return the findings with one outcome and requirement, with the evidence of some cases."""
    first, cases = group[0], by_reason(group)
    left = len(cases) - max_cases
    head: list[Child] = [tag(first.outcome, first.outcome), h.h3(first.requirement), "\n", basis(first)]
    return h.article(
        "\n",
        h.header(head),
        h.p(prose(first.says), " ", _link(first.spec, "Specification")),
        h.p(h.strong("Fix:"), " ", prose(first.fix)) if first.fix else None,
        map(_case, cases[:max_cases]),
        h.p(more(left), class_="soft") if left > 0 else None,
        id=anchor(first),
        class_=first.outcome,
        **_marks(group),
    )


def basis(first: Result) -> Html:
    """Return the level and the basis of a rule."""
    return soft(f"{first.level} · {first.basis}")


def prose(words: str) -> Html:
    """Return a sentence of the catalogue; text in backticks becomes code."""
    parts = shorten(words, MAX_TEXT).split("`")
    return together(h.code(part) if number % 2 else part for number, part in enumerate(parts))


def _case(case: Sequence[Result]) -> Html:
    first = case[0]
    wire = h.pre(map(_wire, first.wire), class_="wire")
    return h.div(
        "\n",
        h.div(_chips(f"{one.revision} {one.tool}".strip() for one in case), class_="where"),
        terms(
            [
                ("expected", _foldable(first.expected)),
                ("got", _foldable(first.got or first.reason)),
                ("SDK", sdk_note(first)),
                ("SDK" if first.is_of_sdk else EXCUSES.get(first.outcome, "baseline"), first.baseline),
            ]
        ),
        ("\n", h.details(h.summary("on the wire"), wire)) if first.wire else None,
        _folded("stderr", first.stderr),
        _folded("transcripts, for mcp-conformance replay", "\n".join(first.transcripts)),
        _folded("replay", first.replay, "reproduce"),
        _folded("reproduce", first.reproduce, "reproduce"),
        "\n",
        class_="case",
    )


def _wire(line: str) -> Html:
    return h.span(line, class_="sent" if line.startswith(">") else "received")


def _foldable(words: str) -> Html:
    """Return a value; a long one shows its beginning, and opens."""
    if len(words) <= LONG:
        return together(words)
    return h.details(h.summary(words[:LONG], " …"), words)


def _folded(title: str, words: str, kind: str | None = None) -> Child:
    return ("\n", h.details(h.summary(title), h.pre(words, class_=kind))) if words else None


# All rules ---------------------------------------------------------------------------------------


def fold(title: str, *children: Child, beside: Child = None) -> Html:
    """Return a part of the page that opens; ``beside`` its title it shows something else."""
    head = h.summary(h.span(title, class_="title"), beside)
    return together(h.details(head, "\n", h.div(*children, class_="scroll"), class_="fold"), "\n")


def _rules(report: Report) -> Iterator[Html]:
    if report.results:
        yield h.h2("All rules, by chapter")
    for family, results in groupby(report.results, lambda one: one.family):
        yield _chapter(families()[family].title, list(results), report.chapters[family])


def _chapter(title: str, results: Sequence[Result], counts: Mapping[Outcome, int]) -> Html:
    numbers = [tag(one, f"{number} {one}") for one, number in counts.items()]
    rows = [_rule(list(rule)) for _, rule in groupby(results, lambda one: one.requirement)]
    return fold(title, h.table("\n", rows), beside=h.span(numbers, class_="numbers"))


def _rule(results: Sequence[Result]) -> Iterator[Html]:
    """Yield a row for each outcome of a rule."""
    for outcome in Outcome:
        same = [one for one in results if one.outcome is outcome]
        if same:
            yield _row(outcome, same)


def _row(outcome: Outcome, same: Sequence[Result]) -> Html:
    first = same[0]
    times = f" ({len(same)})" if len(same) > 1 else ""
    reasons = Counter(one.reason for one in same if one.reason and outcome is Outcome.SKIPPED)
    why = [h.span(one, class_="reason") for one in list(reasons)[:3]]
    return h.tr(
        h.td(tag(outcome, f"{outcome}{times}")),
        h.td(_link(first.page, h.code(first.requirement)), h.br, basis(first), class_="rule"),
        h.td(prose(first.says), why, class_="says"),
        **_marks(same),
    )


def _matrix(report: Report) -> Html | None:
    """Return the outcome of each rule in each revision, if there are several."""
    revisions = sorted({one.revision for one in report.judged})
    if len(revisions) < 2:
        return None
    heads = [h.th(one, scope="col") for one in ("rule", *revisions)]
    rows = []
    for rule, results in groupby(report.judged, lambda one: one.requirement):
        worst = sorted(results, key=lambda one: one.outcome.place)
        found = report.matrix[rule]
        cells = [h.td(tag(found[one], found[one]) if one in found else None) for one in revisions]
        head = h.th(_link(worst[0].page, h.code(rule)), scope="row")
        rows.append(h.tr(head, cells, **_marks(worst)))
    return fold("Rules by revision", h.table(h.tr(heads), rows, class_="matrix"))


def _exercise(report: Report) -> Html | None:
    """Return the calls of each tool, and the fetches of prompts and templates, if there are some."""
    if all(one.why_not for one in report.exercise):
        return None
    return fold(report.share_exercised or FETCHED, exercise_table(report.exercise))


def exercise_table(tools: Iterable[ExercisedTool]) -> Html:
    """Return the calls of each tool, their successes and answers, and where their arguments came from."""
    heads = [h.th(one, scope="col") for one in ("tool", "calls", "successes", "answers", "arguments from")]
    return h.table("\n", h.tr(heads), [h.tr(_exercised(one)) for one in tools], class_="exercise")


def _exercised(one: ExercisedTool) -> Iterator[Html]:
    yield h.th(h.code(one.title), scope="row")
    if one.why_not:
        yield h.td(f"not counted: {one.why_not}", class_="soft", colspan="4")
        return
    yield h.td(f"{one.calls:,}", class_="number")
    yield h.td(tag("passed" if one.is_exercised else "warned", f"{one.successes:,}"), class_="number")
    yield h.td(f"{one.answers:,}", class_="number")
    yield h.td(_chips(one.origins))


def _links(report: Report) -> Html | None:
    """Return the links of tools, as a picture and as a table, if there are some."""
    if not report.links:
        return None
    heads = [h.th(one, scope="col") for one in ("makes", "tool", "does", "by", "seen")]
    table = h.table("\n", h.tr(heads), [h.tr(_linked(one)) for one in report.links])
    return fold("Which tools make what others use", picture(report.links), table)


def _linked(one: ToolLink) -> Iterator[Html]:
    yield h.th(h.code(one.maker), scope="row")
    yield h.td(h.code(one.tool))
    yield h.td(f"{one.does} it")
    yield h.td(prose(one.by))
    yield h.td(one.times)


def _hosts(report: Report) -> Html | None:
    """Return what the server asks of other hosts, if that was looked at."""
    if not report.hosts:
        return None
    heads = [
        h.th(one, scope="col") for one in ("host", "when", "request", "bytes sent", "bytes back", "times")
    ]
    return fold(HOSTS, h.table("\n", h.tr(heads), [h.tr(_host(one)) for one in report.hosts]))


def _host(one: AskedHost) -> Iterator[Html]:
    yield h.th(h.code(one.host), scope="row")
    yield h.td(prose(one.occasion))
    yield h.td(h.code(one.request))
    yield h.td(f"{one.sent:,}", class_="number")
    yield h.td(f"{one.received:,}", class_="number")
    yield h.td(f"{one.times:,}", class_="number")


# The run ----------------------------------------------------------------------------------------


def _run(report: Report) -> Html:
    deviations = [
        together(f"Not only this server: every server built on the {sdk} breaks ", _chips(rules))
        for sdk, rules in report.deviations.items()
    ]
    rows = [
        ("command", h.code(shell_line(report.command))),
        ("options", _chips(_option(name, given) for name, given in report.options.items())),
        *((one.revision, _interface(one)) for one in report.revisions),
        (clients_title(report), _items(map(str, report.clients))),
        ("not called", _chips(report.not_called)),
        ("notices", _items(report.notices)),
        ("measured", _items(f"{revision}: {figures}" for revision, figures in figures_of(report))),
        ("baseline", _items(report.outdated)),
        ("exercised", together(report.lacking)),
        ("SDK", _items(deviations)),
    ]
    return h.div(h.h2("The run"), h.section("\n", terms(rows), "\n"), class_="run")


def _option(name: str, given: Any) -> str:
    if given is True:
        return f"--{name}"
    words = given if isinstance(given, list) else [given]
    return f"--{name} {' '.join(one if isinstance(one, str) else json.dumps(one) for one in words)}"


def _items(words: Iterable[Child]) -> Html:
    items = [h.li(one) for one in words]
    return h.ul(items) if items else together()


def _interface(one: Interface) -> Html:
    if one.state != "tested":
        answered = f": {one.answered}" if one.answered else ""
        return together(STATES.get(one.state, one.state), answered)
    names = [f"tools ({len(one.tools)})" if name == "tools" else name for name in one.offers]
    found = " found by trying; the server does not declare it" if one.found else ""
    noise = f" {one.noise} lines on stdout were not JSON" if one.noise else ""
    return together(_chips(names) or "offers nothing", soft(found, noise))


FILE_FORMAT = FileFormat((".html",), "one page to read, which needs no network", render)
