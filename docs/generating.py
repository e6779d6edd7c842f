"""Pages of the reference, made of the code and the catalogue whenever the documentation is built.

What they say stands in one place each: the options in `conformance/plugin/options.py`, the commands in
`conformance/cli/`, the report's format in its JSON Schema, the requirements in `conformance/requirements/`.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from conformance.cli import main as cli
from conformance.plugin import options
from conformance.protocol import revisions
from conformance.report.formats.json import SCHEMA
from conformance.requirements import catalogue
from conformance.requirements.catalogue import Family, Requirement
from conformance.requirements.checks import checked

MADE = Path(__file__).parent / "reference" / "made"
COLUMNS = "92"
SPECIAL = re.compile(r"([\\*_{}\[\]<>#|~$&])")


def setup(app):
    """Have the pages made before Sphinx looks for them."""
    app.connect("config-inited", lambda *_: write_pages())
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages(folder: Path = MADE) -> None:
    """Write every page that is new or says something new, and remove those that are made no longer."""
    (folder / "requirements").mkdir(parents=True, exist_ok=True)
    made = {folder / f"{name}.md": text for name, text in pages()}
    for path in folder.rglob("*.md"):
        if path not in made:
            path.unlink()
    for path, text in made.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def pages() -> Iterator[tuple[str, str]]:
    """The name and the text of each page."""
    yield "options", "\n".join(option_lines())
    yield "commands", "\n".join(command_lines())
    yield "report", "\n".join(report_lines(json.loads(SCHEMA.read_text(encoding="utf-8"))))
    rows = list(catalogue.all_requirements().values())
    yield "requirements/index", "\n".join(index_lines(rows))
    for family in catalogue.families().values():
        found = [row for row in rows if row.family == family.name]
        yield f"requirements/{family.name}", "\n".join(family_lines(family, found))


# Options and commands ----------------------------------------------------------------------------


class Recorder:
    """Stands in for pytest's parser, and keeps what it is told."""

    def __init__(self) -> None:
        self.flags: list[tuple[tuple[str, ...], dict[str, object]]] = []
        self.values: dict[str, tuple[str, str]] = {}

    def getgroup(self, *_: str) -> "Recorder":
        """Hand out itself."""
        return self

    def addoption(self, *names: str, **told: object) -> None:
        """Keep a flag."""
        self.flags.append((names, told))

    def addini(self, name: str, help: str, type: str = "string", default: object = None) -> None:  # noqa: ARG002
        """Keep an ini value, which a flag of the same meaning goes with."""
        self.values[help] = (name, type)


def option_lines() -> Iterator[str]:
    """Every option of the plugin: its flag, its name in a configuration file, what it means."""
    recorder = Recorder()
    options.add_options(recorder)
    yield "# Options"
    yield ""
    yield "`mcp-conformance run` takes each of them without `mcp-`, `--call` for `--mcp-call`, and the"
    yield "server's command last, behind `--`. Under pytest they may also stand in its configuration:"
    yield ""
    yield from ("```toml", "[tool.pytest.ini_options]", 'mcp_server = "python -m my_server"')
    yield from ('mcp_call = ["search", "read"]', "```", "")
    yield "A flag wins over the configuration. The flag of a *list* may be given more than once."
    yield from ("", "| flag | in a configuration | kind | meaning |", "|---|---|---|---|")
    for names, told in recorder.flags:
        help_ = str(told["help"])
        name, kind = ini_value(recorder, help_)
        value = f" {told['metavar']}" if told.get("metavar") else ""
        flags = "<br>".join(f"`{flag}{value}`" for flag in names)
        yield f"| {flags} | `{name}` | {kind} | {plain(help_)} |"
    yield ""


def ini_value(recorder: Recorder, help: str) -> tuple[str, str]:
    """The name and the kind of the configuration's value that means what a flag means."""
    for meaning, (name, type_) in recorder.values.items():
        if help == meaning or help.startswith(f"{meaning} (default:") or meaning.startswith(f"{help} ("):
            return name, {"linelist": "list", "bool": "yes or no"}.get(type_, "text")
    raise LookupError(f"no configuration value means: {help}")


def command_lines() -> Iterator[str]:
    """Every command's own help."""
    os.environ["COLUMNS"] = COLUMNS
    parser = cli._parser()
    yield "# Commands"
    yield ""
    yield "What each says with `--help`. A mistake in the words of a command is one line and exit status 4."
    yield ""
    for name, command in subcommands(parser):
        yield from (f"## {name}", "", "```text", command.format_help().rstrip(), "```", "")


def subcommands(parser) -> Iterator[tuple[str, object]]:
    """The commands of a parser and, in place of one that has commands of its own, those."""
    for name, command in parser._subparsers._group_actions[0].choices.items():
        if command._subparsers:
            yield from ((f"{name} {inner}", one) for inner, one in subcommands(command))
        else:
            yield name, command


