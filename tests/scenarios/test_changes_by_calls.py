"""Lists that calls have changed, without a call that the user names."""

from conformance.fixtures.mutants import all_mutants
from support.bench import run_checks
from support.in_memory import MemorySettings, VirtualClock, mutated

CHECK = "test_tools_that_calls_have_changed_are_announced"
REVISION = "2025-11-25"


def outcome(mutate, tmp_path, call=("all",)):
    """Return what the check finds where these tools may be called, and whether it passes."""
    settings = MemorySettings(
        ("in-memory",), call=call, transcripts=tmp_path, serve=mutated(mutate), clock=VirtualClock()
    )
    run = run_checks(settings, REVISION, lambda check: check.name == CHECK, is_whole=False)
    return [verdict.row.id for verdict in run.verdicts], CHECK in run.passed


def test_a_change_that_is_announced_passes(tmp_path):
    assert outcome(None, tmp_path) == ([], True)


def test_a_change_that_is_not_announced_is_found(tmp_path):
    (silent,) = (one for one in all_mutants() if one.name == "changed_tools_are_not_announced")
    assert outcome(silent.mutate, tmp_path) == (["tools.list-changed.sent"], False)


def test_a_list_that_no_call_changes_is_not_judged(tmp_path):
    assert outcome(None, tmp_path, call=("none", "add", "echo")) == ([], False)
