"""The GitHub Action and the pre-commit hook: they wrap the command, and run no input as code."""

import contextlib
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

from mcp_conformance.cli.github_action import INPUTS, PREFIX, act
from mcp_conformance.cli.github_comment import comment
from mcp_conformance.report.formats import json as json_format
from mcp_conformance.report.model import Interface, OfferedTool
from mcp_conformance.report.servers import json as servers_json
from mcp_conformance.report.servers.model import ServerOutcome, ServersReport
from support import REFERENCE, mutant, quick_mutant
from support.github_runner import BASH, REAL_PYTHON, TOKEN, CommentsApi, Runner, bash, evaluated, outputs
from support.nightly import nightly
from support.repositories import write
from support.sample_report import EVIL as MARKUP
from support.sample_report import REPORT, failed

PROJECT = Path(__file__).parents[2]
ACTION = yaml.safe_load((PROJECT / "action.yml").read_text("utf-8"))
STEPS = ACTION["runs"]["steps"]
BY_ID = {step["id"]: step for step in STEPS}
INSTALL, RUN = BY_ID["install"], BY_ID["run"]
QUICK = "--select ping.empty-result --fuzz none --revision 2025-11-25"
in_bash = pytest.mark.skipif(BASH is None or os.name != "posix", reason="bash")


def run_step(step, folder, **variables):
    """Run a step as a runner does; return the process and the outputs of the step."""
    file = folder / "outputs"
    done = bash(step["run"], folder, GITHUB_OUTPUT=str(file), **variables)
    return done, outputs(file.read_text("utf-8")) if file.exists() else {}


def run_action(folder, **inputs):
    """Run the action's last step with these inputs, and the defaults for the others."""
    given = {name: about.get("default", "") for name, about in ACTION["inputs"].items()} | inputs
    variables = {f"{PREFIX}{name.upper()}": given[name] for name in INPUTS}
    variables["MCP_ACTION_FOLDER"] = str(folder / "own")
    return run_step(RUN, folder, PROGRAM=sys.executable, **variables)


# The action's description


def test_no_input_is_part_of_shell_text():
    scripts = [step["run"] for step in STEPS if "run" in step]
    assert scripts
    assert not any("${{" in script for script in scripts)


def test_every_input_is_passed_on():
    passed = {**BY_ID["python"]["with"], **RUN["env"], **BY_ID["comment"]["env"]}
    passed |= {"directory": RUN["working-directory"], "comment": "${{ inputs.comment }}"}
    for name in ACTION["inputs"]:
        assert f"${{{{ inputs.{name} }}}}" in passed.values()
    assert "inputs.comment == 'true'" in BY_ID["comment"]["if"]
    given = {name for name in RUN["env"] if PREFIX in name} - {f"{PREFIX}FOLDER"}
    assert {f"{PREFIX}{name.upper()}" for name in INPUTS} == given


def test_only_the_comment_sees_the_token():
    assert [step["id"] for step in STEPS if "github.token" in str(step)] == ["comment"]


def test_action_is_well_formed():
    assert set(ACTION) == {"name", "description", "branding", "inputs", "outputs", "runs"}
    assert ACTION["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" for step in STEPS if "run" in step)
    assert len(BY_ID) == len(STEPS)
    assert all(
        about["description"] and isinstance(about["default"], str) for about in ACTION["inputs"].values()
    )
    for name, about in ACTION["outputs"].items():
        assert about["value"] == f"${{{{ steps.run.outputs.{name} }}}}"


# Its steps


