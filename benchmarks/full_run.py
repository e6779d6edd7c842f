"""CPU seconds and peak memory of one full run on the reference server, compared with stored figures.

    python benchmarks/full_run.py             # fails if a figure has grown by more than a fifth
    python benchmarks/full_run.py --write     # stores new figures in full_run.json

CPU seconds are divided by those of a fixed loop on the same machine, so that figures of two machines compare.
The best of three runs counts. `tox -e benchmark` runs this every night.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FIGURES = Path(__file__).with_suffix(".json")
MAX_GROWTH = 1.2
RUNS = 3
LOOP_STEPS = 5_000_000
COMMAND = (
    *(sys.executable, "-m", "mcp_conformance", "run", "--call", "all"),
    *("--", sys.executable, "-m", "mcp_conformance_fixtures.reference"),
)
MB = 1024 if sys.platform != "darwin" else 1024 * 1024
"""The unit of `ru_maxrss` in a megabyte: kilobytes on Linux, bytes on macOS."""


def main() -> int:
    """Measure, print both sets of figures, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="store the figures")
    options = parser.parse_args()
    loop = loop_seconds()
    runs = [measured_run() for _ in range(RUNS)]
    cpu, peak = min(cpu for cpu, _ in runs), min(peak for _, peak in runs)
    found = {"cpu_seconds": round(cpu, 1), "loops": round(cpu / loop, 1), "peak_mb": round(peak)}
    print("measured:", json.dumps(found))
    if options.write:
        FIGURES.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        return 0
    stored = json.loads(FIGURES.read_text(encoding="utf-8"))
    print("stored:  ", json.dumps(stored))
    grown = [name for name in ("loops", "peak_mb") if found[name] > stored[name] * MAX_GROWTH]
    for name in grown:
        print(f"{name} has grown by more than {MAX_GROWTH - 1:.0%}: {stored[name]} to {found[name]}")
    return 1 if grown else 0


def measured_run() -> tuple[float, float]:
    """Return the CPU seconds and the peak megabytes of a run, its servers included.

    Each run has a parent of its own, as the peak of all children of a process never falls again.
    """
    program = (
        "import json, resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, capture_output=True, text=True)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(json.dumps([done.returncode, done.stdout + done.stderr, used.ru_utime + used.ru_stime,"
        " used.ru_maxrss]))"
    )
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-c", program, *COMMAND]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    status, output, cpu, peak = json.loads(done.stdout)
    if status != 0:
        sys.exit(f"the run on the reference server failed with exit status {status}:\n{output}")
    return cpu, peak / MB


def loop_seconds() -> float:
    """Return the CPU seconds of a fixed loop, the best of five."""

    def once() -> float:
        start = time.process_time()
        total = 0
        for number in range(LOOP_STEPS):
            total += number % 7
        return time.process_time() - start

    return min(once() for _ in range(5))


if __name__ == "__main__":
    sys.exit(main())
