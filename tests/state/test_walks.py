"""Walks on the server with state: what breaks is found and shrunk; on right and odd servers nothing does."""

from functools import partial

import pytest

from mcp_conformance.state.machine import Walks, again
from mcp_conformance.state.walk import Act, Walk
from mcp_conformance_fixtures.state.odd import ODD
from support.nightly import IS_NIGHTLY, some_of
from support.scenes import Theatre

CALLS, WALKS, STEPS = (300, 100, 12) if not IS_NIGHTLY else (1500, 200, 15)
SEEDS = range(10) if IS_NIGHTLY else (1,)
NOTES = ("create_note", "list_notes", "get_note", "update_note", "delete_note")
FOUND = {
    "a_deleted_note_can_be_read": "state.use-after-delete",
    "deleting_again_says_deleted": "state.delete-twice",
    "a_list_has_deleted_notes": "state.list-after-delete",
    "an_update_changes_the_note_before": "state.neighbours",
    "an_updated_note_can_be_read_after_its_deletion": "state.use-after-delete",
    "the_second_update_of_a_note_is_lost": "state.read-after-change",
}
"""The rule that breaks on a walk on the notes of a faulty server."""


def broken_on(name, seed, tools=NOTES):
    """Return the rules that break on walks, with the shortest steps, if a fresh process shows it again."""
    theatre = Theatre(name, tools, 20_000)
    learned = theatre.learn()
    found = {}
    for thing in learned.things:
        begin = partial(Walk, theatre.shop, thing, learned.noise)
        walks = Walks(begin, theatre.shop.hand, CALLS)
        if thing.lasts:
            walks.take(seed, WALKS, STEPS)
        for rule, steps in walks.shortest.items():
            fresh = Walk(Theatre(name, tools).shop, thing, learned.noise)
            if again(steps, fresh, rule) is not None:
                found[rule] = steps
    return found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", some_of(FOUND, 6))
def test_what_breaks_is_found_and_shrunk(name, seed):
    found = broken_on(name, seed)
    assert FOUND[name] in found
    assert len(found[FOUND[name]]) <= 4


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", some_of(["", *ODD], 4))
def test_nothing_breaks_on_right_and_odd_servers(name, seed):
    assert broken_on(name, seed, () if IS_NIGHTLY else NOTES) == {}


def test_a_walk_is_shrunk_to_what_breaks():
    found = broken_on("deleting_again_says_deleted", 1)
    assert [step.act for step in found["state.delete-twice"]] == [Act.MAKE, Act.DO, Act.DO]
