"""The tables of all published reports, as a page and as Markdown, made from the files beside this one."""

import json
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from conformance.report.formats import html
from conformance.report.formats import json as json_format
from conformance.report.formats import markdown as markdown_format
from conformance.report.formats.html import ASSETS, LISTED, anchor, text
from conformance.report.model import TESTED, Report, grouped
from conformance.requirements.catalogue import families
from conformance.verdicts import Outcome

HERE = Path(__file__).parent
ROOT = HERE.parent
SERVERS = ROOT / "tests" / "real" / "servers.toml"
RED = (Outcome.FAILED, Outcome.BLOCKED)
SHOWN = (Outcome.PASSED, Outcome.FAILED, Outcome.BLOCKED, Outcome.WARNED)
SIGNS = {Outcome.PASSED: "", Outcome.FAILED: "✗", Outcome.BLOCKED: "⊘", Outcome.WARNED: "!"}
FIT = ("passed", "failed")
"""How a run has to end to be published."""
NO_SDK = "none known"
STYLE = """
main { max-width: none; }
main > p, main > h2, .notes { max-width: 65rem; margin-left: auto; margin-right: auto; }
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
.case p { margin: 0; }
.case .where { display: block; margin-bottom: .2rem; color: var(--soft); }
"""


@dataclass(frozen=True)
class Published:
    """A server's report, and what was installed: its packages, and the SDK it is built on."""

    name: str
    report: Report
    package: str
    sdk: str

    @property
    def reds(self):
        """The requirements that failed or were blocked."""
        return {one.requirement for one in self.report.results if one.outcome in RED}

    @property
    def revisions(self):
        return ", ".join(one.revision for one in self.report.revisions if one.state == TESTED)

    @cached_property
    def told(self):
        """What the page of its report tells, the first of each rule."""
        return [group[0] for group in grouped(self.report.results, *LISTED)]

    def first(self, family, outcome):
        """Where the page tells the first finding of such an outcome in a chapter."""
        fitting = (one for one in self.told if one.family == family and one.outcome is outcome)
        found = next(fitting, None)
        return f"{self.name}.html#{anchor(found)}" if found else f"{self.name}.html"

    def count(self, outcome):
        return self.report.counts.get(outcome, 0)


def published(place=HERE):
    """All reports that are there."""
    installed = json.loads((place / "installed.json").read_text(encoding="utf-8"))
    return [
        Published(name, read(place / f"{name}.json"), facts["package"], facts["sdk"])
        for name, facts in installed.items()
    ]


def read(path):
    return json_format.read(path.read_text(encoding="utf-8"))


def notes(place=HERE):
    """What a reader found out about each finding, by server and requirement."""
    told = tomllib.loads((place / "notes.toml").read_text(encoding="utf-8"))["read"]
    found = {}
    for one in told:
        for server in one["servers"]:
            key = (server, one["requirement"])
            if key in found:
                raise SystemExit(f"notes.toml: {server}: {one['requirement']} stands there twice")
            found[key] = one["note"]
    return found


# What is amiss -----------------------------------------------------------------------------------


def problems(reports, told, servers):
    """What keeps these reports from being published.

    Each red has been read by somebody who says what it means, and is one that our tests expect.
    """
    reds = {(one.name, requirement) for one in reports for requirement in one.reds}
    for server, requirement in sorted(reds - set(told)):
        yield f"{server}: {requirement} is red, and notes.toml does not say what it means"
    for server, requirement in sorted(set(told) - reds):
        yield f"notes.toml: {server}: {requirement} is not red"
    for name in sorted(set(servers) - {one.name for one in reports}):
        yield f"{name}: has no report"
    for one in reports:
        yield from unfit(one, servers)


def unfit(one, servers):
    if one.name not in servers:
        yield f"{one.name}: is not among the servers of tests/real/servers.toml"
    elif odd := one.reds ^ set(servers[one.name]["broken"]):
        yield f"{one.name}: tests/real/servers.toml is of another opinion about {', '.join(sorted(odd))}"
    if one.report.ended or one.report.status not in FIT:
        yield f"{one.name}: the run ended {one.report.status} {one.report.ended}".rstrip()


# Writing -----------------------------------------------------------------------------------------


def write(place=HERE):
    """Write what is made from the reports; what is amiss."""
    reports, told = published(place), notes(place)
    for name, made in {**tables(reports, told), **pages(reports)}.items():
        (place / name).write_text(made, encoding="utf-8", newline="\n")
    return list(problems(reports, told, tomllib.loads(SERVERS.read_text(encoding="utf-8"))))


