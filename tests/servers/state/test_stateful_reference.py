"""The server with state: right in any order of calls, and wrong in one of them with each fault."""

import json

import pytest

from mcp_conformance_fixtures.state.faults import DISK_ONLY, FAULTS, HTTP_ONLY, RULES
from mcp_conformance_fixtures.state.http import HttpState
from mcp_conformance_fixtures.state.odd import ODD
from mcp_conformance_fixtures.state.tools import TOOLS
from support.bench import run_checks, settings_in_memory
from support.nightly import nightly
from support.state import KINDS_OF_SERVERS, Caller, state_in_memory


def walk(caller):
    """Call every tool in an order in which each works, and return the answers by tool."""
    folder = caller.folder()
    note = caller.note(folder)
    calls = (
        ("create_folder", {"name": "other"}),
        ("list_folders", {}),
        ("create_note", {"folder": folder, "title": "second", "text": "b", "priority": "high"}),
        ("get_note", {"id": note}),
        ("get_note_of_folder", {"folder": folder, "id": note}),
        ("list_notes", {"folder": folder, "limit": 1}),
        ("update_note", {"id": note, "title": "first"}),
        ("search", {"query": "FIR"}),
        ("move_note", {"id": note, "folder": caller.folder("third")}),
        ("increment_counter", {"name": "visits", "by": 2.0}),
        ("read_counter", {"name": "visits"}),
        ("write_file", {"name": "a.txt", "text": "words"}),
        ("read_file", {"name": "a.txt"}),
        ("list_files", {}),
        ("delete_file", {"name": "a.txt"}),
        ("delete_note", {"id": note}),
        ("delete_folder", {"id": folder}),
    )
    return {tool: caller.result(tool, **arguments) for tool, arguments in calls}


@pytest.mark.parametrize("name", ["", *ODD])
def test_every_tool_works(name):
    answers = walk(Caller(name))
    assert answers.keys() == TOOLS.keys()
    assert [tool for tool, answer in answers.items() if "isError" in answer] == []


@nightly
@pytest.mark.parametrize("is_on_disk", [False, True])
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25", "2026-07-28"])
def test_the_server_keeps_the_rules(tmp_path, revision, is_on_disk):
    log = tmp_path / "state.jsonl" if is_on_disk else None
    found = run_checks(settings_in_memory(state_in_memory("", log)), revision)
    assert found.failures == []
    assert [verdict.text for verdict in found.verdicts] == []
    assert found.passed


def test_pages_show_what_stands_while_notes_come_and_go():
    caller = Caller()
    folder = caller.folder()
    ids = [caller.note(folder, title) for title in "abcdef"]
    first = caller.call("list_notes", folder=folder, limit=2)
    caller.call("delete_note", id=ids[0])
    caller.note(folder, "g")
    rest = caller.titles(folder, cursor=first["nextCursor"])
    assert ([note["title"] for note in first["notes"]], rest) == (["a", "b"], ["c", "d", "e", "f", "g"])
    assert caller.result("list_notes", folder=folder, cursor="example")["isError"]


def test_changes_of_notes_are_announced():
    caller = Caller()
    folder, listed = caller.folder(), ("list_changed", None)
    assert caller.announced("create_note", folder=folder, title="a", text="b") == [listed]
    (id,) = [note["id"] for note in caller.call("list_notes", folder=folder)["notes"]]
    assert caller.announced("update_note", id=id, text="c") == []
    caller.request("resources/subscribe", {"uri": f"note://{id}"})
    updated = ("updated", {"uri": f"note://{id}"})
    assert caller.announced("update_note", id=id, text="d") == [updated]
    assert caller.announced("update_note", id=id, text="d") == []
    assert caller.announced("update_note", id=id, title="e") == [updated, listed]
    assert caller.announced("get_note", id=id) == caller.announced("read_counter", name="visits") == []
    assert caller.announced("delete_folder", id=folder) == [listed]


def test_processes_share_a_file(tmp_path):
    first = Caller(log=tmp_path / "state.jsonl")
    folder = first.folder()
    note = first.note(folder)
    second = Caller(log=tmp_path / "state.jsonl")
    assert second.call("get_note", id=note) == first.call("get_note", id=note)
    other = second.note(folder, "other")
    assert first.titles(folder) == ["title", "other"]
    first.call("delete_note", id=other)
    assert second.result("get_note", id=other)["isError"]


class Session(Caller):
    """A client of one session over HTTP."""

    def __init__(self, http):
        super().__init__(server=http.session_type(http, None))

    def write(self, message):
        """Post a message, and return the answer."""
        lines, _ = self.server.post(json.dumps(message).encode()).since(0)
        return [json.loads(line) for line in lines]


# Faults ------------------------------------------------------------------------------------------


def use_after_delete(caller):
    folder = caller.folder()
    note = caller.note(folder)
    caller.call("write_file", name="a", text="words")
    caller.titles(folder)
    other = caller.note(folder)
    caller.call("update_note", id=other, text="new")
    for id in (note, other):
        caller.call("delete_note", id=id)
    caller.call("delete_file", name="a")
    yield caller.call("get_note", id=other)
    yield caller.call("get_note", id=note)
    yield caller.call("read_file", name="a")
    yield caller.titles(folder)
    yield caller.call("delete_note", id=note)


