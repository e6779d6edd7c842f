"""The values in answers, read from what real servers answer, and whose they are."""

import json
import time

import pytest

from mcp_conformance.world.answers import MAX_VALUES, ids_of, values_of
from mcp_conformance.world.known import MAX_ALIKE, Owner
from mcp_conformance.world.ours import Ours

HASH = "ce8addad4a54240821821986e2e141cc6ca005c5"
GIT_LOG = f"Commit history:\nCommit: {HASH}\nAuthor: a\nDate: 2026-11-26 02:38:59+00:00\nMessage: init\n\n"
GIT_SHOW = f"""commit {HASH}
Author: a <a@b>
Date:   2026-11-26 02:38:59 +0000

    init

--- /dev/null
+++ b/f.txt
@@ -0,0 +1 @@
+hi
"""
DIRECTORY = "[FILE] a.txt                                 6 B\n[DIR] notes  \n\nTotal: 1 files, 1 directories"
TABLE = (
    "[{'cid': 0, 'name': 'a', 'type': 'INT', 'dflt_value': None}, {'cid': 1, 'name': 'b', 'type': 'TEXT'}]"
)
RANGES = {
    "/f/a.txt": {"ranges": [{"content": "hello\n", "range_hash": "5891"}], "file_hash": "5891b5b5", "by": "x"}
}


def text(*texts):
    return {"content": [{"type": "text", "text": one} for one in texts]}


def found(result, tool="list_notes", arguments=None, **more):
    return list(values_of(result, tool, arguments or {}, **more))


def keyed(result, **more):
    return {(one.value, one.keys[0]) for one in found(result, **more)}


def owners(result, tool="list_notes", **more):
    return {one.value: one.owner for one in found(result, tool, **more)}


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        pytest.param(GIT_LOG, {(HASH, "Commit"), ("a", "Author"), ("init", "Message")}, id="mcp-server-git"),
        pytest.param(GIT_SHOW, {(HASH, "commit")}, id="mcp-server-git show"),
        pytest.param("* master\n  feat", {("master", "list_notes"), ("feat", "list_notes")}, id="branches"),
        pytest.param("Created branch 'b1' from 'master'", {("b1", "branch"), ("master", "from")}, id="made"),
        pytest.param(DIRECTORY, {("a.txt", "file"), ("notes", "dir")}, id="server-filesystem"),
        pytest.param(
            "Allowed directories:\n/srv/x", {("/srv/x", "Allowed directories")}, id="server-filesystem folder"
        ),
        pytest.param(TABLE, {("a", "name"), ("TEXT", "type"), (1, "cid")}, id="mcp-server-sqlite"),
        pytest.param("| id | name |\n|---|:--|\n| 7 | x |", {(7, "id"), ("x", "name")}, id="Markdown table"),
        pytest.param(
            "1. **alpha** - the first\n2. `beta`\n- gamma: how it goes on and on",
            {("alpha", "list_notes"), ("beta", "list_notes"), ("gamma", "list_notes")},
            id="Markdown list",
        ),
        pytest.param("```json\n[{'id': 5}]\n```", {(5, "id")}, id="fenced"),
        pytest.param('Found 1 note:\n[{"id": 5}]', {(5, "id")}, id="JSON after a line"),
        pytest.param("Note saved, see notes://all/5.", {("notes://all/5", "uri")}, id="a URI in a sentence"),
    ],
)
def test_values_of_texts(answer, wanted):
    assert wanted <= keyed(text(answer))


def test_values_have_the_keys_around_them():
    answer = {"structuredContent": {"issues": [{"number": 3, "user": {"login": "bo"}}]}, "content": []}
    assert [(one.value, one.keys, one.rank) for one in found(answer)] == [
        (3, ("number", "issues", "list_notes"), 3),
        ("bo", ("login", "user", "issues", "list_notes"), 3),
    ]


