"""The file of a contract: canonical, read as it was written, and refused in one line if it is wrong."""

import json

import pytest

from mcp_conformance.target.contract import Contract, from_text, kept, to_text
from mcp_conformance.transport.files import BadFile
from support.bench import reference_contract

OLD, NOW, MODERN = "2025-06-18", "2025-11-25", "2026-07-28"


def offer(**lists):
    return {"capabilities": {}, "tools": {}, "prompts": {}, "resources": {}, "resourceTemplates": {}} | lists


def text_of(**offers):
    named = {name.strip("_").replace("_", "-"): one for name, one in offers.items()}
    return to_text(Contract("c.json", "server", named))


def test_a_contract_is_read_as_it_was_written():
    written = reference_contract(NOW, MODERN)
    read = from_text(to_text(written), written.name)
    assert read == written
    assert to_text(read) == to_text(written)


def test_the_order_of_members_and_of_items_changes_nothing():
    one = offer(tools={"a": {"title": "A", "description": "a"}, "b": {}})
    other = dict(reversed(offer(tools={"b": {}, "a": {"description": "a", "title": "A"}}).items()))
    assert text_of(_2025_11_25=one) == text_of(_2025_11_25=other)


def test_the_order_of_a_set_in_a_schema_changes_nothing_and_that_of_values_stays():
    def schema(required, types):
        member = {"type": types, "enum": ["y", "x"], "default": {"required": ["z", "y"]}}
        return {"inputSchema": {"type": "object", "properties": {"a": member}, "required": required}}

    one, other = (
        kept("tools", schema(["b", "a"], ["string", "null"])),
        kept("tools", schema(["a", "b"], ["null", "string"])),
    )
    assert one == other
    assert one["inputSchema"]["properties"]["a"]["enum"] == ["y", "x"]
    assert one["inputSchema"]["properties"]["a"]["default"] == {"required": ["z", "y"]}


def test_only_what_a_contract_promises_is_kept():
    hints = {"readOnlyHint": True}
    tool = {"name": "a", "title": "A", "icons": [1], "_meta": {"at": "12:00"}, "annotations": hints}
    assert kept("tools", tool) == {"title": "A", "annotations": hints}
    assert kept("resources", {"uri": "a:b", "size": 12, "annotations": {}, "name": "b"}) == {"name": "b"}


def test_revisions_with_the_same_offer_share_it():
    text = text_of(_2025_06_18=offer(), _2025_11_25=offer(), _2026_07_28=offer(tools={"a": {}}))
    assert [one["revisions"] for one in json.loads(text)["offers"]] == [[OLD, NOW], [MODERN]]


def test_a_changed_text_changes_one_line():
    before, after = (text_of(_2025_11_25=offer(tools={"a": {"description": text}})) for text in ("é", "b"))
    pairs = zip(before.splitlines(), after.splitlines(), strict=True)
    changed = [(old.strip(), new.strip()) for old, new in pairs if old != new]
    assert changed == [('"description": "é"', '"description": "b"')]
    assert before.endswith("}\n")


def wrong(**members):
    return json.dumps({"format": 1, "offers": [offer(**members)]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("<<<<<<< HEAD", "not JSON"),
        ("[" * 100_000, "it is nested too deeply"),
        ("[]", "it is not a contract of format 1"),
        ('{"format": 2}', "it is not a contract of format 1"),
        ('{"format": 1}', "a member is missing"),
        ('{"format": 1, "offers": [1]}', "a member is missing"),
        (wrong(), "a member is missing"),
        (wrong(revisions=["soon"]), "a member is missing"),
        (wrong(revisions=[[]]), "a member is missing"),
        (wrong(revisions=[NOW], tools=[]), "a member is missing"),
        (wrong(revisions=[NOW], tools={"a": 1}), "a member is missing"),
        (wrong(revisions=[NOW], capabilities=None), "a member is missing"),
    ],
)
def test_a_wrong_file_is_one_clear_line(text, message):
    with pytest.raises(BadFile) as error:
        from_text(text, "c.json")
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
