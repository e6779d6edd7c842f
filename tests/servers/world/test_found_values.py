"""What was there before is read, and never changed: every line that a run sends to the world."""

import json

import pytest

from mcp_conformance_fixtures.world.tools import TOOLS
from support.bench import run_checks, settings_in_memory
from support.found_values import breaches, writing_tools
from support.world import NOTE, WHOLE, Seen, Visitor, world_in_memory

REVISION = "2025-11-25"
WRITING = writing_tools(definition for definition, _ in TOOLS.values())
WORDS = ("quillfeather", "bramblewick", "thistlemoor", "larkspurgate")
EXAMPLES = 5
"""How many values are made for each tool: a run without exploration takes four seconds."""


@pytest.fixture
def existing(tmp_path):
    """Folders and notes that were there before, with texts that nothing else has."""
    folder = tmp_path / "there"
    (folder / WORDS[0]).mkdir(parents=True)
    (folder / WORDS[1]).mkdir()
    for number in range(3):
        (folder / WORDS[0] / f"{number}.txt").write_text(f"{WORDS[2]}\n{WORDS[3]}\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("disk", [True, False] if WHOLE else [True])
def test_a_run_changes_nothing_that_was_there(tmp_path, existing, disk):
    seen = Seen()
    serve = world_in_memory(tmp_path, disk=disk, existing=existing, seen=seen)
    run_checks(settings_in_memory(serve, EXAMPLES), REVISION)
    texts = (*WORDS, str(existing), *(id for id in seen.stores[0].found if id.startswith("note-")))
    assert seen.changes == []
    assert breaches(seen.lines, WRITING, texts) == []
    assert any(b"tools/call" in line for line in seen.lines)


def test_a_call_that_may_change_something_is_a_breach(tmp_path, existing):
    seen = Seen()
    visitor = Visitor(tmp_path, existing=existing, seen=seen)
    visitor.call("list_notes", folder=WORDS[0])
    visitor.call("create_note", folder=visitor.folder(), **NOTE)
    assert breaches(seen.lines, WRITING, WORDS) == []
    visitor.call("import_csv", path=f"/home/{WORDS[2]}.csv", folder="example")
    visitor.call("create_note", folder=WORDS[1], **NOTE)
    found = breaches(seen.lines, WRITING, WORDS)
    assert [one.tool for one in found] == ["import_csv", "create_note"]
    assert [one.texts for one in found] == [(WORDS[2],), (WORDS[1],)]
    assert [change["tool"] for change in seen.changes] == ["create_note"]


def test_a_call_in_a_batch_or_in_half_a_line_is_seen():
    call = {"method": "tools/call", "params": {"name": "set_state", "arguments": {"id": [{WORDS[0]: 1}]}}}
    lines = [json.dumps([{"method": "ping"}, call]).encode(), json.dumps(call).encode()[:-3]]
    assert [one.tool for one in breaches(lines, WRITING, WORDS)] == ["set_state"] * 2
    assert breaches(lines, WRITING - {"set_state"}, WORDS) == []
    assert len(breaches([b'{"method": "tools/call", "params": {"a": "quillfeather"'], (), WORDS)) == 1
