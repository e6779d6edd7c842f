"""The time for fuzzing (``--time``), shared by the checks that fuzz, and for all checks (``--max-time``)."""

import json
import math
from types import SimpleNamespace

import pytest

from mcp_conformance.client.session import Session
from mcp_conformance.fuzzing.fuzzer import require_time
from mcp_conformance.plugin.run_state import RunState
from mcp_conformance.target.fuzz_time import FuzzTime
from mcp_conformance.target.server import RunShared
from mcp_conformance.verdicts import Blocked, Skipped
from support import REFERENCE, run_suite
from support.in_memory import MemorySettings, VirtualClock, mutated

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


def test_nothing_fuzzes_when_the_time_for_all_checks_is_over():
    shared, clock = RunShared(), Clock()
    assert shared.fuzz_seconds(clock) == math.inf
    shared.fuzz_until = 10.0
    assert shared.fuzz_seconds(clock) == 10.0
    shared.fuzz_time = FuzzTime(clock, 6.0, 1)
    assert shared.fuzz_seconds(clock) == 3.0
    clock.now = 10.0
    limits = SimpleNamespace(time=math.inf, max_time=10.0)
    with pytest.raises(Skipped, match="the time was over: --max-time 10"):
        require_time(SimpleNamespace(run=shared, clock=clock, settings=limits))


def test_a_check_that_is_late_ends_at_its_next_wait_for_the_server():
    state = RunState()

    def end():
        raise Blocked("the time is up")

    settings = MemorySettings(("in-memory",), serve=mutated(None), clock=VirtualClock())
    process = settings.start()
    process.on_wait = state.wait
    session = Session(process)
    state.on_late = end
    assert session.open().fault is None
    state.late_at = 0.0
    with pytest.raises(Blocked, match="the time is up"):
        session.request("ping")
    state.late_at = math.inf
    assert session.request("ping").fault is None


def test_what_does_not_fit_is_counted_and_named():
    run = run_suite(REFERENCE, "--fuzz", "none", "--revision", "2025-11-25", "--within", "0.001")
    assert run.exit == 5
    assert "verdict: nothing was tested; " in run.output
    assert "checks did not run, as the time was over (--within)" in run.output
    assert "not run: " in run.output