def test_structured_content_of_one_json_text_is_read_as_that():
    # mcp-server-motherduck 1.1.0, list_databases
    inner = {"success": True, "databases": [{"name": "t", "type": "duckdb"}], "databaseCount": 1}
    answer = {"structuredContent": {"result": json.dumps(inner)}, **text(json.dumps(inner))}
    assert ("t", "name") in keyed(answer)
    assert all(len(str(one.value)) < 20 for one in found(answer))


def test_links_and_embedded_resources_have_names():
    answer = {
        "content": [
            {"type": "resource_link", "uri": "demo://1", "name": "one"},
            {"type": "resource", "resource": {"uri": "demo://2", "text": "id: 9"}},
            "not a block",
        ]
    }
    assert {("demo://1", "uri"), ("one", "name"), ("demo://2", "uri"), (9, "id")} <= keyed(answer)


def test_the_keys_of_a_map_are_values():
    # excel-mcp-server 2.2.2, list_workbooks; mcp-text-editor 1.0.2, get_text_file_contents
    assert set(owners({"structuredContent": {"workbooks": {"/f/b.xlsx": 5000}}})) == {"/f/b.xlsx"}
    maps = {"notes": {"one": {"size": 1}, "two": {"size": 2}}}
    assert ("one", "notes") in keyed({"structuredContent": maps})


def test_what_the_call_sent_is_not_learned():
    assert "b1" not in owners(text("Created branch 'b1' from 'master'"), arguments={"branch_name": "b1"})


@pytest.mark.parametrize("result", [None, [], {"content": 5}, {"content": [{"type": "text"}]}, text("")])
def test_no_answer_has_no_values(result):
    assert found(result) == []


def test_of_a_long_list_a_few_of_each_shape_are_read():
    notes = [{"id": at, "state": "open"} for at in range(5000)] + [{"id": 1, "state": "closed"}]
    answer = {"structuredContent": {"notes": [*notes[-500:], *notes]}}
    assert {"open", "closed"} <= set(owners(answer))
    assert len(found(answer)) <= 2 * MAX_ALIKE
    assert len(found({"structuredContent": {f"k{at}": at for at in range(1000)}})) == MAX_VALUES


def test_what_a_creating_call_answers_with_our_text_is_ours():
    answer = {"structuredContent": {"id": 5, "title": "example", "by": "bo", "folder_id": 3, "note_id": 9}}
    ours = Ours(texts=frozenset({"example"}))
    made = owners(answer, "create_note", ours=ours, creates=True)
    assert {value for value, owner in made.items() if owner is Owner.MADE} == {5, "example", 9}
    assert set(owners(answer, "get_note", ours=ours).values()) == {Owner.FOUND}


@pytest.mark.parametrize(
    ("name", "answer", "is_made"),
    [
        # office-powerpoint-mcp-server 2.0.7
        ("create_presentation", {"presentation_id": "p1", "message": "Created it with ID: p1"}, True),
        ("add_note", {"id": "p1", "note": {"id": "p1"}}, True),
        ("add_note", {"id": "p1", "folder_id": "p2"}, True),
        ("open_presentation", {"presentation_id": "p1"}, False),
        ("create_note", {"folder_id": "p1"}, False),
        ("create_note", {"notes": [{"id": "p1"}, {"id": "p2"}]}, False),
    ],
)
def test_the_only_id_in_an_answer_of_a_tool_that_creates_is_ours(name, answer, is_made):
    found = owners({"structuredContent": answer}, name, creates=True)
    assert (found["p1"] is Owner.MADE) is is_made
    assert found.get("p2", Owner.FOUND) is Owner.FOUND
    assert set(owners({"structuredContent": answer}, name).values()) == {Owner.FOUND}


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        # office-word-mcp-server 1.1.11
        ("Successfully added footnote (ID: 2) to a.docx", {(2, "id"), ("a.docx", "file")}),
        ("Document a.docx created", {("a.docx", "file")}),
        ("Found 1 Word document in .:\n- a.docx (35.71 KB)", {("a.docx", "Found 1 Word document in .")}),
    ],
)
def test_values_in_sentences(answer, wanted):
    found = keyed(text(answer))
    assert wanted <= found
    assert all(" " not in str(value) for value, _ in found)


