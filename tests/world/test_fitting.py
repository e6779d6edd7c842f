"""Fits: values go into members by name, type and looks, and most by having worked elsewhere."""

import pytest

from mcp_conformance.world.fitting import MAX_FITS, anything_for, fitting
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.members import members_of


def known(value, *keys, rank=2):
    return Known(value, keys, Origin("an answer of", "list_notes"), Owner.FOUND, rank)


def member(name, schema):
    return next(iter(members_of({"properties": {name: schema}})))


def fits(name, schema, *some, worked=(), is_valid=lambda _: True):
    return [one.value for one in fitting(member(name, schema), some, worked, is_valid)]


def test_an_equal_name_comes_before_a_part_of_it():
    some = [known("a", "title"), known("b", "note_id"), known("c", "id"), known("d", "id", "note")]
    assert fits("note_id", {"type": "string"}, *some) == ["b", "d", "c"]


def test_what_worked_for_its_like_comes_first():
    assert fits("path", {"type": "string"}, known("/a", "path"), known("/b", "path"), worked=["/b"]) == [
        "/b",
        "/a",
    ]


@pytest.mark.parametrize(
    ("value", "type", "as_type"),
    [(7, "string", "7"), ("7", "integer", 7), ("7.5", "number", 7.5), (7.0, "integer", 7), (7, "number", 7)],
)
def test_a_number_may_be_a_text_and_the_reverse(value, type, as_type):
    assert fits("id", {"type": type}, known(value, "id")) == [as_type]


@pytest.mark.parametrize(("value", "type"), [("seven", "integer"), (True, "integer"), ("7.5", "integer")])
def test_a_value_of_another_type_does_not_fit(value, type):
    assert fits("id", {"type": type}, known(value, "id")) == []


@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [
        ("file_path", {"type": "string"}, "/home/me/a.txt"),
        ("filename", {"type": "string"}, "a.txt"),
        ("source", {"type": "string"}, r"C:\a\b.txt"),
        ("url", {"type": "string"}, "memo://notes/1"),
        ("target", {"type": "string", "format": "uri"}, "https://example.org/a"),
        ("since", {"type": "string"}, "2025-03-01"),
        ("revision", {"type": "string"}, "5179ef52964006d6"),
    ],
)
def test_a_text_fits_by_its_looks(name, schema, value):
    assert fits(name, schema, known(value, "something")) == [value]
    assert fits("title", {"type": "string"}, known(value, "something")) == []


def test_the_schema_of_the_member_decides():
    some = [known(f"note-{number}", "id") for number in range(20)]
    assert fits("id", {"type": "string"}, *some, is_valid=lambda value: value > "note-5") == [
        f"note-{number}" for number in range(6, 10)
    ]
    assert len(fits("id", {"type": "string"}, *some)) == MAX_FITS


def test_the_best_sources_serve_a_member_that_nothing_fits():
    some = [known("a", rank=1), known("/a/b", "path", rank=4), known("b", rank=3)]
    found = anything_for(member("target", {"type": "string"}), some, lambda _: True)
    assert [one.value for one in found] == ["b", "a"]
