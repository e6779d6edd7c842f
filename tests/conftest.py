"""Set-up of all tests."""

import gc
import signal

import pytest
from hypothesis import settings

from support.nightly import TURN
from support.running import bytecode_folder

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A shell makes what it starts in the background ignore Ctrl-C, and so would every process of the tests."""

settings.register_profile("busy", settings.default, deadline=None)
settings.load_profile("busy")
"""On a busy machine an example took 0.46 s of wall time, more than Hypothesis's deadline."""

TOGETHER = {
    "tests/e2e/test_determinism.py",
    "tests/plugin/test_own_tests.py",
    "tests/report/test_baseline.py",
    "tests/report/test_comparing.py",
    "tests/requirements/test_closure.py",
    "tests/survey/test_survey.py",
    "tests/test_layers.py",
}
"""The files whose tests share what is slow to set up: one worker runs each of them."""


MAX_SHOWN = 10  # of thousands, in a run of some of the tests


def pytest_configure():
    """Make the folder that all workers share, and settle what they all choose by."""
    bytecode_folder()
    assert TURN


def pytest_collection_finish():
    """Keep the thousands of collected items out of the search for garbage."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter):
    """Say how many of the checked rules the mutants of this run have proven."""
    passed = terminalreporter.stats.get("passed", ())
    proofs = [id for one in passed for name, ids in one.user_properties if name == "proves" for id in ids]
    if proofs:
        from mcp_conformance.requirements.checks import checked  # noqa: PLC0415  (slow)

        rules = {*checked()}
        terminalreporter.write_line(f"{len(rules & {*proofs})} of {len(rules)} checked rules proven")
        if unproven := sorted(rules - {*proofs})[:MAX_SHOWN]:
            terminalreporter.write_line(f"not proven: {', '.join(unproven)}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep these files together (``--dist loadgroup`` of xdist 3.8 groups nothing under pytest 9.2)."""
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415  (it may be absent)

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            path = nodeid.partition("::")[0]
            return path if path in TOGETHER else nodeid

    return Scheduling(config, log)
