"""No server harms, hangs, blinds or bloats the run: one finding names it, and nothing is left of it.

Every fifth of the servers takes part; all of them with ``HOSTILE=all`` (`tox -e hostile`).
"""

import os
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from conformance.fixtures import hostile
from support.resource_usage import measured, rows, well_formed

ROWS = rows()
TRIED = ROWS if os.environ.get("HOSTILE") == "all" else ROWS[::5]
OPTIONS = (
    *("--timeout", "3", "--start-timeout", "5", "--fuzz", "none"),
    *("--call", "all", "--revision", "2025-11-25"),
)
PEAK_MB = 300
MOST_RED = 5
OUTPUT, REPORT = 100_000, 5_000_000
"""The most characters of what goes to the terminal, and of the JUnit report."""
GIVEN_UP = ("the server flooded its stdout in", "the server stopped answering in")
OURS = ("Traceback (most recent call last)", "Warning:")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the run is measured in a forked process")
@pytest.mark.parametrize("row", TRIED, ids=str)
def test_a_hostile_server_is_survived(row, tmp_path):
    if row.platform not in ("", sys.platform):
        pytest.skip(f"a server for {row.platform}")
    run = measured([*OPTIONS, *row.options, "--", *row.command], tmp_path, 2 * row.bound)
    text = run.output
    assert run.exit == row.exit, text
    assert named(run, row), text
    assert len([case for case in run.cases if gave_up(case)]) <= 1, text
    red = {case.requirement for case in run.of("failed", "blocked") if not gave_up(case)}
    assert [id for id in red if not any(fnmatchcase(id, one) for one in (row.finding, *row.also))] == [], text
    assert len(red) <= MOST_RED, text
    assert len(run.of("passed")) >= row.passes, text
    assert [word for word in OURS if word in text] == []
    assert well_formed(run.report)
    assert (len(text) < OUTPUT, len(run.report) < REPORT) == (True, True)
    assert [char for char in text if not char.isprintable() and char != "\n"] == []
    assert run.left == ()
    assert run.peak_mb < PEAK_MB
    assert run.seconds < row.bound


def gave_up(case):
    """Whether a check tells that nothing more is tested, for what another finding has named."""
    return any(words in case.text for words in GIVEN_UP)


def named(run, row):
    """Whether the run says what went wrong, in the finding that is to say it."""
    if not row.finding:
        return row.says in run.output
    found = [case.text for case in run.findings if fnmatchcase(case.requirement, row.finding)]
    return any(row.says in text for text in found)


def test_every_hostile_server_has_a_row():
    files = {path.stem for path in Path(hostile.__file__).parent.glob("[a-z]*.py")}
    assert {row.name for row in ROWS} == files
    assert len({str(row) for row in ROWS}) == len(ROWS)
