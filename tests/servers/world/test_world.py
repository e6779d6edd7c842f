"""The server with a world behind it: what opens each tool, and what each of its faults needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_conformance.generation import NoExample, example, further_examples
from mcp_conformance_fixtures.world.faults import FAULTS
from mcp_conformance_fixtures.world.tools import TOOLS
from support.bench import run_checks, settings_in_memory
from support.nightly import nightly
from support.world import NOTE, OPENING, Visitor, working_calls, world_in_memory

REVISION = "2025-11-25"
ROOT = Path.cwd().anchor
ALONE = {"list_folders", "create_folder", "search_notes"}
"""The tools that answer made-up arguments with a result."""
REFUSES_VALID = "tools.call.schema-honest"
"""What the world breaks on purpose: some of its tools refuse what their schemas allow as validators do."""


@pytest.fixture
def visitor(tmp_path):
    return Visitor(tmp_path)


def test_every_tool_works_with_the_right_arguments(visitor, tmp_path):
    called = set()
    for name, arguments in working_calls(visitor, tmp_path):
        called.add(name)
        result = visitor.call(name, **arguments)
        assert "isError" not in result, result
        assert result["content"] != []
        assert result.get("structuredContent") not in ({"found": []}, {"notes": []}, {"folders": []})
    assert called == set(TOOLS)


def test_no_other_tool_works_with_arguments_made_from_its_schema(tmp_path):
    for name in TOOLS.keys() - ALONE:
        definition, _ = TOOLS[name]
        schema = definition["inputSchema"]
        for arguments in (example(schema, REVISION), *further(schema)):
            answer = Visitor(tmp_path).request("tools/call", {"name": name, "arguments": arguments})
            assert "error" in answer or answer["result"]["isError"], (name, arguments)


def further(schema):
    try:
        return list(further_examples(schema, REVISION))
    except NoExample:
        return []


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("create_note", {"folder": "example", **NOTE}, "list_folders shows those that do"),
        ("set_state", {"id": "{id}", "state": "example"}, "must be one of: open, done"),
        ("move_note", {"id": "{id}"}, "target_folder is required when"),
        ("remind", {"id": "{id}"}, "One of 'date' and 'days' is required."),
        ("remind", {"id": "{id}", "date": "2026-01-01", "days": 1}, "'days' is not allowed with 'date'."),
        ("notes_between", {"from_date": "2026-01-02", "to_date": "2026-01-01"}, "is after"),
        ("notes_between", {"from_date": "2026-02-30", "to_date": "2026-01-01"}, "is not a date"),
        ("read_range", {"id": "{id}", "range": "C1:A1"}, "cannot be read"),
        ("paint_note", {"id": "{id}", "colour": "example"}, "Input should be 'amber', 'teal' or 'violet'"),
        ("set_priority", {"id": "{id}", "priority": "example"}, '"code": "invalid_value"'),
        ("show_note", {"id": "{id}", "layout": "example"}, "unknown variant `example`, expected `compact`"),
        ("export_note", {"id": "{id}", "path": "example"}, "must be absolute, e.g. "),
        ("export_note", {"id": "{id}", "path": f"{ROOT}example"}, "must end with .txt or .csv"),
        ("export_note", {"id": "{id}", "path": f"{ROOT}example.txt"}, "is outside the allowed directory '"),
        ("import_csv", {"path": "example", "folder": "example"}, "File not found: example"),
        ("read_page", {"handle": "example", "page": 1}, "open_book opens one"),
    ],
)
def test_a_refusal_says_what_opens_the_tool(visitor, name, arguments, words):
    id = visitor.note()
    result = visitor.call(name, **{key: id if value == "{id}" else value for key, value in arguments.items()})
    assert result["isError"] is True
    assert words in result["content"][0]["text"]


def test_an_error_has_the_limits_of_a_position_in_its_data(visitor):
    params = {"name": "pin_note", "arguments": {"id": visitor.note(), "position": 1}}
    error = visitor.request("tools/call", params)["error"]
    assert (error["code"], error["data"]["field"]) == (-32602, "position")
    assert "from 10" in error["data"]["message"].replace("between", "from")


def test_a_prompt_and_a_template_need_an_id_that_only_tools_show(visitor):
    id = visitor.note()
    prompt = {"name": "review", "arguments": {"note": id}}
    assert NOTE["title"] in visitor.request("prompts/get", prompt)["result"]["messages"][0]["content"]["text"]
    (contents,) = visitor.request("resources/read", {"uri": f"note://{id}"})["result"]["contents"]
    assert contents["text"] == NOTE["text"]
    assert visitor.request("resources/read", {"uri": "note://example"})["error"]["code"] == -32002
    prompt["arguments"]["note"] = "example"
    assert visitor.request("prompts/get", prompt)["error"]["code"] == -32602


# Faults ------------------------------------------------------------------------------------------


def trigger(visitor, name, folder):
    """Make the call that shows a fault, and return the answer, or the exit status of the server."""
    shelf = visitor.folder()
    id = visitor.note(shelf)
    day = visitor.value("get_note", id=id)["created"]
    visitor.call("set_state", id=id, state="done")
    number = visitor.value("list_notes", folder=shelf)["notes"][0]["number"]
    calls = {
        "a_done_note_has_no_day": ("get_note", {"id": id}),
        "an_empty_text_raises": ("create_note", {"folder": shelf, "title": "a", "text": ""}),
        "the_last_day_ends_the_server": ("notes_between", {"from_date": day, "to_date": day}),
        "a_refusal_for_an_existing_note_reports_success": ("set_state", {"id": id, "state": 5}),
        "an_empty_folder_is_an_internal_error": ("list_notes", {"folder": visitor.folder()}),
        "reading_a_number_changes_the_list_of_folders": ("get_by_number", {"number": number}),
        "any_unit_is_accepted_for_an_existing_note": ("count", {"id": id, "unit": "miles"}),
        "a_nul_in_a_title_ends_the_server": ("create_note", {"folder": shelf, **NOTE, "title": "a\0"}),
        "a_limit_of_zero_is_never_answered": ("get_note", {"id": id, "limit": 0}),
        "an_export_is_printed": ("export_note", {"id": id, "path": str(folder / "note.txt")}),
    }
    called, arguments = calls[name]
    try:
        return visitor.request("tools/call", {"name": called, "arguments": arguments})
    except SystemExit as end:
        return end.code


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_shows_where_arguments_work(name, tmp_path):
    fault = FAULTS[name]
    right, wrong = Visitor(tmp_path), Visitor(tmp_path, fault)
    expected, got = (trigger(one, name, tmp_path) for one in (right, wrong))
    silent = {"an_export_is_printed": b"\nExported ", "reading_a_number_changes_the_list_of_folders": b""}
    assert (got != expected) is (name not in silent), got
    assert silent.get(name, b"") in wrong.out.getvalue()
    listed = [one.value("list_folders") for one in (right, wrong)]
    assert (listed[0] != listed[1]) is (name == "reading_a_number_changes_the_list_of_folders")


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_hidden_behind_made_up_arguments(name, tmp_path):
    fault = FAULTS[name]
    schema = TOOLS[fault.tool][0]["inputSchema"]
    for arguments in (example(schema, REVISION), *further(schema), {}, {"id": 5, "state": 5, "title": "\0"}):
        params = {"name": fault.tool, "arguments": arguments}
        right, wrong = Visitor(tmp_path), Visitor(tmp_path, fault)
        assert right.request("tools/call", params) == wrong.request("tools/call", params)
        assert right.out.getvalue() == wrong.out.getvalue()


# What was there, and what lasts ------------------------------------------------------------------


@pytest.fixture
def existing(tmp_path):
    """A folder with a folder with a note, and one with none."""
    (tmp_path / "existing" / "kestrel").mkdir(parents=True)
    (tmp_path / "existing" / "plover").mkdir()
    (tmp_path / "existing" / "kestrel" / "a.txt").write_text("heron\negret ibis\n", encoding="utf-8")
    return tmp_path / "existing"


def test_calls_that_change_what_was_there_are_recorded(tmp_path, existing):
    visitor = Visitor(tmp_path, existing=existing)
    assert [one["name"] for one in visitor.value("list_folders")["folders"]] == ["kestrel", "plover"]
    (found,) = visitor.value("search_notes", query="egret")["found"]
    visitor.call("get_note", id=found["id"])
    visitor.call("move_note", id=visitor.note(), target_folder="missing")
    changes = visitor.world.store.changes
    assert changes == []
    visitor.call("move_note", id=visitor.note(), target_folder="plover")
    visitor.call("set_state", id=found["id"], state="done")
    visitor.call("create_note", folder="kestrel", **NOTE)
    visitor.call("delete_note", id=found["id"])
    assert [change["tool"] for change in changes] == ["move_note", "set_state", "create_note", "delete_note"]
    assert [change["changed"][0] for change in changes] == ["plover", found["id"], "kestrel", found["id"]]


def test_a_world_on_disk_is_that_of_all_processes(tmp_path):
    one, other = (Visitor(tmp_path, disk=True) for _ in range(2))
    id = one.note()
    other.call("set_state", id=id, state="done")
    assert one.value("get_note", id=id)["state"] == "done"
    assert other.note() != id
    assert Visitor(tmp_path).value("list_folders") == {"folders": []}


def test_a_handle_is_that_of_one_process(tmp_path):
    one, other = (Visitor(tmp_path, disk=True) for _ in range(2))
    shelf = one.folder()
    one.note(shelf)
    handle = one.value("open_book", folder=shelf)["handle"]
    assert "isError" not in one.call("read_page", handle=handle, page=1)
    assert other.call("read_page", handle=handle, page=1)["isError"]
    assert one.call("read_page", handle=handle, page=2)["isError"]


def test_the_program_serves_what_was_there(tmp_path, existing):
    changes = tmp_path / "changes.jsonl"
    words = ("--disk", "--existing", str(existing), "--changes", str(changes))
    call = {"name": "create_note", "arguments": {"folder": "kestrel", **NOTE}}
    requests = [("initialize", OPENING), ("tools/call", call)]
    lines = [json.dumps({"jsonrpc": "2.0", "id": 1, "method": one, "params": two}) for one, two in requests]
    done = subprocess.run(
        [sys.executable, "-m", "mcp_conformance_fixtures.world", *words],
        input="\n".join([*lines, ""]).encode(),
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        check=True,
    )
    assert "isError" not in json.loads(done.stdout.splitlines()[-1])["result"]
    assert json.loads(changes.read_text(encoding="utf-8"))["changed"] == ["kestrel"]
    assert (tmp_path / "world.jsonl").exists()


# The rules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "revision",
    [pytest.param("2024-11-05", marks=nightly), pytest.param("2025-11-25", marks=nightly), "2026-07-28"],
)
def test_the_world_keeps_the_rules(tmp_path, revision):
    found = run_checks(settings_in_memory(world_in_memory(tmp_path, disk=True)), revision)
    assert found.failures == []
    assert {verdict.row.id for verdict in found.verdicts} <= {REFUSES_VALID}, [v.text for v in found.verdicts]
    assert found.passed
