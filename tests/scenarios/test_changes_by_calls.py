"""Lists that calls have changed, without a call that the user names."""

import pytest

from mcp_conformance_fixtures.reference import SILENCE
from support.bench import run_checks
from support.in_memory import MemorySettings, VirtualClock, mutated

REVISION = "2025-11-25"
FEATURES = ("tools", "prompts", "resources")


def outcome(feature, mutate, tmp_path, call=("all",)):
    """Return what the check finds where these tools may be called, and whether it passes."""
    name = f"test_{feature}_that_calls_have_changed_are_announced"
    settings = MemorySettings(
        ("in-memory",), call=call, transcripts=tmp_path, serve=mutated(mutate), clock=VirtualClock()
    )
    run = run_checks(settings, REVISION, lambda check: check.name == name, is_whole=False)
    return [verdict.row.id for verdict in run.verdicts], name in run.passed


@pytest.mark.parametrize("feature", FEATURES)
def test_a_change_that_is_announced_passes(feature, tmp_path):
    assert outcome(feature, None, tmp_path) == ([], True)


@pytest.mark.parametrize("feature", FEATURES)
def test_a_change_that_is_not_announced_is_found(feature, tmp_path):
    def silent(server, request, reply):
        method = reply.get("method") if isinstance(reply, dict) else None
        return SILENCE if method == f"notifications/{feature}/list_changed" else None

    assert outcome(feature, silent, tmp_path) == ([f"{feature}.list-changed.sent"], False)


@pytest.mark.parametrize("feature", FEATURES)
def test_a_list_that_no_call_changes_is_not_judged(feature, tmp_path):
    assert outcome(feature, None, tmp_path, call=("none", "add", "echo")) == ([], False)