def tables(reports, told):
    """The files that tell of all servers, by name."""
    return {"index.html": page(reports, told), "README.md": markdown(reports, told)}


def pages(reports):
    """The files that tell of one server each, by name."""
    made = {f"{one.name}.html": html.render(one.report) for one in reports}
    return made | {f"{one.name}.md": markdown_format.render(one.report) for one in reports}


def chapters(reports):
    """The chapters in which anything was tested, in the order of the specification."""
    some = {name for one in reports for name, counts in one.report.chapters.items() if set(counts) & {*SHOWN}}
    return [name for name in families() if name in some]


def summary(reports):
    clean = sum(one.report.status == "passed" for one in reports)
    rules = len({requirement for one in reports for requirement in one.reds})
    return (
        f"{len(reports)} servers, {clean} without a broken rule; {rules} different rules broken in the others"
    )


def explained(reports, told):
    """Each red rule with what a reader says of it, and the servers that this is said of."""
    found = {}
    for one in reports:
        for group in grouped(one.report.results, *RED):
            first = group[0]
            note = told.get((one.name, first.requirement), "Nobody has read this yet.")
            found.setdefault(first.requirement, {}).setdefault(note, []).append((one, first))
    places = {name: number for number, name in enumerate(families())}
    return sorted(found.items(), key=lambda item: (places[item[0].partition(".")[0]], item[0]))


ABOUT = (
    "Each server was installed from PyPI or npm, started with default options and a fixed seed, and left to "
    "the suite: only tools that say they are read-only were called."
)
COUNTED = "What is counted are checks: one for each rule, revision and tool that it was tried for."
SECONDS = "Some ran beside others, and took longer than they do alone."
READ = "Each red finding has been read, on the wire and in the specification; what it means is said here."
PLACEHOLDERS = (
    "In the reports, {ENV} is where the server was installed, {WORK} its working directory, {SANDBOX} the "
    "throwaway folder that the suite gave it, and ~ the home directory."
)
TYPED = PLACEHOLDERS.replace("{", "`{").replace("}", "}`").replace("~", "`~`")
SHOWN_ELSEWHERE = (
    "`index.html` has a column for each chapter besides. It and the reports in `.html` want a browser, as "
    "GitHub shows their source. The `.json` files are what `mcp-conformance compare` reads."
)
MADE = (
    "`tox -e reports` makes all of it again, `tox -e reports -- memory git` reports of those servers, and "
    "`tox -e reports -- --index-only` what is made from the `.json` files. It fails unless `notes.toml` says "
    "what each red finding means."
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
COLUMNS = ("server", "package", "built on", "revisions", *SHOWN, "seconds", "date", "suite")


# The page ----------------------------------------------------------------------------------------


def page(reports, told):
    css = (ASSETS / "report.css").read_text(encoding="utf-8")
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<title>MCP servers under pytest-mcp-conformance</title>",
        f"<style>\n{css}{STYLE}</style>\n</head>\n<body>",
        '<header><div>\n<p class="kind">MCP conformance reports</p>\n<h1>MCP servers under the suite</h1>',
        f'<p class="facts">{text(summary(reports))}</p>\n<p>{text(ABOUT)}</p>\n</div></header>\n<main>',
        *overview(reports),
        *by_chapter(reports),
        *read_by_eye(reports, told),
        "</main>",
        f"<footer>{text(PLACEHOLDERS)}</footer>\n</body>\n</html>\n",
    ]
    return "\n".join(parts)


def overview(reports):
    yield f'<h2>Servers</h2>\n<p class="soft">{text(COUNTED)} {text(SECONDS)}</p>'
    heads = "".join(f'<th scope="col">{head}</th>' for head in COLUMNS)
    yield from table("Servers", heads, [row(one) for one in reports])


def row(one):
    facts = "".join(f"<td>{text(fact)}</td>" for fact in (one.package, one.sdk or NO_SDK, one.revisions))
    totals = "".join(f'<td class="number">{total(one, outcome)}</td>' for outcome in SHOWN)
    last = "".join(f"<td>{text(fact)}</td>" for fact in (one.report.started[:10], one.report.tool_version))
    return f'{head(one)}{facts}{totals}<td class="number">{one.report.seconds:.0f}</td>{last}'


def by_chapter(reports):
    names = chapters(reports)
    marks = " ".join(f'<span class="mark {one}">{SIGNS[one]}</span> {one}' for one in SHOWN if SIGNS[one])
    yield f'<h2>By chapter</h2>\n<p class="soft">Plain numbers passed; {marks}; – not tested.</p>'  # noqa: RUF001
    heads = "".join(
        f'<th scope="col" class="chapter"><span>{text(families()[name].title)}</span></th>' for name in names
    )
    rows = [head(one) + "".join(cell(one, name) for name in names) for one in reports]
    yield from table("By chapter", f'<th scope="col">server</th>{heads}', rows)


