"""Slow calls are under way while other checks run, and are judged as if they had been waited for."""

import sys

import pytest
from support import awkward, run_suite, script

LEAN = ("--fuzz", "none", "--timeout", "6", "--select", "cancel,progress,tools,jsonrpc,ping")
SLOW = {"cancel.no-response", "cancel.stops-work"}


def slowly_wrong(how):
    return (sys.executable, script("slow_cancel_servers"), how)


def about(run, *ids):
    """What a run tells of some rules, by rule."""
    told = {(case.requirement, case.outcome) for case in run.cases if case.requirement in ids}
    return {id: {outcome for cited, outcome in told if cited == id} - {"skipped"} for id in ids}


def test_a_slow_call_is_made_twice_and_cancelled_once(tmp_path):
    run = run_suite(awkward("slow_tool"), *LEAN)
    assert run.findings == []
    assert about(run, *SLOW) == {id: {"passed"} for id in SLOW}


@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["alone", "two workers"])
def test_a_cancellation_that_is_ignored_is_found(options):
    run = run_suite(slowly_wrong("deaf"), *LEAN, *options)
    assert {case.requirement for case in run.findings} == SLOW, run.output


def test_a_death_of_a_cancelled_call_is_told_once():
    run = run_suite(slowly_wrong("dying"), *LEAN)
    assert [case.outcome for case in run.findings] == ["blocked"], run.output
    assert "the server ended when a call of slow was cancelled" in run.findings[0].text


def test_a_slow_call_that_is_never_answered_is_told_once():
    run = run_suite(slowly_wrong("mute"), *LEAN)
    assert [case.outcome for case in run.findings] == ["blocked"], run.output
    assert "tools/call of slow was not answered: no answer within 6 s" in run.findings[0].text
