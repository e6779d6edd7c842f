"""Values under a part of a schema."""

import pytest

from mcp_conformance.json_schema.validation import Unjudgeable, instance_errors

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
