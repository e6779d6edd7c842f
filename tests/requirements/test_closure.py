"""The catalogue, the checks, the mutants and the reference server fit together without a gap."""

import functools
import math
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

import mcp_conformance_fixtures as fixtures
from mcp_conformance.clients.limits import DIRECTORY, clients
from mcp_conformance.clients.limits import chosen as chosen_clients
from mcp_conformance.protocol import revisions
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.checks import checked, checks
from mcp_conformance.scenarios.other_machines import LOCALES
from mcp_conformance.target.budgets import FIGURES
from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance_fixtures.http_mutants import all_http_mutants, started
from mcp_conformance_fixtures.http_unusual import UNUSUAL
from mcp_conformance_fixtures.mutants import all_mutants
from mcp_conformance_fixtures.mutants.client_directory import completed
from mcp_conformance_fixtures.reference_http import HttpReference
from support import EVERYTHING, REFERENCE, awkward, run_suite, script
from support.bench import (
    SAMPLES,
    all_checks,
    hurry,
    reference_contract,
    reference_session,
    run_checks,
    settings_in_memory,
    settings_on_process,
)
from support.http_in_thread import served
from support.in_memory import mutated
from support.mutant_runs import SEEN_BY_PACKETS, own_network, sick_api
from support.nightly import IS_NIGHTLY, nightly, some_of
from support.state import state_in_memory

HTTP_PROCESS = (sys.executable, "-m", "mcp_conformance_fixtures.reference_http", "--port", "{port}")
SERVED = ("", *(name for name in UNUSUAL if name != "old"))
OVER_HTTP = revisions.KNOWN[revisions.KNOWN.index("2025-03-26") :]
ERAS = {"modern_only": (True,), "handshakes_only": (False,)}
"""The eras of the servers that do not speak both: whether they are modern."""
ENDED = "http.listen.graceful"
"""The rule for which a server over HTTP has to end, so it is a process."""
NEWEST = {revisions.LATEST_HANDSHAKE, revisions.LATEST_MODERN}
FUZZ = os.environ.get("FUZZ", "none")
"""How thoroughly the reference server is fuzzed on processes."""


@functools.cache
def run_on_processes():
    """Run the suite on the reference server in the newest revision of each era."""
    return run_suite(REFERENCE, "--revision", "latest", "--fuzz", FUZZ, *EVERYTHING, timeout=1200)


@functools.cache
def run_in_memory(revision):
    """Run the suite on the reference server in memory; in the newest revision of each era fuzz it too."""
    examples = FUZZ_EXAMPLES["quick"] if revision in NEWEST else 0
    promised = {"budgets": dict.fromkeys(FIGURES, math.inf), "contract": reference_contract(revision)}
    promised["clients"] = chosen_clients(("all",))
    promised["sessions"] = (reference_session(revision),)
    return run_checks(settings_in_memory(mutated(None), examples, **promised), revision)


@functools.cache
def run_over_http(name, revision):
    """Run the checks of HTTP on the reference server, or on an unusual one, in a thread of this process."""
    with (
        tempfile.TemporaryDirectory() as folder,
        settings_on_process((), Path(folder), timeout=5.0, start_timeout=10.0, **SAMPLES) as chosen,
        served(started(name) if name else HttpReference()) as server,
    ):
        settings = replace(chosen, command=(server.url,), http=server)
        return run_checks(settings, revision, is_of_http)


@functools.cache
def run_with_sick_api(*words):
    """Run the checks of the API on a server that asks one, and does so right; None where that cannot be.

    With the word for a port the server speaks HTTP.
    """
    folder = str(Path(fixtures.__file__).parent.parent)
    command = (sys.executable, "-S", script("api_launcher"), folder, *words)
    api = {**sick_api(), "http": HttpServer("", command) if words else None}
    with tempfile.TemporaryDirectory() as folder:
        how = settings_on_process(command, Path(folder), timeout=10.0, start_timeout=10.0, **api)
        with how as settings:
            alone = replace(settings, call=("weather", "nothing"))
            found = run_checks(alone, revisions.LATEST_HANDSHAKE, is_of_api, is_whole=False)
    return found if api.get("backend") else None


def is_of_api(check):
    """Return whether a check judges what happens while an API is sick."""
    return check.suite == "test_backend"


def is_of_login(check):
    """Return whether a check judges a login, which `tests/login` makes."""
    return check.suite == "test_http_login"


def is_of_token(check):
    """Return whether a check tries what a credential opens, as `test_http_auth_tokens` does."""
    return check.suite == "test_http_auth_tokens"


def for_directories(server, request, reply):
    """Give all tools of the reference server what the directories of clients ask for."""
    if isinstance(request, dict) and request.get("method") == "tools/list":
        completed(reply)


def run_for_directories():
    """Run the checks of the directories on a server that has all that they ask for."""
    names = tuple(name for name in clients() if name.startswith(DIRECTORY))
    settings = settings_in_memory(mutated(for_directories), 0, clients=names)
    return run_checks(
        settings,
        revisions.LATEST_HANDSHAKE,
        lambda check: check.suite == "test_client_directory",
        is_whole=False,
    )


def is_of_stdio(check):
    """Return whether a check cites a rule of stdio."""
    return any(row.transport == "stdio" for row in check.rows)


@functools.cache
def run_with_state():
    """Run the checks of sequences of calls on the server with state, whose processes share a file."""
    with tempfile.TemporaryDirectory() as folder:
        serve = state_in_memory(log=Path(folder) / "state.jsonl")
        return run_checks(settings_in_memory(serve), revisions.LATEST_HANDSHAKE, is_of_state)


