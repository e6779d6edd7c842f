"""Values under a part of a schema."""

import pytest

from mcp_conformance.json_schema.bounded import MAX_NAME_LENGTH
from mcp_conformance.json_schema.validation import DIALECTS, Unjudgeable, instance_errors

NEWEST = "2026-07-28"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def errors(default, part, **rest):
    schema = {"type": "object", "properties": {"mood": part}, **rest}
    return instance_errors(default, schema, NEWEST, part)


def test_only_the_part_counts():
    assert errors("glad", {"type": "string"}) == []
    assert errors(None, {"type": "string"}) == ["None is not of type 'string'"]


def test_references_of_a_part_lead_to_the_whole_schema():
    definitions = {"mood": {"enum": ["glad", "sad"]}}
    assert errors("glad", {"$ref": "#/$defs/mood"}, **{"$defs": definitions}) == []
    assert errors("angry", {"$ref": "#/$defs/mood"}, **{"$defs": definitions})
    assert errors({}, {"$ref": "#"}) == []
    assert errors(1, {"$ref": "#"})


def test_a_part_is_read_in_the_dialect_of_the_whole():
    beside = {"$ref": "#/definitions/mood", "maxLength": 1}
    definitions = {"mood": {"type": "string"}}
    assert errors("glad", beside, definitions=definitions)
    assert errors("glad", beside, definitions=definitions, **{"$schema": DRAFT_7}) == []


def test_a_part_that_names_its_dialect_still_has_limits():
    part = {"$schema": "https://json-schema.org/draft/2020-12/schema", "pattern": "^(a{1,999}b{1,999}){9}$"}
    with pytest.raises(Unjudgeable, match="too costly"):
        errors("c", part)


# Unevaluated members -----------------------------------------------------------------------------

NAMED = {"patternProperties": {r"^\d+$": {"type": "integer"}}, "properties": {"a": True}}
CLOSED = {"allOf": [NAMED], "unevaluatedProperties": False}


@pytest.mark.parametrize(
    ("value", "is_valid"),
    [
        ({}, True),
        ({"1": 1, "a": 2}, True),
        ({"b": 1}, False),
        ({"٣": 1}, False),
        ({"1": "x"}, False),
        ([], True),
    ],
)
@pytest.mark.parametrize("dialect", ["2020-12", "2019-09"])
def test_unevaluated_members_are_found_by_patterns_of_ecma_262(value, is_valid, dialect):
    schema = {"$schema": DIALECTS[dialect], **CLOSED}
    assert (instance_errors(value, schema, NEWEST) == []) is is_valid


@pytest.mark.parametrize(("value", "is_valid"), [([1], True), ([1, 2], False), ({}, True)])
def test_unevaluated_items_are_judged(value, is_valid):
    schema = {"allOf": [{"prefixItems": [True]}], "unevaluatedItems": False}
    assert (instance_errors(value, schema, NEWEST) == []) is is_valid


def test_unevaluated_members_of_a_part_are_found_by_patterns_of_ecma_262():
    assert errors({"1": 1}, CLOSED) == []
    assert errors({"٣": 1}, CLOSED) != []


def test_the_rewriting_for_unevaluated_members_leaves_other_words_alone():
    value = {"patternProperties": {"$": 1}}
    schema = {"properties": {"patternProperties": {"$ref": "#/$defs/$"}}, "$defs": {"$": {"const": {"$": 1}}}}
    assert instance_errors(value, {**schema, "unevaluatedProperties": False}, NEWEST) == []
    assert instance_errors(value, {"const": value, "unevaluatedProperties": True}, NEWEST) == []


def test_our_messages_beside_unevaluated_members_have_the_patterns_of_the_schema():
    schema = {
        "patternProperties": {"^a$": True},
        "additionalProperties": False,
        "unevaluatedProperties": False,
    }
    assert instance_errors({"b": 1}, schema, NEWEST)[0] == "'b' does not match any of the regexes: '^a$'"


@pytest.mark.parametrize("pattern", ["^(b+)+$", "(?<=a+)b"])
def test_a_pattern_that_python_matches_slowly_or_never_is_not_judged_beside_unevaluated_members(pattern):
    schema = {"patternProperties": {pattern: {"type": "integer"}}}
    assert instance_errors({"ab": "x", "b": 1}, schema, NEWEST) in ([], ["ab: 'x' is not of type 'integer'"])
    with pytest.raises(Unjudgeable, match="beside unevaluatedProperties"):
        instance_errors({}, {**schema, "unevaluatedProperties": False}, NEWEST)


def test_a_long_name_is_not_judged_beside_unevaluated_members():
    assert instance_errors({"1" * MAX_NAME_LENGTH: 1}, CLOSED, NEWEST) == []
    with pytest.raises(Unjudgeable, match="name of a member"):
        instance_errors({"1" * (MAX_NAME_LENGTH + 1): 1}, CLOSED, NEWEST)


def test_too_many_patterns_are_not_judged():
    names = {f"^name_{number}$": {} for number in range(1000)}
    with pytest.raises(Unjudgeable, match="patterns"):
        instance_errors({}, {"patternProperties": names}, NEWEST)
    few = dict([*names.items()][:800])
    assert (
        instance_errors({"name_799": 1}, {"patternProperties": few, "additionalProperties": False}, NEWEST)
        == []
    )