def table(label, heads, rows):
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
    yield f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>"
    yield from (f"<tr>{row}</tr>" for row in rows)
    yield "</tbody></table></div>"


def head(one):
    return f'<th scope="row"><a href="{text(one.name)}.html">{text(one.name)}</a></th>'


def total(one, outcome):
    number = one.count(outcome)
    sign = f"{SIGNS[outcome]} " if number and SIGNS[outcome] else ""
    return f'<span class="tag {outcome}">{sign}{number}</span>' if number else "0"


def cell(one, family):
    """The numbers of a chapter; those that say something against the server lead to where that is told."""
    counts = one.report.chapters.get(family, {})
    told = [f"{counts[outcome]} {outcome}" for outcome in SHOWN if outcome in counts]
    if not told:
        return '<td class="cell" title="not tested">–</td>'  # noqa: RUF001
    marks = [str(counts.get(Outcome.PASSED, 0))]
    for outcome in SHOWN[1:]:
        if outcome in counts:
            where = text(one.first(family, outcome))
            marks.append(
                f'<a class="mark {outcome}" href="{where}" title="{counts[outcome]} {outcome}">'
                f"{SIGNS[outcome]}{counts[outcome]}</a>"
            )
    title = text(f"{one.name}, {families()[family].title}: {', '.join(told)}")
    return f'<td class="cell" title="{title}">{"".join(marks)}</td>'


def read_by_eye(reports, told):
    yield f'<h2>What the red ones mean</h2>\n<p class="soft">{text(READ)}</p>\n<div class="notes">'
    for requirement, said in explained(reports, told):
        first = next(iter(said.values()))[0][1]
        yield f'<article class="{first.outcome}"><header><h3>{text(requirement)}</h3>'
        yield f'<span class="soft">{text(first.level)} · {text(first.basis)}</span></header>'
        yield f'<p>{prose(first.says)} <a href="{text(first.spec)}">Specification</a></p>'
        for note, some in said.items():
            links = ", ".join(
                f'<a href="{text(one.name)}.html#{anchor(result)}">{text(one.name)}</a> {result.outcome}'
                for one, result in some
            )
            yield f'<div class="case"><p class="where">{links}</p><p>{prose(note)}</p></div>'
        yield "</article>"
    yield "</div>"


def prose(words):
    """Our own words, whose backticks are code."""
    parts = text(words).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))


# Markdown ----------------------------------------------------------------------------------------


def markdown(reports, told):
    blocks = [
        "# MCP servers under the suite",
        f"{summary(reports)}.",
        f"{ABOUT} {COUNTED} {SECONDS}",
        "\n".join(markdown_table(reports)),
        SHOWN_ELSEWHERE,
        "## What the red ones mean",
        READ,
        *markdown_notes(reports, told),
        "## How they were made",
        MADE,
        TYPED,
    ]
    return "\n\n".join(blocks) + "\n"


def markdown_table(reports):
    signed = [f"{SIGNS.get(name, '')} {name}".strip() for name in (*COLUMNS, "red chapters")]
    yield f"| {' | '.join(signed)} |"
    yield f"|{'|'.join('---:' if name in (*SHOWN, 'seconds') else '---' for name in COLUMNS)}|---|"
    for one in reports:
        links = f"[{one.name}]({one.name}.md) ([html]({one.name}.html), [json]({one.name}.json))"
        cells = [links, f"`{one.package}`", one.sdk or NO_SDK, one.revisions]
        cells += [str(one.count(outcome)) for outcome in SHOWN]
        cells += [f"{one.report.seconds:.0f}", one.report.started[:10], one.report.tool_version]
        red = {result.family for result in one.report.results if result.outcome in RED}
        cells.append(", ".join(families()[name].title for name in families() if name in red))
        yield f"| {' | '.join(cells)} |"


def markdown_notes(reports, told):
    for requirement, said in explained(reports, told):
        first = next(iter(said.values()))[0][1]
        yield f"### `{requirement}`"
        yield f"{first.says} ({first.level}, {first.basis}; [specification]({first.spec}))"
        lines = []
        for note, some in said.items():
            names = ", ".join(f"[{one.name}]({one.name}.md) ({result.outcome})" for one, result in some)
            lines.append(f"- {names}: {note}")
        yield "\n".join(lines)
