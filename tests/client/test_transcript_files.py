"""The files of transcripts: each tool has its own, and none is written through a link."""

import json

import pytest

from mcp_conformance.client.transcript import Transcript
from mcp_conformance.protocol.jsonrpc import Line
from support.session_rows import file_errors

TALK = Transcript(("server",), "2025-11-25", "about", ())


def test_tools_whose_names_differ_in_signs_have_files_of_their_own(tmp_path):
    tools = ["", " ", "\n", "*", "?", "a/b", "a|b", "\x1b[31m", "../../x", "é" * 300, "é" * 301, "😀"]
    paths = [TALK.keep(tmp_path, f"2025-11-25 rule {tool} dies: 1") for tool in tools]
    assert len(set(paths)) == len(paths)
    assert {path.parent for path in paths} == {tmp_path}
    assert max(len(path.name.encode()) for path in paths) < 255


def test_a_usual_name_is_kept(tmp_path):
    path = TALK.keep(tmp_path, "2025-11-25 tools.call.valid-not-fatal find_note dies: 1", "-2")
    assert path.name == "2025-11-25-tools-call-valid-not-fatal-find_note-dies-1-2.jsonl"


def test_the_schema_describes_a_transcript(tmp_path):
    lines = (
        Line.sending({"jsonrpc": "2.0", "id": 1}),
        Line.received(b"\xff in /a/folder", 0.5, "response 1"),
    )
    command = ("server", "--token", "s3cr3t-of-mine-17")
    path = Transcript(command, "2025-11-25", "about", lines, folder="/a/folder").keep(tmp_path, "a rule")
    assert file_errors(path) == []
    assert {"redacted", "folder"} <= json.loads(path.read_text().partition("\n")[0]).keys()


def test_a_link_in_the_place_of_a_transcript_is_replaced(tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("mine")
    try:
        (tmp_path / "a-rule.jsonl").symlink_to(mine)
    except OSError:
        pytest.skip("no links here")
    TALK.keep(tmp_path, "a rule")
    assert mine.read_text() == "mine"
    assert Transcript.read(tmp_path / "a-rule.jsonl").about == "about"
