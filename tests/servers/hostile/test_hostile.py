"""Runs on hostile servers: each has one finding that names the cause, bounded costs and no leftovers.

The tests run every eighth server but the costly ones, all of them with ``HOSTILE=all`` (`tox -e hostile`),
in a sandbox with ``HOSTILE_SANDBOX=auto``.
"""

import os
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from mcp_conformance_fixtures import hostile
from support.resource_usage import measured, rows, well_formed

ROWS = rows()
COSTLY = {
    "samples_recursively",
    "floods_empty_lines",
    "asks_by_hundreds",
    "exponential_schema",
    "stops_itself",
}
"""Servers on which a run takes ten times the CPU time of most others, or waits long."""
TRIED = ROWS if os.environ.get("HOSTILE") == "all" else [row for row in ROWS[::8] if row.name not in COSTLY]
OPTIONS = (
    *("--timeout", "3", "--start-timeout", "5", "--fuzz", "none"),
    *("--call", "all", "--revision", "2025-11-25"),
)
SANDBOX = os.environ.get("HOSTILE_SANDBOX", "none")
MAX_PEAK_MB = 300
MAX_RED = 5
MAX_OUTPUT_LENGTH, MAX_REPORT_LENGTH = 100_000, 5_000_000
GIVEN_UP = ("the server flooded its stdout in", "the server stopped answering in")
OURS = ("Traceback (most recent call last)", "Warning:")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the run is measured in a forked process")
@pytest.mark.parametrize("row", TRIED, ids=str)
def test_a_hostile_server_gets_one_finding_and_harms_nothing(row, tmp_path):
    if row.platform not in ("", sys.platform):
        pytest.skip(f"a server for {row.platform}")
    words = [*OPTIONS, *row.options, "--sandbox", SANDBOX, "--", *row.command]
    run = measured(words, tmp_path, 2 * row.bound)
    text = run.output
    assert run.exit == row.exit, text
    assert is_named(run, row), text
    assert len([case for case in run.cases if gave_up(case)]) <= 1, text
    red = {case.requirement for case in run.of("failed", "blocked") if not gave_up(case)}
    assert [id for id in red if not any(fnmatchcase(id, one) for one in (row.finding, *row.also))] == [], text
    assert len(red) <= MAX_RED, text
    assert len(run.of("passed")) >= row.passes, text
    assert [word for word in OURS if word in text] == []
    assert well_formed(run.report)
    assert (len(text) < MAX_OUTPUT_LENGTH, len(run.report) < MAX_REPORT_LENGTH) == (True, True)
    assert [char for char in text if not char.isprintable() and char != "\n"] == []
    assert run.left == ()
    assert run.peak_mb < MAX_PEAK_MB
    assert run.seconds < row.bound


def gave_up(case):
    """Return True if a check reports that testing stopped for a cause that another finding names."""
    return any(words in case.text for words in GIVEN_UP)


def is_named(run, row):
    """Return True if the expected finding of a run reports the cause."""
    if not row.finding:
        return row.says in run.output
    found = [case.text for case in run.findings if fnmatchcase(case.requirement, row.finding)]
    return any(row.says in text for text in found)


def test_every_hostile_server_has_a_row():
    files = {path.stem for path in Path(hostile.__file__).parent.glob("[a-z]*.py")}
    assert {row.name for row in ROWS} == files
    assert len({str(row) for row in ROWS}) == len(ROWS)
