"""A witness of two schemas: valid under one, invalid under the other, and only if the schemas differ so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_conformance.generation.witness import witness
from mcp_conformance.json_schema.validation import instance_errors

NOW = "2025-11-25"
TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def members(*, closed=False, required=(), **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return schema | ({"additionalProperties": False} if closed else {})


NARROWED = [
    (members(a=TEXT), members(a=TEXT, required=["a"])),
    (members(a=NUMBER), members(a=WHOLE)),
    (members(a=WHOLE), members(a=TEXT)),
    (members(a={"enum": ["x", "y"]}), members(a={"enum": ["x"]})),
    (members(a=WHOLE), members(a=WHOLE | {"minimum": 1})),
    (members(a=TEXT), members(a=TEXT | {"pattern": "^[a-z]{3}$"})),
    (members(a=TEXT | {"pattern": "^[a-z]{2}$"}), members(a=TEXT | {"pattern": "^[a-z]{3}$"})),
    (members(closed=True, a=TEXT), members(closed=True)),
    (members(a={"type": "array", "items": NUMBER}), members(a={"type": "array", "items": WHOLE})),
    (members(a=members(b=TEXT)), members(a=members(b=TEXT, required=["b"]))),
    (members(a={"anyOf": [TEXT, {"type": "null"}]}), members(a=TEXT)),
]
SAME = [
    (members(a=WHOLE | {"minimum": 1}), members(a=WHOLE | {"exclusiveMinimum": 0})),
    (members(a={"const": "x"}), members(a=TEXT | {"const": "x"})),
    (members(a=TEXT), members(a=TEXT | {"minLength": 0})),
    (members(a={"anyOf": [TEXT, {"type": "null"}]}), members(a={"type": ["string", "null"]})),
]


@pytest.mark.parametrize(("allows", "forbids"), NARROWED)
def test_a_narrower_schema_has_a_witness_and_a_wider_one_has_none(allows, forbids):
    found = witness(allows, forbids, NOW)
    assert instance_errors(found, allows, NOW) == []
    assert instance_errors(found, forbids, NOW) != []


@pytest.mark.parametrize(("allows", "forbids"), [*SAME, *((new, old) for old, new in SAME)])
def test_schemas_that_allow_the_same_have_no_witness(allows, forbids):
    assert witness(allows, forbids, NOW) is None


def test_members_that_prove_nothing_are_left_out():
    old, new = members(a=TEXT), members(a=TEXT, b=TEXT)
    assert set(witness(old, new, NOW)) == {"b"}
    assert witness(old, new, NOW, {"b"}) is None


@pytest.mark.parametrize("broken", [{"type": "wrong"}, {"$ref": "https://example.org/schema"}, 5, "x"])
def test_a_schema_that_cannot_be_read_has_no_witness(broken):
    assert witness(broken, members(a=TEXT, required=["a"]), NOW) is None
    assert witness(members(), broken, NOW) is None


SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", ["string", "null"]]),
        "minimum": st.integers(-2, 2),
        "exclusiveMinimum": st.integers(-2, 2),
        "maxLength": st.integers(0, 3),
        "enum": st.lists(st.sampled_from(["a", "b", 1, None]), min_size=1, unique_by=repr),
    },
)


@given(SCHEMAS, SCHEMAS)
def test_a_witness_is_true(one, other):
    allows, forbids = members(a=one), members(a=other)
    found = witness(allows, forbids, NOW)
    if found is not None:
        assert instance_errors(found, allows, NOW) == []
        assert instance_errors(found, forbids, NOW) != []
