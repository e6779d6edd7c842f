"""What was there before is read, and never changed: every line that a run sends to real servers."""

import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mcp_conformance.survey.prepare import prepare
from mcp_conformance.survey.targets import read_targets
from mcp_conformance.target.probe import probe_all
from support import run_suite, script
from support.bench import settings_on_process
from support.found_values import breaches, writing_tools
from support.recording_proxy import FOLDER, recorded
from support.server_installation import filled

REPORTS = Path(__file__).parents[3] / "reports"
PLANTED = tomllib.loads(Path(__file__).with_name("planted.toml").read_text(encoding="utf-8"))
TARGETS = {target.name: target for target in read_targets(REPORTS / "targets.toml")}
PLACE = Path(os.environ["CORPUS_SERVERS"])
INSTALL_SECONDS = 900
WORDS = ("larkspurgate", "quillfeather", "bramblewick", "thistlemoor", "ferncastle")
"""Texts that nothing has but what was there: the server's folder, and the names and contents of things."""
LIMITS = ("--call", "all", "--time", "60")


@pytest.fixture(params=PLANTED)
def planted(request, tmp_path):
    """A server that is given things: its target, its command, its folder, and its variables."""
    target = TARGETS[request.param]
    if target.registry == "npm" and shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    installation = prepare(target, PLACE, scripts=True, seconds=INSTALL_SECONDS)
    assert installation.failure == ""
    work = tmp_path / WORDS[0]
    (work / WORDS[1]).mkdir(parents=True)
    for name in (f"{WORDS[2]}.txt", f"{WORDS[2]}.csv", f"{WORDS[1]}/{WORDS[2]}.md"):
        (work / name).write_text(f"{WORDS[3]}\n{WORDS[4]}\n", encoding="utf-8")
    places = {"ENV": installation.folder, "WORK": str(work)}
    for step in (*target.setup, *PLANTED[request.param]):
        subprocess.run(filled(step, places), shell=True, check=True, timeout=60)
    variables = {name: filled(text, places) for name, text in target.env.items()}
    command = [filled(word, places) for word in target.command]
    return command, work, {**variables, "NOTES_FOLDER": str(work / WORDS[1])}


def test_a_run_gives_nothing_that_was_there_to_a_tool_that_may_write(planted, tmp_path, monkeypatch):
    command, work, variables = planted
    before = {path: path.read_bytes() for path in work.glob(f"**/{WORDS[2]}.*") if ".git" not in path.parts}
    writing = tools_that_may_write(command, work, variables, tmp_path)
    lines = tmp_path / "lines"
    lines.mkdir()
    monkeypatch.setenv(FOLDER, str(lines))
    given = [word for name, text in variables.items() for word in ("--env", f"{name}={text}")]
    options = ("--revision", "latest", *LIMITS, "--cwd", str(work), *given)
    run = run_suite([sys.executable, script("recording_proxy"), *command], *options, timeout=1200)
    sent = recorded(lines)
    assert any(b"tools/call" in line for line in sent), run.output
    assert breaches(sent, writing, WORDS) == [], shlex.join(command)
    assert {path: path.read_bytes() for path in before if path.exists()} == before


def tools_that_may_write(command, work, variables, tmp_path):
    """Return the names of the tools of a server that do not say that they only read."""
    with settings_on_process(tuple(command), tmp_path, cwd=work, env=variables) as settings:
        subject = probe_all(settings, ("latest",))
        found = [tool.definition.json for surface in subject.surfaces for tool in surface.tools]
        subject.close()
    return writing_tools(found)
