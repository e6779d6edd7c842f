"""Edges of a few members come together: a flag beside a zero, and three listed values at once."""

from itertools import product

from mcp_conformance.generation import together
from mcp_conformance.generation.covering import MAX_ROWS, rows
from mcp_conformance.json_schema.validation import instance_errors

REVISION = "2025-11-25"


def listed(*values):
    return {"type": "string", "enum": list(values)}


EXPORT = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "dry": {"type": "boolean"},
        "amount": {"type": "number"},
        "unit": listed("g", "kg", "t"),
        "kind": listed("a", "b", "c"),
        "mode": listed("x", "y", "z"),
    },
    "required": ["title", "amount", "unit"],
}


def test_three_listed_values_and_a_flag_beside_a_zero_come_together():
    found = list(together(EXPORT, REVISION))
    assert len(found) <= MAX_ROWS
    triples = {(one.get("unit"), one.get("kind"), one.get("mode")) for one in found}
    missed = set(product(("g", "kg", "t"), "abc", "xyz")) - triples
    assert len(missed) <= 3
    assert {True, False} <= {one.get("dry") for one in found if one["amount"] == 0}


def test_what_comes_together_is_valid():
    either = {"oneOf": [{"required": ["kind"]}, {"required": ["mode"]}]}
    found = list(together({**EXPORT, **either}, REVISION))
    assert found
    assert [one for one in found if instance_errors(one, {**EXPORT, **either}, REVISION)] == []
    assert all(("kind" in one) != ("mode" in one) for one in found)


def test_the_same_schema_gives_the_same():
    assert list(together(EXPORT, REVISION)) == list(together(EXPORT, REVISION))


def test_one_member_has_nothing_to_come_together_with():
    assert list(rows({"a": [1, 2], "b": [1]}, ())) == []
    assert list(together({"type": "object", "properties": {"a": {"type": "boolean"}}}, REVISION)) == []


def test_members_that_are_alone_beside_another_come_in_pairs():
    found = [tuple(row.values()) for row in rows({"a": [1, 2], "b": [3, 4]}, ())]
    assert sorted(found) == [(1, 3), (1, 4), (2, 3), (2, 4)]
