"""The command line that starts a server in a container; no Docker runs in tests."""

import sys

import pytest

from mcp_conformance.sandbox import docker
from mcp_conformance.sandbox.confined import Start
from mcp_conformance.sandbox.sandbox import Choice


@pytest.fixture
def confined(tmp_path, monkeypatch):
    """Return the confined start of a server, and the commands of Docker that ended it."""
    work, data = tmp_path / "work", tmp_path / "data"
    for folder in (work, data):
        folder.mkdir()
    ended = []
    monkeypatch.setattr(docker, "program_with", lambda _: "docker")
    monkeypatch.setattr(docker, "_run", lambda *words, **_: ended.append(words) or "")
    sandbox = Choice("docker:image:1", read=(data,)).sandbox()
    start = Start(
        *(("server", "--flag"), {"PATH": "/usr/bin"}, {"API_KEY": "hush-hush"}, {"HOME": f"{work}/home"}),
        *(work, work),
    )
    return sandbox.confined(start), ended


def test_a_container_has_no_network_no_privileges_and_few_files(confined, tmp_path):
    words = confined[0].command
    text = " ".join(words)
    assert words[:4] == ("docker", "run", "--rm", "--interactive")
    for option in (
        *("--network none", "--read-only", "--cap-drop ALL", "--security-opt no-new-privileges"),
        *("--memory ", "--pids-limit ", f"--workdir {tmp_path / 'work'}"),
        *(f"--volume {tmp_path}/data:{tmp_path}/data:ro", f"--volume {tmp_path}/work:{tmp_path}/work --"),
    ):
        assert option in f"{text} "
    assert text.endswith("--entrypoint server image:1 --flag")
    assert "--privileged" not in text
    if sys.platform != "win32":
        assert "--user " in text


def test_a_credential_is_not_in_the_command_line(confined):
    words = confined[0].command
    assert "hush-hush" not in " ".join(words)
    assert words[words.index("API_KEY") - 1] == "--env"
    assert confined[0].environment["API_KEY"] == "hush-hush"


def test_the_container_is_removed_at_the_end(confined):
    one, ended = confined
    one.end()
    assert ended == [("docker", "rm", "--force", one.command[one.command.index("--name") + 1])]
