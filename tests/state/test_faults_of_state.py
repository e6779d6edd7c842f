"""Each fault of the server with state is found by the checks of a run; right and odd servers pass them."""

import pytest

from mcp_conformance.requirements import catalogue
from mcp_conformance_fixtures.state.faults import FAULTS, HTTP_ONLY, RULES
from mcp_conformance_fixtures.state.odd import ODD
from support.nightly import IS_NIGHTLY, nightly
from support.state_runs import found_on

SEEDS = range(10) if IS_NIGHTLY else (0,)
JUDGED = [name for name in FAULTS if not RULES[name].isdisjoint(catalogue.all_requirements())]
"""The faults for which there is a rule."""
IN_ONE_ERA = {"new_notes_are_not_announced"}
"""Another suite finds it in this revision, and `test_announcements` in the modern one."""


@nightly
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in JUDGED if name not in HTTP_ONLY | IN_ONE_ERA])
def test_a_fault_is_found(name, seed, tmp_path):
    found = found_on(name, seed, tmp_path, RULES[name])
    assert found.keys() & RULES[name], found


@nightly
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["", *ODD])
def test_a_right_server_breaks_no_rule(name, seed, tmp_path):
    assert found_on(name, seed, tmp_path) == {}
