"""The project's own rules: checks of the user stand in the same report, under ids of their own."""

import json
import sys
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from mcp_conformance.options.choosing import choose
from mcp_conformance.options.configuration import BadConfiguration, nearest_configuration
from mcp_conformance.options.given import Given
from mcp_conformance.outcome import Outcome
from mcp_conformance.report.exit_status import NOT_STARTED
from mcp_conformance.report.files import file_formats
from mcp_conformance.report.formats import github, markdown, sarif
from mcp_conformance.requirements import catalogue
from support.nightly import nightly
from support.repositories import run_pytest, write
from support.running import forked
from support.sample_report import REPORT, result

SERVER = """
import json, sys

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
HINT = {"readOnlyHint": True}
TOOLS = [{"name": name, "inputSchema": SCHEMA, "annotations": HINT} for name in ("double", "half")]

for line in sys.stdin:
    message = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": message.get("id"), "result": {}}
    if message["method"] == "initialize":
        info, offers = {"name": "small", "version": "1"}, {"tools": {}}
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": offers, "serverInfo": info}
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": TOOLS}
    elif message["method"] == "tools/call":
        number = message["params"]["arguments"]["a"] * 2
        answer["result"] = {"content": [{"type": "text", "text": str(number)}]}
    elif message["method"] != "ping":
        del answer["result"]
        answer["error"] = {"code": -32601, "message": "no"}
    if "id" in message:
        print(json.dumps(answer), flush=True)
"""
CONFIGURATION = f"""
command = [{json.dumps(sys.executable)}, "server.py"]
revision = "2025-11-25"

[project]
checks = "checks/own.py"

[project.rules]
doubled = {{ says = "Each tool doubles a number.", fix = "Multiply by two." }}
short = {{ level = "SHOULD", says = "An answer has one digit." }}
halved = {{ says = "Half is half." }}
named = {{ level = "MAY", says = "A tool has a title." }}
later = {{ says = "Something that nobody can judge yet." }}
"""
CHECKS = """
import pytest
from mcp_conformance import for_each_tool


@pytest.mark.requirement("project.doubled")
@for_each_tool
def test_doubled(tool):
    assert tool(a=2).text == "4"


@pytest.mark.requirement("project.short")
def test_short(conformance_server):
    assert len(conformance_server.call("double", {"a": 50}).text) == 1


@pytest.mark.requirement("project.halved")
def test_halved(conformance_server):
    assert conformance_server.call("half", {"a": 2}).text == "1"


@pytest.mark.requirement("project.named")
@for_each_tool
def test_title(tool):
    assert "title" in tool.definition


@pytest.mark.requirement("project.later")
def test_later():
    pytest.skip("no API yet")
"""


def repository(folder, **files):
    texts = {"server.py": SERVER, "mcp-conformance.toml": CONFIGURATION, "checks/own.py": CHECKS}
    return write(folder, {**texts, **files})


def results(path):
    found = json.loads(path.read_text())["results"]
    return {(one["requirement"], one.get("tool", "")): one for one in found}


def test_their_results_stand_in_the_report_of_a_run(tmp_path):
    repo, report = repository(tmp_path / "repo"), tmp_path / "report.json"
    words = ["run", "--select", "project,ping.responds", f"--report={report}"]
    exit, output = forked(words, repo, 120)
    assert exit == 1, output
    assert output.startswith("configuration: mcp-conformance.toml\n"), output
    found = results(report)
    outcomes = {key: one["outcome"] for key, one in found.items()}
    assert outcomes == {
        ("ping.responds", ""): "passed",
        ("project.doubled", "double"): "passed",
        ("project.doubled", "half"): "passed",
        ("project.short", ""): "warned",
        ("project.halved", ""): "failed",
        ("project.named", "double"): "info",
        ("project.named", "half"): "info",
        ("project.later", ""): "skipped",
    }
    halved = found["project.halved", ""]
    assert halved["reason"] == "expected test_halved to pass, got AssertionError: assert '4' == '1'"
    assert '"name":"half"' in halved["wire"][0]
    assert halved["reproduce"] == "mcp-conformance run --select project.halved"
    assert found["project.later", ""]["reason"] == "no API yet"
    assert "FAILED project.halved (MUST, project)" in output


@nightly
def test_they_are_selected_left_out_and_expected_like_other_rules(tmp_path):
    baseline = '[[expected]]\nrequirement = "project.halved"\nreason = "next week"\n'
    repo, report = repository(tmp_path / "repo", **{"known.toml": baseline}), tmp_path / "report.json"
    words = ["run", "--select", "project.doubled[half],project.halved,project.short"]
    words += ["--skip", "project.short", "--baseline", "known.toml", f"--report={report}"]
    exit, output = forked(words, repo, 120)
    assert exit == 0, output
    outcomes = {key: one["outcome"] for key, one in results(report).items()}
    assert outcomes == {("project.doubled", "half"): "passed", ("project.halved", ""): "expected"}


@nightly
@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_they_are_results_under_pytest_too(tmp_path, workers):
    repo = repository(tmp_path / "repo")
    report = tmp_path / "report.json"
    words = ("--conformance", "--conformance-select=project", f"--conformance-report={report}")
    run = run_pytest(repo, *words, *workers, "checks/own.py", lean=())
    assert run.exit == 1, run.output
    assert results(report)["project.halved", ""]["outcome"] == "failed"


