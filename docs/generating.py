"""Pages generated from the code and the catalogue.

Sphinx writes the pages of the reference in each build. In `conformance/mcp_conformance/`, the options come
from `options/table.py`, the commands from `cli/`, the report's members from its JSON Schema, the
requirements from `requirements/`. `python docs/generating.py requirements` writes `docs/requirements.md`, the
table for readers of the repository; `python docs/generating.py schema` writes the JSON Schemas of the
configuration file, which are a part of the package.
"""

import json
import os
import re
import sys
import zlib
from argparse import ArgumentParser
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from http_wires import http_wires_of
from wires import wires_of

from mcp_conformance.cli.arguments import parser as command_parser
from mcp_conformance.client.transcript import SCHEMA as SESSION_SCHEMA
from mcp_conformance.clients.limits import clients
from mcp_conformance.options.schema import schema_files
from mcp_conformance.options.table import OPTIONS
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.wire_schema import SERVER
from mcp_conformance.report.formats.json import SCHEMA
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.catalogue import Family, Requirement
from mcp_conformance.requirements.checks import checked
from mcp_conformance.tap.judging import UNANSWERED, rules_of
from mcp_conformance.tap.rows import client_rows
from mcp_conformance_fixtures.http_mutants import all_http_mutants
from mcp_conformance_fixtures.mutants import all_mutants

DOCS = Path(__file__).parent
MADE = DOCS / "reference" / "made"
REQUIREMENTS = DOCS / "requirements.md"
GITHUB = "https://github.com/"
WIRES_SHARE = int(os.environ.get("WIRES_SHARE", "1"))
RESULTS = DOCS.parent / "reports" / "results"
"""The results of the published survey, a file for each server and version of this tool."""
INCLUDED = {
    "ARCHITECTURE.md": DOCS / "architecture.md",
    "CONTRIBUTING.md": DOCS / "how-to" / "contribute.md",
    "RESULTS.md": DOCS / "explanation" / "measurements.md",
    "requirements.md": MADE / "requirements" / "index.md",
}
"""The page for each file of the repository that a page includes or replaces."""
LINK = re.compile(r"\[(?P<text>[^\]\n]+(?:\n[^\]\n]+)?)\]\((?P<target>[^)\s]+)\)")
COLUMNS = "92"
SPECIAL = re.compile(r"([\\*_{}\[\]<>#|~$&])")


