"""Measure what more workers gain on servers that mostly wait.

    python benchmarks/survey_scaling.py --targets 8 --workers 1 2 4

Each target answers every request after a pause.  Print the wall time of each survey, and how much faster than
the first it was.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SERVER = """
import time
from mcp_conformance_fixtures.awkward._base import Base

class Slow(Base):
    def before_reply(self, request):
        time.sleep({seconds})

Slow().serve()
"""


def main():
    """Survey the same targets with each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--targets", type=int, default=8)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--seconds", type=float, default=0.1, help="the pause before an answer")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server, targets = Path(folder) / "server.py", Path(folder) / "targets.toml"
        server.write_text(SERVER.format(seconds=chosen.seconds))
        command = f"command = [{sys.executable!r}, {str(server)!r}]\n"
        targets.write_text("".join(f"[target-{number}]\n{command}\n" for number in range(chosen.targets)))
        first = 0.0
        for workers in chosen.workers:
            seconds = surveyed(targets, Path(folder) / f"results-{workers}", workers)
            first = first or seconds
            print(f"{workers} workers: {seconds:.1f} s, {first / seconds:.2f} times as fast")


def surveyed(targets, results, workers):
    """Survey targets; return the seconds taken, the start of the workers included."""
    words = ["survey", "run", targets, "--results", results, "--workers", str(workers)]
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "mcp_conformance", *words, "--", "--fuzz", "none"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return time.monotonic() - begun


if __name__ == "__main__":
    main()
