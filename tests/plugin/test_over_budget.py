"""Budgets in a run: a finding over the limit, and the figures in each report (``--budget``)."""

import json

from support import REFERENCE, run_suite

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


def test_without_a_budget_the_figures_are_reported_and_nothing_is_judged(tmp_path):
    report = tmp_path / "report.json"
    run = run_suite(
        REFERENCE, "--revision", "2025-11-25", "--select", "tools.list", "--report", str(report), "-n", "2"
    )
    assert run.exit == 0, run.output
    data = json.loads(report.read_text())
    assert set(data["run"]["measured"]["2025-11-25"]) >= {"start", "tools.count", "tools.bytes"}
    assert not any(one["requirement"].startswith("budget") for one in data["results"])
