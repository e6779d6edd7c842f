"""The GitHub Action and the pre-commit hook: they wrap the command, and run no input as code."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml
from support import environment, mutant
from support.repositories import write

from conformance.cli.github_action import INPUTS, PREFIX, act

PROJECT = Path(__file__).parents[2]
ACTION = yaml.safe_load((PROJECT / "action.yml").read_text("utf-8"))
STEPS = ACTION["runs"]["steps"]
INSTALL, RUN = STEPS[1:]
BASH = shutil.which("bash")
QUICK = "--select ping.empty-result --fuzz none --revision 2025-11-25"
in_bash = pytest.mark.skipif(BASH is None or os.name != "posix", reason="bash")


def run_step(step, folder, **variables):
    """Run a step as a runner does; return the process and the outputs of the step."""
    file = folder / "outputs"
    done = subprocess.run(
        [BASH, "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env=environment(GITHUB_OUTPUT=str(file), **variables),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done, outputs(file.read_text("utf-8")) if file.exists() else {}


def outputs(text):
    """Return the outputs that a runner reads from this text."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        name, is_block, mark = line.partition("<<")
        if is_block:
            found[name] = list(iter(lines.__next__, mark))
        else:
            name, _, found_value = line.partition("=")
            found[name] = found_value
    return found


def run_action(folder, **inputs):
    """Run the action's last step with these inputs, and the defaults for the others."""
    given = {name: about.get("default", "") for name, about in ACTION["inputs"].items()} | inputs
    variables = {f"{PREFIX}{name.upper()}": given[name] for name in INPUTS}
    return run_step(RUN, folder, PROGRAM=sys.executable, **variables)


# The action's description


def test_no_input_is_part_of_shell_text():
    for step in STEPS:
        assert "${{" not in step.get("run", "")


def test_every_input_is_passed_on():
    passed = {**STEPS[0]["with"], **RUN["env"], "directory": RUN["working-directory"]}
    for name in ACTION["inputs"]:
        assert f"${{{{ inputs.{name} }}}}" in passed.values()
    assert {f"{PREFIX}{name.upper()}" for name in INPUTS} == {name for name in RUN["env"] if PREFIX in name}


def test_action_is_well_formed():
    assert set(ACTION) == {"name", "description", "branding", "inputs", "outputs", "runs"}
    assert ACTION["runs"]["using"] == "composite"
    assert [step["uses"] for step in STEPS if "uses" in step] == ["actions/setup-python@v6"]
    assert all(step["shell"] == "bash" and step["id"] for step in STEPS if "run" in step)
    assert all(
        about["description"] and isinstance(about["default"], str) for about in ACTION["inputs"].values()
    )
    for name, about in ACTION["outputs"].items():
        assert about["value"] == f"${{{{ steps.run.outputs.{name} }}}}"


# Its steps


@in_bash
def test_action_is_installed_in_its_own_environment(tmp_path):
    calls = tmp_path / "calls"
    recorder = f'#!{BASH}\necho "$@" >> {calls}\nmkdir -p "$3"/bin && cp "$0" "$3"/bin/python || true\n'
    write(tmp_path, {"python": recorder})
    (tmp_path / "python").chmod(0o755)
    place = tmp_path / "a place"
    done, written = run_step(
        INSTALL, tmp_path, PYTHON=str(tmp_path / "python"), SOURCE="$(touch pwned)", PLACE=str(place)
    )
    assert done.returncode == 0, done.stderr
    assert written == {"program": f"{place}/bin/python"}
    install = "-m pip install --quiet --disable-pip-version-check $(touch pwned)"
    assert calls.read_text().splitlines() == [f"-m venv {place}", install]
    assert not (tmp_path / "pwned").exists()


@in_bash
def test_action_runs_the_suites_and_writes_its_outputs(tmp_path):
    command = json.dumps(mutant("ping_result_has_payload"))
    done, written = run_action(tmp_path, command=command, options=QUICK, call="echo\nadd*\n", strict="TRUE")
    assert done.returncode == 1, done.stdout + done.stderr
    reports = ["mcp-conformance/report.html", "mcp-conformance/report.json", "mcp-conformance/junit.xml"]
    assert written == {"exit-status": "1", "outcome": "failed", "reports": reports}
    report = json.loads((tmp_path / reports[1]).read_text("utf-8"))
    assert report["server"]["command"] == list(mutant("ping_result_has_payload"))
    assert report["run"]["options"]["call"] == ["echo", "add*"]
    assert report["run"]["options"]["strict"] is True


EVIL = '$(touch pwned)`touch pwned`"; touch pwned; "'


@in_bash
@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"command": json.dumps([EVIL])}, f"no such program, or not executable: {EVIL}"),
        (dict.fromkeys(["config", "server", "call", "report", "junit"], EVIL), "No such file"),
    ],
    ids=["command", "others"],
)
def test_input_is_never_code(inputs, message, tmp_path):
    done, written = run_action(tmp_path, **inputs)
    assert done.returncode == 4
    assert message in done.stderr
    assert written == {"exit-status": "4", "outcome": "not run", "reports": []}
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "run: no server is given"),
        ({"command": "x 'y"}, "command: No closing quotation"),
        ({"command": "[1]"}, "command: a JSON array of words is expected"),
        ({"command": "[x"}, "command: not JSON"),
        ({"command": "x", "strict": "yes"}, "strict: true or false is expected, not 'yes'"),
        ({"command": "x", "options": "-n 2 -- y"}, "options: the server's command belongs in `command`"),
        ({"config": "no.json"}, "no.json: No such file"),
        ({"config": "no.json", "command": "x"}, "--config names the server already"),
    ],
)
def test_invalid_input_is_one_line(inputs, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    variables = {f"{PREFIX}{name.upper()}": text for name, text in inputs.items()}
    assert act({**variables, "GITHUB_OUTPUT": "outputs"}) == 4
    assert outputs(Path("outputs").read_text("utf-8"))["outcome"] == "not run"
    errors = capsys.readouterr().err
    assert message in errors
    assert len(errors.splitlines()) == 1


def test_reports_of_several_servers_are_outputs(tmp_path, monkeypatch):
    monkeypatch.chdir(
        write(tmp_path, {"out/a-r.json": "", "out/b-r.json": "", "out/r.html": "", "j.xml": ""})
    )
    act({"GITHUB_OUTPUT": "outputs", f"{PREFIX}REPORT": "out/r.json\nout/r.html", f"{PREFIX}JUNIT": "j.xml"})
    written = ["out/a-r.json", "out/b-r.json", "out/r.html", "j.xml"]
    assert outputs(Path("outputs").read_text("utf-8"))["reports"] == written


# The hook


def test_hook_runs_the_installed_command():
    (hook,) = yaml.safe_load((PROJECT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    program, *words = hook["entry"].split()
    assert entry_points(group="console_scripts", name=program)
    assert words == ["run"]
    assert (hook["language"], hook["pass_filenames"], hook["always_run"]) == ("python", False, True)