@in_bash
def test_action_is_installed_in_its_own_environment(tmp_path):
    calls = tmp_path / "calls"
    recorder = (
        f'#!{BASH}\necho "$@" >> {calls}\n[ "$3" = venv ] && mkdir -p "$4"/bin && cp "$0" "$4"/bin/python\n'
    )
    recorder += "exit 0"
    write(tmp_path, {"python": recorder})
    (tmp_path / "python").chmod(0o755)
    place = tmp_path / "a place"
    done, written = run_step(
        INSTALL, tmp_path, PYTHON=str(tmp_path / "python"), SOURCE="$(touch pwned)", PLACE=str(place)
    )
    assert done.returncode == 0, done.stderr
    assert written == {"program": f"{place}/bin/python"}
    install = "-P -m pip install --quiet --disable-pip-version-check $(touch pwned)[http]"
    begin = "-P -m mcp_conformance.cli.github_action begin"
    assert calls.read_text().splitlines() == [f"-P -m venv {place}", install, begin]
    assert not (tmp_path / "pwned").exists()


@in_bash
def test_action_runs_the_suites_and_writes_its_outputs(tmp_path):
    command = json.dumps(mutant("ping_result_has_payload"))
    done, written = run_action(tmp_path, command=command, options=QUICK, call="echo\nadd*\n", strict="TRUE")
    assert done.returncode == 1, done.stdout + done.stderr
    reports = ["mcp-conformance/report.html", "mcp-conformance/report.json", "mcp-conformance/junit.xml"]
    assert written["reports"].splitlines() == reports
    assert (written["exit-status"], written["outcome"], written["is-base"]) == ("1", "failed", "true")
    report = json.loads((tmp_path / reports[1]).read_text("utf-8"))
    assert report["server"]["command"] == list(mutant("ping_result_has_payload"))
    assert report["run"]["options"]["call"] == ["echo", "add*"]
    assert report["run"]["options"]["strict"] is True


EVIL = '$(touch pwned)`touch pwned`"; touch pwned; "'


@in_bash
@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"command": json.dumps([EVIL])}, "The command is one word"),
        (dict.fromkeys(["config", "server", "call", "report", "junit", "contract"], EVIL), "No such file"),
    ],
    ids=["command", "others"],
)
def test_input_is_never_code(inputs, message, tmp_path):
    done, written = run_action(tmp_path, **inputs)
    assert done.returncode == 4
    assert message in done.stderr
    assert written == {"exit-status": "4", "outcome": "not run", "reports": ""}
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "run: no server is given"),
        ({"command": "x 'y"}, "command: No closing quotation"),
        ({"command": "[1]"}, "command: a JSON array of words is expected"),
        ({"command": "[x"}, "command: not JSON"),
        ({"command": "x", "strict": "yes"}, "strict: true or false is expected, not 'yes'"),
        ({"command": "x", "sarif": "1"}, "sarif: true or false is expected, not '1'"),
        ({"server": "x"}, "--server and --all choose from mcp-conformance.toml"),
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
    assert outputs(Path("outputs").read_text("utf-8"))["reports"].splitlines() == written


@nightly
def test_all_servers_of_the_configuration_are_tested(tmp_path, monkeypatch, capfd):
    server = f"command = {json.dumps(quick_mutant('ping_result_has_payload'))}"
    options = 'select = ["ping"]\nfuzz = "none"\nrevision = "2025-11-25"'
    table = f"{options}\n[servers.a]\n{server}\n[servers.b]\n{server}"
    monkeypatch.chdir(write(tmp_path, {"mcp-conformance.toml": table}))
    assert act({"GITHUB_OUTPUT": "outputs", "MCP_ACTION_FOLDER": "own"}) == 1
    assert act({f"{PREFIX}SERVER": "a", f"{PREFIX}SARIF": "true", "GITHUB_OUTPUT": "second"}) == 1
    assert "sarif" not in outputs(Path("outputs").read_text("utf-8"))
    assert outputs(Path("second").read_text("utf-8"))["sarif"] == "findings.sarif"
    assert "2 servers, 2 failed" in capfd.readouterr().out


# The comment


@pytest.fixture
def api():
    server = CommentsApi()
    yield server
    server.close()


RIGHT, BROKEN = REFERENCE, quick_mutant("ping_result_has_payload")


