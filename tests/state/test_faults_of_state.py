"""Each fault of the server with state is found by the checks of a run; right and odd servers pass them."""

import pytest

from mcp_conformance.requirements import catalogue
from mcp_conformance_fixtures.state.faults import DISK_ONLY, FAULTS, HTTP_ONLY, RULES
from mcp_conformance_fixtures.state.odd import ODD
from support.bench import run_checks, settings_in_memory
from support.nightly import IS_NIGHTLY, nightly
from support.state import REVISION, state_in_memory

SEEDS = range(10) if IS_NIGHTLY else (0,)
JUDGED = [name for name in FAULTS if not RULES[name].isdisjoint(catalogue.all_requirements())]
"""The faults for which there is a rule."""
MISSED = {
    "two_increments_at_once_count_as_one",
    "reading_a_counter_adds_to_it",
    "a_number_with_a_fraction_part_is_ignored",
}
"""The faults that show in a number alone, which may be that of requests as well."""


def found_on(name, seed, folder):
    """Return the rules that the checks of state find broken on a server, with what they say."""
    log = folder / "state.jsonl" if name in DISK_ONLY else None
    settings = settings_in_memory(state_in_memory(name, log), seed=seed, transcripts=folder)
    found = run_checks(settings, REVISION, lambda check: check.suite == "test_state", is_whole=False)
    assert found.failures == []
    assert found.passed or found.verdicts
    return {verdict.row.id: verdict.text for verdict in found.verdicts}


@nightly
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in JUDGED if name not in HTTP_ONLY | MISSED])
def test_a_fault_is_found(name, seed, tmp_path):
    found = found_on(name, seed, tmp_path)
    assert found.keys() & RULES[name], found


@nightly
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["", *ODD])
def test_a_right_server_breaks_no_rule(name, seed, tmp_path):
    assert found_on(name, seed, tmp_path) == {}
