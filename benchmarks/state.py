"""Calls and seconds that sequences of calls take in the quick profile, on a server that answers in 5 ms.

    python benchmarks/state.py [NAME...]    # the server with state, or one with these faults

The calls must be at most 2,000: at 5 ms each that is 10 s, whatever else the machine does.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MAX_CALLS = 2000
ANSWER_SECONDS = 0.005
SLOW = f"""
import sys, time
from mcp_conformance_fixtures.state.__main__ import main
from mcp_conformance_fixtures.state.server import State
at_once = State.call_tool
State.call_tool = lambda self, params: time.sleep({ANSWER_SECONDS}) or at_once(self, params)
sys.exit(main())
"""


def main() -> int:
    """Measure, print the calls of each phase, and return the exit status."""
    figures = [measured(name) for name in sys.argv[1:] or [""]]
    return 1 if max(figures) > MAX_CALLS else 0


def measured(name: str) -> int:
    """Print what a run takes, and return the number of calls."""
    words = (sys.executable, "-m", "mcp_conformance", "run", "--call", "all", "--select", "state")
    with tempfile.TemporaryDirectory() as folder:
        report, server = Path(folder, "report.json"), Path(folder, "server.py")
        server.write_text(SLOW, encoding="utf-8")
        begun = time.perf_counter()
        done = subprocess.run(
            (*words, "--report", report, "--", sys.executable, server, *filter(None, [name])),
            cwd=folder,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        seconds = time.perf_counter() - begun
        if done.returncode not in (0, 1):
            sys.exit(f"the run failed with exit status {done.returncode}:\n{done.stdout}{done.stderr}")
        phases = json.loads(report.read_text(encoding="utf-8"))["run"]["sequences"]
    calls = sum(one["calls"] for one in phases.values())
    waited = sum(one["seconds"] for one in phases.values())
    print(f"{name or 'right'}: {calls} calls, {waited:.1f} s of waiting for them, {seconds:.1f} s of the run")
    print(
        "  " + ", ".join(f"{phase} {one['calls']} ({one['seconds']:.1f} s)" for phase, one in phases.items())
    )
    return int(calls)


if __name__ == "__main__":
    sys.exit(main())