def is_of_state(check):
    """Return whether a check judges sequences of calls."""
    return check.suite == "test_state"


def is_of_http(check):
    """Return whether a check cites a rule of HTTP."""
    return any(row.transport == "http" for row in check.rows)


def test_every_check_cites_requirements_of_the_catalogue():
    known = catalogue.all_requirements()
    assert [check for check in checks() if not check.requirements] == []
    assert [id for id in checked() if id not in known] == []


def test_no_check_judges_a_row_that_is_called_untestable():
    assert [id for id in checked() if catalogue.requirement(id).untestable] == []


def test_every_checked_row_is_broken_by_a_mutant():
    broken = {id for mutant in (*all_mutants(), *all_http_mutants()) for id in mutant.breaks}
    assert sorted(set(checked()) - broken) == []


def test_every_mutant_breaks_rows_that_are_checked():
    mutants = (*all_mutants(), *all_http_mutants())
    wrong = {m.name: id for m in mutants for id in (*m.breaks, *m.also) if id not in checked()}
    assert wrong == {}


def test_the_reference_server_is_clean():
    run = run_on_processes()
    assert [(case.check, case.text) for case in run.findings] == []
    assert run.exit == 0
    assert {case.revision for case in run.of("passed")} == NEWEST


@pytest.mark.parametrize(
    "revision", [pytest.param(one, marks=nightly if one in NEWEST else ()) for one in revisions.KNOWN]
)
def test_the_reference_server_is_clean_in_every_revision(revision):
    run = run_in_memory(revision)
    assert [failure.reason for failure in run.failures] == []
    assert [verdict.text for verdict in run.verdicts] == []
    assert run.passed


def spoken_over_http(name):
    """Return the revisions in which the reference server, or an unusual one, runs over HTTP."""
    return [one for one in OVER_HTTP if revisions.is_modern(one) in ERAS.get(name, (False, True))]


@pytest.mark.parametrize(
    ("name", "revision"), some_of([(name, one) for name in SERVED for one in spoken_over_http(name)], 4)
)
def test_a_right_server_over_http_is_not_accused(name, revision):
    found = run_over_http(name, revision)
    assert [one.text for one in found.verdicts] == []
    assert found.failures == []
    assert found.passed


@nightly  # in a push the same checks run on records (test_backend_checks)
@pytest.mark.parametrize("words", [(), ("{port}",)])
def test_a_right_server_is_not_accused_while_its_api_is_sick(words):
    found = run_with_sick_api(*words)
    if found is None:
        pytest.skip("no process gets a network of its own here")
    assert [one.text for one in found.verdicts] == []
    assert found.failures == []
    assert found.passed
    if IS_NIGHTLY:  # a busy machine takes longer over a call than some of these checks watch it
        judging = [check for check in all_checks() if is_of_api(check)]
        assert found.passed >= {one.name for one in judging if not (words and is_of_stdio(one))}


def test_a_right_server_is_not_accused_of_its_state():
    found = run_with_state()
    assert [one.text for one in found.verdicts] == []
    # tests/state/test_state_over_http.py sees to those of HTTP.
    assert found.passed == {one.name for one in all_checks() if is_of_state(one) and not is_of_http(one)}


@nightly
def test_every_check_has_run_on_a_right_server(monkeypatch):
    """On the reference server, on one that offers next to nothing, or on one that has what else there is."""
    stateless = (sys.executable, "-m", "mcp_conformance_fixtures.stateless")
    nothing = run_suite(awkward("bare_minimum"), "--revision", "all", "--fuzz", "none")
    confined = ("--sandbox", "landlock") if own_network() is not None else ()
    options = ("--revision", "latest", "--fuzz", "none", "--call", "all")
    other = run_suite(stateless, *options, *confined)
    assert [(case.check, case.text) for case in other.findings] == []
    hurry(monkeypatch)
    chosen = ("--select", "surroundings", "--surroundings", "--select", "drift", "--fuzz", "thorough")
    asked_for = run_suite(REFERENCE, *chosen)
    assert [(case.check, case.text) for case in asked_for.findings] == []
    growing = run_suite(
        awkward("growing_lists"),
        "--select",
        "tools.list-changed,prompts.list-changed,resources.list-changed",
        "--fuzz",
        "none",
    )
    old = run_suite((*HTTP_PROCESS, "old"), "--http", "--select", "http", "--revision", "latest", *EVERYTHING)
    ended = run_suite(HTTP_PROCESS, "--http", "--select", ENDED, "--revision", "latest", "--fuzz", "none")
    keeping = run_suite(
        awkward("keeps_to_its_folder"), "--select", "tools.call.access-control", "--fuzz", "none"
    )
    runs = (run_on_processes(), nothing, other, growing, asked_for, old, ended, keeping)
    ran = {case.check.partition("[")[0] for run in runs for case in run.of("passed")}
    ran |= {name for revision in revisions.KNOWN for name in run_in_memory(revision).passed}
    over_http = [run_over_http(name, revision) for name in SERVED for revision in spoken_over_http(name)]
    ran |= {name for run in over_http for name in run.passed} | run_for_directories().passed
    # Tests of their own see to these.
    own = (is_of_api, is_of_state, is_of_login, is_of_token)
    ran |= {check.name for check in all_checks() if any(one(check) for one in own)}
    unseen = SEEN_BY_PACKETS if not confined else set()
    if all(one.obstacle(Settings(REFERENCE)) for one in LOCALES):
        unseen = {*unseen, "surroundings.locale"}
    assert sorted({check.name for check in checks() if unseen.isdisjoint(check.requirements)} - ran) == []