def delete_parent(caller):
    folder = caller.folder()
    note = caller.note(folder)
    caller.call("delete_folder", id=folder)
    yield caller.call("get_note", id=note)


def create(caller):
    yield caller.call("create_note", folder="missing", title="lost", text="words")
    yield caller.call("search", query="lost")
    yield caller.result("write_file", name="lost", text=5)
    yield caller.call("list_files")
    folder = caller.folder()
    for number in range(8):
        note = caller.note(folder, f"note {number}")
        yield caller.call("get_note", id=note)
        yield caller.titles(folder)


def hierarchy(caller):
    folder, other = caller.folder(), caller.folder()
    note = caller.note(folder)
    yield caller.call("get_note_of_folder", folder=other, id=note)
    yield caller.titles(other)


def change(caller):
    folder = caller.folder()
    notes = [caller.note(folder, title) for title in "abc"]
    for refused in ({"title": "x", "priority": "most"},):
        yield caller.call("update_note", id=notes[0], **refused)
    yield caller.call("move_note", id=notes[1], folder="missing")
    yield caller.titles(folder)
    yield caller.call("update_note", id=notes[2], text="new")
    yield caller.call("update_note", id=notes[2], text="newer")
    yield [caller.call("get_note", id=note) for note in notes]


def at_once(caller):
    folder = caller.folder()
    note = caller.note(folder)
    calls = [("update_note", {"id": note, "title": word, "text": word}) for word in ("x", "y")]
    calls += [("increment_counter", {"name": "visits"})] * 2
    asked = [
        message["id"]
        for tool, arguments in calls
        for message in caller.request("tools/call", {"name": tool, "arguments": arguments})
        if message.get("method") == "ping"
    ]
    for id in asked:
        caller.write({"jsonrpc": "2.0", "id": id, "result": {}})
    yield caller.call("get_note", id=note)
    yield caller.call("read_counter", name="visits")


def read(caller):
    folder = caller.folder()
    notes = [caller.note(folder, title) for title in "abc"]
    caller.call("increment_counter", name="visits")
    for _ in range(2):
        yield caller.call("read_counter", name="visits")
        yield caller.call("get_note", id=notes[0])
        yield caller.titles(folder)


def pages(caller):
    folder = caller.folder()
    notes = [caller.note(folder, title) for title in "abcdef"]
    first = caller.call("list_notes", folder=folder, limit=2)
    yield caller.titles(folder, limit=2, cursor=first["nextCursor"])
    caller.call("delete_note", id=notes[0])
    yield caller.titles(folder, limit=20, cursor=first["nextCursor"])


def announce(caller):
    folder = caller.folder()
    first = caller.note(folder)
    yield caller.announced("create_note", folder=folder, title="a", text="b")
    second = caller.call("list_notes", folder=folder)["notes"][1]["id"]
    for note in (first, second):
        caller.request("resources/subscribe", {"uri": f"note://{note}"})
    yield caller.announced("update_note", id=second, text="c")
    yield caller.announced("list_folders")


def written_otherwise(caller):
    folder = caller.folder()
    note = caller.note(folder)
    yield caller.call("search", query="t", limit=10)
    yield caller.call("get_note_of_folder", id=note, folder=folder)
    yield caller.call("increment_counter", name="visits", by=2.0)
    yield caller.titles(folder, limit=5.0)
    caller.call("write_file", name="caf\u00e9", text="text")
    yield caller.call("read_file", name="cafe\u0301")


def restart(caller, log, name):
    folder = caller.folder()
    notes = [caller.note(folder, title, f"text of {title}") for title in "abc"]
    again = Caller(name, log)
    yield [again.call("get_note", id=note) for note in notes]


SEQUENCES = (
    *(use_after_delete, delete_parent, create, hierarchy, change, at_once, read, pages, announce),
    written_otherwise,
)


@pytest.mark.parametrize("name", sorted(FAULTS.keys() - HTTP_ONLY - DISK_ONLY))
def test_a_fault_shows_in_a_sequence(name):
    shown = [one for one in SEQUENCES if [*one(Caller())] != [*one(Caller(name))]]
    assert shown, f"no sequence shows {name}"


@pytest.mark.parametrize("name", sorted(DISK_ONLY))
def test_a_fault_shows_after_a_restart(name, tmp_path):
    answers = []
    for kind in ("", name):
        log = tmp_path / f"{kind or 'right'}.jsonl"
        answers.append([*restart(Caller(kind, log), log, kind)])
    assert answers[0] != answers[1]


@pytest.mark.parametrize("name", ["", *HTTP_ONLY])
def test_sessions_over_http_have_stores_of_their_own(name):
    http = HttpState(KINDS_OF_SERVERS[name])
    first, second = Session(http), Session(http)
    first.folder()
    assert (second.call("list_folders")["folders"] == []) is not bool(name)


def test_there_are_enough_of_each():
    assert len(FAULTS) >= 20
    assert len(ODD) >= 5
    assert RULES.keys() == FAULTS.keys()
