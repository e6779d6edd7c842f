"""`made/index.html`: the full reports in that folder as tables, with a column for each chapter."""

from collections.abc import Iterator

from pages import NO_SDK, SHOWN, SIGNS, totals
from summaries import Published

from conformance.report.formats.html import ASSETS, LISTED, anchor, text
from conformance.report.model import Report, Result, grouped
from conformance.requirements.catalogue import families

STYLE = """
main { max-width: none; }
main > p, main > h2 { max-width: 65rem; margin-left: auto; margin-right: auto; }
.scroll {
  width: fit-content; max-width: 100%; max-height: 85vh; margin: 0 auto; overflow: auto;
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
}
table { border-collapse: separate; border-spacing: 0; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .6rem; white-space: nowrap; border-top: 0; border-bottom: 1px solid var(--line); }
tbody tr:last-child > * { border-bottom: 0; }
thead th { position: sticky; top: 0; z-index: 1; background: var(--card); vertical-align: bottom; }
tbody th { position: sticky; left: 0; background: var(--card); font-weight: 600; }
thead th:first-child { left: 0; z-index: 2; }
th.chapter { padding: .6rem .3rem; text-align: center; }
th.chapter span { display: inline-block; writing-mode: vertical-rl; transform: rotate(180deg); }
th.chapter span { max-height: 10rem; white-space: normal; line-height: 1.2; }
td.number { text-align: right; }
td.cell { text-align: center; color: var(--soft); padding: .35rem; }
.mark { color: var(--hue); font-weight: 700; }
td .mark { margin-left: .25em; }
.mark.failed, .mark.blocked {
  background: color-mix(in srgb, var(--hue) 15%, transparent); border-radius: .3em; padding: 0 .3em;
}
tbody tr:hover > * { background: var(--sunk); }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
COLUMNS = ("server", *SHOWN, "package", "built on", "revisions", "seconds", "date", "suite")
Run = tuple[Published, Report]


def page(runs: list[Run]) -> str:
    """Return the page of all these runs."""
    css = (ASSETS / "report.css").read_text(encoding="utf-8")
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<title>MCP servers under pytest-mcp-conformance</title>",
        f"<style>\n{css}{STYLE}</style>\n</head>\n<body>",
        '<header><div>\n<p class="kind">MCP conformance reports</p>\n<h1>MCP servers under the suite</h1>',
        f'<p class="facts">{text(totals([one for one, _ in runs]))}</p>\n</div></header>\n<main>',
        *servers_table(runs),
        *chapters_table(runs),
        "</main>\n</body>\n</html>\n",
    ]
    return "\n".join(parts)


def servers_table(runs: list[Run]) -> Iterator[str]:
    """Yield the table of servers with their counts."""
    yield "<h2>Servers</h2>"
    heads = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
    yield from table("Servers", heads, [server_row(one) for one, _ in runs])


def server_row(one: Published) -> str:
    """Return a row of the table of servers."""
    facts = one.summary
    facts_shown = (one.package, one.sdk or NO_SDK, ", ".join(facts.revisions))
    about = "".join(f"<td>{text(fact)}</td>" for fact in facts_shown)
    counts = "".join(
        f'<td class="number">{count(facts.counts.get(outcome, 0), outcome)}</td>' for outcome in SHOWN
    )
    last = f'<td class="number">{facts.seconds}</td><td>{text(facts.date)}</td><td>{text(facts.suite)}</td>'
    return f"{head(one)}{counts}{about}{last}"


def chapters_table(runs: list[Run]) -> Iterator[str]:
    """Yield the table of chapters, each count linked to its first finding."""
    names = [name for name in families() if any(tested(report, name) for _, report in runs)]
    marks = " ".join(f'<span class="mark {name}">{sign}</span> {name}' for name, sign in SIGNS.items())
    yield f'<h2>By chapter</h2>\n<p class="soft">Plain numbers passed; {marks}; – not tested.</p>'  # noqa: RUF001
    titles = (text(families()[name].title) for name in names)
    heads = "".join(f'<th scope="col" class="chapter"><span>{title}</span></th>' for title in titles)
    rows = [head(one) + "".join(cell(one, report, name) for name in names) for one, report in runs]
    yield from table("By chapter", f'<th scope="col">server</th>{heads}', rows)


def tested(report: Report, family: str) -> dict[str, int]:
    """Return the counts of a chapter that the table shows."""
    counts = {outcome.value: number for outcome, number in report.chapters.get(family, {}).items()}
    return {outcome: counts[outcome] for outcome in SHOWN if outcome in counts}


def table(label: str, heads: str, rows: list[str]) -> Iterator[str]:
    """Yield a table that scrolls."""
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
    yield f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>"
    yield from (f"<tr>{row}</tr>" for row in rows)
    yield "</tbody></table></div>"


def head(one: Published) -> str:
    """Return the first cell of a row."""
    return f'<th scope="row"><a href="{text(one.name)}.html">{text(one.name)}</a></th>'


def count(number: int, outcome: str) -> str:
    """Return a number, marked if it counts against the server."""
    sign = f"{SIGNS[outcome]} " if number and outcome in SIGNS else ""
    return f'<span class="tag {outcome}">{sign}{number}</span>' if number else "0"


def cell(one: Published, report: Report, family: str) -> str:
    """Return the counts of a chapter; each broken rule's count links to the first finding."""
    counts = tested(report, family)
    if not counts:
        return '<td class="cell" title="not tested">–</td>'  # noqa: RUF001
    shown = [str(counts.get("passed", 0))]
    for outcome, sign in SIGNS.items():
        if outcome in counts:
            shown.append(
                f'<a class="mark {outcome}" href="{text(where(one, report, family, outcome))}" '
                f'title="{counts[outcome]} {outcome}">{sign}{counts[outcome]}</a>'
            )
    said = ", ".join(f"{number} {outcome}" for outcome, number in counts.items())
    title = text(f"{one.name}, {families()[family].title}: {said}")
    return f'<td class="cell" title="{title}">{"".join(shown)}</td>'


def where(one: Published, report: Report, family: str, outcome: str) -> str:
    """Return the link to the first finding of a chapter with such an outcome."""
    listed: list[Result] = [group[0] for group in grouped(report.results, *LISTED)]
    fitting = (result for result in listed if result.family == family and result.outcome.value == outcome)
    first = next(fitting, None)
    return f"{one.name}.html#{anchor(first)}" if first else f"{one.name}.html"