def serve(repository, command):
    """Let the configuration of a repository name this server."""
    command = json.dumps(command)
    text = f'command = {command}\nselect = ["ping.empty-result"]\nfuzz = "none"\nrevision = "2025-11-25"\n'
    write(repository, {"mcp-conformance.toml": text})


@in_bash
def test_pull_request_gets_one_comment_with_what_changed(tmp_path, api):
    """A push keeps its report; a pull request breaks a rule, and repairs it again."""
    runner = Runner(ACTION, tmp_path / "repository", tmp_path / "runner")
    serve(runner.repository, RIGHT)
    pushed = runner.play(api.url)
    assert (pushed.has_failed, api.requests) == (False, [])
    assert list(runner.cache) == [pushed.used["actions/cache/save@v5"]["key"]]

    serve(runner.repository, BROKEN)
    broken = runner.play(api.url, 7, "main", sarif="true")
    assert broken.has_failed
    assert broken.outputs["exit-status"] == "1"
    assert "actions/cache/save@v5" not in broken.used
    assert Path(broken.used["github/codeql-action/upload-sarif@v4"]["sarif_file"]).is_file()
    (posted,) = api.comments
    mark, verdict, *rest = posted["body"].splitlines()
    assert verdict.startswith("## ❌ MCP conformance: does not conform: 1 rule broken")
    assert "**Against `main`: 1 rule broke, 0 fixed**" in posted["body"]
    assert "- `ping.empty-result` in 2025-11-25: was kept, now failed" in posted["body"]
    assert rest[-1] == "[The whole run](https://github.com/owner/name/actions/runs/2)"
    assert f"comment: {posted['html_url']}" in broken.log
    assert "**Against `main`: 1 rule broke, 0 fixed**" in broken.summary

    serve(runner.repository, RIGHT)
    repaired = runner.play(api.url, 7, "main")
    assert not repaired.has_failed
    (posted,) = api.comments
    assert posted["body"].startswith(f"{mark}\n## ✅ MCP conformance: passed")
    assert "**Against `main`: 0 rules broke, 0 fixed**" in posted["body"]
    assert {authorization for *_, authorization in api.requests} == {f"Bearer {TOKEN}"}
    assert not [job for job in (pushed, broken, repaired) if TOKEN in job.log + job.summary]


@in_bash
@pytest.mark.parametrize(("server", "fails"), [(RIGHT, False), (BROKEN, True)], ids=["right", "broken"])
@nightly
def test_without_permission_the_summary_has_it_and_the_outcome_stays(server, fails, tmp_path, api):
    api.forbidden = True
    runner = Runner(ACTION, tmp_path / "repository", tmp_path / "runner")
    serve(runner.repository, server)
    job = runner.play(api.url, 7, "main")
    assert (job.has_failed, api.comments) == (fails, [])
    assert "Nothing to compare with: this step has no report of `main` yet." in job.summary
    (line,) = [line for line in job.summary.splitlines() if "not written" in line]
    assert line.startswith(
        "The comment on the pull request is not written: the job needs `permissions: pull-"
    )
    assert job.log.count("comment: not written: the job needs") == 1


@nightly
@in_bash
def test_run_that_does_not_begin_is_commented_as_such(tmp_path, api):
    runner = Runner(ACTION, tmp_path / "repository", tmp_path / "runner")
    write(runner.repository, {"readme": ""})
    job = runner.play(api.url, 7, "main")
    assert (job.has_failed, job.outputs["exit-status"]) == (True, "4")
    assert "## ⚪ MCP conformance: not run, and no report" in api.comments[0]["body"]