# The report --------------------------------------------------------------------------------------


def report_lines(schema: dict) -> Iterator[str]:
    """Every member of a JSON report, part by part."""
    yield "# The JSON report"
    yield ""
    yield plain(schema["description"])
    yield ""
    yield "The JSON Schema itself is"
    yield "{download}`report-1.schema.json <../../../conformance/report/report-1.schema.json>`;"
    yield "installed, it lies in `conformance/report/`."
    yield ""
    yield from part_lines("The whole", {"properties": schema["properties"], "required": schema["required"]})
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


def part_lines(title: str, part: dict) -> Iterator[str]:
    """One object of the report as a table."""
    label = title.lower().replace(" ", "-")
    yield from (f"(report-{label})=", f"## {title}", "", plain(part.get("description", "")))
    yield from ("", "| member | kind | meaning |", "|---|---|---|")
    yield from member_lines(part, "")
    yield ""


def member_lines(part: dict, path: str) -> Iterator[str]:
    """The members of an object, those of objects in it below them."""
    for name, member in part["properties"].items():
        needed = "" if name in part.get("required", ()) else "; may be absent"
        yield f"| `{path}{name}` | {kind_of(member)}{needed} | {plain(member.get('description', ''))} |"
        for inner, below in ((member, f"{path}{name}."), (member.get("items", {}), f"{path}{name}[].")):
            if "properties" in inner:
                yield from member_lines(inner, below)


def kind_of(member: dict) -> str:
    """What a schema allows, in a few words."""
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
    """All families with how many rules each has."""
    seen = sum(row.id in checked() for row in rows)
    yield from ("# Requirements", "")
    yield f"{len(rows)} rules in {len(catalogue.families())} families. {seen} have a check; each other says"
    yield "why no client can observe it. `mcp-conformance list` and `mcp-conformance explain ID` tell the"
    yield "same in a terminal. [](../../../explanation/levels.md) says what the levels and bases mean."
    yield from ("", "| family | about | rules | with a check |", "|---|---|--:|--:|")
    for family in catalogue.families().values():
        found = [row for row in rows if row.family == family.name]
        with_check = sum(row.id in checked() for row in found)
        yield f"| [`{family.name}`]({family.name}.md) | {plain(family.title)} | {len(found)} | {with_check} |"
    yield from ("", "```{toctree}", ":hidden:", "", *catalogue.families(), "```", "")


def family_lines(family: Family, rows: list[Requirement]) -> Iterator[str]:
    """Every rule of a family."""
    yield from (f"# `{family.name}`: {plain(family.title)}", "", plain(family.why), "")
    for row in rows:
        yield from (f"({row.id})=", f"## {row.id}", "", f"**{plain(row.says)}**", "")
        yield from ("| revisions | level | basis | written in |", "|---|---|---|---|")
        yield from (f"| {' | '.join(cells)} |" for cells in statements(row))
        yield ""
        yield from told_lines(row)


def statements(row: Requirement) -> Iterator[tuple[str, str, str, str]]:
    """Where a rule is written and how strongly, revisions together that say it alike."""
    alike: dict[tuple[str, str], list[str]] = {}
    for revision in row.revisions:
        alike.setdefault((row.level(revision), row.basis(revision)), []).append(revision)
    for (level, basis), some in alike.items():
        first = f"{some[0]} to {some[-1]}" if follow_each_other(some) else ", ".join(some)
        places = [f"[{plain(place_of(url))}]({url})" for url in row.urls(some[-1])]
        yield first, level, basis, "<br>".join(places)


def place_of(url: str) -> str:
    """What tells a place in the specification from the others."""
    _, found, place = url.partition("/specification/")
    return place if found else url.removeprefix("https://").rpartition("/blob/")[2]


def follow_each_other(some: list[str]) -> bool:
    """Whether there are several, and none that is known is missing between them."""
    start = revisions.KNOWN.index(some[0])
    return len(some) > 1 and tuple(some) == revisions.KNOWN[start : start + len(some)]


def told_lines(row: Requirement) -> Iterator[str]:
    """What is told of a rule besides."""
    names = [f"`{check.suite}::{check.name}`" for check in checked().get(row.id, ())]
    told = (
        ("How it is seen", row.observe and plain(row.observe)),
        ("Careful", row.pitfalls and plain(row.pitfalls)),
        ("What has changed", row.changed and plain(row.changed)),
        ("A server that breaks it", row.mutant and plain(row.mutant)),
        ("No check", row.untestable and plain(row.untestable)),
        ("Checks" if len(names) > 1 else "Check", ", ".join(names)),
    )
    for title, text in told:
        if text:
            yield f"- *{title}:* {text}"
    yield ""


def plain(text: str) -> str:
    """A text of ours, so that Markdown shows it as it stands; what is in backticks is code."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(
        part.replace("|", "\\|") if part.startswith("`") else SPECIAL.sub(r"\\\1", part) for part in parts
    )
