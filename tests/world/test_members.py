"""The members of an input schema."""

from mcp_conformance.world.members import ITEM, members_of, words_of


def paths(schema):
    return [one.path for one in members_of(schema)]


def test_members_of_objects_and_arrays_through_references_and_branches():
    schema = {
        "properties": {
            "note": {"$ref": "#/$defs/note"},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        },
        "required": ["note"],
        "$defs": {"note": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
    }
    found = {one.path: one for one in members_of(schema)}
    assert list(found) == [("note",), ("tags",), ("note", "id"), ("tags", ITEM)]
    assert found["note", "id"].types == {"integer"}
    assert found["note", "id"].is_required
    assert not found["tags",].is_required
    assert found["tags", ITEM].names == ("tags",)


def test_a_schema_that_contains_itself_has_an_end():
    schema = {"properties": {"next": {"$ref": "#"}, "name": {"type": "string"}}}
    assert 2 < len(paths(schema)) < 60


def test_a_schema_of_no_object_has_no_members():
    assert paths(True) == paths({"properties": 3, "items": False, "required": 4}) == []


def test_words_of_names():
    assert words_of("issueNumbers") == words_of("issue_number") == ("issue", "number")
    assert words_of("HTTPServer-id2") == ("http", "server", "id", "2")


def test_a_part_that_many_lead_to_is_read_once():
    """2 to the power of 40 ways lead to the last definition, and 2,000 references to another."""
    two = {str(n): {"anyOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(40)}
    chain = {f"c{n}": {"$ref": f"#/$defs/c{n + 1}"} for n in range(2000)}
    ends = {"40": {"type": "string"}, "c2000": {"type": "integer"}}
    members = {"a": {"$ref": "#/$defs/0"}, "b": {"$ref": "#/$defs/c0"}}
    first, second = members_of({"properties": members, "$defs": {**two, **chain, **ends}})
    assert [*first.types, *second.types] == ["string", "integer"]
