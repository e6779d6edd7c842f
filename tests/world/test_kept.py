"""What a run learned is kept for the next one, by the command and the tools' definitions."""

import json
import os
import threading
from pathlib import Path

import pytest

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.protocol.value import Value
from mcp_conformance.world.folder import Folder
from mcp_conformance.world.kept import Kept
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.ours import Ours
from mcp_conformance.world.ownership import Ownership
from mcp_conformance.world.worked import Working
from mcp_conformance.world.world import World

WORDS = ("--", "server", "--root", "{folder}")
ONE, OTHER = (Folder(Path("/tmp", name).absolute()) for name in ("one", "other"))


def tool(name="get_note", description="Get a note.", *, read_only=True):
    hints = {"readOnlyHint": read_only}
    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    return Tool(
        Value({"name": name, "description": description, "inputSchema": schema, "annotations": hints})
    )


def known(value, owner=Owner.FOUND):
    return Known(value, ("id", "notes"), Origin("an answer of", "list_notes"), owner, 3)


def working(value, owner=Owner.FOUND):
    return Working("get_note", {"id": value}, {("id",): known(value, owner)}, (("id",),))


def kept(directory, folder=ONE):
    return Kept.of(directory, WORDS, folder)


def written(directory, one, folder=ONE):
    file = kept(directory, folder)
    file.put(tool(), one)
    file.write()
    return kept(directory, folder)


def test_arguments_come_back(tmp_path):
    file = written(tmp_path, working("n-1"))
    assert file.working(tool()) == working("n-1")
    assert not file.is_futile(tool())


def test_a_tool_that_refused_all_is_kept_too(tmp_path):
    file = written(tmp_path, None)
    assert file.working(tool()) is None
    assert file.is_futile(tool())


def test_the_folder_of_the_next_run_stands_for_that_of_this_one(tmp_path):
    written(tmp_path, working(str(ONE.root / "example.txt"), Owner.MADE))
    assert kept(tmp_path, OTHER).working(tool()) == working(str(OTHER.root / "example.txt"), Owner.MADE)


def test_of_a_changed_tool_or_another_command_nothing_is_known(tmp_path):
    file = written(tmp_path, working("n-1"))
    assert file.working(tool(description="Get it.")) is None
    assert file.working(tool("other")) is None
    assert Kept.of(tmp_path, (*WORDS, "--more")).working(tool()) is None


@pytest.mark.parametrize(
    "text", ["", "[]", '{"format": 0, "tools": {}}', '{"format": 1, "tools": 3}', '{"format": 1'], ids=str
)
def test_a_broken_file_is_an_empty_one(tmp_path, text):
    path = written(tmp_path, working("n-1")).path
    path.write_text(text)
    assert kept(tmp_path).working(tool()) is None


CHANGES = [{"working": 3}, {"working": {}}, {"working": {"arguments": 3, "known": [], "needed": []}}]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_broken_entry_is_none(tmp_path, change):
    path = written(tmp_path, working("n-1")).path
    content = json.loads(path.read_text())
    content["tools"]["get_note"] |= change
    path.write_text(json.dumps(content))
    assert kept(tmp_path).working(tool()) is None
    assert not kept(tmp_path).is_futile(tool())


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_left_alone(tmp_path):
    tmp_path.chmod(0o500)
    assert written(tmp_path, working("n-1")).working(tool()) is None


def world(file, *, uses_found=False):
    return World(Ownership("example1", Ours(), uses_found), None, file)


def test_a_tool_that_may_write_gets_back_no_value_that_was_found(tmp_path):
    for read_only, uses_found, gets in ((True, False, True), (False, False, False), (False, True, True)):
        one = tool(read_only=read_only)
        file = kept(tmp_path)
        file.put(one, working("n-1"))
        found = world(file, uses_found=uses_found)
        found.recall([one])
        assert bool(found.worked["get_note"]) is gets


def test_what_an_earlier_run_made_was_there_before_this_one(tmp_path):
    for read_only, gets in ((True, True), (False, False)):
        one = tool(read_only=read_only)
        file = kept(tmp_path)
        file.put(one, working("n-1", Owner.MADE))
        found = world(file)
        found.recall([one])
        assert bool(found.worked["get_note"]) is gets
        found.add([known("n-1", Owner.MADE)])
        assert found.store.permitted(one)


def test_a_world_keeps_what_worked_and_what_was_explored_in_vain(tmp_path):
    one, other = tool(), tool("other")
    found = world(kept(tmp_path))
    with found.shared([one, other]):
        found.worked.add(working("n-1"), [])
        found.given_up.add("other")
    file = kept(tmp_path)
    assert file.working(one) == working("n-1")
    assert file.is_futile(other)


def test_who_comes_second_waits_and_knows_what_the_first_has_learned(tmp_path):
    first, second = kept(tmp_path), kept(tmp_path)
    is_waiting, seen = threading.Event(), []

    def wait():
        is_waiting.set()
        with second.turn():
            seen.append(second.working(tool()))

    thread = threading.Thread(target=wait)
    with first.turn():
        thread.start()
        is_waiting.wait()
        first.put(tool(), working("n-1"))
        first.write()
        assert not seen
    thread.join()
    assert seen == [working("n-1")]


def test_a_lock_that_nobody_removes_ends_the_wait(tmp_path, monkeypatch):
    file = kept(tmp_path)
    with file.turn():
        monkeypatch.setattr("mcp_conformance.world.kept.MAX_WAIT_SECONDS", 0.0)
        monkeypatch.setattr(Path, "unlink", lambda self: (_ for _ in ()).throw(PermissionError))
        with kept(tmp_path).turn():
            assert kept(tmp_path).working(tool()) is None
