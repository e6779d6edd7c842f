"""What somebody does to this tool's own processes: it is stopped, or its watchdog is ended."""

import os
import signal
import sys
from pathlib import Path

import pytest

from mcp_conformance.report.text import interference_lines
from mcp_conformance.transport import process_tree, stops
from mcp_conformance.transport.stops import Stops
from mcp_conformance.transport.throwaway import scratch_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="these signals are of POSIX")


@pytest.mark.parametrize(("idle", "times"), [(7.0, 1), (1.0, 0)])
def test_a_stop_is_counted_when_this_process_runs_again(idle, times, monkeypatch):
    passed = [0.0]
    monkeypatch.setattr(stops, "_idle", lambda: passed[0])
    seen = Stops()
    with seen.watched():
        passed[0] += idle
        signal.raise_signal(signal.SIGCONT)
    assert (seen.times, seen.seconds) == (times, idle * times)
    assert signal.getsignal(signal.SIGCONT) is signal.SIG_DFL


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="only so the end is seen without reaping it")
def test_another_watchdog_takes_the_place_of_one_that_was_ended():
    before = process_tree.lost_watchdogs()
    with scratch_folder("outer-"):
        first = process_tree._RUN._pid
        os.kill(first, signal.SIGKILL)
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
        with scratch_folder("inner-"):
            assert process_tree.lost_watchdogs() == before + 1
            assert process_tree._RUN._pid not in (0, first)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="without /proc nothing is swept")
def test_the_sweep_of_a_killed_survey_spares_the_watchdog_of_its_run(monkeypatch):
    """A run in a survey has inherited its mark, and what has the mark is killed."""
    monkeypatch.setattr(process_tree, "_RUN", process_tree._Run())
    monkeypatch.setenv(process_tree.MARK, "that-of-the-survey")
    with scratch_folder("of-a-run-"):
        environ = Path(f"/proc/{process_tree._RUN._pid}/environ").read_bytes()
        assert process_tree.MARK.encode() not in environ


def test_the_report_says_both():
    numbers = {("stops", ""): 1, ("stopped", ""): 8, ("lost watchdogs", ""): 2}
    stopped, lost = interference_lines(numbers)
    assert "stopped 1 time (SIGSTOP, Ctrl-Z), for about 8 s" in stopped
    assert "ended 2 of the processes" in lost
    assert list(interference_lines({})) == []
