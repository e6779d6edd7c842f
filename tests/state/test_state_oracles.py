"""The oracles: loud on a server with a fault of their kind, silent on right ones, however odd."""

import pytest

from mcp_conformance.scenarios.state import SAME_CAUSE
from mcp_conformance.state.judging import ORACLES
from mcp_conformance.state.oracles import restart
from mcp_conformance.state.scene import Stage
from mcp_conformance_fixtures.state.faults import DISK_ONLY
from mcp_conformance_fixtures.state.odd import ODD
from support.nightly import some_of
from support.scenes import Theatre, found_in

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
    "a_refused_move_loses_the_note": "state.failed-change",
    "a_note_is_lost_when_the_store_is_full": "state.read-after-create",
    "a_folder_lists_its_first_seven_notes": "state.read-after-create",
    "reading_a_note_moves_it_to_the_end": "state.reading-changes-nothing",
    "every_second_list_is_backwards": "state.same-read",
    "every_second_read_lacks_the_text": "state.same-read",
    "a_note_is_found_in_any_folder": "state.hierarchy",
    "every_folder_lists_all_notes": "state.hierarchy",
    "notes_outlive_their_folder": "state.delete-parent",
    "pages_count_from_the_first_note": "state.pages",
    "pages_show_the_newest_first": "state.pages",
    "two_increments_at_once_count_as_one": "state.concurrency",
    "reading_a_counter_adds_to_it": "state.reading-changes-nothing",
    "a_number_with_a_fraction_part_is_ignored": "state.number-form",
    "two_updates_at_once_are_mixed": "state.concurrency",
    "members_are_taken_by_their_order": "state.member-order",
    "a_float_limit_shows_one_note_less": "state.number-form",
    "the_default_written_out_is_one_less": "state.default-given",
    "a_small_page_skips_a_note": "state.page-size",
    "names_are_compared_by_their_bytes": "state.unicode-form",
}
NOTES = ("create_note", "get_note", "list_notes", "update_note", "delete_note")


@pytest.mark.parametrize("name", some_of(FOUND, 9))
def test_a_fault_is_found_under_its_rule_alone(name):
    _, found = found_in(name)
    assert FOUND[name] in found
    assert set(found) <= {FOUND[name], *SAME_CAUSE}
    assert found[FOUND[name]].calls
    assert all("of 3" in one for one in found[FOUND[name]].inferred)


def restarted(name, log):
    """Return what a restart of a server with a file loses, or None if nothing lasts."""
    theatre = Theatre(name, NOTES, log=log)
    learned = theatre.learn()
    [thing] = [one for one in learned.things if one.lasts]
    before = Stage(theatre.shop, learned.noise).before_restart(thing)
    theatre.session.close()
    scene = Stage(Theatre(name, NOTES, log=log).shop, learned.noise).after_restart(before)
    return list(restart.judge(scene)) if restart.can_judge(scene) else None


@pytest.mark.parametrize("name", sorted(DISK_ONLY))
def test_what_a_restart_loses_or_mixes_is_found(name, tmp_path):
    assert restarted(name, tmp_path / "log")


def test_a_right_restart_is_not_accused(tmp_path):
    assert restarted("", tmp_path / "log") == []


def test_a_restart_that_keeps_nothing_is_not_judged():
    assert restarted("", None) is None


def test_a_right_server_is_judged_and_not_accused():
    judged, found = found_in()
    assert found == {}
    assert set(judged) == {one.rule for one in ORACLES}


@pytest.mark.parametrize("name", some_of(ODD, 3))
def test_an_odd_server_is_not_accused(name):
    assert found_in(name)[1] == {}