def setup(app):
    """Write the pages before Sphinx looks for them."""
    app.connect("config-inited", lambda *_: write_pages())
    app.connect("include-read", adapt_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def adapt_links(app, path: Path, _: str, content: list[str]) -> None:  # noqa: ARG001
    """Make the links of an included file of the repository lead to pages, and drop those to other files."""
    folder = (DOCS / path).resolve().parent

    def adapted(link: re.Match[str]) -> str:
        target, hash_, anchor = link["target"].partition("#")
        if not target or ":" in target:
            return link[0]
        file = (folder / target).resolve()
        page = INCLUDED.get(file.name, file)
        if not page.is_relative_to(DOCS):
            return link["text"]
        return f"[{link['text']}](/{page.relative_to(DOCS).as_posix()}{hash_}{anchor})"

    content[0] = LINK.sub(adapted, content[0])


def write_pages(folder: Path = MADE) -> None:
    """Write the pages that are new or have changed, and remove those that are no longer generated."""
    (folder / "requirements").mkdir(parents=True, exist_ok=True)
    made = {folder / f"{name}.md": text for name, text in pages()}
    for path in folder.rglob("*.md"):
        if path not in made:
            path.unlink()
    for path, text in made.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page."""
    yield "options", "\n".join(option_lines())
    yield "commands", "\n".join(command_lines())
    yield "report", "\n".join(report_lines(json.loads(SCHEMA.read_text(encoding="utf-8"))))
    yield "clients", "\n".join(client_lines())
    yield "session", "\n".join(session_lines(json.loads(SESSION_SCHEMA.read_text(encoding="utf-8"))))
    yield "session-rules", "\n".join(session_rule_lines())
    rows = list(catalogue.all_requirements().values())
    yield "fixes", "\n".join(fix_lines(rows))
    yield "requirements/index", "\n".join(index_lines(rows))
    for family in catalogue.families().values():
        found = [row for row in rows if row.family == family.name]
        yield f"requirements/{family.name}", "\n".join(family_lines(family, found))


def client_lines() -> Iterator[str]:
    """Yield the page of the limits of clients."""
    yield from ("# Limits of clients", "")
    yield "What [`--client`](../../how-to/clients.md) checks: what somebody saw on that day."
    for name, limits in clients().items():
        yield from ("", f"## {limits[0].client} (`--client {name}`)", "")
        yield from ("| it accepts | beyond it | seen on | reports |", "|---|---|---|---|")
        for limit in limits:
            links = ", ".join(f"[{url.removeprefix(GITHUB)}]({url})" for url in limit.evidence)
            yield f"| {plain(limit.accepts)} | {limit.effect} | {limit.seen} | {links} |"


def link_to(row: Requirement) -> str:
    """Return the link from a page of the reference to a rule of the catalogue."""
    return f"[`{row.id}`](requirements/{row.family}.md#{row.id.replace('.', '')})"


def session_rule_lines() -> Iterator[str]:
    """Yield the page of the rules of both sides that the lines of a session show."""
    yield from ("# Rules that sessions show", "")
    yield "What [`judge` and `tap --judge`](../../how-to/record.md) read from the lines of a session, and"
    yield "over HTTP from the headers of requests. `mcp-conformance explain ID` prints a rule of either side."
    yield from ("", "## Rules of clients", "", "| rule | level | revisions | the client | written in |")
    yield "|---|---|---|---|---|"
    for id, row in client_rows().items():
        for where, level, _, written in statements(row):
            yield f"| `{id}` | {level} | {where} | {plain(row.says)} | {written} |"
    yield from ("", "## Rules of servers", "")
    yield "Each message is also judged by the schema of its revision; what is wrong with it is reported under"
    yield f"the rule for that member, such as {link_to(catalogue.requirement('tools.list.result-shape'))}."
    yield from ("", "| rule | the server |", "|---|---|")
    for id in dict.fromkeys((*(rule.id for rule in rules_of(SERVER)), UNANSWERED)):
        row = catalogue.requirement(id)
        yield f"| {link_to(row)} | {plain(row.says)} |"


# Options and commands ----------------------------------------------------------------------------


def option_lines() -> Iterator[str]:
    """Yield a table of the options: flag, name in a configuration, meaning."""
    yield "# Options"
    yield ""
    yield "`mcp-conformance run` takes each of them, and the server's command last, behind `--`. Under pytest"
    yield "they begin with `conformance-` (`--conformance-call` for `--call`), `--conformance` asks for the"
    yield "suites, and `--conformance-server COMMAND` names the server. You can also set them in pytest's"
    yield "configuration:"
    yield ""
    yield from ("```toml", "[tool.pytest.ini_options]", "conformance = true")
    yield from ('conformance_server = "python -m my_server"', 'conformance_call = ["search", "read"]', "```")
    yield ""
    yield "The last column is the name in [the configuration file](../../how-to/configure.md), if that is"
    yield "another one. A flag overrides both. Repeat the flag of a *list* for several values."
    yield from ("", "| option | in pytest's configuration | kind | meaning | commands | in the file |")
    yield "|---|---|---|---|---|---|"
    for option in OPTIONS:
        value = f" {option.metavar}" if option.metavar else ""
        cells = (
            f"`--{option.name}{value}`",
            f"`{option.ini_name}`",
            option.kind.value,
            plain(option.full_help),
            ", ".join(f"`{command}`" for command in option.commands),
            f"`{option.key}`" if option.key else "",
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def command_lines() -> Iterator[str]:
    """Yield the help of every command."""
    os.environ["COLUMNS"] = COLUMNS
    parser = command_parser()
    yield "# Commands"
    yield ""
    yield "The text that each command prints with `--help`. A usage error is one line and exit status 4."
    yield ""
    for name, command in subcommands(parser):
        yield from (f"## {name}", "", "```text", command.format_help().rstrip(), "```", "")


def subcommands(parser) -> Iterator[tuple[str, ArgumentParser]]:
    """Yield the commands of a parser; for a command with subcommands, yield those instead."""
    for name, command in parser._subparsers._group_actions[0].choices.items():
        if command._subparsers:
            yield from ((f"{name} {inner}", one) for inner, one in subcommands(command))
        else:
            yield name, command


# The report --------------------------------------------------------------------------------------


def report_lines(schema: dict) -> Iterator[str]:
    """Yield tables of all members of a JSON report."""
    yield "# The JSON report"
    yield ""
    yield plain(schema["description"])
    yield ""
    yield "The JSON Schema is"
    yield "{download}`report-1.schema.json"
    yield "<../../../conformance/mcp_conformance/report/report-1.schema.json>`, in the folder `report/` of"
    yield "the installed package `mcp_conformance`."
    yield ""
    yield from part_lines("The report", {"properties": schema["properties"], "required": schema["required"]})
    for name, part in schema["$defs"].items():
        if "properties" in part:
            yield from part_lines(f"{name.capitalize()}", part)
            continue
        yield from (
            f"(report-{name})=",
            f"## {name.capitalize()}",
            "",
            plain(part.get("description", "")),
            "",
        )
        yield from (f"{kind_of(part)}.", "")


def session_lines(schema: dict) -> Iterator[str]:
    """Yield tables of all members of the rows of a session."""
    yield from ("# The file of a session", "", plain(schema["description"]), "")
    yield "The JSON Schema of a row is"
    yield "{download}`session-1.schema.json"
    yield "<../../../conformance/mcp_conformance/client/session-1.schema.json>`, in the folder `client/` of"
    yield "the installed package `mcp_conformance`. [](../../how-to/record.md) says how to record."
    yield ""
    for name, part in schema["$defs"].items():
        members = {one: value for one, value in part["properties"].items() if value is not False}
        yield from part_lines(name.capitalize(), {**part, "properties": members}, "session")


def part_lines(title: str, part: dict, page: str = "report") -> Iterator[str]:
    """Yield one object of a page as a table."""
    label = title.lower().replace(" ", "-")
    yield from (f"({page}-{label})=", f"## {title}", "", plain(part.get("description", "")))
    yield from ("", "| member | kind | meaning |", "|---|---|---|")
    yield from member_lines(part, "")
    yield ""


def member_lines(part: dict, path: str) -> Iterator[str]:
    """Yield a row for each member of an object; members of inner objects follow their object."""
    for name, member in part["properties"].items():
        needed = "" if name in part.get("required", ()) else "; may be absent"
        yield f"| `{path}{name}` | {kind_of(member)}{needed} | {plain(member.get('description', ''))} |"
        for inner, below in ((member, f"{path}{name}."), (member.get("items", {}), f"{path}{name}[].")):
            if "properties" in inner:
                yield from member_lines(inner, below)


def kind_of(member: dict) -> str:
    """Return in a few words what a schema allows."""
    if "$ref" in member:
        name = member["$ref"].rpartition("/")[2]
        return f"[{name}](#report-{name})"
    if "const" in member:
        return f"`{json.dumps(member['const'])}`"
    if "enum" in member:
        return " or ".join(f"`{value}`" for value in member["enum"])
    if member.get("type") == "array":
        return f"array of {kind_of(member['items'])}"
    inner = member.get("additionalProperties")
    if isinstance(inner, dict) and inner:
        return f"object of {kind_of(inner)}"
    return {"date-time": "date and time", "uri": "URI"}.get(
        member.get("format", ""), member.get("type", "any")
    )


# Requirements ------------------------------------------------------------------------------------


def index_lines(rows: list[Requirement]) -> Iterator[str]:
    """Yield a table of the families with their numbers of rules."""
    seen = sum(row.id in checked() for row in rows)
    yield from ("# Requirements", "")
    yield f"{len(rows)} rules in {len(catalogue.families())} families. {seen} have a check; each of the"
    yield "others gives the reason why no client can observe it. `mcp-conformance list` and"
    yield "`mcp-conformance explain ID` print the same in a terminal."
    yield "[](../../../explanation/levels.md) explains levels and bases. Behind `>` is what a client"
    yield "sends, behind `<` what the server answers. `…` stands for what both servers say, or for the rest"
    yield "of a long value."
    yield from ("", "| family | about | rules | with a check |", "|---|---|--:|--:|")
    for family in catalogue.families().values():
        found = [row for row in rows if row.family == family.name]
        with_check = sum(row.id in checked() for row in found)
        yield f"| [`{family.name}`]({family.name}.md) | {plain(family.title)} | {len(found)} | {with_check} |"
    yield from ("", "```{toctree}", ":hidden:", "", *catalogue.families(), "```", "")


def family_lines(family: Family, rows: list[Requirement]) -> Iterator[str]:
    """Yield every rule of a family."""
    yield from (f"# `{family.name}`: {plain(family.title)}", "", plain(family.why), "")
    for row in rows:
        yield from (f"({row.id})=", f"## {row.id}", "", f"**{plain(row.says)}**", "")
        yield from ("| revisions | level | basis | written in |", "|---|---|---|---|")
        yield from (f"| {' | '.join(cells)} |" for cells in statements(row))
        yield ""
        yield from detail_lines(row)
        yield from wire_lines(row)


def statements(row: Requirement) -> Iterator[tuple[str, str, str, str]]:
    """Yield revisions, level, basis and places of a rule; revisions alike in both share a row."""
    alike: dict[tuple[str, str], list[str]] = {}
    for revision in row.revisions:
        alike.setdefault((row.level(revision), row.basis(revision)), []).append(revision)
    for (level, basis), some in alike.items():
        first = f"{some[0]} to {some[-1]}" if follow_each_other(some) else ", ".join(some)
        places = [
            f"[{plain(place_of(url))}]({url})" if url.startswith("https:") else "your project"
            for url in row.urls(some[-1])
        ]
        yield first, level, basis, "<br>".join(places)


def place_of(url: str) -> str:
    """Return the part of a URL that names the place in the specification."""
    _, found, place = url.partition("/specification/")
    return place if found else url.removeprefix("https://").rpartition("/blob/")[2]


def follow_each_other(some: list[str]) -> bool:
    """Return whether there are at least two revisions, and no known one is missing between them."""
    start = revisions.KNOWN.index(some[0])
    return len(some) > 1 and tuple(some) == revisions.KNOWN[start : start + len(some)]


def detail_lines(row: Requirement) -> Iterator[str]:
    """Yield the details of a rule: how to observe it, its pitfalls, its checks."""
    names = [f"`{check.suite}::{check.name}`" for check in checked().get(row.id, ())]
    details = (
        ("Since", f"version {row.as_of}"),
        ("Fix", row.fix and plain(row.fix)),
        *((f"With the {sdk} SDK", plain(text)) for sdk, text in row.fix_in.items()),
        ("How to observe it", row.observe and plain(row.observe)),
        ("Pitfalls", row.pitfalls and plain(row.pitfalls)),
        ("Changes between revisions", row.changed and plain(row.changed)),
        ("A server that breaks it", row.mutant and plain(row.mutant)),
        ("No check", row.untestable and plain(row.untestable)),
        ("Checks" if len(names) > 1 else "Check", ", ".join(names)),
    )
    for title, text in details:
        if text:
            yield f"- *{title}:* {text}"
    yield ""


def wire_lines(row: Requirement) -> Iterator[str]:
    """Yield what passes and what fails on the wire, for one rule in `WIRES_SHARE`."""
    if zlib.crc32(row.id.encode()) % WIRES_SHARE:
        return
    wires = http_wires_of(row.id) if row.transport == "http" else wires_of(row.id)
    if wires is None:
        return
    if wires.passes:
        yield from (f"What passes in {wires.revision}:", "")
        yield from wire_block(wires.passes)
    yield from (f"What fails in {wires.revision}, from the mutant `{wires.mutant}`:", "")
    yield from wire_block(wires.fails)
    wanted = f"expected {wires.expected}, got " if wires.expected else ""
    yield from (f"The report says: {plain(wanted + wires.got)}.", "")


def wire_block(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines of a conversation as a block."""
    yield from ("```{code-block} text", ":class: wire", "", *lines, "```", "")


# Common findings -------------------------------------------------------------------------------------


def fix_lines(rows: list[Requirement]) -> Iterator[str]:
    """Yield the rules that are broken most often, by SDK, each with its remedy."""
    servers = broken_in()
    yield from ("# Common findings and how to fix them", "")
    yield f"The rules that are broken most often in the {len(results())} servers of `reports/`, and others"
    yield "that authors meet early, with what to do about them. A finding of a run has the remedy for the SDK"
    yield "that the server is recognised to be built on; `mcp-conformance explain ID` prints all."
    for sdk in ("Python", "TypeScript"):
        known = sorted((row for row in rows if sdk in row.fix_in), key=lambda row: -servers[row.id])
        yield from fix_table(f"{sdk} SDK", [(row, servers[row.id], row.fix_in[sdk]) for row in known])
    found = [(catalogue.requirement(id), number) for id, number in servers.most_common()]
    fixes = [(row, number, row.fix) for row, number in found if row.fix is not None]
    yield from fix_table("Without an SDK, or with another", fixes)


def fix_table(title: str, fixes: Iterable[tuple[Requirement, int, str]]) -> Iterator[str]:
    """Yield rules, each with the number of servers that break it and a remedy."""
    yield from ("", f"## {title}", "", "| rule | broken in | what to do |", "|---|--:|---|")
    for row, number, fix in fixes:
        yield f"| {link_to(row)}<br>{plain(row.says)} | {number or ''} | {plain(fix)} |"
    yield ""


def broken_in() -> Counter[str]:
    """Count the servers of `reports/` that break each rule."""
    return Counter(id for one in results() for id in {found["requirement"] for found in one["findings"]})


@cache
def results() -> list[dict]:
    """Return the published results of the newest version of this tool."""
    newest = max(
        RESULTS.iterdir(), key=lambda folder: [int(part) for part in re.findall(r"\d+", folder.name)]
    )
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(newest.glob("*.json"))]


