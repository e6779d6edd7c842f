"""Parts that several pages share: tables that a reader can sort and filter, the list of servers, a head.

A table of figures is HTML that `survey.js` sorts.  A list of servers is JSON in its page, of which the script
shows a part at a time, as it may have thousands of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_conformance.outcome import FAILING, Weight, weighing
from mcp_conformance.protocol.text import named
from mcp_conformance.report import markup as h
from mcp_conformance.report.formats.html import more, soft, switch, tag
from mcp_conformance.report.formats.page import document, footer
from mcp_conformance.report.markup import Child, Html, joined, json_data
from mcp_conformance.survey.figures import NO_SDK, Entry, Survey, file_name
from mcp_conformance.survey.results import Grade

MAX_NAME = 120
MAX_CHIPS = 12
START = "index.html"
OBSTACLE = "why it could not be judged"
Column = tuple[str, str]
"""The title of a column and its kind: ``text``, ``number``, ``tag`` or ``link``."""
SERVERS: tuple[Column, ...] = (
    ("server", "link"),
    ("grade", "tag"),
    ("red rules", "number"),
    ("warnings", "number"),
    ("tools exercised (%)", "number"),
    ("SDK", "text"),
    ("version", "text"),
)


@dataclass(frozen=True)
class Page:
    """What is common to the pages of a site.

    ``tool_version`` is that of the survey, ``root`` the way to the start page; a page without long tables
    needs no script.
    """

    tool_version: str
    root: str = "../"
    scripted: bool = True

    def document(self, title: str, head: Iterable[Child], body: Iterable[Child]) -> str:
        """Return a page; ``head`` are the parts of its header."""
        back = h.p(h.a("MCP conformance survey", href=f"{self.root}{START}"), class_="kind")
        parts = [
            h.header(h.div("\n", back, head)),
            h.main("\n", body),
            footer(self.tool_version),
        ]
        script = "survey.js" if self.scripted else ""
        return document(title, parts, styles=("servers.css", "survey.css"), script=script)


def link(page: str, words: str) -> Html:
    """Return a link to a page of the site."""
    return h.a(named(words, MAX_NAME), href=page)


def rule_page(rule: str) -> str:
    """Return the address of a rule's page, from the start page."""
    return f"rules/{file_name(rule)}"


def sdk_page(sdk: str) -> str:
    """Return the address of an SDK's page, from the start page."""
    return f"sdks/{file_name(sdk)}"


def kind_of(grade: Grade) -> str:
    """Return the class that gives a grade its colour."""
    return str(grade).replace(" ", "-")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 server``, ``3,000 servers``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def share(part: int, whole: int) -> str:
    """Return a part in percent; empty if there is no whole."""
    return f"{100 * part / whole:.0f} %" if whole else ""


def bar(grades: Mapping[Grade, int]) -> Html:
    """Return a bar with a part for each grade; those that could not be judged are pale."""
    parts = [
        h.span(class_=kind_of(one), style=f"flex:{grades[one]}", title=f"{grades[one]:,} {one}")
        for one in Grade
        if grades.get(one)
    ]
    return h.div(parts, class_="bar", aria_hidden="true")


def described(survey: Survey) -> str:
    """Return the version, the options and the day of a survey."""
    words = [f"version {survey.tool_version}", " ".join(survey.options), day(survey.ended)]
    return " · ".join(named(one, 200) for one in words if one)


def moment(started: str) -> str:
    """Return a moment in ISO 8601, to the minute, in fewer signs."""
    return f"{started[:16].replace('T', ' ')} UTC" if started else ""


def day(started: str) -> str:
    """Return the day of a moment in ISO 8601."""
    return started.partition("T")[0]


# Tables ------------------------------------------------------------------------------------------


def cell(words: Child, value: int | float | None = None) -> Html:
    """Return a cell; ``value`` is the number that sorts it."""
    return h.td(words) if value is None else h.td(words, class_="number", data_value=str(value))


def number(value: int, outcome: str = "") -> Html:
    """Return a cell with a number, in the colour of an outcome unless it is 0."""
    shown = f"{value:,}"
    return cell(tag(outcome, shown) if outcome and value else shown, value)


