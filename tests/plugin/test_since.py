"""Results taken over from an earlier run (``--since``)."""

import json

import pytest

from support import REFERENCE, mutant, run_suite
from support.nightly import nightly

SELECT = ("--select", "tools.def,ping,version", "--fuzz", "none", "--revision", "2025-11-25")
NOT_RUN = "and not run again"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    path = tmp_path_factory.mktemp("base") / "base.json"
    run = run_suite(REFERENCE, *SELECT, "--report", str(path))
    assert run.exit == 0, run.output
    return path


def starts(report):
    counted = json.loads(report.read_text())["run"]["starts"]
    return sum(sum(purposes.values()) for purposes in counted.values())


def outcomes(run):
    return {(case.name, case.outcome) for case in run.cases}


def changed(base, folder, change):
    """Return the path of a copy of a report after a change."""
    report = json.loads(base.read_text())
    change(report)
    path = folder / "changed.json"
    path.write_text(json.dumps(report))
    return path


def test_nothing_runs_again_on_the_same_server(base, tmp_path):
    report = tmp_path / "new.json"
    run = run_suite(REFERENCE, *SELECT, "--since", str(base), "--report", str(report))
    assert run.exit == 0, run.output
    before = json.loads(base.read_text())["verdict"]["counts"]
    assert json.loads(report.read_text())["verdict"]["counts"] == before
    assert f"{NOT_RUN}: {before['passed']} checks" in run.output
    assert starts(report) == 1  # the probe


def test_the_report_of_such_a_run_can_be_the_base_of_the_next(base, tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    for old, new in ((base, first), (first, second)):
        run = run_suite(REFERENCE, *SELECT, "--since", str(old), "--report", str(new))
        assert run.exit == 0, run.output
    assert starts(second) == 1


def test_checks_of_a_changed_tool_and_of_the_whole_server_run_again(base, tmp_path):
    def change(report):
        tools = {tool["name"]: tool for tool in report["revisions"][0]["tools"]}
        tools["echo"]["definition"]["description"] = "Another one."

    report = tmp_path / "new.json"
    old = changed(base, tmp_path, change)
    run = run_suite(REFERENCE, *SELECT, "--since", str(old), "--report", str(report))
    assert run.exit == 0, run.output
    results = json.loads(report.read_text())["results"]
    kept = {one.get("tool", "") for one in results if one.get("reason", "").startswith("unchanged since")}
    assert "add" in kept
    assert kept.isdisjoint({"echo", ""})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda report: report["tool"].update(version="0.0.1"),
            "because version 0.0.1 of this tool wrote the earlier report",
        ),
        pytest.param(
            lambda report: report["run"]["options"].update(strict=True),
            "because the earlier run had other options",
            marks=nightly,
        ),
        pytest.param(
            lambda report: report["revisions"][0].update(version="7"),
            "because the server had another name, version, set of revisions or set of capabilities",
            marks=nightly,
        ),
    ],
)
def test_every_check_runs_if_more_than_the_tools_is_different(base, tmp_path, change, reason):
    run = run_suite(REFERENCE, *SELECT, "--since", str(changed(base, tmp_path, change)))
    assert "--since: every check ran," in run.output
    assert reason in " ".join(run.output.split())
    assert NOT_RUN not in run.output


def mark_blocked(report, stale):
    blocked = next(one for one in report["results"] if one["outcome"] == "passed")
    blocked["outcome"] = "blocked"


def mark_not_reached(report, stale):
    stale["cause"] = "not-reached"


@pytest.mark.parametrize("mark", [mark_blocked, pytest.param(mark_not_reached, marks=nightly)])
def test_a_skip_that_had_a_passing_cause_is_not_taken_over(base, tmp_path, mark):
    def change(report):
        skipped = [one for one in report["results"] if one["outcome"] == "skipped"]
        stale = next(one for one in skipped if not one["reason"].startswith("not a rule"))
        stale["reason"] = "something else was wrong"
        mark(report, stale)

    report = tmp_path / "new.json"
    old = changed(base, tmp_path, change)
    run = run_suite(REFERENCE, *SELECT, "--since", str(old), "--report", str(report))
    assert run.exit == 0, run.output
    assert NOT_RUN in run.output
    assert "something else was wrong" not in {
        one.get("reason") for one in json.loads(report.read_text())["results"]
    }


def test_what_failed_runs_again(tmp_path):
    path = tmp_path / "base.json"
    server = mutant("ping_result_has_payload")
    before = run_suite(server, *SELECT, "--report", str(path))
    again = run_suite(server, *SELECT, "--since", str(path))
    assert again.exit == before.exit == 1
    assert NOT_RUN in again.output
    found = [{case.text for case in run.findings} for run in (before, again)]
    assert len(found[0]) == len(found[1]) > 0


@nightly
def test_workers_take_over_the_same(base):
    run = run_suite(REFERENCE, *SELECT, "--since", str(base), "-n", "2")
    assert run.exit == 0, run.output
    assert NOT_RUN in run.output


@pytest.mark.parametrize("text", [None, "{}", "not JSON"])
def test_a_file_that_is_not_a_report_is_one_line(tmp_path, text):
    path = tmp_path / "base.json"
    if text is not None:
        path.write_text(text)
    run = run_suite(REFERENCE, *SELECT, "--since", str(path))
    assert run.exit == 4
    assert run.output.startswith("ERROR: --since: ")
    assert "MCP server" not in run.output
