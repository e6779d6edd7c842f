"""In a hurried run come first the checks that may find most in a second."""

from mcp_conformance.plugin.worth import QUICK_SECONDS, SECONDS, worth
from mcp_conformance.requirements.catalogue import all_requirements, requirement
from mcp_conformance.requirements.checks import checks

NOW = "2025-11-25"


def test_the_table_of_costs_names_checks():
    assert {f"{one.suite}::{one.name}" for one in checks()} >= SECONDS.keys()
    assert min(SECONDS.values()) > QUICK_SECONDS


def test_a_check_is_worth_what_it_may_find_by_what_it_costs():
    must, should = requirement("ping.responds"), requirement("pagination.invalid-cursor-code")
    note = next(one for one in all_requirements().values() if one.holds_in(NOW) and one.basis(NOW) == "prose")
    values = [worth("test_ping.py", "test_x", [one], NOW) for one in (must, should, note)]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == 3
    suite, _, check = max(SECONDS, key=SECONDS.get).partition("::")
    assert worth(suite, check, [must], NOW) < values[-1]
    assert worth("test_ping.py", "test_x", [must, note], NOW) == values[0]
    assert worth("test_ping.py", "test_x", [], NOW) == values[-1]
