"""A project that is pinned to a version: findings of rules that came later, or find more now, do not fail."""

import pytest

from support import mutant, run_suite

RULE = "content.annotations.audience"
SERVER = mutant("annotations_of_a_resource_are_a_word")
SELECTED = ("--fuzz", "none", "--select", "jsonrpc.message-shape")
COMING = ("-p", "support.coming_rule_plugin")


@pytest.mark.parametrize("member", ["added_in", "sharpened_in"])
def test_a_pinned_project_does_not_fail_by_a_new_rule(member, monkeypatch):
    monkeypatch.setenv("COMING", f"{member}:{RULE}")
    run = run_suite(SERVER, *SELECTED, *COMING, "--rules-as-of", "0.1")
    assert run.exit == 0
    assert "verdict: passed, with 1 new finding\n" in run.output
    assert f"NEW {RULE} (MUST, schema)" in run.output
    assert "new in 0.2: rules as of 0.1" in run.output
    assert [case.requirement for case in run.of("new")] == [RULE]
    assert run_suite(SERVER, *SELECTED, *COMING, "--rules-as-of", "0.2.3").exit == 1
    assert run_suite(SERVER, *SELECTED, *COMING).exit == 1


def test_an_old_rule_fails_in_a_pinned_project():
    assert run_suite(SERVER, *SELECTED, "--rules-as-of", "0.1").exit == 1
