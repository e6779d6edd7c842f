"""The index and the page of each server, as Markdown, made from the summaries and the notes."""

from collections.abc import Iterator

from summaries import RED, Broken, Published

from conformance.report.formats.markdown import code
from conformance.requirements.catalogue import families

SIGNS = {"failed": "✗", "blocked": "⊘", "warned": "!"}
SHOWN = ("passed", "failed", "blocked", "warned")
NO_SDK = "none known"
UNREAD = "Not explained yet."
COLUMNS = ("server", "package", "built on", "revisions", *SHOWN, "seconds", "date", "suite", "red chapters")

ABOUT = (
    "Each server was installed from PyPI or npm and run with default options and a fixed seed, so the suite "
    "called only tools that declare `readOnlyHint: true`. The numbers count checks: one for each rule, "
    "revision and tool. Some runs shared the machine with others and took longer than they do alone."
)
EXPLAINED = (
    "Somebody read each red finding, on the wire and in the specification; this is what it means. The page "
    "of each server also lists its warnings."
)
MADE = """\
```sh
tox -e reports                  # all servers
tox -e reports -- memory git    # some servers
tox -e reports -- --pages-only  # the pages, from results.json
```

A run installs the servers, writes the full reports (`NAME.html`, `NAME.json`, and `index.html` with a column
for each chapter) to `made/`, which git ignores, and the facts of each run to `results.json`. These pages are
made from `results.json`, `installed.json` and `notes.toml`. The command fails unless `notes.toml` explains
each red finding.

Placeholders: `{ENV}` is the folder the server was installed in, `{WORK}` its working directory, `{SANDBOX}`
the throwaway folder of the suite, and `~` the home directory."""


def index(runs: list[Published], explained: dict[tuple[str, str], str]) -> str:
    """Return the index of all servers."""
    blocks = [
        "# Reports: MCP servers under the suite",
        f"{totals(runs)}.",
        ABOUT,
        "\n".join(table(runs)),
        "## What the red findings mean",
        EXPLAINED,
        *explanations(runs, explained),
        "## Make them again",
        MADE,
    ]
    return "\n\n".join(blocks) + "\n"


def totals(runs: list[Published]) -> str:
    """Return all runs in a sentence."""
    clean = sum(one.summary.status == "passed" for one in runs)
    rules = len({requirement for one in runs for requirement in one.summary.red})
    return f"{len(runs)} servers, {clean} of them without a broken rule; the others break {rules} rules"


def table(runs: list[Published]) -> Iterator[str]:
    """Yield the table of all servers."""
    yield row(f"{SIGNS.get(name, '')} {name}".strip() for name in COLUMNS)
    yield row("---:" if name in (*SHOWN, "seconds") else "---" for name in COLUMNS)
    for one in runs:
        facts = one.summary
        yield row(
            [
                f"[{one.name}]({one.name}.md)",
                f"`{one.package}`",
                one.sdk or NO_SDK,
                ", ".join(facts.revisions),
                *(str(facts.counts.get(outcome, 0)) for outcome in SHOWN),
                str(facts.seconds),
                facts.date,
                facts.suite,
                ", ".join(facts.red_chapters),
            ]
        )


def row(cells) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def explanations(runs: list[Published], explained: dict[tuple[str, str], str]) -> Iterator[str]:
    """Yield each red rule with its notes, and the servers that each note is about."""
    found: dict[str, dict[str, list[tuple[Published, Broken]]]] = {}
    for run in runs:
        for one in run.summary.broken:
            if one.outcome in RED:
                note = explained.get((run.name, one.requirement), UNREAD)
                found.setdefault(one.requirement, {}).setdefault(note, []).append((run, one))
    places = {name: number for number, name in enumerate(families())}
    for requirement in sorted(found, key=lambda name: (places[name.partition(".")[0]], name)):
        notes = found[requirement]
        yield f"### `{requirement}`"
        yield rule(next(iter(notes.values()))[0][1])
        yield "\n".join(
            f"- {', '.join(f'[{run.name}]({run.name}.md) ({one.outcome})' for run, one in some)}: {note}"
            for note, some in notes.items()
        )


def rule(one: Broken) -> str:
    """Return what the rule says, and how strongly."""
    return f"{one.says} ({one.level}, {one.basis}; [specification]({one.spec}))"


# One server --------------------------------------------------------------------------------------


def page(run: Published, explained: dict[tuple[str, str], str]) -> str:
    """Return the page of one server."""
    facts = run.summary
    blocks = [f"# {run.name}", f"**{facts.verdict}**", "\n".join(about(run))]
    red = [one for one in facts.broken if one.outcome in RED]
    if red:
        blocks.append("## Broken rules")
    for one in red:
        blocks += [
            f"### {SIGNS[one.outcome]} `{one.requirement}` ({one.outcome})",
            rule(one),
            found(one),
            explained.get((run.name, one.requirement), UNREAD),
        ]
    warned = [one for one in facts.broken if one.outcome not in RED]
    if warned:
        blocks += [
            "## Warnings",
            "\n".join(f"- `{one.requirement}`: {one.says} {found(one)}" for one in warned),
        ]
    blocks.append("[All servers](README.md)")
    return "\n\n".join(blocks) + "\n"


def about(run: Published) -> Iterator[str]:
    """Yield the facts of a run as a list."""
    facts = run.summary
    yield f"- Server: {code(facts.server)}, from the package `{run.package}`, built on {run.sdk or NO_SDK}"
    yield f"- Revisions: {', '.join(facts.revisions)}"
    yield f"- Run: {facts.date}, {facts.seconds} s, pytest-mcp-conformance {facts.suite}"
    if facts.not_called:
        yield f"- Tools not called, as they do not declare `readOnlyHint: true`: {facts.not_called}"
    yield from (f"- Notice: {code(notice)}" for notice in facts.notices)


def found(one: Broken) -> str:
    """Return what the run saw of a broken rule, in one line."""
    tools = f", {one.tools} tools" if one.tools > 1 else ""
    return f"Found in {', '.join(one.revisions)}{tools}: {code(one.reason)}"
