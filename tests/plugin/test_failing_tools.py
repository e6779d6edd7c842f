"""Tools that fail with valid arguments: others are tried, and what never succeeds is listed."""

import re

import pytest

from mcp_conformance.target.probe import probe_all
from mcp_conformance_fixtures.mutants import all_mutants
from support import REFERENCE, awkward, mutant, run_suite
from support.bench import Bench, settings_in_memory
from support.in_memory import mutated
from support.nightly import nightly

CALLS = ("--select", "tools.call.listed-is-callable", "--fuzz", "none", "--call", "all")
REVISION = "2025-11-25"


@pytest.fixture
def bench():
    """The reference server, whose tool echo fails on the plainest arguments."""
    (chosen,) = (one for one in all_mutants() if one.name == "a_tool_fails_on_the_plainest_arguments")
    bench = Bench(probe_all(settings_in_memory(mutated(chosen.mutate)), (REVISION,)), REVISION)
    yield bench
    bench.server.close()


def test_a_tool_that_fails_is_called_with_other_arguments(bench):
    server = bench.server
    call = server.call(server.tool("echo"))
    assert not call.failed
    assert [one.arguments for one in call.others] == [{"text": "example"}]
    echo = server.tool_calls.exercise["echo"]
    assert (echo.calls, echo.successes) == (len(call.with_others), 1)


def test_a_tool_that_succeeds_is_called_once(bench):
    call = bench.server.call(bench.server.tool("add"))
    assert call.others == ()
    assert bench.server.tool_calls.exercise["add"].calls == 1


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=nightly)])
def test_what_never_succeeds_is_listed(workers):
    output = " ".join(run_suite(awkward("only_failing"), *CALLS, *workers).output.split())
    assert re.search(r"no call succeeded: search_archive \(0 of [12]\)", output), output


def test_the_option_that_may_help_is_a_form_to_fill_in():
    output = " ".join(run_suite(REFERENCE, *CALLS).output.split())
    assert (
        """; give arguments that work in place of <...>: --example 'fail {"reason": "<reason>"}'; """
        """the nearest call: fail {"reason": "example"}, which got """
    ) in output
    assert "fail (0 of " in output
    assert "echo (0 of " not in output


@pytest.mark.parametrize(
    ("name", "workers"),
    [
        ("a_tool_ends_the_server", ()),
        ("a_tool_ends_the_server", ("-n", "2")),
        ("a_tool_ends_the_server_where_another_value_fails", ()),
        pytest.param("a_tool_ends_the_server_where_another_value_fails", ("-n", "2"), marks=nightly),
    ],
)
def test_a_tool_that_ends_the_server_is_not_listed(name, workers):
    run = run_suite(mutant(name), *CALLS, "--select", "tools.call", *workers)
    assert "tools.call.valid-not-fatal" in [case.requirement for case in run.of("failed")]
    output = " ".join(run.output.split())
    assert re.search(r"no call succeeded: .*\bfail \(0 of ", output), output
    assert "echo (0 of " not in output
