"""Known values: in a copy of a schema, taken by every source, always valid under the schema itself."""

import json

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from test_generation import QUIET, SCHEMAS, SHRINKING, of

from mcp_conformance.fuzzing.case_source import valid_cases
from mcp_conformance.generation import (
    NoExample,
    boundary,
    clearly_invalid,
    draw_invalid,
    draw_valid,
    example,
    further_examples,
    hostile,
    invalid,
    seeded,
    shrunk,
    valid,
    with_known,
)
from mcp_conformance.generation.choices import FilledSource
from mcp_conformance.generation.modest import modest
from mcp_conformance.json_schema.validation import DIALECTS, instance_errors

REVISION = "2025-11-25"
TEXT = {"type": "string"}
CELL = of(path=TEXT, sheet=TEXT, cell=TEXT)
KNOWN = {("path",): ["/f/a.xlsx", "/f/b.xlsx"], ("sheet",): ["Sheet1"], ("cell",): ["A1"]}
FIRST = {"path": "/f/a.xlsx", "sheet": "Sheet1", "cell": "A1"}


def plainest(schema, values, needed=(), revision=REVISION):
    """Return the plainest arguments with known values."""
    return example(with_known(schema, values, needed), revision)


def test_plainest_arguments_have_the_first_known_values():
    assert plainest(CELL, KNOWN) == FIRST


def test_schema_stays_as_it_is():
    before = json.dumps(CELL)
    copy = with_known(CELL, KNOWN, [("other",)])
    assert json.dumps(CELL) == before
    assert copy["properties"] is CELL["properties"]


def test_equal_known_values_make_the_same_copy():
    assert with_known(CELL, KNOWN) is with_known(CELL, KNOWN)


@pytest.mark.parametrize("schema", [CELL, True, {"type": "object"}])
def test_schema_without_known_values_is_the_schema_itself(schema):
    assert with_known(schema, {}) is schema
    assert with_known(schema, {("path",): []}) is schema


def test_later_known_values_replace_those_of_a_copy():
    copy = with_known(CELL, KNOWN)
    assert with_known(copy, {}) == CELL
    assert example(with_known(copy, {("path",): ["x"]}), REVISION)["sheet"] == "example"


def test_whole_arguments_may_be_known():
    assert plainest(CELL, {(): [{**FIRST, "more": 1}]}) == {**FIRST, "more": 1}


def test_known_values_stand_in_items_and_inner_members():
    schema = of(
        rows={"type": "array", "items": of(id={"type": "integer"}), "minItems": 2},
        options={"type": "object", "properties": {"mode": TEXT}, "required": ["mode"]},
    )
    known = {("rows", "*", "id"): [7], ("options", "mode"): ["fast"]}
    assert plainest(schema, known) == {"rows": [{"id": 7}, {"id": 7}], "options": {"mode": "fast"}}


