"""The phases of a run: seconds, and those of waiting for the server."""

import json
import sys

import pytest

from mcp_conformance.plugin.phases import COLLECTION, MAIN, PROBE, Phases
from support import run_suite, script
from support.nightly import nightly

SELECTED = ("--fuzz", "none", "--select", "ping")


def test_a_phase_goes_on_where_it_was_left():
    waits = iter([1.0, 3.0, 3.5])
    phases = Phases(lambda: next(waits))
    phases.begin(MAIN)
    phases.begin(MAIN)
    phases.begin(PROBE)
    phases.begin(MAIN)
    assert [(name, waiting) for name, _, waiting in phases.as_rows()] == [(PROBE, 1.5), (MAIN, 2.0)]
    phases.add([(MAIN, 10.0, 1.0), ("late", 1.0, 0.5)])
    assert phases.figures[MAIN] == {"seconds": pytest.approx(10.0, abs=0.1), "waiting": 3.0}
    assert phases.figures["late"] == {"seconds": 1.0, "waiting": 0.5}


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=nightly)])
def test_a_run_reports_its_phases(workers, tmp_path):
    report = tmp_path / "report.json"
    server = (sys.executable, script("counted_server"), str(tmp_path / "starts"))
    run = run_suite(server, "--report", str(report), *SELECTED, *(("-n", str(workers)) if workers else ()))
    assert run.exit == 0, run.output
    facts = json.loads(report.read_text())["run"]
    assert {PROBE, COLLECTION, MAIN} <= facts["phases"].keys()
    assert all(0 <= one["waiting"] <= one["seconds"] for one in facts["phases"].values())
    if not workers:
        assert sum(one["seconds"] for one in facts["phases"].values()) <= facts["seconds"] + 0.1
    assert facts["processes"] == sum(sum(one.values()) for one in facts["starts"].values())
