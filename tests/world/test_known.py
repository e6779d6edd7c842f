"""The store of known values: each once, with whose it is."""

import pytest

from mcp_conformance.world.known import MAX_ALIKE, MAX_TEXT, Known, KnownValues, Origin, Owner


def known(value, owner=Owner.FOUND, *keys, rank=0, of="list_notes"):
    return Known(value, keys, Origin("an answer of", of), owner, rank)


def kept(*some):
    values = KnownValues()
    values.add_all(some)
    return values


@pytest.mark.parametrize(
    ("first", "second", "whose"),
    [
        (Owner.FOUND, Owner.MADE, Owner.FOUND),
        (Owner.MADE, Owner.FOUND, Owner.MADE),
        (Owner.WORD, Owner.FOUND, Owner.FOUND),
        (Owner.FOUND, Owner.WORD, Owner.FOUND),
    ],
)
def test_what_was_there_stays_found_and_what_we_made_stays_ours(first, second, whose):
    assert kept(known("a", first), known("a", second)).get("a").owner is whose


def test_a_value_has_the_keys_of_all_its_sources_and_the_best_rank():
    one = kept(known(3, Owner.FOUND, "number", rank=1), known(3, Owner.FOUND, "id", rank=3)).get(3)
    assert (one.keys, one.rank) == (("number", "id"), 3)


def test_one_and_true_are_two_values():
    assert len(kept(known(1), known(True), known(1.0))) == 3


@pytest.mark.parametrize("value", ["", None, {}, [], "x" * (MAX_TEXT + 1)])
def test_what_opens_nothing_is_not_kept(value):
    assert len(kept(known(value))) == 0


def test_of_values_alike_a_few_are_kept():
    values = kept(*(known(number, Owner.FOUND, "id") for number in range(100)))
    values.add(known(1000, Owner.FOUND, "id", of="another"))
    assert len(values) == MAX_ALIKE + 1
