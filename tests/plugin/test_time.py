"""The time for fuzzing (``--time``): what the other checks leave, shared by those that fuzz."""

import json

import pytest

from mcp_conformance.target.fuzz_time import FuzzTime
from support import REFERENCE, run_suite

SELECT = ("--revision", "2025-11-25", "--select", "jsonrpc.response-every-request,ping")


class Clock:
    now = 0.0

    def monotonic(self):
        return self.now


def test_each_check_gets_an_equal_part_of_what_is_left():
    clock = Clock()
    time = FuzzTime(clock, 12.0, 3)
    time.begin_check()
    assert time.share == 4.0
    clock.now = 2.0  # less than its share
    time.begin_check()
    assert time.share == 5.0
    clock.now = 12.5
    time.begin_check()
    assert time.share < 0


def test_time_of_no_second_fuzzes_nothing_and_says_what_was_left_out(tmp_path):
    report = tmp_path / "report.json"
    run = run_suite(REFERENCE, *SELECT, "--time", "0.001", "--report", str(report))
    assert run.exit == 0, run.output
    results = json.loads(report.read_text())["results"]
    late = [one for one in results if one.get("cause") == "not-reached"]
    assert {one["outcome"] for one in late} == {"skipped"}
    assert {"echo", "add"} <= {one.get("tool") for one in late}
    assert f"not fuzzed: {len(late)} checks, of " in " ".join(run.output.split())
    assert any(one["outcome"] == "passed" for one in results)


def test_time_enough_fuzzes_everything():
    select = ("--revision", "2025-11-25", "--select", "jsonrpc.response-every-request[echo]")
    run = run_suite(REFERENCE, *select, "--time", "600s")
    assert run.exit == 0, run.output
    assert "not fuzzed" not in run.output


@pytest.mark.parametrize("text", ["0", "-1", "soon"])
def test_a_time_that_is_none_is_one_line(text):
    run = run_suite(REFERENCE, *SELECT, f"--time={text}")
    assert run.exit == 4
    assert f"--time: a number of seconds above 0 is expected, not '{text}'" in run.output
