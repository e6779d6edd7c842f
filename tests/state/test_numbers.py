"""Numbers in answers: where they stand, and by how much they move between two answers."""

import pytest

from mcp_conformance.state.numbers import may_move, moves, spots_in


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ({"total": 3}, {"total": 4}, ["`total` +1"]),
        ({"total": 0.1}, {"total": 0.3}, ["`total` +0.2"]),
        ("Found 3 notes.", "Found 4 notes.", ["`Found 0 notes.` +1"]),
        (["Notes: 3 of 9", "a1"], ["Notes: 4 of 9", "a2"], ["`Notes: 0 of 0` +1"]),
        ({"folders": [{"n": 3}, {"n": 5}]}, {"folders": [{"n": 5}, {"n": 2}]}, ["`folders.n` -1"]),
    ],
    ids=str,
)
def test_a_number_that_moves_is_found_where_it_stands(before, after, shown):
    assert [f"{one.spot} {one.by:+g}" for one in moves(before, after)] == shown


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"total": 3}, {"total": 3}),
        ({"total": 3}, {"sum": 4}),
        ({"ids": [1, 2]}, {"ids": [1, 2, 3]}),
        ({"is_new": False}, {"is_new": True}),
        ({"id": "note-3"}, {"id": "note-4"}),
        ("at 2026-01-02 10:11:12", "at 2026-01-02 10:11:13"),
        ({"time": float("inf")}, {"time": 1}),
    ],
    ids=str,
)
def test_what_is_new_or_no_number_does_not_move(before, after):
    assert list(moves(before, after)) == []


def test_a_number_among_others_may_move():
    before, after = [{"n": 3}], [{"n": 4}, {"n": 0}]
    assert not list(moves(before, after))
    assert may_move(before, after, noise=())
    assert not may_move(before, after, noise=[("*", "n")])
    assert {one.place for one in spots_in(after)} == {("*", "n")}
