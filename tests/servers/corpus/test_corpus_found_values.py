"""What was there before is read, and never changed: every line that a run sends to real servers."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

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


@pytest.mark.parametrize("name", PLANTED)
def test_a_run_gives_nothing_that_was_there_to_a_tool_that_may_write(name, tmp_path, monkeypatch):
    run = recorded_run(planted(name, tmp_path), tmp_path, monkeypatch)
    assert any(b"tools/call" in line for line in run.lines), run.output
    assert breaches(run.lines, run.writing, WORDS) == [], run.output
    assert run.after == run.before


@pytest.mark.parametrize("name", ["filesystem", "git"])
def test_a_run_does_so_if_the_user_allows_it(name, tmp_path, monkeypatch):
    run = recorded_run(planted(name, tmp_path), tmp_path, monkeypatch, "--found-values")
    assert breaches(run.lines, run.writing, WORDS) != [], run.output


class Planted(NamedTuple):
    """A server that is given things: its command, its folder, and its variables."""

    command: list[str]
    work: Path
    variables: dict[str, str]


def planted(name, tmp_path):
    """Install a server, and put into its folder what was there before."""
    target = TARGETS[name]
    if target.registry == "npm" and shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    installation = prepare(target, PLACE, scripts=True, seconds=INSTALL_SECONDS)
    assert installation.failure == ""
    work = tmp_path / WORDS[0]
    (work / WORDS[1]).mkdir(parents=True)
    for file in (f"{WORDS[2]}.txt", f"{WORDS[2]}.csv", f"{WORDS[1]}/{WORDS[2]}.md"):
        (work / file).write_text(f"{WORDS[3]}\n{WORDS[4]}\n", encoding="utf-8")
    places = {"ENV": installation.folder, "WORK": str(work)}
    for step in (*target.setup, *PLANTED[name]):
        subprocess.run(filled(step, places), shell=True, check=True, timeout=60)
    variables = {name: filled(text, places) for name, text in target.env.items()}
    command = [filled(word, places) for word in target.command]
    return Planted(command, work, {**variables, "NOTES_FOLDER": str(work / WORDS[1])})


class Recorded(NamedTuple):
    """A run: the lines that the server got, its tools that may write, and the files before and after."""

    lines: list[bytes]
    writing: set[str]
    before: dict[Path, bytes]
    after: dict[Path, bytes]
    output: str


def recorded_run(server, tmp_path, monkeypatch, *more):
    """Run the suite on a server behind a proxy."""
    before, lines = files_in(server.work), tmp_path / "lines"
    writing = tools_that_may_write(server, tmp_path)
    lines.mkdir()
    monkeypatch.setenv(FOLDER, str(lines))
    given = [word for name, text in server.variables.items() for word in ("--env", f"{name}={text}")]
    options = ("--revision", "latest", *LIMITS, "--cwd", str(server.work), *given, *more)
    run = run_suite([sys.executable, script("recording_proxy"), *server.command], *options, timeout=1200)
    after = {path: content for path, content in files_in(server.work).items() if path in before}
    return Recorded(recorded(lines), writing, before, after, run.output)


def files_in(work):
    """Return the contents of the files that were put into a folder, those that a server may not touch."""
    return {path: path.read_bytes() for path in work.glob(f"**/{WORDS[2]}.*") if ".git" not in path.parts}


def tools_that_may_write(server, tmp_path):
    """Return the names of the tools of a server that do not say that they only read."""
    command, work, variables = server
    with settings_on_process(tuple(command), tmp_path, cwd=work, env=variables) as settings:
        subject = probe_all(settings, ("latest",))
        found = [tool.definition.json for surface in subject.surfaces for tool in surface.tools]
        subject.close()
    return writing_tools(found)
