"""The catalogue, the checks, the mutants and the reference server fit together without a gap."""

import functools
import math
import os
import sys

import pytest

from mcp_conformance.clients.limits import clients
from mcp_conformance.protocol import revisions
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.checks import checked, checks
from mcp_conformance.scenarios.other_machines import LOCALES
from mcp_conformance.target.budgets import FIGURES
from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES
from mcp_conformance.target.settings import Settings
from mcp_conformance_fixtures.http_mutants import all_http_mutants
from mcp_conformance_fixtures.http_unusual import UNUSUAL, headers_for
from mcp_conformance_fixtures.mutants import all_mutants
from support import EVERYTHING, REFERENCE, awkward, run_suite
from support.bench import hurry, reference_contract, run_checks, settings_in_memory
from support.in_memory import mutated
from support.mutant_runs import SEEN_BY_PACKETS, own_network

OVER_HTTP = (sys.executable, "-m", "mcp_conformance_fixtures.reference_http", "--port", "{port}")
NEWEST = {revisions.LATEST_HANDSHAKE, revisions.LATEST_MODERN}
SPOKEN = {"scoped": "all"}
"""The revisions of an unusual server over HTTP, if not the newest of each era: a 401 has to name the metadata
in 2025-06-18 only."""
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
    promised["clients"] = tuple(clients())
    return run_checks(settings_in_memory(mutated(None), examples, **promised), revision)


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


@pytest.mark.parametrize("revision", revisions.KNOWN)
def test_the_reference_server_is_clean_in_every_revision(revision):
    run = run_in_memory(revision)
    assert [failure.reason for failure in run.failures] == []
    assert [verdict.text for verdict in run.verdicts] == []
    assert run.passed


def header_words(http):
    """Return the options for the headers that a server needs."""
    pairs = [f"{name.decode()}: {value.decode()}" for name, value in headers_for(http)]
    return [word for pair in pairs for word in ("--header", pair)]


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
    over_http = [
        run_suite((*OVER_HTTP, *name), "--http", *headers, "--select", "http", "--revision", era, *EVERYTHING)
        for name, headers, era in (
            ((), (), "all"),
            *(((name,), header_words(UNUSUAL[name]), SPOKEN.get(name, "latest")) for name in UNUSUAL),
        )
    ]
    runs = (run_on_processes(), nothing, other, asked_for, *over_http)
    ran = {case.check.partition("[")[0] for run in runs for case in run.of("passed")}
    ran |= {name for revision in revisions.KNOWN for name in run_in_memory(revision).passed}
    unseen = SEEN_BY_PACKETS if not confined else set()
    if all(one.obstacle(Settings(REFERENCE)) for one in LOCALES):
        unseen = {*unseen, "surroundings.locale"}
    assert sorted({check.name for check in checks() if unseen.isdisjoint(check.requirements)} - ran) == []
