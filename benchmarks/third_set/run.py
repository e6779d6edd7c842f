"""Runs the tool against the servers of wrong.py and prints what differs from expected.json.

A benchmark that is run by hand, not a test: about a quarter of a minute for each server.
Each server is run with the revision that its docstring names; `--both` runs the tool's default, both eras.
`python run.py [NAME ...]` runs all servers or the named ones; `--save DIR` keeps the reports.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPORTED = {"failed", "warned", "info", "blocked"}


def faults() -> dict[str, str]:
    """Return the names of the servers, each with the revision of the clause that it breaks."""
    command = [sys.executable, str(HERE / "wrong.py")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^(\S+)\n    .*?(20\d\d-\d\d-\d\d|$)", text, re.MULTILINE)
    return {name: revision or "latest" for name, revision in found}


def run(name: str, revision: str, folder: Path) -> list[str]:
    """Run the tool against one server and return the ids of the rules that it reports."""
    report = folder / f"{name}.json"
    server = [sys.executable, str(HERE / "wrong.py"), name]
    tool = [sys.executable, "-m", "mcp_conformance", "run", "--call", "all", "--revision", revision]
    command = ["nice", *tool, "--report", str(report), "--", *server]
    with (folder / f"{name}.txt").open("w") as output:
        try:
            subprocess.run(command, cwd=folder, stdout=output, stderr=output, timeout=300, check=False)
        except subprocess.TimeoutExpired:
            return ["(no end after 300 s)"]
    return rules(report)


def rules(report: Path) -> list[str]:
    if not report.exists():
        return ["(no report)"]
    results = json.loads(report.read_text())["results"]
    return sorted({result["requirement"] for result in results if result["outcome"] in REPORTED})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--both", action="store_true")
    chosen = parser.parse_args()
    known = HERE / "expected.json"
    expected = json.loads(known.read_text()) if known.exists() else {}
    folder = chosen.save or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    revisions = faults()
    if unknown := set(chosen.names) - set(revisions):
        parser.error(f"there is no server {', '.join(sorted(unknown))}")
    for name in chosen.names or revisions:
        found = set(run(name, "latest" if chosen.both else revisions[name], folder.resolve()))
        before = expected.get(name, {"verdict": "?", "rules": []})
        gone = [f"-{rule}" for rule in sorted(set(before["rules"]) - found)]
        new = [f"+{rule}" for rule in sorted(found - set(before["rules"]))]
        print(f"{name:28} {before['verdict']:8} {' '.join(gone + new) or 'as before'}", flush=True)


if __name__ == "__main__":
    main()