@nightly
def test_a_server_that_does_not_start_skips_them(tmp_path):
    repo, report = repository(tmp_path / "repo", **{"server.py": "raise SystemExit(3)"}), tmp_path / "r.json"
    exit, output = forked(["run", "--select", "project", f"--report={report}"], repo, 120)
    assert exit == NOT_STARTED, output
    found = {key: one["outcome"] for key, one in results(report).items() if key[0].startswith("project.")}
    assert set(found.values()) == {"skipped"}, output


@nightly
@pytest.mark.parametrize(
    ("checks", "message"),
    [
        (
            CHECKS.replace("project.later", "project.latter"),
            "has no rule 'project.latter' in [project.rules]",
        ),
        (CHECKS.partition('@pytest.mark.requirement("project.later")')[0], "cites 'project.later'"),
    ],
)
def test_a_rule_without_a_check_and_a_check_without_a_rule_are_errors(tmp_path, checks, message):
    repo = repository(tmp_path / "repo", **{"checks/own.py": checks})
    exit, output = forked(["run", "--select", "project"], repo, 120)
    assert (exit, message in output) == (4, True), output


@pytest.mark.parametrize("words", [["explain", "project.short"], ["list", "project"]])
def test_explain_and_list_know_them(tmp_path, words):
    exit, output = forked(words, repository(tmp_path / "repo"), 60)
    assert exit == 0, output
    assert "An answer has one digit." in output


def test_they_hold_for_a_server_that_the_command_line_names(tmp_path):
    given = Given((sys.executable, "server.py"), "")
    repo = repository(tmp_path)
    chosen = choose({}, given, "--", repo)
    assert set(chosen.project.rules) == {"doubled", "short", "halved", "named", "later"}
    assert chosen.head == f"configuration: {repo / 'mcp-conformance.toml'} (the project's own rules)"
    write(repo, {"mcp-conformance.toml": "command = 5"})
    assert choose({}, given, "--", repo).project.rules == {}
    assert choose({}, given, "--", repo).head == ""


ASYNC = """
import asyncio
import pytest


@pytest.mark.requirement("project.later")
async def test_later(conformance_session):
    assert asyncio.get_running_loop()
    assert (await conformance_session.call("double", {"a": 2})).text == "4"
"""


@nightly
def test_an_async_check_runs_in_an_event_loop(tmp_path):
    rules = CONFIGURATION.partition("doubled =")[0] + 'later = { says = "Later." }'
    repo = repository(tmp_path / "repo", **{"checks/own.py": ASYNC, "mcp-conformance.toml": rules})
    exit, output = forked(["run", "--select", "project"], repo, 120)
    assert (exit, "1 passed" in output) == (0, True), output


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("rulez = {}", "project.rulez is unknown: there are rules and checks"),
        ("checks = 5", "project.checks is the path of a file with checks, or a list of paths, not 5"),
        ('checks = "none.py"', "project.checks is a file that exists, not 'none.py'"),
        ('rules = {a = {says = "A."}}', "project.checks is needed for the rules"),
        ("rules = {A = {}}", "project.rules.A is a name of small letters, digits, - and ."),
        ("rules = {a = {}}", "project.rules.a.says is the rule in one sentence"),
        ('rules = {a = {says = "A.", text = "b"}}', "project.rules.a is a table of texts: says, level, fix"),
        ('rules = {a = {says = "A.", level = "must"}}', "project.rules.a.level is MUST, SHOULD, MAY"),
    ],
)
def test_errors_in_the_table_are_one_clear_line(tmp_path, table, message):
    write(tmp_path, {"mcp-conformance.toml": f'command = "x"\n[project]\n{table}\n'})
    with pytest.raises(BadConfiguration) as error:
        nearest_configuration(tmp_path)
    assert message in str(error.value)


@pytest.fixture
def own():
    yield catalogue.use_own_rules
    catalogue.use_own_rules({})


def test_the_catalogue_knows_the_rules_of_one_project_at_a_time(own):
    own({"a.b": {"says": "A."}, "c": {"says": "C.", "level": "SHOULD", "fix": "Mend it."}})
    row = catalogue.requirement("project.c")
    assert (row.level("2025-11-25"), row.basis("2025-11-25"), row.fix) == ("SHOULD", "project", "Mend it.")
    assert catalogue.select("project") == {"project.a.b", "project.c"}
    assert catalogue.select("project.a") == {"project.a.b"}
    own({"d": {"says": "D."}})
    with pytest.raises(catalogue.UnknownRequirement, match=r"did you mean project\.d"):
        catalogue.requirement("project.c")
    assert "project.d" not in catalogue.all_requirements()


EVIL = "@octocat <img src=x> [a](javascript:x) ` \x1b]52;c;YQ==\x07 \u202e\n::error::x\n## head\n</details>"


def test_the_text_of_a_rule_is_a_text_in_all_formats(own):
    """A pull request may come with it, whose comment has the report."""
    own({"evil": {"says": EVIL, "fix": EVIL}})
    report = replace(REPORT, results=(result("project.evil", Outcome.FAILED),))
    for form in file_formats():
        shown = form.render(report)
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    help = json.loads(sarif.render(report))["runs"][0]["tool"]["driver"]["rules"][0]["help"]["markdown"]
    for text in (markdown.render(report), help):
        assert "@octocat" in text
        blocks = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
        tokens = [*blocks, *(one for block in blocks for one in block.children or ())]
        assert not [
            one.content for one in tokens if one.type in ("text", "html_inline") and "@" in one.content
        ]
        assert not [one for one in tokens if one.type == "image" or "javascript" in str(one.attrGet("href"))]
        assert not [one.content for one in tokens if one.type == "html_block" and "img" in one.content]
    assert not {"\x1b", "\n"} & set("".join(github.commands(report)))
