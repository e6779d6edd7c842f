"""What the suites say of one small server for each runtime fault of the published taxonomy: a Markdown page.

    python benchmarks/taxonomy.py                # runs all servers, and prints what is not as expected
    python benchmarks/taxonomy.py cancel         # those with this word in their part or their fault
    python benchmarks/taxonomy.py --write        # writes TAXONOMY.md

taxonomy.toml has a table for each fault:

    part     the category and subcategory of the taxonomy
    says     the fault, in our words
    thread   a public thread about it
    seen     "yes", "injected" if something in the server's surroundings has to fail, or "no"
    server   what has the fault: a mutant (in memory or as a process), a mutant of HTTP, a fault of
             mcp_conformance_fixtures.taxonomy, or a server of tests/support/broken_servers.py for the doctor
    fuzz     whether the suites that fuzz run too; mutants know it themselves
    rules    what names the fault, if it is not what a mutant breaks
    also     what else a fault breaks
    names    a word of the doctor's diagnosis
    verdict  "found", if it is not said otherwise
    why      why it is not found

A run is that of the quick profile in one revision, with all tools called.  Mutants of HTTP and of processes
run under the checks of what they break; that no other check reports them is tested with the mutants.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES  # noqa: E402
from mcp_conformance.transport.http.server import HttpServer  # noqa: E402
from mcp_conformance_fixtures.http_mutants import all_http_mutants, started  # noqa: E402
from mcp_conformance_fixtures.mutants import all_mutants  # noqa: E402
from mcp_conformance_fixtures.taxonomy import FAULTS  # noqa: E402
from support import quick_mutant, script  # noqa: E402
from support.bench import SAMPLES, Found, run_checks, settings_in_memory, settings_on_process  # noqa: E402
from support.http_in_thread import served  # noqa: E402
from support.in_memory import mutated  # noqa: E402
from support.mutant_runs import MutantRun, revision_of  # noqa: E402

REVISION = "2025-11-25"
PAGE = HERE / "TAXONOMY.md"
FOUND, OTHER, NOTE, MISSED = "found", "other name", "note", "missed"
LOUD = ("failed", "blocked", "warned")
SEEN = ("yes", "injected", "no")


@dataclass(frozen=True)
class Row:
    """A fault of the taxonomy, and what is expected of the suites."""

    part: str
    says: str
    thread: str = ""
    seen: str = "yes"
    server: str = ""
    fuzz: bool = False
    rules: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    names: str = ""
    verdict: str = FOUND
    why: str = ""

    @property
    def kind(self) -> str:
        """What the server is: "mutant", "process", "http", "fault", "start"; empty if there is none."""
        return self.server.partition(" ")[0]

    @property
    def name(self) -> str:
        """The name of the server."""
        return self.server.partition(" ")[2]

    @property
    def mutant(self) -> Any:
        """The mutant that is the server, of messages or of HTTP; None for another server."""
        some = {"http": all_http_mutants, "mutant": all_mutants, "process": all_mutants}.get(self.kind, list)
        return next((one for one in some() if one.name == self.name), None)

    @property
    def named_by(self) -> tuple[str, ...]:
        """The rules that name the fault."""
        return self.rules or (self.mutant.breaks if self.mutant is not None else ())


@dataclass(frozen=True)
class Said:
    """What was said of a server: the loudest outcome of each rule, without those that hold."""

    outcomes: dict[str, str]
    diagnosis: str = ""

    def verdict(self, row: Row) -> str:
        """Return whether the fault was found and named."""
        if row.names:
            return FOUND if row.names in self.diagnosis else MISSED
        if any(self.outcomes.get(id) in LOUD for id in row.named_by):
            return OTHER if row.verdict == OTHER else FOUND
        if any(outcome in LOUD for outcome in self.outcomes.values()):
            return OTHER
        return NOTE if self.outcomes or row.verdict == NOTE else MISSED

    def strays(self, row: Row) -> list[str]:
        """Return the rules that count and that the fault does not break."""
        known = {*row.named_by, *row.also}
        return [id for id, outcome in self.outcomes.items() if outcome in LOUD and id not in known]


def rows() -> list[Row]:
    """Return the faults, in their order."""
    tables = tomllib.loads((HERE / "taxonomy.toml").read_text(encoding="utf-8"))["fault"]
    lists = ("rules", "also")
    return [Row(**one | {name: tuple(one.get(name, ())) for name in lists}) for one in tables]


def say(row: Row, folder: Path) -> Said:
    """Run the server of a fault, and return what is said of it."""
    if row.kind == "start":
        return Said({}, diagnosis(row.name, folder))
    found = run_fault(row) if row.kind == "fault" else run_mutant(row, folder)
    outcomes = {one.requirement: "blocked" for one in found.failures}
    for one in sorted(found.verdicts, key=lambda verdict: verdict.outcome.place, reverse=True):
        outcomes[one.row.id] = str(one.outcome)
    return Said(outcomes)


def run_fault(row: Row) -> Found:
    """Run all suites in memory on a server with a fault."""
    settings = settings_in_memory(
        mutated(FAULTS[row.name]), FUZZ_EXAMPLES["quick"] if row.fuzz else 0, timeout=5.0, start_timeout=5.0
    )
    return run_checks(settings, REVISION)


def run_mutant(row: Row, folder: Path) -> Found:
    """Run the suites on a mutant: all of them if it runs in memory and is not fuzzed."""
    run = MutantRun(row.mutant, revision_of(row.mutant), is_whole=False)
    run = replace(run, is_whole=row.kind == "mutant" and not run.fuzzed)
    if row.kind == "mutant":
        settings = settings_in_memory(mutated(row.mutant.mutate), transcripts=folder, **run.limits)
        return run_checks(settings, run.revision, run.selects, is_whole=run.is_whole, tools=run.tools)
    with ExitStack() as stack:
        command = () if row.kind == "http" else quick_mutant(row.name)
        limits = {"timeout": 5.0, "start_timeout": 10.0} if row.kind == "http" else run.limits
        settings = stack.enter_context(settings_on_process(command, folder, **limits, **SAMPLES))
        if row.kind == "http":
            http: HttpServer = stack.enter_context(served(started(row.name)))
            settings = replace(settings, command=(http.url,), http=http)
        return run_checks(settings, run.revision, run.selects, is_whole=False)


def missing(row: Row) -> str:
    """Return what the server needs and is not here; empty if nothing is missing."""
    if row.kind not in ("mutant", "process"):
        return ""
    run = MutantRun(row.mutant, revision_of(row.mutant), is_whole=False)
    return run.missing(settings_in_memory(mutated(None)))


def diagnosis(name: str, folder: Path) -> str:
    """Return what the doctor prints of a server that does not start."""
    command = [sys.executable, "-m", "mcp_conformance", "doctor", "--cwd", str(folder), "--"]
    server = [sys.executable, "-S", script("broken_servers"), name]
    return subprocess.run([*command, *server], check=False, capture_output=True, text=True, timeout=60).stdout


# The page -----------------------------------------------------------------------------------------

HEAD = """# The published taxonomy of runtime faults

