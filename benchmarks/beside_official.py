"""Compare a run of the official suite with one of ours, on the same server and in the same revision.

    conformance server --url URL --suite all --spec-version 2025-11-25 --output-dir there
    mcp-conformance run --url URL --revision 2025-11-25 --report checks.json
    python benchmarks/beside_official.py there checks.json

Prints each id with a finding in only one of the two, with what both say.  Most of these are checks there
whose tool, prompt or resource the server lacks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

WORST_FIRST = ("FAILURE", "WARNING", "INFO", "SUCCESS", "SKIPPED")
FINDINGS = {"there": ("FAILURE", "WARNING"), "here": ("FAILURE", "WARNING", "INFO")}
"""The statuses of findings; there INFO is what the suite notes or cannot judge."""


class Said(NamedTuple):
    """What the checks with one id say: the worst status, and why."""

    status: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.status or 'no check'}{f' ({self.reason})' if self.reason else ''}"


def said(checks: Iterable[dict[str, Any]]) -> dict[str, Said]:
    """Return what is said under each id."""
    found: dict[str, Said] = {}
    for one in checks:
        said, known = Said(one["status"], one.get("errorMessage", "")), found.get(one["id"])
        if known is None or WORST_FIRST.index(said.status) < WORST_FIRST.index(known.status):
            found[one["id"]] = said
    return found


def differences(there: dict[str, Said], here: dict[str, Said]) -> Iterator[str]:
    """Yield a line for each official id with a finding in only one of the two."""
    for id, official in sorted(there.items()):
        ours = here.get(id, Said())
        if (official.status in FINDINGS["there"]) != (ours.status in FINDINGS["here"]):
            yield f"{id}\n  there: {official}\n  here:  {ours}"


def main(folder: Path, file: Path) -> None:
    """Print the differences of a folder of the official suite and a report of ours."""
    official = [one for path in folder.glob("*/checks.json") for one in json.loads(path.read_text("utf-8"))]
    for line in differences(said(official), said(json.loads(file.read_text("utf-8")))):
        print(line)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