@pytest.mark.parametrize(
    "text_",
    [
        *("a: " * 50_000, "| a " * 30_000, "* " * 50_000, "'" * 90_000, "**" * 50_000, "x.y" * 40_000),
        *("[" * 90_000, "/a" * 50_000, "(1-" * 30_000, "aA1-" * 30_000, "- a\n" * 30_000, " " * 90_000),
    ],
)
def test_a_long_text_is_read_in_little_time(text_):
    before = time.process_time()
    found(text(text_))
    assert time.process_time() - before < 2


def test_only_the_smallest_object_with_our_text_is_ours():
    ours = Ours(texts=frozenset({"example"}))
    notes = [{"id": 1, "title": "old"}, {"id": 2, "title": "example", "user": {"id": 3}}]
    made = owners({"structuredContent": {"notes": notes}}, ours=ours, creates=True)
    assert [made[1], made[2], made[3]] == [Owner.FOUND, Owner.MADE, Owner.FOUND]


def test_what_has_a_mark_of_ours_is_ours_in_every_answer():
    ours = Ours(marks=frozenset({"mark-7f3a"}))
    rows = text("| id | name |\n|----|----|\n| 1 | old |\n| 2 | my mark-7f3a |")
    assert owners(rows, ours=ours) == {
        1: Owner.FOUND, "old": Owner.FOUND, 2: Owner.MADE, "my mark-7f3a": Owner.MADE
    }  # fmt: skip
    assert owners(text("Saved 'mark-7f3a' with ID 12"), "save", ours=ours)[12] is Owner.MADE


def test_what_is_inside_our_folder_is_ours():
    made = owners({"structuredContent": RANGES}, "get_text_file_contents", ours=Ours(folders=("/f",)))
    assert {value for value, owner in made.items() if owner is Owner.MADE} == {"/f/a.txt", "5891", "5891b5b5"}
    outside = owners(text("/f/../etc/passwd\n/fx/a"), ours=Ours(folders=("/f",)))
    assert set(outside.values()) == {Owner.FOUND}


@pytest.mark.parametrize(
    "secret",
    [
        {"api_key": "abcdefgh"},
        {"password": "x"},
        {"note": "ghp_0123456789abcdefghij"},
        {"url": "https://a:b@example.org"},
        {"note": "it is hunter2, sorry"},
    ],
)
def test_credentials_are_left_out(secret):
    assert found({"structuredContent": secret}, ours=Ours(hidden=("hunter2",))) == []


def test_measured_figures_and_booleans_name_nothing():
    answer = {"structuredContent": {"success": True, "word_count": 0, "total": 3, "line": 0}}
    assert owners(answer) == {0: Owner.FOUND}


def test_an_author_is_not_a_credential():
    assert owners(text("Author: bo")) == {"bo": Owner.FOUND}


@pytest.mark.parametrize(
    ("answer", "ids"),
    [
        ("Welcome Ann! Your account number is AC-17. Keep it.", {"account id": "AC-17"}),
        ("Its code is EXA17, and the note ID: 5", {"code": "EXA17", "note id": 5}),
        ("We filed ticket 17 for EXA1 in 2026, it took 3 seconds.", {"ticket id": 17}),
        ("Your comment c4 on ticket 17 is visible.", {"comment id": "c4", "ticket id": 17}),
        ("The number is not known, the id of it was lost.", {}),
    ],
)
def test_sentences_have_ids(answer, ids):
    assert {
        key: value for key, value in ids_of(text(answer), "file_ticket").items() if key in ids or not ids
    } == ids


def test_an_id_beside_our_own_name_is_of_another_thing_if_it_says_so():
    ours = Ours(marks=frozenset({"plum"}))
    made = owners(text("Note 'plum' 31 is in folder 12"), "add_note", ours=ours, creates=True)
    assert made[12] is Owner.FOUND
