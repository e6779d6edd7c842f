"""Completion in the shell: argcomplete asks the command itself, by variables and a file for the answer."""

import json
import os
import re
import subprocess

import pytest

from support.running import COMMAND, environment


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("mcp-conformance expl", "explain"),
        ("mcp-conformance run --requ", "--require-exercised"),
        ("mcp-conformance explain tools.structured.c", "tools.structured.conforms"),
        ("mcp-conformance serve --spoil http-status-4", "http-status-404"),
        ("mcp-conformance explain fromclient.answer-o", "fromclient.answer-once"),
        ("mcp-conformance call x --server ta", "tally"),
        ("mcp-conformance run --config mcp.json --server no", "notes"),
        ("mcp-conformance run --profile n", "nightly"),
        ("mcp-conformance call sh", "share"),
        ("mcp-conformance run --tool su", "sum"),
    ],
)
def test_the_shell_completes(line, wanted, tmp_path):
    assert wanted in completed(line, tmp_path)


@pytest.mark.parametrize(
    "line", ["mcp-conformance call ", "mcp-conformance run --tool ", "mcp-conformance call x --server "]
)
def test_no_name_is_run_by_the_shell(line, tmp_path):
    evil = [
        "$(touch pwned)",
        "`touch pwned`",
        "a b",
        "x\ny",
        "\x1b]52;c;YQ==\x07",
        "\u202ex",
        "a;b",
        "~",
        "'",
        "!x",
    ]
    named = json.dumps({"offers": [{"tools": {one: {} for one in evil}}]})
    servers = "".join(f'[servers.{json.dumps(one)}]\ncommand = "x"\n' for one in evil)
    found = completed(line, tmp_path, named, servers)
    assert {"share", "tally"} & set(found)
    assert all(re.fullmatch(r"[\w./:@-]*", word) for word in found)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names")
def test_a_pipe_in_the_place_of_a_file_is_not_read(tmp_path):
    known = tmp_path / ".mcp-conformance" / "known"
    known.mkdir(parents=True)
    os.mkfifo(known / "2.json")
    assert "share" in completed("mcp-conformance call sh", tmp_path)


def completed(line, tmp_path, more="{}", servers=""):
    """Return the words with which the shell may go on."""
    configuration = '[servers.tally]\ncommand = "python x.py"\n[profiles.nightly]\nfuzz = "thorough"\n'
    (tmp_path / "mcp-conformance.toml").write_text(configuration + servers, "utf-8")
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"notes": {"command": "x"}}}')
    (tmp_path / "mcp-contract.json").write_text('{"offers": [{"tools": {"share": {}}}]}')
    known = tmp_path / ".mcp-conformance" / "known"
    known.mkdir(parents=True, exist_ok=True)
    (known / "3.json").write_text(more)
    (known / "1.json").write_text('{"tools": {"sum": {}}}')
    answer = tmp_path / "answer"
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
    }
    subprocess.run(COMMAND, cwd=tmp_path, env={**environment(), **asked}, timeout=60, check=True)
    return [word.strip() for word in answer.read_text("utf-8").split("\n")]