@in_bash
@nightly
def test_the_real_steps_install_it_with_http_and_run_it(tmp_path, api):
    runner = Runner(ACTION, tmp_path / "repository", tmp_path / "runner", REAL_PYTHON)
    serve(runner.repository, RIGHT)
    job = runner.play(api.url, 7, "main")
    assert (job.has_failed, job.outputs["outcome"]) == (False, "passed"), job.log
    assert api.comments[0]["body"].splitlines()[1].startswith("## ✅")
    program = runner.place / "temp" / "mcp-conformance-venv" / "bin" / "python"
    found = subprocess.run(
        [program, "-c", "import h11, mcp_conformance as it; print(it.__file__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "mcp-conformance-venv" in found.stdout


@nightly
@in_bash
def test_comment_is_not_wanted(tmp_path, api):
    runner = Runner(ACTION, tmp_path / "repository", tmp_path / "runner")
    serve(runner.repository, RIGHT)
    job = runner.play(api.url, 7, "main", comment="false")
    assert (job.has_failed, api.requests, "comment:" in job.log) == (False, [], False)


def test_runner_refuses_expressions_that_it_does_not_know():
    with pytest.raises(AssertionError, match="does not know"):
        evaluated("inputs.a || inputs.b", {"inputs": {}})


def commented(folder, api, new=REPORT, old=REPORT, **more):
    """Run the program that comments, on these reports; return the comment's text and the summary."""
    for name, report in (("new.json", new), ("base.json", old)):
        write(folder, {name: json_format.render(report)} if report else {})
    write(folder, {"event.json": '{"pull_request": {"number": 7}}', "summary": ""})
    variables = {
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "GITHUB_API_URL": api,
        "GITHUB_REPOSITORY": "owner/name",
        "GITHUB_TOKEN": TOKEN,
        "MCP_ACTION_FOLDER": str(folder),
        "MCP_ACTION_KEY": "key",
        "GITHUB_BASE_REF": "main",
    }
    assert comment({**variables, **more}) == 0
    return (folder / "summary").read_text("utf-8")


def texts(tokens):
    """Yield what Markdown shows as text, or passes on as HTML: all but code and comments."""
    for token in tokens:
        if token.children is not None:
            yield from texts(token.children)
        elif token.type not in ("code_inline", "fence", "code_block"):
            yield token.content


def test_text_of_a_server_has_no_effect_in_a_comment(tmp_path, api):
    tools = [OfferedTool(MARKUP, called=True, definition={"name": MARKUP, "inputSchema": {}})]
    evil = replace(REPORT, server=MARKUP, revisions=(Interface("2025-11-25", tools=tuple(tools)),))
    summary = commented(
        tmp_path, api.url, evil, replace(REPORT, results=(), revisions=(Interface("2025-11-25"),))
    )
    body = api.comments[0]["body"]
    assert "New findings" in summary
    for text in (summary, body):
        assert "@team" in text
        shown = "\n".join(texts(MarkdownIt("gfm-like", {"linkify": False}).parse(text)))
        assert "was not tested, now failed" in shown
        assert not re.search("@team|<script|alert|::error", shown)
        assert all(char.isprintable() or char == "\n" for char in text)


@nightly
def test_comment_has_at_most_the_characters_that_github_takes(tmp_path, api):
    many = tuple(replace(failed("add"), requirement=f"tools.r{number}") for number in range(900))
    commented(tmp_path, api.url, replace(REPORT, results=many), replace(REPORT, results=()))
    assert 50_000 < len(api.comments[0]["body"]) < 65_536


@nightly
def test_comment_on_many_servers_has_at_most_these_characters_too(tmp_path, api):
    findings = tuple(replace(failed(MARKUP), requirement=f"tools.r{number}") for number in range(12))
    for file, results in (("new.json", findings), ("base.json", ())):
        report = replace(REPORT, results=results)
        outcomes = tuple(ServerOutcome(f"{MARKUP}{number}", 1, report=report) for number in range(80))
        write(tmp_path, {file: servers_json.render(ServersReport("x", outcomes, "1"))})
    commented(tmp_path, api.url, None, None)
    assert 50_000 < len(api.comments[0]["body"]) < 65_536
    assert "… and 30 more servers, those that passed last." in api.comments[0]["body"]


def test_own_comment_is_found_on_any_page_and_no_other_is_touched(tmp_path, api):
    mark = "<!-- mcp-conformance key -->"
    api.write(f"{mark}\nmine", "mallory")
    api.write("<!-- mcp-conformance other -->", "github-actions[bot]")
    for number in range(230):
        api.write(f"{number}")
    own = api.write(f"{mark}\nold", "github-actions[bot]")
    before = json.dumps(api.comments[:-1])
    commented(tmp_path, api.url)
    assert json.dumps(api.comments[:-1]) == before
    assert (len(api.comments), api.comments[-1]["id"]) == (233, own["id"])
    assert "old" not in own["body"].splitlines()
    assert [method for method, *_ in api.requests] == ["GET", "GET", "GET", "PATCH"]


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"GITHUB_TOKEN": ""}, "there is no token"),
        ({"GITHUB_TOKEN": f"{TOKEN}\nx"}, "there is no token"),
        ({"GITHUB_API_URL": "http://127.0.0.1:1"}, "GitHub cannot be reached"),
        ({"GITHUB_REPOSITORY": "no body"}, "GitHub cannot be reached"),
    ],
    ids=["none", "two lines", "no API", "no repository"],
)
def test_comment_that_cannot_be_written_is_one_line(variables, reason, tmp_path, api, capsys):
    summary = commented(tmp_path, api.url, **variables)
    output = capsys.readouterr()
    assert output.out.startswith(f"comment: not written: {reason}")
    assert (len(output.out.splitlines()), output.err) == (1, "")
    assert reason in summary
    assert TOKEN not in output.out + summary


