"""The comparison of a run of the official suite with one of ours."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "beside_official.py"


def checks(**statuses):
    return [
        {"id": id, "status": status, "errorMessage": f"{id} is {status}"} for id, status in statuses.items()
    ]


def test_only_findings_of_one_suite_are_printed(tmp_path):
    there = [checks(a="SUCCESS", b="FAILURE", c="WARNING"), checks(a="FAILURE", d="SUCCESS", e="WARNING")]
    for name, found in zip(("one", "other"), there, strict=True):
        (tmp_path / name).mkdir()
        (tmp_path / name / "checks.json").write_text(json.dumps(found))
    (tmp_path / "ours.json").write_text(json.dumps(checks(a="SKIPPED", b="WARNING", d="FAILURE")))
    command = [sys.executable, "-S", str(SCRIPT), str(tmp_path), str(tmp_path / "ours.json")]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line for line in shown if not line.startswith(" ")] == ["a", "c", "d", "e"]
    assert shown[:3] == ["a", "  there: FAILURE (a is FAILURE)", "  here:  SKIPPED (a is SKIPPED)"]
    assert shown[-1] == "  here:  no check"
