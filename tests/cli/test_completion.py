"""Completion in the shell: argcomplete asks the command itself, by variables and a file for the answer."""

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
    configuration = '[servers.tally]\ncommand = "python x.py"\n[profiles.nightly]\nfuzz = "thorough"\n'
    (tmp_path / "mcp-conformance.toml").write_text(configuration)
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"notes": {"command": "x"}}}')
    (tmp_path / "mcp-contract.json").write_text('{"offers": [{"tools": {"share": {}}}]}')
    known = tmp_path / ".mcp-conformance" / "known"
    known.mkdir(parents=True)
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
    assert wanted in [word.strip() for word in answer.read_text().split("\n")]
