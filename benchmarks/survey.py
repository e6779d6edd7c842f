"""Measure what the engine of a survey costs: targets that sleep, on workers that are threads.

    python benchmarks/survey.py --targets 3000 --workers 50 --seconds 10

Print the wall time, the time that the sleeping alone takes, and the difference in percent.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster

from mcp_conformance.survey import engine
from mcp_conformance.survey.results import Grade
from mcp_conformance.survey.store import Store
from mcp_conformance.survey.targets import Target

MAX_OVERHEAD = 5.0
"""Percent of the time that the targets take."""


def main():
    """Survey sleeping targets; return 1 if the engine costs more than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--targets", type=int, default=3000)
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10.0)
    chosen = parser.parse_args()
    engine.examine = sleeping(chosen.seconds)
    targets = [Target(f"target {number}", command=("true",)) for number in range(chosen.targets)]
    workers = {"n_workers": chosen.workers, "threads_per_worker": 1, "processes": False}
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(**workers, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        plan = engine.Plan(Path(folder), f"{folder}/results")
        begun = time.monotonic()
        engine.survey(client, targets, plan, lambda *_: None)
        wall = time.monotonic() - begun
        done = sum(1 for _ in Store(plan.results).results())
    alone = chosen.targets / chosen.workers * chosen.seconds
    overhead = (wall - alone) / alone * 100
    print(f"{done} results in {wall:.1f} s; sleeping takes {alone:.1f} s; overhead {overhead:.1f} %")
    return 0 if done == chosen.targets and overhead <= MAX_OVERHEAD else 1


def sleeping(seconds):
    """Return an examination that takes so many seconds."""

    def examine(target, _, how):
        time.sleep(seconds)
        return engine.SurveyResult(target, "0", how.options, Grade.CONFORMS)

    return examine


if __name__ == "__main__":
    sys.exit(main())
