"""A copy of the source tree with one revision more, as docs/how-to/add-a-revision.md says to add it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from mcp_conformance.protocol.revisions import LATEST_MODERN

ROOT = Path(__file__).parents[2]
NEXT = f"{int(LATEST_MODERN[:4]) + 1}-03-01"
PACKAGES = ("conformance", "suites", "fixtures")
PLACES = {
    "conformance/mcp_conformance/protocol/revisions.py": "MODERN = (",
    "fixtures/mcp_conformance_fixtures/reference_surface.py": "MODERN = (",
}
"""The files with a tuple that lists the new revision, each with the beginning of its line."""
SCHEMA = f"conformance/mcp_conformance/protocol/schemas/{NEXT}.json"


def copy_with_next(folder):
    """Copy the packages into a folder, with the revision `NEXT`, which changes nothing."""
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, beginning in PLACES.items():
        path = folder / name
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        (at,) = (number for number, line in enumerate(lines) if line.startswith(beginning))
        inside, _, rest = lines[at].partition(")")
        lines[at] = f'{inside.rstrip(",")}, "{NEXT}"){rest}'
        path.write_text("".join(lines), encoding="utf-8")
    (folder / SCHEMA).write_text(json.dumps({"after": LATEST_MODERN}) + "\n", encoding="utf-8")


def run_copy(folder, *words, timeout=300):
    """Run the command of a copy, and return its exit status and its output."""
    path = os.pathsep.join(str(folder / name) for name in PACKAGES)
    done = subprocess.run(
        [sys.executable, "-m", "mcp_conformance", *words],
        env={**os.environ, "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
