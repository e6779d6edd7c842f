"""Running the suite on a server as a user does, and reading what it reports."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

REFERENCE = (sys.executable, "-m", "conformance.fixtures.reference")
EVERYTHING = (
    *("--call", "all"),
    *("--failing-tool", 'fail {"reason": "disk full"}'),
    *("--changing-tool", "grow {}"),
)
"""Options under which every check has what it needs on the reference server."""

FINDINGS = ("failed", "blocked", "warned", "informed")


@dataclass(frozen=True)
class Case:
    """One check of a run, as JUnit tells it."""

    suite: str
    check: str
    outcome: str
    requirement: str
    level: str
    basis: str
    revision: str
    spec: str
    text: str


@dataclass(frozen=True)
class Run:
    """One run of the suite."""

    exit: int
    output: str
    cases: tuple[Case, ...]

    def of(self, *outcomes: str) -> list[Case]:
        return [case for case in self.cases if case.outcome in outcomes]

    @property
    def findings(self) -> list[Case]:
        return self.of(*FINDINGS)


def mutant(name: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "conformance.fixtures.mutants", name)


def awkward(name: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", f"conformance.fixtures.awkward.{name}", *arguments)


def run_suite(server: Sequence[str], *options: str, cwd: Path | None = None, timeout: float = 300) -> Run:
    """Run ``mcp-conformance run`` in a process of its own and read its JUnit report."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "junit.xml")
        command = [
            sys.executable,
            "-m",
            "conformance",
            "run",
            *options,
            f"--junitxml={report}",
            "--",
            *server,
        ]
        done = subprocess.run(
            command,
            cwd=cwd or folder,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        cases = tuple(read_junit(report)) if report.exists() else ()
    return Run(done.returncode, done.stdout + done.stderr, cases)


def environment(**more: str) -> dict[str, str]:
    """Our environment without what a run of ours would hand down to the runs it tests."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return {**ours, **more}


def read_junit(report: Path):
    for case in ElementTree.parse(report).iter("testcase"):
        told = {prop.get("name"): prop.get("value") for prop in case.iter("property")}
        if "outcome" in told:
            facts = [told[name] for name in ("outcome", "requirement", "level", "basis", "revision", "spec")]
            yield Case(case.get("classname"), case.get("name"), *facts, told.get("finding", ""))