def percent(part: int, whole: int) -> Html:
    """Return a cell with a part in percent."""
    return cell(share(part, whole), round(part / whole, 4)) if whole else cell("")


def chips(counts: Mapping[str, str], limit: int = MAX_CHIPS) -> Html:
    """Return the first names with what is said about each, and how many more there are."""
    shown = [
        h.span(named(name), " ", h.b(words), class_="chip") for name, words in list(counts.items())[:limit]
    ]
    left = len(counts) - limit
    return joined(" ", [*shown, soft(more(left)) if left > 0 else None])


def table(
    label: str, columns: Sequence[Column], rows: Iterable[Sequence[Child]], *, search: bool = False
) -> Html:
    """Return a table that can be sorted; the first cell of a row, which heads it, is not in a tag yet."""
    found = (h.tr(h.th(first, scope="row"), rest) for first, *rest in rows)
    return h.section(
        "\n",
        _filters(label, _search()) if search else None,
        _scrolling(label, columns, found),
        class_="listed",
    )


def _filters(label: str, *fields: Child) -> Html:
    return h.form(*fields, class_="filters", hidden=True, aria_label=f"Filter: {label}")


def _scrolling(label: str, columns: Sequence[Column], rows: Iterable[Child]) -> Html:
    heads = [h.th(title, scope="col", data_kind=kind) for title, kind in columns]
    content = h.table("\n", h.thead(h.tr(heads)), h.tbody("\n", rows))
    return h.div(content, class_="scroll", tabindex="0", role="region", aria_label=label)


def _search() -> Html:
    return h.field(type="search", placeholder="Search", aria_label="Words to look for")


# Servers -----------------------------------------------------------------------------------------


def servers(entries: Sequence[Entry], root: str = "../", rule: str = "") -> Html:
    """Return the list of servers with its filters; with a rule, also the outcome of this rule."""
    obstacles = sorted({one.result.obstacle for one in entries if one.result.obstacle})
    columns = [SERVERS[0], ("outcome", "tag"), *SERVERS[1:]] if rule else list(SERVERS)
    columns += [(OBSTACLE, "text")] if obstacles else []
    rows = [[*_row(entry, rule)[: len(columns)], f"{root}{entry.page}"] for entry in entries]
    places = {title: place for place, (title, _) in enumerate(columns)}
    sdks = sorted({name for one in entries for name, _ in one.sdks}, key=lambda one: (one == NO_SDK, one))
    without = "The list needs JavaScript; the folder servers has a page for each."
    return h.section(
        "\n",
        _filters(
            "servers",
            _grades(entries, places["grade"]),
            _select("all SDKs", places["SDK"], sdks),
            _select("all reasons", places[OBSTACLE], obstacles) if obstacles else None,
            _search(),
        ),
        _scrolling("Servers", columns, ()),
        h.p(class_="soft more", role="status"),
        h.element("noscript", h.p(without)),
        json_data(rows),
        class_="listed",
    )


def _grades(entries: Iterable[Entry], column: int) -> Iterator[Html]:
    present = {one.result.grade for one in entries}
    for grade in Grade:
        if grade in present and len(present) > 1:
            yield switch(grade, class_=kind_of(grade), data_column=str(column))


def _select(every: str, column: int, choices: Sequence[str]) -> Html | None:
    if len(choices) < 2:
        return None
    options = [h.option(named(one)) for one in choices]
    return h.select(h.option(every, value=""), options, aria_label=every, data_column=str(column))


def _share_exercised(entry: Entry) -> int | str:
    """Return the share of its callable tools that were exercised, in percent; empty without such tools."""
    could = len(entry.result.callable_tools)
    return round(100 * len(entry.result.exercised_tools) / could) if could else ""


def _row(entry: Entry, rule: str) -> list[Any]:
    """Return the cells of a server, the last about why it was not judged; those without meaning are empty."""
    judged = entry.is_judged
    return [
        named(entry.name, MAX_NAME),
        *([str(entry.broken[rule])] if rule else []),
        str(entry.result.grade),
        entry.number(*FAILING) if judged else "",
        entry.number(*weighing(Weight.WARNS)) if judged else "",
        _share_exercised(entry),
        named(entry.result.sdk or NO_SDK),
        named(entry.version),
        named(entry.result.obstacle),
    ]
