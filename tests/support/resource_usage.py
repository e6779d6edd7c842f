"""A run of the suites on a hostile server: its output, its costs and its leftovers."""

import json
import os
import shutil
import sys
import time
import tomllib
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from support import FINDINGS, Case, environment, expect_no_internal_error, fork_server, read_junit

TABLE = Path(__file__).parents[1] / "servers" / "hostile" / "servers.toml"
PYTHON = sys.executable
MARK = "HOSTILE_RUN"
"""The environment variable that every process of a run inherits."""
PLACES = ("HOME", "TMPDIR")


@dataclass(frozen=True)
class Row:
    """A row of the table, which documents the members."""

    name: str
    bound: float
    finding: str
    says: str
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    passes: int = 0
    exit: int = 1
    platform: str = ""

    def __str__(self):
        return "-".join([self.name, *self.arguments])

    @property
    def command(self):
        return (PYTHON, "-m", f"mcp_conformance_fixtures.hostile.{self.name}", *self.arguments)


@dataclass(frozen=True)
class Measured:
    """A run; ``cpu`` are the CPU seconds of the tool.

    ``left`` names every process, thread, pipe and file that the run left.
    """

    exit: int
    output: str
    report: str
    cases: tuple[Case, ...]
    seconds: float
    cpu: float
    peak_mb: float
    left: tuple[str, ...]

    def of(self, *outcomes):
        return [case for case in self.cases if case.outcome in outcomes]

    @property
    def findings(self):
        return self.of(*FINDINGS)


def rows():
    found = tomllib.loads(TABLE.read_text())["server"]
    listed = ("arguments", "options", "also")
    return [Row(**{**one, **{name: tuple(one.get(name, ())) for name in listed}}) for one in found]


def measured(words, folder, timeout):
    """Run ``mcp-conformance`` with these words in a forked process, in the empty ``folder``.

    Raise `AssertionError` for an internal error of the tool.
    """
    mark = uuid.uuid4().hex
    work, report, output, facts = (folder / name for name in ("work", "junit.xml", "output", "facts.json"))
    places = {name: folder / name for name in PLACES}
    for place in (work, *places.values()):
        place.mkdir()
    env = environment(**{MARK: mark, **{name: str(place) for name, place in places.items()}})
    words = ["run", "--color=no", f"--junitxml={report}", *words]
    begun = time.monotonic()
    try:
        run = {"words": words, "cwd": str(work), "env": env, "output": str(output), "facts": str(facts)}
        exit = fork_server().run(run, timeout)
        seconds = time.monotonic() - begun
        alive = processes(mark)
    finally:
        end(processes(mark))
    in_process = json.loads(facts.read_text())
    left = [*alive, *in_process["left"], *files(folder)]
    text = output.read_text(errors="surrogateescape")
    cases = tuple(read_junit(report)) if report.exists() else ()
    expect_no_internal_error(text, cases)
    return Measured(
        exit,
        text,
        report.read_text() if report.exists() else "",
        cases,
        seconds,
        in_process["cpu"],
        in_process["peak_kb"] / 1024,
        tuple(left),
    )


def processes(mark):
    """Return every process that has inherited the mark, as ``pid command``; none without /proc."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(f"{folder.name} {(folder / 'cmdline').read_text()}")
    return found


def end(left):
    for one in left:
        with suppress(ProcessLookupError):
            os.kill(int(one.split()[0]), 9)


def files(folder):
    """Return the files left in the home, the temporary folder and the working directory of a run."""
    expected = {folder / "work" / name for name in (".hypothesis", ".mcp-conformance")}
    left = [path for name in (*PLACES, "work") for path in (folder / name).iterdir()]
    return [str(path) for path in left if path not in expected]


def well_formed(report):
    """Return True if a JUnit report can be read and has a test case."""
    return any(True for _ in ElementTree.fromstring(report).iter("testcase"))


def emptied(folder):
    """Return the folder, emptied."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
