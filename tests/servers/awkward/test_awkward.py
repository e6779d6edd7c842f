"""Servers that are right but awkward are not reported."""

from pathlib import Path

import pytest
from conformance.fixtures import awkward as folder
from support import awkward, run_suite

NAMES = sorted(path.stem for path in Path(folder.__file__).parent.glob("[a-z]*.py"))
ARGUMENTS = {"slow_start": ["0.3"]}
NEWEST = ("--revision", "2025-11-25")
OLDEST = ("--revision", "2024-11-05", "--fuzz", "none", "--select", "tools,prompts,resources,ping,jsonrpc")
"""The oldest revision with all features of these servers: their lists, calls and messages."""
FUZZED = ("deep_schema", "odd_numbers", "out_of_order", "split_writes", "unicode")
"""The servers that are fuzzed too: what is awkward about them shows in many answers."""
ALLOWED = {"deep_schema": {"jsonschema.recommended-dialect", "jsonschema.prefer-2020-12"}}
"""Notes that are due: an old dialect is allowed, and reported."""


@pytest.mark.parametrize("revision", [NEWEST, OLDEST], ids=["newest", "oldest"])
@pytest.mark.parametrize("name", NAMES)
def test_an_awkward_server_passes(name, revision):
    is_fuzzed = revision is NEWEST and name in FUZZED
    options = (*revision, *(() if is_fuzzed else ("--fuzz", "none")))
    run = run_suite(awkward(name, *ARGUMENTS.get(name, [])), *options, "--call", "all")
    findings = [(case.check, case.outcome, case.text) for case in run.findings if is_stray(name, case)]
    assert findings == []
    assert run.exit == 0, run.output
    assert run.of("passed")


def is_stray(name, case):
    return case.requirement not in ALLOWED.get(name, ()) or case.outcome != "info"


def test_a_start_of_eight_seconds_is_waited_for():
    run = run_suite(awkward("slow_start", "8"), "--select", "capabilities")
    assert run.findings == []
    assert run.exit == 0, run.output
