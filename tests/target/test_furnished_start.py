"""The server works in a furnished folder, which ``{folder}`` in what the user gives stands for."""

import json
import sys
from pathlib import Path

import pytest

from mcp_conformance.client.transcript import Transcript
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.settings import Sample, Settings
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance.transport.interface import NotServing
from mcp_conformance.transport.throwaway import throwaway_folder

# It writes what it sees to the file that its first argument names.
SERVER = """
import json, os, sys
seen = {"cwd": os.getcwd(), "files": sorted(os.listdir()), "words": sys.argv[2:], "data": os.environ["DATA"]}
open(sys.argv[1], "w").write(json.dumps(seen))
if "removes" in sys.argv:
    os.remove("example.txt")
"""


@pytest.fixture
def throwaway():
    with throwaway_folder() as made:
        yield made


def seen_by_a_server(settings, report):
    """Start the server, wait for its end, and return what it saw."""
    process = settings.start()
    process.wait(30)
    process.stop()
    return json.loads(report.read_text())


def command(report, *words):
    return (sys.executable, "-c", SERVER, str(report), *words)


def test_the_server_works_in_the_furnished_folder_that_the_placeholder_stands_for(tmp_path, throwaway):
    report = tmp_path / "seen.json"
    words = ("{folder}", "--root={folder}", "{folder}/example.txt", "removes")
    settings = Settings(command(report, *words), env={"DATA": "a:{folder}"}).within(throwaway)
    root = str(settings.folder.root)
    seen = seen_by_a_server(settings, report)
    assert seen["cwd"] == root
    assert throwaway.work.samefile(root)
    assert {".git", "example.txt", "example.xlsx"} < set(seen["files"])
    assert seen["words"] == [root, f"--root={root}", f"{root}/example.txt", "removes"]
    assert seen["data"] == f"a:{root}"
    assert settings.folder.is_cwd
    # What a server removed is not there again: it may have left a link to a file of the user's.
    again = seen_by_a_server(settings, report)["files"]
    assert "example.txt" not in again
    assert "example.xlsx" in again


def test_the_directory_of_the_user_is_not_furnished(tmp_path, throwaway):
    report, here = tmp_path / "seen.json", tmp_path / "here"
    here.mkdir()
    settings = Settings(command(report, "{folder}"), env={"DATA": ""}, cwd=here).within(throwaway)
    seen = seen_by_a_server(settings, report)
    assert here.samefile(seen["cwd"])
    assert seen["files"] == []
    assert list(here.iterdir()) == []
    assert seen["words"] == [str(settings.folder.root)]
    assert (Path(seen["words"][0]) / "example.txt").is_file()
    assert not settings.folder.is_cwd


def test_the_placeholder_stands_for_the_folder_over_http_too(tmp_path, throwaway):
    report = tmp_path / "seen.json"
    words = command(report, "{folder}", "{port}")
    settings = Settings(words, env={"DATA": ""}, http=HttpServer(command=words)).within(throwaway)
    with pytest.raises(NotServing):
        settings.start()
    seen = json.loads(report.read_text())
    assert seen["words"][0] == seen["cwd"] == str(settings.folder.root)


def test_calls_of_the_user_name_files_of_the_folder(throwaway):
    arguments = {"path": "{folder}/example.txt", "others": ["{folder}"], "count": 1}
    sample = Sample("read", arguments)
    settings = Settings(("server", "{folder}"), samples=(sample,), failing_call=sample).within(throwaway)
    root = str(settings.folder.root)
    wanted = {"path": f"{root}/example.txt", "others": [root], "count": 1}
    assert settings.vouched("read") == [wanted]
    assert settings.failing_call.arguments == wanted


def test_a_transcript_can_be_replayed_in_another_folder(tmp_path):
    old, new, path = "/tmp/old place", "/tmp/new place", tmp_path / "t.jsonl"
    about = {"uri": "file:///tmp/old%20place/work/a", "path": f"{old}/work/a"}
    lines = (Line.sending({"id": 1, "params": about}), Line.received(json.dumps({"id": 1, **about}).encode()))
    command = ("server", "{folder}")
    Transcript(command, "2025-11-25", "a test", lines, folder=old).write(path)
    read = Transcript.read(path)
    assert (read.folder, read.command) == (old, command)
    moved = read.moved(new)
    sent, received = (line.message for line in moved.lines)
    assert sent["params"]["path"] == received["path"] == f"{new}/work/a"
    if sys.platform != "win32":
        assert sent["params"]["uri"] == received["uri"] == "file:///tmp/new%20place/work/a"
    assert [line.sent for line in moved.lines] == [True, False]
    Transcript(command, "2025-11-25", "a test", lines, folder="/tmp/unused").write(path)
    assert Transcript.read(path).folder == ""
