"""Seconds of a run with all sicknesses of an API, beside those of the same run without.

    python benchmarks/backend.py                  # the reference server that asks an API
    python benchmarks/backend.py -- COMMAND...    # another server over stdio

The run with sicknesses must take at most three times as long.
"""

import subprocess
import sys
import tempfile
import time

MAX_RATIO = 3.0
REFERENCE = (sys.executable, "-m", "mcp_conformance_fixtures.api")
KEY = ("--env", "WEATHER_API_KEY=0123456789abcdef0123")


def main() -> int:
    """Measure, print both figures, and return the exit status."""
    command = tuple(sys.argv[sys.argv.index("--") + 1 :]) if "--" in sys.argv else REFERENCE
    without, sick = seconds(command), seconds(command, "--backend", "sick")
    print(f"without {without:.1f} s, with all sicknesses {sick:.1f} s: {sick / without:.1f} times as long")
    return 1 if sick > MAX_RATIO * without else 0


def seconds(command: tuple[str, ...], *options: str) -> float:
    """Return how long a run of all suites takes."""
    words = (sys.executable, "-m", "mcp_conformance", "run", *options, "--call", "all", *KEY, "--", *command)
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            words, cwd=folder, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
    if done.returncode not in (0, 1):
        sys.exit(f"the run failed with exit status {done.returncode}:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main())