@pytest.mark.parametrize(
    ("old", "more", "text"),
    [
        (None, {}, "Nothing to compare with: this step has no report of `main` yet."),
        (None, {f"{PREFIX}BASE_REPORT": "no.json"}, "Not compared: `no.json: "),
        (REPORT, {f"{PREFIX}BASE_REPORT": "base.json"}, "**Against `main`: 0 rules broke, 0 fixed**"),
    ],
)
def test_report_to_compare_with(old, more, text, tmp_path, api):
    with contextlib.chdir(tmp_path):
        assert text in commented(tmp_path, api.url, REPORT, old, **more)
    assert text in api.comments[0]["body"]


def test_changes_of_several_servers_are_in_one_comment(tmp_path, api):
    worse, same = (ServerOutcome(name, 1, report=replace(REPORT, ended="")) for name in ("worse", "same"))
    better = replace(worse, report=replace(REPORT, results=(), ended=""))
    new = ServersReport("x", (worse, same, ServerOutcome("new", 1, report=REPORT)), "1")
    old = ServersReport("x", (better, same, ServerOutcome("gone", None, "remote")), "1")
    write(tmp_path, {"new.json": servers_json.render(new), "base.json": servers_json.render(old)})
    commented(tmp_path, api.url, None, None)
    body = api.comments[0]["body"]
    assert "MCP conformance: 3 servers" in body
    assert "**`worse` against `main`:" in body
    assert "No change against `main`: `same`" in body
    assert "- `new` was not tested before" in body


@pytest.mark.parametrize("event", ['{"ref": "refs/heads/main"}', "[]", "", "{"])
def test_job_of_no_pull_request_gets_no_comment(event, tmp_path, capsys):
    path = write(tmp_path, {"event.json": event}) / "event.json"
    assert comment({"GITHUB_EVENT_PATH": str(path)}) == comment({}) == 0
    assert capsys.readouterr().out.splitlines() == ["comment: none, as no pull request started this job"] * 2


# The hook


def test_hook_runs_the_installed_command():
    (hook,) = yaml.safe_load((PROJECT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    program, *words = hook["entry"].split()
    assert entry_points(group="console_scripts", name=program)
    assert words == ["run"]
    assert (hook["language"], hook["pass_filenames"], hook["always_run"]) == ("python", False, True)
