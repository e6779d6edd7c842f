"""A worker of xdist that is killed, as the system does when memory is short: that is no finding."""

from types import SimpleNamespace

import pytest

from mcp_conformance.plugin.outcomes import Recorder, pytest_sessionfinish
from mcp_conformance.plugin.run_state import run_state
from mcp_conformance.report.exit_status import FAILED, MACHINE
from mcp_conformance.requirements.checks import PACKAGE


@pytest.mark.parametrize(("failed", "status"), [(1, MACHINE), (2, FAILED)], ids=["alone", "beside a finding"])
def test_a_check_whose_worker_was_killed_has_not_run(failed, status):
    session = SimpleNamespace(
        config=SimpleNamespace(stash=pytest.Stash()), testsfailed=failed, exitstatus=FAILED
    )
    state = run_state(session.config)
    Recorder(state, SimpleNamespace()).pytest_handlecrashitem(f"{PACKAGE}/test_ping.py::test_a_ping")
    Recorder(state, SimpleNamespace()).pytest_handlecrashitem("tests/test_mine.py::test_mine")
    pytest_sessionfinish(session, FAILED)
    assert state.lost == [f"{PACKAGE}/test_ping.py::test_a_ping"]
    assert session.exitstatus == status
