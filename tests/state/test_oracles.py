"""The oracles: loud on a server with a fault of their kind, silent on right ones, however odd."""

import pytest

from mcp_conformance_fixtures.state.odd import ODD
from support.nightly import some_of
from support.scenes import found_in

FOUND = {
    "a_deleted_note_can_be_read": "state.use-after-delete",
    "a_deleted_file_can_be_read": "state.use-after-delete",
    "deleting_again_says_deleted": "state.delete-twice",
    "a_list_has_deleted_notes": "state.list-after-delete",
    "a_refused_note_is_kept": "state.failed-create",
    "a_refused_file_is_kept": "state.failed-create",
    "every_note_is_listed_twice": "state.list-once",
    "a_refused_update_changes_the_title": "state.failed-change",
    "an_update_changes_the_note_before": "state.neighbours",
}


@pytest.mark.parametrize("name", some_of(FOUND, 2))
def test_a_fault_is_found_under_its_rule_alone(name):
    _, found = found_in(name)
    assert set(found) == {FOUND[name]}
    [one] = found.values()
    assert one.inferred
    assert one.calls
    assert "of 3" in one.inferred[0]


def test_a_right_server_is_judged_and_not_accused():
    judged, found = found_in()
    assert found == {}
    assert set(judged) >= {*FOUND.values(), "state.read-after-create", "state.reading-changes-nothing"}


@pytest.mark.parametrize("name", some_of(ODD, 3))
def test_an_odd_server_is_not_accused(name):
    assert found_in(name)[1] == {}
