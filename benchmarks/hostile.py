"""Measure a run with each hostile server: ``python benchmarks/hostile.py [--short] [NAME ...]``.

The runs have default options, or with ``--short`` those of the tests.  Prints a table in Markdown: the
server, the seconds that a run with the tests' options may take, its time and memory, its leftovers, and the
findings.
"""

import sys
import tempfile
from pathlib import Path

sys.path[:0] = [
    str(Path(__file__).parents[1] / "tests"),
    str(Path(__file__).parents[1] / "tests" / "servers" / "hostile"),
]

from test_hostile import OPTIONS  # noqa: E402

from support.resource_usage import emptied, measured, rows  # noqa: E402

MAX_SECONDS = 3600


def main(words):
    names = [word for word in words if not word.startswith("-")]
    options = [*OPTIONS] if "--short" in words else []
    print("| server | bound | seconds | CPU | peak MB | left | red | passed | finding |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---|")
    for row in rows():
        if not names or row.name in names or str(row) in names:
            with tempfile.TemporaryDirectory() as folder:
                given = row.options if options else ()
                run = measured(
                    [*options, *given, "--", *row.command], emptied(Path(folder, "run")), MAX_SECONDS
                )
            print(line(row, run, is_short=bool(options)), flush=True)
            if "-v" in words:
                print(run.output)


def line(row, run, *, is_short):
    red = run.of("failed", "blocked")
    bound = f"{row.bound:g}" if is_short else ""
    findings = "<br>".join(dict.fromkeys(f"{case.requirement}" for case in red)) or f"exit {run.exit}"
    facts = (str(row), bound, f"{run.seconds:.0f}", f"{run.cpu:.1f}", f"{run.peak_mb:.0f}")
    counts = (len(run.left), len(red), len(run.of("passed")))
    return "| " + " | ".join(map(str, (*facts, *counts, findings))) + " |"


if __name__ == "__main__":
    main(sys.argv[1:])
