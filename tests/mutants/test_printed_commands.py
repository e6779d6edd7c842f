"""Each printed command, run as a user runs it, shows its finding: over HTTP, processes, hostile servers."""

import pytest

from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES
from mcp_conformance_fixtures.http_mutants import all_http_mutants, started
from support import awkward
from support.http_in_thread import served
from support.mutant_runs import on_processes, revision_of
from support.nightly import nightly, some_of
from support.printed import Shell
from support.resource_usage import rows
from support.running import EVERYTHING, quick_mutant

HTTP_SHARE, PROCESS_SHARE = 170, 140
"""One of so many mutants is tried in a push."""
NAMED_AFTER_A_PROCESS = ("a_tool_is_named_after_the_process", "tool_name_is_the_process_id")
LIMITS = ("--timeout", "5", "--start-timeout", "10")
HOSTILE = ("--timeout", "2", "--start-timeout", "3", "--fuzz", "none", "--call", "all")


def checks_of(one):
    """Return the options that select the checks of what a mutant breaks."""
    return ("-v", "--select", ",".join((*one.breaks, *one.also)), "--revision", revision_of(one))


def over_http():
    some = [one for one in all_http_mutants() if not one.needs_process]
    return some_of(some, HTTP_SHARE, name=lambda one: one.name)


@pytest.mark.parametrize("one", over_http(), ids=lambda one: one.name)
def test_a_finding_over_http_is_shown_again(one, tmp_path):
    """The server is a new one for each command, at the same port."""
    with served(started(one.name)) as server:
        port, url = server.endpoint.port, server.url
    headers = [(name.decode(), value.decode()) for name, value in server.headers]
    given = [word for name, value in headers for word in ("--header", f"{name}: {value}")]
    variables = {f"HEADER_{name.upper()}": value for name, value in headers}
    shell = Shell(tmp_path, lambda: served(started(one.name), port=port), **variables)
    fuzz = "quick" if one.is_fuzzed else "none"
    words = ["run", *LIMITS, "--fuzz", fuzz, *EVERYTHING, *checks_of(one), *given, "--url", url]
    _, output, found = shell.run(words)
    assert found or one.name == "the_body_of_a_refused_request_stays_unread", output
    shell.expect_found_again(found)


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize(
    "run", some_of(on_processes(), PROCESS_SHARE, name=lambda run: run.id), ids=lambda run: run.id
)
def test_a_finding_on_a_process_is_shown_again(run, tmp_path):
    if run.needs_own_network or run.mutant.family == "surroundings":
        pytest.skip("its server needs a machine of another kind")
    if run.mutant.name in NAMED_AFTER_A_PROCESS:
        pytest.skip("no other process has a tool of this name")
    fuzz = next(name for name, many in FUZZ_EXAMPLES.items() if many == run.limits["examples"])
    words = ["run", *LIMITS, "--fuzz", fuzz, *EVERYTHING, *checks_of(run.mutant), "--"]
    shell = Shell(tmp_path)
    _, output, found = shell.run([*words, *quick_mutant(run.mutant.name)])
    assert found or "nothing was tested" in output, output
    shell.expect_found_again(found)


@nightly
@pytest.mark.parametrize("row", rows(), ids=str)
def test_a_finding_on_a_hostile_server_is_shown_again(row, tmp_path):
    shell = Shell(tmp_path)
    status, _, found = shell.run(
        ["run", *HOSTILE, "--revision", "2025-11-25", *row.options, "--", *row.command]
    )
    assert status == row.exit
    shell.expect_found_again(found)


@nightly
@pytest.mark.parametrize("name", ["deep_schema", "unread_params"])
def test_a_note_on_an_awkward_server_is_shown_again(name, tmp_path):
    shell = Shell(tmp_path)
    _, output, found = shell.run(["run", "-v", "--call", "all", "--fuzz", "quick", "--", *awkward(name)])
    assert found, output
    shell.expect_found_again(found)
