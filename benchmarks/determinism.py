"""Run the suite several times on one server, and compare the verdicts.

    python benchmarks/determinism.py -- python -m mcp_conformance_fixtures.reference
    python benchmarks/determinism.py --runs 10 --option=--call --option=all -- npx -y SERVER

The suite runs ten times in one process, then on one worker and on four of pytest-xdist; every second run has
two busy processes beside it, and each run a hash seed of its own.  Checks whose verdicts differ are printed,
and the exit status is 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

Verdicts = dict[str, str]
BUSY = "while True: pass"


def verdicts(report: Path) -> Verdicts:
    """Return the outcome and the requirement of each check in a JUnit report."""
    found: Verdicts = {}
    for case in ElementTree.parse(report).iter("testcase"):
        facts = {prop.get("name", ""): prop.get("value", "") for prop in case.iter("property")}
        name = f"{case.get('classname')}::{case.get('name')}"
        again = f"{name} a second time" if name in found else name
        found[again] = f"{facts.get('outcome', 'no outcome')} {facts.get('requirement', '')}"
    return found


def run(server: Sequence[str], options: Sequence[str], hash_seed: int) -> tuple[int, Verdicts]:
    """Run the suite once, and return its exit status and its verdicts."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "junit.xml")
        words = ["run", *options, f"--junitxml={report}", "--", *server]
        done = subprocess.run(
            [sys.executable, "-m", "mcp_conformance", *words],
            cwd=folder,
            env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if not report.exists():
            sys.exit(f"there is no report: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.returncode, verdicts(report)


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Run this number of busy processes meanwhile."""
    loads = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for load in loads:
            load.kill()
            load.wait()


def differences(runs: Sequence[tuple[str, Verdicts]]) -> Iterator[str]:
    """Yield the checks whose verdicts differ, each with its verdicts and their runs."""
    for name in sorted({name for _, found in runs for name in found}):
        verdicts_of: dict[str, list[str]] = {}
        for label, found in runs:
            verdicts_of.setdefault(found.get(name, "was not run"), []).append(label)
        if len(verdicts_of) > 1:
            yield name
            yield from (f"    {verdict}: {', '.join(labels)}" for verdict, labels in verdicts_of.items())


def compared(server: Sequence[str], options: Sequence[str], plans: Sequence[tuple[str, int]]) -> list[str]:
    """Run each plan (the value of ``-n``, and the number of busy processes), and return the differences."""
    runs, exits = [], Counter[int]()
    for number, (workers, loads) in enumerate(plans, 1):
        label = f"run {number}{f' -n {workers}' if workers else ''}{f' beside {loads} busy' if loads else ''}"
        start = time.monotonic()
        with busy(loads):
            exit, found = run(server, [*options, *(["-n", workers] if workers else [])], number)
        exits[exit] += 1
        counts = Counter(verdict.partition(" ")[0] for verdict in found.values())
        summary = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        print(f"{label}: exit {exit}, {summary}; {time.monotonic() - start:.0f} s", flush=True)
        runs.append((label, found))
    found = list(differences(runs))
    return found if len(exits) == 1 else [f"exit status: {dict(exits)}", *found]


def main() -> int:
    """Compare the runs of one server, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--workers", default="1,4", help="further runs, with -n")
    parser.add_argument("--busy", type=int, default=2, help="busy processes beside every second run")
    parser.add_argument("--option", action="append", default=[], help="an option of mcp-conformance run")
    parser.add_argument("server", nargs="+")
    chosen = parser.parse_args()
    workers = [one for one in chosen.workers.split(",") if one]
    plain = [("", chosen.busy if number % 2 else 0) for number in range(chosen.runs)]
    spread = [(one, loads) for one in workers for loads in (0, chosen.busy)]
    found = compared(chosen.server, chosen.option, [*plain, *spread])
    print("\n".join(found) or "all runs agree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
