"""The command ``learn``: it prints what works, and writes it where the next run finds it."""

import json
import sys
import tomllib

import pytest

from support.nightly import nightly
from support.running import COMMAND, environment, script, started

WORLD = (sys.executable, "-m", "mcp_conformance_fixtures.world", "--disk")


def learn(folder, *words):
    return started(["learn", *words], folder, 120, environment())


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Return the folder, the exit status and the output of ``learn --write`` on a configured server."""
    folder = tmp_path_factory.mktemp("learned")
    config = folder / "mcp-conformance.toml"
    config.write_text(f'command = {json.dumps(WORLD)}\ncall = "all"\nrevision = "2025-11-25"\n')
    return folder, *learn(folder, "--write")


@nightly
def test_it_prints_what_works_and_where_the_arguments_come_from(learned):
    _, status, output = learned
    assert status == 0, output
    assert "from an answer of" in output
    assert "tools work, after" in output


@nightly
def test_what_is_gone_with_the_folder_is_not_written(learned):
    folder, _, output = learned
    assert "example" not in tomllib.loads((folder / "mcp-conformance.toml").read_text())
    assert "wrote" not in output


@nightly
def test_what_it_kept_spoils_no_later_run(learned):
    folder, _, output = learned
    _, again = learn(folder)
    assert number_in(again) >= number_in(output) - 1


def number_in(output):
    """Return how many tools work."""
    (line,) = (line for line in output.splitlines() if "tools work, after" in line)
    return int(line.split()[0])


def test_what_works_in_a_new_folder_is_written_and_used(tmp_path):
    config = tmp_path / "mcp-conformance.toml"
    config.write_text(
        f'command = {json.dumps([sys.executable, script("file_reader")])}\nrevision = "2025-11-25"\n'
    )
    status, output = learn(tmp_path, "--write")
    assert status == 0, output
    examples = tomllib.loads(config.read_text())["example"]
    assert [one.partition(" ")[0] for one in examples] == ["read"]
    (tmp_path / ".mcp-conformance").rename(tmp_path / "forgotten")
    _, again = learn(tmp_path)
    assert "from --example" in again


@nightly
def test_it_prints_what_tools_make_for_others_and_writes_a_graph(tmp_path):
    server = (sys.executable, "-m", "mcp_conformance_fixtures.state")
    status, output = learn(tmp_path, "--call", "all", "--graph", "tools.dot", "--", *server)
    assert status == 0, output
    rows = [line.split() for line in output.splitlines()]
    assert any(row[:3] == ["create_note", "delete_note", "deletes"] for row in rows)
    assert '"create_folder" -> "move_note" [label="takes by' in (tmp_path / "tools.dot").read_text()


@nightly
def test_examples_belong_to_a_configured_server(tmp_path):
    status, output = learn(tmp_path, "--write", "--", *COMMAND)
    assert status == 4
    assert "learn: --write needs a server in a configuration" in output
