"""Slow calls: they are in flight while other checks run, and get the usual verdicts."""

import sys
from collections import Counter

import pytest

from mcp_conformance.protocol.revisions import LATEST_MODERN
from mcp_conformance.scenarios.request_metadata import first_request_without_capabilities
from mcp_conformance.target.probe import probe_all
from mcp_conformance_fixtures.reference import SILENCE
from support import awkward, run_suite, script
from support.bench import Bench, settings_in_memory
from support.in_memory import mutated
from support.nightly import nightly

LEAN = ("--fuzz", "none", "--timeout", "6", "--select", "cancel,progress,tools,jsonrpc,ping")
SLOW = {"cancel.no-response", "cancel.stops-work"}


def slow_server(fault, *more):
    """Return the command of a server with a slow tool and this fault."""
    return (sys.executable, script("slow_cancel_servers"), fault, *more)


def outcomes_of(run, *ids):
    """Return the outcomes of some rules in a run, by rule."""
    outcomes = {(case.requirement, case.outcome) for case in run.cases if case.requirement in ids}
    return {id: {outcome for cited, outcome in outcomes if cited == id} - {"skipped"} for id in ids}


def test_a_slow_call_is_made_twice_and_cancelled_once(tmp_path):
    run = run_suite(awkward("slow_tool"), *LEAN)
    assert run.findings == []
    assert outcomes_of(run, *SLOW) == {id: {"passed"} for id in SLOW}


@pytest.mark.parametrize(
    "options", [[], pytest.param(["-n", "2"], marks=nightly)], ids=["alone", "two workers"]
)
def test_an_ignored_cancellation_is_found(options):
    run = run_suite(slow_server("ignoring"), *LEAN, *options)
    assert {case.requirement for case in run.findings} == SLOW, run.output


@nightly
def test_a_check_that_needs_a_slow_call_comes_after_the_fuzzing(tmp_path):
    """The slow call ends only when the fuzzing has begun: a check that waits for it waits in vain."""
    run = run_suite(slow_server("fuzzed-first", str(tmp_path / "fuzzed")), "-vvv")
    assert run.findings == [], run.output
    names = Counter((case.suite, case.check) for case in run.cases)
    assert [name for name, count in names.items() if count > 1] == []
    logged = [line for line in run.output.splitlines() if line.startswith("mcp_conformance_suites/")]
    assert len(logged) == len(run.cases)


@nightly
def test_an_exit_at_a_cancellation_is_reported_once():
    run = run_suite(slow_server("exiting"), *LEAN)
    assert [case.outcome for case in run.findings] == ["blocked"], run.output
    assert "the server ended when a call of slow was cancelled" in run.findings[0].text


@nightly
def test_a_slow_call_without_an_answer_is_reported_once():
    run = run_suite(slow_server("silent"), *LEAN)
    assert [case.outcome for case in run.findings] == ["blocked"], run.output
    assert "tools/call of slow was not answered: no answer within 6 s" in run.findings[0].text


def test_a_slow_tool_does_not_hold_up_the_start_of_a_modern_run():
    def slow(server, request, reply):
        if isinstance(request, dict) and request.get("method") == "tools/call":
            server.schedule(25.0, lambda: server.send(reply))
            return SILENCE
        return None

    settings = settings_in_memory(mutated(slow))
    bench = Bench(probe_all(settings, (LATEST_MODERN,)), LATEST_MODERN)
    begun = settings.clock.now
    assert first_request_without_capabilities(bench.server).error is not None
    assert settings.clock.now - begun < 10.0
    bench.server.close()
