"""Sequences of calls: what tools make, read, change and delete, and what holds of that whatever it means."""

from __future__ import annotations

import pytest

from mcp_conformance.scenarios.announcements import expect_announcements
from mcp_conformance.scenarios.state import expect_lasting, expect_namespaces, expect_none_of
from mcp_conformance.scenarios.walks import expect_no_broken_walk

pytestmark = pytest.mark.stage("late")


@pytest.mark.requirement("state.read-after-create")
def test_what_was_made_is_shown(server):
    expect_none_of(server, "state.read-after-create")


@pytest.mark.requirement("state.list-once")
def test_what_was_made_once_is_listed_once(server):
    expect_none_of(server, "state.list-once")


@pytest.mark.requirement("state.same-read")
def test_the_same_read_twice_shows_the_same(server):
    expect_none_of(server, "state.same-read")


@pytest.mark.requirement("state.reading-changes-nothing")
def test_reading_changes_nothing_of_what_was_made(server):
    expect_none_of(server, "state.reading-changes-nothing")


@pytest.mark.requirement("state.use-after-delete")
def test_what_was_deleted_cannot_be_read(server):
    expect_none_of(server, "state.use-after-delete")


@pytest.mark.requirement("state.list-after-delete")
def test_what_was_deleted_is_not_listed(server):
    expect_none_of(server, "state.list-after-delete")


@pytest.mark.requirement("state.delete-twice")
def test_deleting_again_does_not_say_that_it_deleted(server):
    expect_none_of(server, "state.delete-twice")


@pytest.mark.requirement("state.failed-create")
def test_a_refused_call_makes_nothing(server):
    expect_none_of(server, "state.failed-create")


@pytest.mark.requirement("state.failed-change")
def test_a_refused_change_leaves_all_as_it_was(server):
    expect_none_of(server, "state.failed-change")


@pytest.mark.requirement("state.read-after-change")
def test_a_change_is_shown_by_all_reads(server):
    expect_none_of(server, "state.read-after-change")


@pytest.mark.requirement("state.neighbours")
def test_a_change_leaves_other_things_alone(server):
    expect_none_of(server, "state.neighbours")


@pytest.mark.requirement("state.hierarchy")
def test_what_was_made_in_one_parent_is_not_in_another(server):
    expect_none_of(server, "state.hierarchy")


@pytest.mark.requirement("state.delete-parent")
def test_what_lies_in_a_deleted_thing_is_not_shown_in_it(server):
    expect_none_of(server, "state.delete-parent")


@pytest.mark.requirement("state.pages")
def test_pages_lose_and_repeat_nothing_that_stood_throughout(server):
    expect_none_of(server, "state.pages")


@pytest.mark.requirement("state.namespace")
def test_what_a_session_has_for_itself_is_in_no_other(server):
    expect_namespaces(server)


@pytest.mark.requirement("state.concurrency")
def test_two_changes_at_once_leave_one_of_them(server):
    expect_none_of(server, "state.concurrency")


@pytest.mark.requirement("state.member-order")
def test_the_order_of_members_does_not_matter(server):
    expect_none_of(server, "state.member-order")


@pytest.mark.requirement("state.number-form")
def test_a_whole_number_may_be_written_as_a_float(server):
    expect_none_of(server, "state.number-form")


@pytest.mark.requirement("state.default-given")
def test_a_default_that_is_given_changes_nothing(server):
    expect_none_of(server, "state.default-given")


@pytest.mark.requirement("state.page-size")
def test_a_list_has_the_same_items_in_pages_of_another_size(server):
    expect_none_of(server, "state.page-size")


@pytest.mark.requirement("state.unicode-form")
def test_a_name_is_the_same_in_both_forms_of_unicode(server):
    expect_none_of(server, "state.unicode-form")


@pytest.mark.requirement("state.restart")
def test_a_restart_loses_nothing_of_what_lasts(server):
    expect_lasting(server)


@pytest.mark.requirement(
    "tools.list-changed.sent",
    "prompts.list-changed.sent",
    "resources.list-changed.sent",
    "resources.subscribe.updated-sent",
)
def test_what_tools_make_and_change_is_announced(server):
    expect_announcements(server)


@pytest.mark.requirement(
    "state.read-after-create",
    "state.read-after-change",
    "state.neighbours",
    "state.reading-changes-nothing",
    "state.use-after-delete",
    "state.list-after-delete",
    "state.delete-twice",
)
def test_the_rules_hold_in_any_order_of_calls(server):
    expect_no_broken_walk(server)
