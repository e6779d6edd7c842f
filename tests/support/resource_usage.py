"""A run of the suite on a hostile server: what it said, what it cost, and what it left behind."""

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
"""The variable that every process of a run has inherited."""
PLACES = ("HOME", "TMPDIR")


@dataclass(frozen=True)
class Row:
    """A row of the table; what its members mean is told there."""

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
        return (PYTHON, "-m", f"conformance.fixtures.hostile.{self.name}", *self.arguments)


@dataclass(frozen=True)
class Measured:
    """A run; ``cpu`` are the seconds of it in which we computed.

    ``left`` names every process, thread, pipe and file that was there when it was over.
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

    Raises `AssertionError` for an internal error of the tool.
    """
    mark = uuid.uuid4().hex
    work, report, output, told = (folder / name for name in ("work", "junit.xml", "output", "told.json"))
    places = {name: folder / name for name in PLACES}
    for place in (work, *places.values()):
        place.mkdir()
    env = environment(**{MARK: mark, **{name: str(place) for name, place in places.items()}})
    words = ["run", "--color=no", f"--junitxml={report}", *words]
    begun = time.monotonic()
    try:
        run = {"words": words, "cwd": str(work), "env": env, "output": str(output), "told": str(told)}
        exit = fork_server().run(run, timeout)
        seconds = time.monotonic() - begun
        alive = processes(mark)
    finally:
        end(processes(mark))
    inside = json.loads(told.read_text())
    left = [*alive, *inside["left"], *files(folder)]
    text = output.read_text(errors="surrogateescape")
    cases = tuple(read_junit(report)) if report.exists() else ()
    expect_no_internal_error(text, cases)
    return Measured(
        exit,
        text,
        report.read_text() if report.exists() else "",
        cases,
        seconds,
        inside["cpu"],
        inside["peak_kb"] / 1024,
        tuple(left),
    )


def processes(mark):
    """Every process that has inherited the mark, as ``pid command``; none where there is no /proc."""
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
    """What lies about in the run's home, among the temporary files, or in its working directory."""
    expected = {folder / "work" / name for name in (".hypothesis", ".mcp-conformance")}
    about = [path for name in (*PLACES, "work") for path in (folder / name).iterdir()]
    return [str(path) for path in about if path not in expected]


def well_formed(report):
    """Whether a JUnit report can be read and has a test case."""
    return any(True for _ in ElementTree.fromstring(report).iter("testcase"))


def emptied(folder):
    """The folder, new and empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