Owotogbe and others, "A Taxonomy of Runtime Faults in Model Context Protocol Servers" (arXiv 2606.05339,
June 2026), sort 837 threads of 473 repositories into 11 categories, 27 subcategories and 73 faults. The list
of the 73 could not be read here: neither the paper's figure nor its data can be fetched. What could be read
are the categories with the number of their threads, and the 27 subcategories with some examples of each, as
others cite them (github.com/omkar9301/Mcp-insight, classifier/app/taxonomy_data.py). So the faults below are
ours: they fill these subcategories with what the examples name and with what public threads report. They are
{count}, and none of them claims to be one of the 73.

Each that has one small server is run by `benchmarks/taxonomy.py`. *Seen*: whether the fault shows over the
wire; "injected": if something around the server fails, such as its network, its account or its machine.
*Verdict*: found and named; found under another name; a note that counts for nothing; missed. A nightly test
runs the servers again.

{summary}

"""
COLUMNS = """| part | fault | thread | seen | server | what is said | verdict |
|---|---|---|---|---|---|---|
"""


def summary(some: Sequence[Row]) -> str:
    """Return the number of faults for each verdict, by whether they are seen."""
    lines = ["| seen | faults | found | other name | note | missed |", "|---|---:|---:|---:|---:|---:|"]
    for seen in SEEN:
        of = [row for row in some if row.seen == seen]
        counts = [sum(shown(row) == verdict for row in of) for verdict in (FOUND, OTHER, NOTE, MISSED)]
        lines.append(f"| {seen} | {len(of)} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


def shown(row: Row) -> str:
    """Return the verdict of a fault; empty if nobody can see it and no server has it."""
    return row.verdict if row.server or row.verdict != FOUND else ""


def page(some: Sequence[Row]) -> str:
    """Return the page, from what is expected: the tests see that it is so."""
    text, last = HEAD.format(count=len(some), summary=summary(some)), ""
    for row in some:
        category, _, part = row.part.partition(": ")
        if category != last:
            text += f"{chr(10) if last else ''}## {category}\n\n{COLUMNS}"
            last = category
        server = f"`{row.name}`" if row.server else ""
        said = ", ".join(f"`{id}`" for id in row.named_by) if row.verdict in (FOUND, OTHER) else ""
        said = "; ".join(filter(None, (said or (f'the doctor: "{row.names}"' if row.names else ""), row.why)))
        text += f"| {part} | {row.says} | {row.thread} | {row.seen} | {server} | {said} | {shown(row)} |\n"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    if chosen.write:
        PAGE.write_text(page(rows()), encoding="utf-8")
        return
    for row in rows():
        if not row.server or not all(word in f"{row.part} {row.says}" for word in chosen.words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            said = say(row, Path(folder))
        verdict = said.verdict(row)
        mark = "" if verdict == row.verdict else f"  EXPECTED {row.verdict}"
        mark += f"  STRAYS {strays}" if row.kind == "fault" and (strays := said.strays(row)) else ""
        print(f"{verdict:10} {row.server}: {said.outcomes or said.diagnosis[-200:]}{mark}", flush=True)


if __name__ == "__main__":
    main()
