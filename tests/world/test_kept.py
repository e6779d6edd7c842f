"""What a run learned is kept for the next one, by the command and the tools' definitions."""

import json
import os
import threading

import pytest

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.protocol.value import Value
from mcp_conformance.world.kept import Kept, KeptTool
from mcp_conformance.world.known import Known, Origin, Owner

COMMAND = ("--", "server", "--root", "{folder}")


def tool(name="get_note", description="Get a note."):
    return Tool(Value({"name": name, "description": description, "inputSchema": {"type": "object"}}))


def known(value, owner):
    return Known(value, ("id", "notes"), Origin("an answer of", "list_notes"), owner, 3)


def kept(folder, work="/tmp/one"):
    return Kept.of(folder, COMMAND, work)


def written(folder, *values, arguments=None, work="/tmp/one"):
    one = kept(folder, work)
    one.put(tool(), KeptTool(arguments, values))
    one.write()
    return kept(folder, work)


def test_arguments_and_values_come_back(tmp_path):
    found = written(tmp_path, known("n-1", Owner.FOUND), arguments={"id": "n-1"}).get(tool())
    assert found == KeptTool({"id": "n-1"}, (known("n-1", Owner.FOUND),))


def test_a_tool_that_refused_all_is_kept_too(tmp_path):
    assert written(tmp_path).get(tool()) == KeptTool(None)


def test_the_folder_of_the_next_run_stands_for_that_of_this_one(tmp_path):
    path = "/tmp/one/example.txt"
    written(tmp_path, known(path, Owner.MADE), arguments={"paths": [path]})
    found = kept(tmp_path, "/tmp/other").get(tool())
    assert found.arguments == {"paths": ["/tmp/other/example.txt"]}
    assert found.values[0].owner is Owner.MADE


def test_what_an_earlier_run_made_was_there_before_this_one(tmp_path):
    assert written(tmp_path, known("n-1", Owner.MADE)).get(tool()).values[0].owner is Owner.FOUND


def test_of_a_changed_tool_or_another_command_nothing_is_known(tmp_path):
    written(tmp_path)
    assert kept(tmp_path).get(tool(description="Get it.")) is None
    assert kept(tmp_path).get(tool("other")) is None
    assert Kept.of(tmp_path, (*COMMAND, "--more")).get(tool()) is None


@pytest.mark.parametrize(
    "text", ["", "[]", '{"format": 0, "tools": {}}', '{"format": 1, "tools": 3}', '{"format": 1'], ids=str
)
def test_a_broken_file_is_an_empty_one(tmp_path, text):
    path = written(tmp_path).path
    path.write_text(text)
    assert kept(tmp_path).get(tool()) is None


@pytest.mark.parametrize(
    "change", [{"values": 3}, {"values": [{}]}, {"arguments": 3}, {"values": None}], ids=str
)
def test_a_broken_entry_is_none(tmp_path, change):
    path = written(tmp_path).path
    content = json.loads(path.read_text())
    content["tools"]["get_note"] |= change
    path.write_text(json.dumps(content))
    assert kept(tmp_path).get(tool()) is None


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_left_alone(tmp_path):
    tmp_path.chmod(0o500)
    assert written(tmp_path).get(tool()) is None


def test_who_comes_second_waits_and_knows_what_the_first_has_learned(tmp_path):
    first, second = kept(tmp_path), kept(tmp_path)
    is_waiting, seen = threading.Event(), []

    def wait():
        is_waiting.set()
        with second.turn():
            seen.append(second.get(tool()))

    thread = threading.Thread(target=wait)
    with first.turn():
        thread.start()
        is_waiting.wait()
        first.put(tool(), KeptTool({"id": 1}))
        first.write()
        assert not seen
    thread.join()
    assert seen == [KeptTool({"id": 1})]
