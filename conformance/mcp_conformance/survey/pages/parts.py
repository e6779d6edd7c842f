"""Parts that several pages share: tables that a reader can sort and filter, the list of servers, a head.

A table of figures is HTML that `survey.js` sorts.  A list of servers is JSON in its page, of which the script
shows a part at a time, as it may have thousands of rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_conformance.outcome import FAILING, Weight, weighing
from mcp_conformance.protocol.text import named
from mcp_conformance.report.formats.page import document, footer, text
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

    def document(self, title: str, head: Iterable[str], body: Iterable[str]) -> str:
        """Return a page; ``head`` are the lines of its header."""
        back = f'<p class="kind"><a href="{self.root}{START}">MCP conformance survey</a></p>'
        parts = [
            *("<header><div>", back, *head, "</div></header>", "<main>"),
            *body,
            *("</main>", footer(self.tool_version)),
        ]
        script = "survey.js" if self.scripted else ""
        return document(title, parts, styles=("servers.css", "survey.css"), script=script)


def link(page: str, words: str) -> str:
    """Return a link to a page of the site, whose name is safe."""
    return f'<a href="{page}">{text(named(words, MAX_NAME))}</a>'


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


def bar(grades: Mapping[Grade, int]) -> str:
    """Return a bar with a part for each grade; those that could not be judged are pale."""
    parts = [
        f'<span class="{kind_of(one)}" style="flex:{grades[one]}" title="{grades[one]:,} {one}"></span>'
        for one in Grade
        if grades.get(one)
    ]
    return f'<div class="bar" aria-hidden="true">{"".join(parts)}</div>'


def described(survey: Survey) -> str:
    """Return the version, the options and the day of a survey, as HTML."""
    words = [f"version {survey.tool_version}", " ".join(survey.options), day(survey.ended)]
    return " · ".join(text(named(one, 200)) for one in words if one)


def moment(started: str) -> str:
    """Return a moment in ISO 8601, to the minute, in fewer signs."""
    return f"{started[:16].replace('T', ' ')} UTC" if started else ""


def day(started: str) -> str:
    """Return the day of a moment in ISO 8601."""
    return started.partition("T")[0]


# Tables ------------------------------------------------------------------------------------------


def cell(words: str, value: int | float | None = None) -> str:
    """Return a cell; ``value`` is the number that sorts it."""
    return f"<td>{words}</td>" if value is None else f'<td class="number" data-value="{value}">{words}</td>'


def number(value: int, outcome: str = "") -> str:
    """Return a cell with a number, in the colour of an outcome unless it is 0."""
    shown = f'<span class="tag {outcome}">{value:,}</span>' if outcome and value else f"{value:,}"
    return cell(shown, value)


def percent(part: int, whole: int) -> str:
    """Return a cell with a part in percent."""
    return cell(share(part, whole), round(part / whole, 4)) if whole else cell("")


def chips(counts: Mapping[str, str], limit: int = MAX_CHIPS) -> str:
    """Return the first names with what is said about each, and how many more there are."""
    shown = [
        f'<span class="chip">{text(named(name))} <b>{words}</b></span>'
        for name, words in list(counts.items())[:limit]
    ]
    more = len(counts) - limit
    return " ".join([*shown, *([f'<span class="soft">and {more} more</span>'] if more > 0 else [])])


def table(
    label: str, columns: Sequence[Column], rows: Iterable[Sequence[str]], *, search: bool = False
) -> Iterator[str]:
    """Yield a table that can be sorted; the first cell of a row, which heads it, is not in a tag yet."""
    yield '<section class="listed">'
    if search:
        yield f'<form class="filters" hidden aria-label="Filter: {label}">{_search()}</form>'
    yield _opening(label, columns)
    yield from (f'<tr><th scope="row">{first}</th>{"".join(rest)}</tr>' for first, *rest in rows)
    yield "</tbody></table></div></section>"


def _opening(label: str, columns: Sequence[Column]) -> str:
    heads = "".join(f'<th scope="col" data-kind="{kind}">{title}</th>' for title, kind in columns)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>"
    )


def _search() -> str:
    return '<input type="search" placeholder="Search" aria-label="Words to look for">'


# Servers -----------------------------------------------------------------------------------------


def servers(entries: Sequence[Entry], root: str = "../", rule: str = "") -> Iterator[str]:
    """Yield the list of servers with its filters; with a rule, also the outcome of this rule."""
    obstacles = sorted({one.result.obstacle for one in entries if one.result.obstacle})
    columns = [SERVERS[0], ("outcome", "tag"), *SERVERS[1:]] if rule else list(SERVERS)
    columns += [(OBSTACLE, "text")] if obstacles else []
    rows = [[*_row(entry, rule)[: len(columns)], f"{root}{entry.page}"] for entry in entries]
    places = {title: place for place, (title, _) in enumerate(columns)}
    yield '<section class="listed">'
    yield '<form class="filters" hidden aria-label="Filter: servers">'
    yield from _grades(entries, places["grade"])
    sdks = sorted({name for one in entries for name, _ in one.sdks}, key=lambda one: (one == NO_SDK, one))
    yield _select("all SDKs", places["SDK"], sdks)
    yield _select("all reasons", places[OBSTACLE], obstacles) if obstacles else ""
    yield f"{_search()}</form>"
    yield _opening("Servers", columns)
    yield "</tbody></table></div>"
    yield '<p class="soft more" role="status"></p>'
    yield "<noscript><p>The list needs JavaScript; the folder servers has a page for each.</p></noscript>"
    yield f'<script type="application/json">{_embedded(rows)}</script></section>'


def _grades(entries: Iterable[Entry], column: int) -> Iterator[str]:
    present = {one.result.grade for one in entries}
    for grade in Grade:
        if grade in present and len(present) > 1:
            yield (
                f'<button type="button" class="{kind_of(grade)}" data-column="{column}"'
                f' data-shows="{grade}" aria-pressed="true">'
                f"{grade}</button>"
            )


def _select(every: str, column: int, choices: Sequence[str]) -> str:
    if len(choices) < 2:
        return ""
    options = "".join(f"<option>{text(named(one))}</option>" for one in choices)
    first = f'<option value="">{every}</option>'
    return f'<select aria-label="{every}" data-column="{column}">{first}{options}</select>'


def _row(entry: Entry, rule: str) -> list[Any]:
    """Return the cells of a server, the last about why it was not judged; those without meaning are empty."""
    judged = entry.is_judged
    return [
        named(entry.name, MAX_NAME),
        *([str(entry.broken[rule])] if rule else []),
        str(entry.result.grade),
        entry.number(*FAILING) if judged else "",
        entry.number(*weighing(Weight.WARNS)) if judged else "",
        named(entry.result.sdk or NO_SDK),
        named(entry.version),
        named(entry.result.obstacle),
    ]


def _embedded(value: Any) -> str:
    """Return JSON that cannot end the element around it, whatever its texts are."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