def plain(text: str) -> str:
    """Return a text escaped for Markdown; text in backticks stays code."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(
        part.replace("|", "\\|") if part.startswith("`") else SPECIAL.sub(r"\\\1", part) for part in parts
    )


# The table of docs/requirements.md -----------------------------------------------------------------

HEAD = """\
# Requirements

Every rule of the catalogue, with its check and the mutants that prove the check. A rule without a check gives
the reason why no client can observe it. `mcp-conformance explain ID` prints a rule in full.

`python docs/generating.py requirements` writes this page, and a test compares it with the catalogue.
"""


def requirements_page() -> str:
    """Return the text of `docs/requirements.md`."""
    broken = defaultdict(list)
    for mutant in (*all_mutants(), *all_http_mutants()):
        for id in mutant.breaks:
            broken[id].append(mutant.name)
    rows = list(catalogue.all_requirements().values())
    seen = sum(row.id in checked() for row in rows)
    lines = [HEAD, f"{len(rows)} rules: {seen} checked, {len(rows) - seen} that no client can observe.", ""]
    for name, family in catalogue.families().items():
        lines += [f"## {family.title}", "", "| Rule | Level (basis) | Revisions | Check | Mutants |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        lines += [row_of(row, broken[row.id]) for row in rows if row.family == name]
        lines.append("")
    return "\n".join(lines) + "\n"


def row_of(row: Requirement, mutants: list[str]) -> str:
    """Return a row of the table."""
    levels = dict.fromkeys(f"{row.level(revision)} ({row.basis(revision)})" for revision in row.revisions)
    checks = ", ".join(f"`{check.name}`" for check in checked().get(row.id, ()))
    cells = [f"`{row.id}`", ", ".join(levels), held(row), checks or f"none: {row.untestable}"]
    return f"| {' | '.join([*cells, ', '.join(f'`{name}`' for name in mutants)])} |"


def held(row: Requirement) -> str:
    """Return the revisions of a rule; without an end only the first, so that a new one changes nothing."""
    first, last = row.revisions[0], row.revisions[-1]
    holes = "".join(f", not {one}" for one in revisions.KNOWN if first < one < last and not row.holds_in(one))
    if last == revisions.KNOWN[-1]:
        return f"since {first}{holes}"
    return (first if first == last else f"{first} to {last}") + holes


WRITTEN = {"requirements": lambda: {REQUIREMENTS: requirements_page()}, "schema": schema_files}
"""What is written on demand: functions that return the text of each file of the repository."""

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in WRITTEN:
        sys.exit(f"usage: python docs/generating.py {'|'.join(WRITTEN)}")
    for path, text in WRITTEN[sys.argv[1]]().items():
        path.write_text(text, encoding="utf-8")
