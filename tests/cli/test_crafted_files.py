"""What configurations, registries and targets say is shown; no terminal and no CI runner obeys it."""

import json
import os
import re

import pytest

from mcp_conformance.protocol.text import OBEYED
from support.running import forked

EVIL = "\x1b[31mred\x9b1m\x07\u202e\n::error::x\r ##[error]y"
SERVERS = {
    EVIL: {"command": EVIL, "args": [EVIL]},
    "wrong": {"command": 7},
    "variable": {"command": "${" + EVIL + "}"},
    "folder": {"command": "x", "cwd": EVIL},
}
ENTRIES = [
    {"server": {"name": EVIL}},
    {"server": {"name": f"{EVIL} 2", "packages": [{"registryType": EVIL, "identifier": EVIL}]}},
    {
        "server": {
            "name": f"{EVIL} 3",
            "packages": [
                {
                    "registryType": "pypi",
                    "identifier": "x",
                    "version": "1",
                    "packageArguments": [{"type": "positional", "value": EVIL}],
                }
            ],
        }
    },
]
FILES = {
    "mcp.json": json.dumps({"mcpServers": SERVERS}),
    "one.json": json.dumps({"mcpServers": {"one": {"command": EVIL}}}),
    "url.json": json.dumps({"mcpServers": {"one": {"url": f"http://localhost/{EVIL}"}}}),
    "mcp-conformance.toml": f'[servers.{json.dumps(EVIL)}]\ncommand = ["x"]\n',
    "registry.json": json.dumps({"servers": ENTRIES}),
    "targets.jsonl": json.dumps({"name": EVIL, "registry": EVIL}),
    "members.jsonl": json.dumps({EVIL: EVIL}),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of a process that has imported all")
@pytest.mark.parametrize(
    "words",
    [
        ["run", "--config", "mcp.json", "--server", "no"],
        ["run", "--config", "mcp.json", "--all"],
        ["run", "--config", "one.json"],
        ["run", "--config", "url.json"],
        ["run", "--server", "no"],
        ["survey", "targets", "--from-registry", "registry.json"],
        ["survey", "targets", "--from-config", "mcp.json"],
        ["survey", "run", "targets.jsonl"],
        ["survey", "run", "members.jsonl"],
    ],
    ids=" ".join,
)
def test_no_file_of_others_is_obeyed(words, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    _, output = forked(words, tmp_path, 60)
    assert "red" in output
    assert [char for char in output if not char.isprintable() and char != "\n"] == []
    assert [line for line in output.splitlines() if OBEYED.search(line)] == []
    assert not re.search(r"Traceback|internal error", output)


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of a process that has imported all")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mcp.json", ["run", "--config", "mcp.json"]),
        ("mcp-conformance.toml", ["run"]),
        ("pyproject.toml", ["run"]),
        ("pyproject.toml", ["init"]),
        ("package.json", ["init"]),
        ("talk.jsonl", ["replay", "talk.jsonl"]),
        ("notes.toml", ["survey", "table", "results", "--notes", "notes.toml"]),
        ("none", ["run", "--example", f"echo {DEEP}", "--", "server"]),
    ],
    ids=lambda one: one if isinstance(one, str) else one[0],
)
def test_a_file_that_is_nested_too_deeply_is_one_line(name, words, tmp_path):
    (tmp_path / name).write_text(f"a = {DEEP}" if name.endswith(".toml") else DEEP)
    status, output = forked(words, tmp_path, 60)
    assert status == 4
    assert [line for line in output.splitlines() if line][1:] == []
    assert re.search(r"nested too deeply|recursion|tables \[\[read\]\]", output)
