"""What tools make and change is announced, and nothing else: seen on the server with state."""

import pytest

from mcp_conformance_fixtures.state.faults import RULES
from support.bench import run_checks, settings_in_memory
from support.nightly import some_of
from support.state import state_in_memory

CHECK = "test_what_tools_make_and_change_is_announced"
ANNOUNCED = {"resources.list-changed.sent", "resources.subscribe.updated-sent"}
CASES = [
    (name, revision)
    for name in ("", *(one for one in RULES if RULES[one] <= ANNOUNCED))
    for revision in ("2025-11-25", "2026-07-28")
    # The checks of the first calls find it there.
    if (name, revision) != ("new_notes_are_not_announced", "2025-11-25")
]


@pytest.mark.parametrize(("name", "revision"), some_of(CASES, 4))
def test_a_change_is_announced_once_it_is_made(name, revision):
    found = run_checks(settings_in_memory(state_in_memory(name)), revision, lambda one: one.name == CHECK)
    assert {verdict.row.id for verdict in found.verdicts} == RULES.get(name, set())
    assert (found.passed == {CHECK}) is not bool(name)
