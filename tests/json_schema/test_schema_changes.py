"""Changes between two versions of a schema: each is reported with its effect, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mcp_conformance.json_schema.compatibility import Effect, changes

NARROWS, WIDENS, REPLACES, UNCLEAR, NONE = (
    *(Effect.NARROWS, Effect.WIDENS, Effect.REPLACES),
    *(Effect.UNCLEAR, Effect.NONE),
)
TEXT, WHOLE, ANY_NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
BACK = {NARROWS: WIDENS, WIDENS: NARROWS}


def members(closed=False, required=(), **properties):
    """Return the schema of an object."""
    schema = {"type": "object", "properties": properties}
    return schema | ({"additionalProperties": False} if closed else {}) | {"required": list(required)}


def reported(old, new):
    return [(str(change), change.effect) for change in changes(old, new)]


@pytest.mark.parametrize(
    ("old", "new", "text", "effect"),
    [
        (members(a=TEXT), members(a=TEXT, required=["a"]), "a is required now", NARROWS),
        (members(a=TEXT, required=["a"]), members(a=TEXT), "a is no longer required", WIDENS),
        (members(a=ANY_NUMBER), members(a=WHOLE), "a is integer now, not number", NARROWS),
        (members(a=WHOLE), members(a=ANY_NUMBER), "a is number now, not integer", WIDENS),
        (members(a=WHOLE), members(a=TEXT), "a is string now, not integer", REPLACES),
        (members(a={}), members(a=TEXT), "a is string now, not of any type", NARROWS),
        (TEXT, {"type": ["string", "null"]}, "the value is null or string now, not string", WIDENS),
        (members(a=TEXT), members(), "a is gone", NONE),
        (members(True, a=TEXT), members(True), "a is gone", NARROWS),
        (members(), members(a=TEXT), "a is new", NONE),
        (members(True), members(True, a=TEXT), "a is new", WIDENS),
        (members(), members(True), "the value may no longer have other members", NARROWS),
        (members(True), members(), "the value may have other members", WIDENS),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, 'the value may no longer be "b"', NARROWS),
        ({"enum": ["a"]}, {"enum": ["a", 2]}, "the value may also be 2", WIDENS),
        ({}, {"enum": ["a"]}, 'the value may only be "a"', NARROWS),
        ({"const": {"title": 1}}, {}, "the value may also be other values", WIDENS),
        (
            {"const": {"title": 1}},
            {"const": {"title": 1}, "x-y": 1},
            "the value has another `x-y`",
            UNCLEAR,
        ),
        ({"minimum": 1}, {"minimum": 2}, "the value has the `minimum` 2, not 1", NARROWS),
        ({"maximum": 1}, {"maximum": 2}, "the value has the `maximum` 2, not 1", WIDENS),
        ({}, {"maxLength": 2}, "the value has a `maxLength` now, 2", NARROWS),
        ({"minItems": 2}, {}, "the value no longer has the `minItems` 2", WIDENS),
        ({"minimum": 1}, {"minimum": "2"}, "the value has another `minimum`", UNCLEAR),
        ({}, {"pattern": "a"}, "the value has a `pattern` now", NARROWS),
        ({"pattern": "a"}, {}, "the value no longer has a `pattern`", WIDENS),
        ({"pattern": "a"}, {"pattern": "b"}, "the value has another `pattern`", UNCLEAR),
        ({"format": "date"}, {}, "the value has another `format`", UNCLEAR),
        ({"items": TEXT}, {"items": WHOLE}, "[] is integer now, not string", REPLACES),
        (members(a={"items": {}}), members(a={"items": TEXT}), "a[] is string now, not of any type", NARROWS),
        ({"additionalProperties": TEXT}, {}, "* is of any type now, not string", WIDENS),
        (TEXT, {"anyOf": [TEXT, {"type": "null"}]}, "the value may also be null", WIDENS),
        ({"anyOf": [TEXT, WHOLE]}, {"anyOf": [TEXT]}, "the value may no longer be integer", NARROWS),
        (
            *({"anyOf": [TEXT, WHOLE]}, {"anyOf": [TEXT, ANY_NUMBER]}),
            *("the value is number now, not integer", WIDENS),
        ),
        (TEXT, {"anyOf": [WHOLE, {}]}, "the value is described differently", UNCLEAR),
        (TEXT, {"type": "string", "anyOf": [{}]}, "the value is described differently", UNCLEAR),
        ({"allOf": [TEXT]}, {"allOf": [WHOLE]}, "the value has another `allOf`", UNCLEAR),
        (TEXT, {"type": "string", "description": "x"}, "the value has other annotations", NONE),
        (True, False, "the value has a `not` now", NARROWS),
        (TEXT, "string", "the value is described differently", UNCLEAR),
        ({"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}, "the value is described differently", UNCLEAR),
        ({"$ref": "#a"}, {"$ref": "#b"}, "the value is described differently", UNCLEAR),
        ({"items": [TEXT]}, {"items": [WHOLE]}, "[] is described differently", UNCLEAR),
    ],
    ids=str,
)
def test_a_change_is_reported_with_its_effect(old, new, text, effect):
    assert reported(old, new) == [(text, effect)]
    assert reported(old, old) == reported(new, new) == []
    assert BACK.get(effect, effect) in {change.effect for change in changes(new, old)}


def test_a_new_required_member_is_reported_as_new_and_as_required():
    assert reported(members(), members(a=TEXT, required=["a"])) == [
        ("a is new", NONE),
        ("a is required now", NARROWS),
    ]


def tree(leaf):
    """Return a schema that refers to itself and to its leaves."""
    node = members(
        value={"$ref": "#/$defs/leaf"}, children={"type": "array", "items": {"$ref": "#/$defs/node"}}
    )
    return {"$ref": "#/$defs/node", "$defs": {"node": node, "leaf": leaf}}


def test_recursive_references_are_followed_once():
    assert reported(tree(WHOLE), tree(TEXT)) == [("value is string now, not integer", REPLACES)]
    assert reported(tree(WHOLE), tree(WHOLE)) == []


def test_a_reference_inside_anyof_is_followed():
    old, new = ({"anyOf": [{"$ref": "#/$defs/a"}, TEXT], "$defs": {"a": one}} for one in (WHOLE, ANY_NUMBER))
    assert reported(old, new) == [("the value is number now, not integer", WIDENS)]


@pytest.mark.parametrize("pointer", ["#", "#/$defs/a", "#/$defs/a/b", "#/~1"])
def test_a_dangling_reference_is_not_followed(pointer):
    schema = {"$ref": pointer, "$defs": {"a": {"$ref": pointer}}}
    assert reported(schema, schema) == []
    changes(schema, TEXT)


def test_many_references_to_each_other_are_compared_in_bounded_time():
    names = [f"d{number}" for number in range(40)]
    refs = {name: {"$ref": f"#/$defs/{name}"} for name in names}
    schema = {"$ref": "#/$defs/d0", "$defs": {name: members(**refs) for name in names}}
    assert reported(schema, schema) == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["a", "b", 0.5]),
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from("ab"), below, max_size=2),
    max_leaves=4,
)
KEYWORDS = {
    "type": st.sampled_from(
        [*("string", "integer", "number", "array", "object", "null"), ["string", "null"]]
    ),
    "enum": st.lists(VALUES, min_size=1, max_size=2),
    "minimum": st.integers(-1, 1),
    "exclusiveMaximum": st.integers(-1, 1),
    "maxItems": st.integers(0, 1),
    "minLength": st.integers(1, 2),
    "required": st.lists(st.sampled_from("ab"), max_size=1),
    "pattern": st.sampled_from("ab"),
}


def above(below):
    """Return a strategy for schemas that contain the schemas of another strategy."""
    nested = {
        "properties": st.dictionaries(st.sampled_from("ab"), below, max_size=2),
        "additionalProperties": below,
        "items": below,
        "anyOf": st.lists(below, min_size=1, max_size=2),
        "not": below,
    }
    return st.fixed_dictionaries({}, optional=nested | KEYWORDS)


SCHEMAS = st.recursive(st.booleans() | st.fixed_dictionaries({}, optional=KEYWORDS), above, max_leaves=4)


@given(SCHEMAS, SCHEMAS, VALUES)
def test_every_value_newly_allowed_or_forbidden_has_a_change(old, new, value):
    """A new member in an object that is open is reported as new, though any value was valid before."""
    before, after = (Draft202012Validator(schema).is_valid(value) for schema in (old, new))
    found = changes(old, new)
    effects = {change.effect for change in found}
    are_members_reported = any(change.text in ("is new", "is gone") for change in found)
    if before and not after:
        assert effects & {NARROWS, REPLACES, UNCLEAR} or are_members_reported
    if after and not before:
        assert effects & {WIDENS, REPLACES, UNCLEAR} or are_members_reported
