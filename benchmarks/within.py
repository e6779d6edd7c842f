"""Measure what each check costs on a server that starts in 0.8 s, for `plugin/worth.py`.

    python benchmarks/within.py [RUNS]

Prints the checks that take 0.05 s or more as a table of Python: the median over the runs, of a check of tools
the mean of these. The server is the reference; 0.8 s is what a server on the Python SDK takes to start.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory

SERVER = "import time; time.sleep(0.8); from mcp_conformance_fixtures.reference import main; main()"
LINE = re.compile(r"^([0-9.]+)s (?:call|setup) +mcp_conformance_suites/(test_\w+)\.py::(\w+)", re.MULTILINE)
LEAST_SECONDS = 0.05


def durations() -> dict[str, float]:
    """Return the seconds of each check in one run."""
    words = ["run", "--within", "900", "--revision", "2025-11-25", "--durations=0", "-vv"]
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "mcp_conformance", *words, "--", sys.executable, "-c", SERVER]
        output = subprocess.run(command, cwd=Path(folder), capture_output=True, text=True, check=False).stdout
    found = defaultdict(list)
    for seconds, suite, check in LINE.findall(output):
        found[f"{suite}.py::{check}"].append(float(seconds))
    return {check: mean(some) for check, some in found.items()}


def main() -> None:
    """Print the table."""
    runs = [durations() for _ in range(int(sys.argv[1]) if sys.argv[1:] else 3)]
    costs = {check: median(run.get(check, 0.0) for run in runs) for run in runs for check in run}
    for check, seconds in sorted(costs.items()):
        if seconds >= LEAST_SECONDS:
            print(f'    "{check}": {seconds:.2f},')


main()