def test_items_that_must_differ_are_all_known_as_far_as_possible():
    schema = of(ids={"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 3})
    found = plainest(schema, {("ids", "*"): [70, 71]})["ids"]
    assert found[:2] == [70, 71]
    assert len(set(found)) == 3


@pytest.mark.parametrize("dialect", DIALECTS)
def test_known_values_stand_behind_references_in_every_dialect(dialect):
    schema = {
        "$schema": DIALECTS[dialect],
        **of(target={"$ref": "#/definitions/target", "description": "Where to go."}),
        "definitions": {"target": of(place=TEXT, other={"$ref": "#/definitions/target/properties/place"})},
    }
    found = plainest(schema, {("target", "place"): ["Rome"], ("target", "other"): ["Oslo"]})
    assert found == {"target": {"place": "Rome", "other": "Oslo"}}


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_known_value_chooses_its_branch(keyword):
    schema = of(value={keyword: [TEXT, {"type": "integer"}]})
    assert plainest(schema, {("value",): [True, 5, "x"]}) == {"value": 5}


def test_known_values_stand_in_each_branch_that_has_the_member():
    branches = [of(kind={"const": "a"}), of(kind={"const": "b"}, id=TEXT)]
    copy = with_known(of(filter={"anyOf": branches}), {("filter", "id"): ["i-1"], ("filter", "kind"): ["b"]})
    ids = {value["filter"].get("id") for value in (draw_valid(copy, REVISION, seeded(n)) for n in range(50))}
    assert {None, "i-1"} <= ids


@pytest.mark.parametrize(
    ("member", "values"),
    [
        ({"type": "string", "maxLength": 3}, ["long", 5, None]),
        ({"type": "string", "pattern": "^[a-z]+$"}, ["A"]),
        ({"enum": ["one"]}, ["two"]),
        ({"type": "integer", "maximum": 9}, [10, 1.5, "1"]),
        ({"type": "number"}, [float("inf"), float("nan")]),
        ({"type": "string", "not": {"const": "root"}}, ["root"]),
        ({"type": "array", "items": TEXT, "uniqueItems": True}, [["a", "a"], [1]]),
        (of(id={"type": "integer"}), [{}, {"id": "1"}]),
    ],
)
def test_forbidden_values_are_left_out(member, values):
    schema = of(value=member)
    assert plainest(schema, {("value",): values}) == example(schema, REVISION)
    copy = with_known(schema, {("value",): values})
    assert not any(draw_valid(copy, REVISION, seeded(number))["value"] in values for number in range(60))


def test_modest_numbers_stay_modest():
    copy = modest(with_known(of(limit={"type": "integer"}), {("limit",): [1000, 50]}), REVISION)
    assert example(copy, REVISION) == {"limit": 50}


OPTIONAL = {"type": "object", "properties": {"a": TEXT, "b": TEXT, "c": TEXT}, "required": ["a"]}


def test_needed_members_are_in_every_value():
    copy = with_known(OPTIONAL, {("b",): ["x"]}, needed=[("b",)])
    assert example(copy, REVISION) == {"a": "example", "b": "x"}
    assert all("b" in draw_valid(copy, REVISION, seeded(number)) for number in range(40))
    assert all("b" in value for _, value in boundary(copy, REVISION))


def test_a_missing_needed_member_is_not_a_violation():
    copy = with_known(OPTIONAL, {}, needed=[("b",)])
    assert [one for one in invalid(copy, REVISION) if one.detail == "b"] == []
    assert all(instance_errors(one.arguments, OPTIONAL, REVISION) for one in invalid(copy, REVISION))


@pytest.mark.parametrize(
    "schema",
    [
        {**OPTIONAL, "maxProperties": 1},
        {**OPTIONAL, "properties": {"a": TEXT, "b": False}},
        {**OPTIONAL, "not": {"required": ["b"]}},
        {**OPTIONAL, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        of(a=TEXT),
    ],
    ids=["no room", "impossible", "forbidden", "excluded", "undeclared"],
)
def test_a_needed_member_that_the_schema_forbids_stops_no_call(schema):
    assert plainest(schema, {("a",): ["x"]}, needed=[("b",), ("a",)])["a"] == "x"


def test_known_values_that_exclude_each_other_stop_no_call():
    schema = {**of(a=TEXT, b=TEXT), "if": of(a={"const": "x"}), "then": {"properties": {"b": {"const": "y"}}}}
    found = plainest(schema, {("a",): ["x"], ("b",): ["z"]})
    assert instance_errors(found, schema, REVISION) == []


@pytest.mark.parametrize("content", [5, "x", [], {"values": 5}, {"values": [[5, 5], [["a"], ["x"]]]}])
def test_a_server_may_use_the_keyword(content):
    schema = {**CELL, "x-mcp-conformance-known": content}
    assert instance_errors(example(schema, REVISION), CELL, REVISION) == []


def test_every_further_example_is_known():
    found = list(further_examples(with_known(CELL, KNOWN), REVISION))
    assert all(FIRST.items() <= one.items() for one in found)


def missing(arguments):
    """Return the members without a known value."""
    return [name for name in FIRST if arguments.get(name) not in KNOWN[name,]]


def test_seeded_values_are_known_in_all_members_or_in_all_but_one():
    source = seeded(0)
    copy = with_known(CELL, KNOWN)
    counts = [len(missing(draw_valid(copy, REVISION, source))) for _ in range(1000)]
    assert 350 < counts.count(0) < 500
    assert 220 < counts.count(1) < 360


@pytest.mark.parametrize("has_all", [True, False])
def test_filled_values_are_known(has_all):
    assert missing(draw_valid(with_known(CELL, KNOWN), REVISION, FilledSource(has_all=has_all))) == []


SHEET = {
    "type": "object",
    "required": ["path", "sheet", "count", "options"],
    "properties": {
        "path": TEXT,
        "sheet": {"$ref": "#/$defs/name"},
        "count": {"type": "integer", "minimum": 1},
        "options": of(mode=TEXT),
        "format": {"type": "string", "pattern": "^[a-z]+$"},
        "note": TEXT,
    },
    "$defs": {"name": {"type": "string", "maxLength": 31}},
}
PLACES: dict[tuple[str, ...], list[object]] = {
    ("path",): ["/f/a.xlsx", "/f/b.xlsx"],
    ("sheet",): ["Sheet1"],
    ("count",): [41, 42],
    ("options", "mode"): ["fast"],
    ("format",): ["xlsx"],
}
DOOR = with_known(SHEET, PLACES, needed=[("format",)])
"""A schema of a tool that refuses any other value of these members, and asks for one it does not require."""


def refused(arguments):
    """Return the members at which the tool refuses arguments."""
    return [
        path[0] for path, values in PLACES.items() if not any(at(arguments, path) == one for one in values)
    ]


def at(value, path):
    """Return the value at a path; None if there is none."""
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def test_each_edge_of_one_member_stands_beside_known_values():
    found = [(what, one) for what, one in boundary(DOOR, REVISION) if what != "several edges"]
    assert all(len(refused(one)) <= 1 for _, one in found)
    beside = {name: [one[name] for _, one in found if refused(one) == [name]] for name in SHEET["properties"]}
    assert "" in beside["path"]
    assert 31 in map(len, beside["sheet"])
    assert 2**31 in beside["count"]
    assert {"mode": "x" * 5000} in beside["options"]
    assert {"path": "/f/b.xlsx"}.items() <= dict(found)['path: the known value "/f/b.xlsx"'].items()


def test_values_with_several_edges_stand_beside_known_values_too():
    found = [one for what, one in boundary(DOOR, REVISION) if what == "several edges"]
    assert sum(not refused(one) and one.get("note", "x") != "x" for one in found) > 3
    assert sum(len(refused(one)) == 1 for one in found) > 5


def test_each_violation_stands_beside_known_values():
    found = [one for one in invalid(DOOR, REVISION) if one.kind != "arguments"]
    assert {(one.pointer, one.kind) for one in found} >= {
        ("", "missing"),
        ("/path", "type"),
        ("/sheet", "length"),
        ("/count", "bound"),
        ("/options", "missing"),
        ("/options/mode", "type"),
        ("/format", "pattern"),
        ("/note", "type"),
    }
    for one in found:
        assert refused(one.arguments) in ([], [one.pointer.split("/")[1] if one.pointer else one.detail])
        assert instance_errors(one.arguments, SHEET, REVISION)


def test_clear_violations_stand_beside_known_values():
    found = clearly_invalid(DOOR, REVISION, example(DOOR, REVISION))
    assert {one.kind for one in found} == {"missing", "type"}
    assert all(len(refused(one.arguments)) == 1 for one in found)


def test_drawn_violations_mostly_stand_beside_known_values():
    source = seeded(0)
    found = [draw_invalid(DOOR, REVISION, source) for _ in range(400)]
    objects = [one.arguments for one in found if one.kind != "arguments"]
    assert sum(len(refused(one)) <= 1 for one in objects) > len(objects) * 0.7


def test_each_hostile_value_stands_beside_known_values():
    found = [(what, json.loads(raw)) for what, raw in hostile(DOOR, REVISION) if raw and len(raw) < 5000]
    inside = [one for what, one in found if not what.startswith("arguments ")]
    assert len(inside) > 40
    assert all(len(refused(one)) <= 1 for one in inside)
    assert {name for one in inside for name in refused(one)} >= {"path", "sheet", "count", "format"}


def test_a_failing_edge_becomes_known_where_it_may():
    start = {"path": "", "sheet": "Sheet1", "cell": 'Z"99', "more": 5}
    found = shrunk(with_known(CELL, KNOWN), REVISION, start, lambda one: '"' in one["cell"], 200)
    assert found == {**FIRST, "cell": '"'}
    found = shrunk(with_known(CELL, KNOWN), REVISION, start, lambda one: one["path"] == "", 200)
    assert found == {**FIRST, "path": ""}


def test_a_failing_edge_keeps_the_known_value_it_needs():
    start = {**FIRST, "path": "/f/b.xlsx"}
    found = shrunk(with_known(CELL, KNOWN), REVISION, start, lambda one: "b" in one["path"], 200)
    assert found == start


@pytest.mark.parametrize(
    ("fails", "smallest"),
    [
        (lambda one: True, FIRST),
        (lambda one: missing(one) == ["cell"] and len(one["cell"]) > 2, {**FIRST, "cell": "000"}),
        (lambda one: missing(one) == [] and "b" in one["path"], {**FIRST, "path": "/f/b.xlsx"}),
        (lambda one: "path" in missing(one), {**FIRST, "path": ""}),
    ],
    ids=["any", "one new", "second", "first new"],
)
def test_hypothesis_shrinks_to_values_that_exist(fails, smallest):
    assert find(valid(with_known(CELL, KNOWN), REVISION), fails, settings=SHRINKING) == smallest


def test_a_seeded_case_shrinks_to_values_that_exist():
    def answer(*_):
        return None

    source = valid_cases(with_known(CELL, KNOWN), REVISION, answer)

    def fails(case):
        arguments = json.loads(case.text)
        return missing(arguments) == ["cell"] and len(arguments["cell"]) > 1

    number = next(number for number in range(100) if fails(source.case(number)))
    smallest = find(source.variations(number), fails, settings=SHRINKING)
    assert {**json.loads(smallest.text), "cell": "A1"} == FIRST


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 70) | st.floats() | st.text(max_size=3),
    lambda inside: st.lists(inside, max_size=2) | st.dictionaries(st.sampled_from("abc"), inside, max_size=2),
    max_leaves=4,
)
STEPS = st.lists(st.sampled_from([*"abcd", "*", "value", "children"]), max_size=3).map(tuple)


@settings(QUIET, max_examples=40, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(sorted(SCHEMAS)),
    st.dictionaries(STEPS, st.lists(JSON, max_size=3), max_size=4),
    st.lists(STEPS, max_size=2),
    st.data(),
)
def test_every_value_is_valid_under_the_schema_itself(name, values, needed, data):
    schema = SCHEMAS[name]
    try:
        drawn = [draw_valid(schema, REVISION, seeded(0))]
    except NoExample:
        return
    copy = with_known(schema, values, needed)
    drawn = [draw_valid(copy, REVISION, seeded(number)) for number in range(3)]
    drawn += [example(copy, REVISION), data.draw(valid(copy, REVISION))]
    for value in drawn:
        assert instance_errors(value, schema, REVISION) == []
