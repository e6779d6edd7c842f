"""Budgets in a run: a finding over the limit, and the figures in each report (``--budget``)."""

import json
import re
from types import SimpleNamespace

import pytest

from mcp_conformance.plugin.execution import pytest_testnodedown
from mcp_conformance.plugin.outcomes import measured_figures
from mcp_conformance.plugin.run_counts import RunCounts
from mcp_conformance.plugin.run_state import run_state
from mcp_conformance.target.budgets import CallCost
from support import REFERENCE, run_suite
from support.nightly import nightly

SELECT = ("--revision", "2025-11-25", "--select", "budget", "--call", "all", "-v")
NAMES = {"start", "tools.count", "tools.bytes", "call.p95", "result.bytes"}


def budgets(*texts):
    return [word for text in texts for word in ("--budget", text)]


def test_a_figure_over_its_budget_fails_and_the_others_pass(tmp_path):
    report = tmp_path / "report.json"
    limits = budgets("tools.count=2", "tools.bytes=1MB", "call.p95=100s", "result.bytes=10MB", "start=100s")
    run = run_suite(REFERENCE, *SELECT, *limits, "--report", str(report))
    assert run.exit == 1, run.output
    (over,) = run.of("failed")
    assert (over.requirement, over.basis) == ("budget.tools.count", "project")
    assert {one.requirement for one in run.of("passed")} == {f"budget.{name}" for name in NAMES} - {
        "budget.tools.count"
    }
    data = json.loads(report.read_text())
    figures = data["run"]["measured"]["2025-11-25"]
    assert set(figures) == NAMES
    reason = f"expected at most 2, got {figures['tools.count']:g}"
    assert [one["reason"] for one in data["results"] if one["outcome"] == "failed"] == [reason]
    assert f"tools.count {figures['tools.count']:g}" in run.output


def calls(folder, *options):
    """Return the largest result in the report, how many calls were judged by size and time, and the tools."""
    report = folder / "report.json"
    limits = budgets("call.p95=0ms", "result.bytes=0B")
    run_suite(REFERENCE, *SELECT, "--fuzz", "none", *options, *limits, "--report", str(report))
    data = json.loads(report.read_text())
    found = {one["requirement"]: one["got"] for one in data["results"] if one["outcome"] == "failed"}
    judged = [int(re.search(r"(\d+) calls", found[f"budget.{id}"])[1]) for id in ("result.bytes", "call.p95")]
    tools = data["revisions"][0]["tools"]
    return data["run"]["measured"]["2025-11-25"]["result.bytes"], judged, len(tools)


@nightly
def test_each_worker_judges_the_calls_of_all_tools(tmp_path):
    more = ("--select", "tools.structured")
    largest, judged, tools = calls(tmp_path, *more, "-n", "2")
    assert largest == calls(tmp_path, *more)[0]
    # A worker that knows what another has learned makes fewer calls, but some of each tool.
    assert min(judged) >= tools > 10


@pytest.mark.parametrize(("judged", "reported"), [({"call.p95": 0.1}, 0.1), ({}, 0.9)])
def test_the_figure_that_a_worker_judged_is_reported(judged, reported):
    surface = SimpleNamespace(revision="2025-11-25", start_seconds=None, declares=lambda name: False)
    config = SimpleNamespace(stash=pytest.Stash())
    run_state(config).take_subject(SimpleNamespace(live=[surface]))
    for seconds, figures in ((0.1, judged), (0.9, {})):
        counts = RunCounts(costs={"2025-11-25": [CallCost(seconds, 10)]}, judged={"2025-11-25": figures})
        output = {"mcp_counts": counts.as_data()}
        pytest_testnodedown(SimpleNamespace(config=config, workeroutput=output))
    assert measured_figures(config) == {"2025-11-25": {"call.p95": reported, "result.bytes": 10}}


@nightly
def test_without_a_budget_the_figures_are_reported_and_nothing_is_judged(tmp_path):
    report = tmp_path / "report.json"
    run = run_suite(
        REFERENCE, "--revision", "2025-11-25", "--select", "tools.list", "--report", str(report), "-n", "2"
    )
    assert run.exit == 0, run.output
    data = json.loads(report.read_text())
    assert set(data["run"]["measured"]["2025-11-25"]) >= {"start", "tools.count", "tools.bytes"}
    assert not any(one["requirement"].startswith("budget") for one in data["results"])
