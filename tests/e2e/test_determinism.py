"""Two runs say the same of a server, whatever the hash seed, and however many workers there are."""

import sys
from pathlib import Path

import pytest

from support import mutant
from support.nightly import nightly
from support.repositories import FILES, MINE, on, run_pytest, write

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from determinism import differences

LEAN = (
    "--conformance-fuzz=none",
    "--conformance-revision=2025-11-25",
    "--conformance-select=tools.call.is-error-boolean,tools.call.listed-is-callable,pagination",
)
"""Checks that run once, and checks that run for each tool."""


@pytest.fixture(scope="module")
def both_ways(tmp_path_factory):
    """A server with findings, in one process and in two workers, with other hash seeds."""
    repo = write(tmp_path_factory.mktemp("both") / "repo", FILES)
    server = on(mutant("is_error_is_a_word"))
    ways = ({"PYTHONHASHSEED": "1"}, []), ({"PYTHONHASHSEED": "2"}, ["-n", "2"])
    return [
        run_pytest(repo, *server, "-p", "no:cacheprovider", *more, lean=LEAN, env=env) for env, more in ways
    ]


@nightly
def test_two_workers_give_the_same_cases(both_ways):
    one, two = both_ways
    assert one.exit == two.exit == 1, one.output
    assert one.named == two.named
    assert one.own == two.own == MINE


def test_two_workers_give_the_same_verdict(both_ways):
    verdicts = [line for run in both_ways for line in run.output.splitlines() if line.startswith("verdict:")]
    assert len(verdicts) == 2, both_ways[1].output
    assert len(set(verdicts)) == 1


@pytest.mark.parametrize("way", [0, 1])
def test_junit_has_the_properties(both_ways, way):
    failed = [case for case in both_ways[way].cases if case.outcome == "failed"]
    (found, *_) = (case for case in failed if case.suite.endswith("test_tools_call"))
    facts = (found.suite, found.requirement, found.level, found.revision)
    assert facts == (
        "mcp_conformance_suites.test_tools_call",
        "tools.call.is-error-boolean",
        "MUST",
        "2025-11-25",
    )
    assert found.spec.startswith("https://modelcontextprotocol.io/specification/2025-11-25/")
    assert "got" in found.text


def test_what_differs_is_shown():
    runs = [("one", {"a": "passed", "b": "passed"}), ("other", {"a": "passed", "b": "failed"}), ("third", {})]
    assert list(differences(runs)) == [
        "a",
        "    passed: one, other",
        "    was not run: third",
        "b",
        "    passed: one",
        "    failed: other",
        "    was not run: third",
    ]
