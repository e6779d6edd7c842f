"""What a run leaves behind: JUnit with the facts a CI server shows, and a finding that explains itself."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support import REFERENCE, environment, mutant, run_suite
from support.sample_report import result

from conformance.protocol.jsonrpc import Line
from conformance.report.text import Evidence, with_evidence
from conformance.verdicts import Outcome

GOLDEN = Path(__file__).parent / "golden"
SELECTED = (
    "--select",
    "errors.method-not-found-code,tools.def.title-string[nothing]",
)


def junit(server, folder, *options):
    """The cases of a run as plain values, without times and without the interpreter's path."""
    report = folder / "junit.xml"
    options = [*options, "--revision", "2025-11-25", f"--junitxml={report}"]
    command = [sys.executable, "-m", "conformance", "run", *options, "--", *server]
    subprocess.run(command, cwd=folder, env=environment(), capture_output=True, check=False, timeout=120)
    return [plain(case) for case in ElementTree.parse(report).iter("testcase")]


def plain(case):
    properties = {prop.get("name"): prop.get("value") for prop in case.iter("property")}
    properties = {name: text.replace(sys.executable, "python") for name, text in properties.items()}
    troubles = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
    facts = {"classname": case.get("classname"), "name": case.get("name")}
    return facts | {"properties": properties, "troubles": troubles}


@pytest.mark.parametrize(
    ("name", "server", "options"),
    [
        ("passed", REFERENCE, SELECTED),
        (
            "failed",
            mutant("a_tool_has_a_null_title"),
            ("--select", "tools.def.title-string", "--revision", "2025-11-25"),
        ),
        (
            "warned",
            mutant("forged_cursor_gives_the_first_page"),
            ("--select", "pagination.invalid-cursor-code"),
        ),
        (
            "informed",
            mutant("unknown_method_has_invalid_params"),
            ("--select", "errors.method-not-found-code"),
        ),
        ("skipped", REFERENCE, ("--select", "tools.list-changed.sent")),
        ("blocked", (sys.executable, "-c", "raise SystemExit(3)"), ()),
    ],
)
def test_junit_is_as_it_was(name, server, options, tmp_path):
    """To renew a golden file, delete it and run this test twice."""
    found = json.dumps(junit(server, tmp_path, *options), indent=2) + "\n"
    path = GOLDEN / f"junit-{name}.json"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(found)
        pytest.fail(f"{path.name} was missing and has been written; read it")
    assert found == path.read_text()
    assert f'"outcome": "{name}"' in found


def finding():
    run = run_suite(mutant("a_tool_has_a_null_title"), "--select", "tools.def.title-string")
    (failed,) = run.of("failed")
    return run, failed


def test_a_finding_explains_itself():
    _, failed = finding()
    text = re.sub(r"\s+", " ", failed.text)
    assert "tools.def.title-string · MUST (schema) · 2025-11-25 · tool" in text
    assert "`title`, if a tool has one, is a string." in text
    assert "expected a string, or no title" in text
    assert re.search(r"got tools\[\d+\]\.title = null", text)
    assert '> {"jsonrpc":"2.0","id":' in text
    assert "more ...]" in text
    assert re.search(r"spec https://\S+/2025-11-25/\S+ again", text)


def test_the_command_of_a_finding_reproduces_it(tmp_path):
    _, failed = finding()
    again = next(line for line in failed.text.splitlines() if line.strip().startswith("again"))
    words = shlex.split(again.split(None, 1)[1])
    assert words[0] == "mcp-conformance"
    command = [sys.executable, "-m", "conformance", *words[1:]]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert re.search(r"=== 1 failed, \d+ deselected in", done.stdout)


def test_a_broken_should_warns_and_strict_makes_it_fail():
    server, select = (
        mutant("forged_cursor_gives_the_first_page"),
        ("--select", "pagination.invalid-cursor-code"),
    )
    relaxed, strict = run_suite(server, *select), run_suite(server, *select, "--strict")
    assert (relaxed.exit, [case.outcome for case in relaxed.cases]) == (0, ["warned"])
    assert (strict.exit, [case.outcome for case in strict.cases]) == (1, ["failed"])
    assert "WARNED pagination.invalid-cursor-code" in relaxed.output


def test_a_rule_without_a_keyword_informs_and_pedantic_judges_it():
    server, select = mutant("unknown_method_has_invalid_params"), ("--select", "errors.method-not-found-code")
    relaxed, pedantic = run_suite(server, *select), run_suite(server, *select, "--pedantic")
    assert [case.outcome for case in relaxed.cases] == ["informed"]
    assert [case.outcome for case in pedantic.cases] == ["warned"]
    assert "INFORMED" not in relaxed.output
    assert "INFORMED errors.method-not-found-code" in run_suite(server, *select, "-v").output


def test_all_that_a_check_finds_is_told():
    run = run_suite(REFERENCE, "--select", "ping.empty-result", "-p", "support.multi_finding_plugin", "-v")
    (case,) = [case for case in run.cases if case.suite.endswith("test_ping")]
    assert (run.exit, case.outcome, case.requirement) == (1, "failed", "tools.def.title-string")
    heads = re.findall(r"^(?:blocked: )?(\S+ · \w+ \(\S+\)) · 2025-11-25$", case.text, re.MULTILINE)
    assert heads == [
        "tools.def.title-string · MUST (schema)",
        "ping.responds · MUST (keyword)",
        "pagination.invalid-cursor-code · SHOULD (keyword)",
        "errors.method-not-found-code · SHOULD (json-rpc)",
    ]
    assert case.requirements == tuple(head.split()[0] for head in heads)
    outcomes = ("FAILED", "BLOCKED", "WARNED", "INFORMED")
    for requirement, outcome in zip(case.requirements, outcomes, strict=True):
        assert f"{outcome} {requirement}" in run.output


def test_what_was_not_called_is_listed_with_what_would_call_it():
    output = run_suite(REFERENCE, "--select", "tools.call.is-error-boolean").output
    assert (
        "not called: change, grow (release them by name with --call NAME, or all with --call all)" in output
    )
    output = run_suite(REFERENCE, "--select", "tools.call.is-error-boolean", "--call", "grow,change").output
    assert "not called" not in output


def test_none_calls_nothing():
    run = run_suite(REFERENCE, "--select", "tools.call", "--call", "none", "--revision", "2025-11-25")
    called = {case.check for case in run.of("passed")}
    assert not [check for check in called if "test_a_tool_result" in check]
    assert not run.findings


def test_a_mistake_of_ours_is_told_as_such():
    run = run_suite(REFERENCE, "--select", "ping", "-p", "support.crashing_check_plugin")
    assert run.exit == pytest.ExitCode.INTERNAL_ERROR
    assert {case.outcome for case in run.cases if case.suite.endswith("test_ping")} <= {"crashed", "skipped"}
    text = run.of("crashed")[0].text
    assert "KeyError" in text
    assert "a mistake in pytest-mcp-conformance, not in the server. Please report it" in text
    assert "verdict: not tested in full, through a mistake in this tool: please report it" in run.output


def test_a_mistake_of_ours_while_the_server_is_looked_at_is_told_as_such(tmp_path):
    run = run_suite(
        REFERENCE, "-p", "support.crashing_probe_plugin", "--report", str(tmp_path / "r.json"), "-n", "1"
    )
    assert run.exit == pytest.ExitCode.INTERNAL_ERROR
    (case,) = run.cases
    assert (case.outcome, case.requirement) == ("crashed", "lifecycle.initialize.responds")
    assert "a mistake in pytest-mcp-conformance, not in the server. Please report it" in run.output
    assert run.output.count("KeyError: 'a member that the server left out'") == 1
    assert "INTERNALERROR" not in run.output
    assert "verdict: not tested in full, through a mistake in this tool: please report it" in run.output
    assert json.loads((tmp_path / "r.json").read_text())["verdict"]["status"] == "crashed"


HOSTILE = "::stop-commands::x\n  ::add-mask::e ::set-output name=a::b\n##[add-mask]e\na ##[debug]b"
"""What GitHub's runner would obey, at the beginning of a line or anywhere, and after whatever is blank."""


@pytest.mark.parametrize("more", [(), ("-v", "--tb=long")], ids=["short", "long"])
def test_github_obeys_nothing_that_a_server_wrote(more, tmp_path):
    """It says so on stderr, so long that lines are broken."""
    code = f"import sys; sys.exit({HOSTILE!r} + ' word' * 30 + ' ::error ::x' * 30)"
    told = environment(GITHUB_ACTIONS="true", COLUMNS="60")
    words = ["run", *more, "--", sys.executable, "-c", code]
    command = [sys.executable, "-m", "conformance", *words]
    done = subprocess.run(
        command, cwd=tmp_path, env=told, capture_output=True, text=True, check=False, timeout=120
    )
    lines = (done.stdout + done.stderr).splitlines()
    obeyed = [line for line in lines if line.strip().startswith("::") or "##[" in line]
    assert len(obeyed) == 1
    assert obeyed[0].startswith("::error title=MCP lifecycle.initialize.responds blocked")
    assert "\\u003a:add-mask::e" in done.stdout


def test_lines_that_were_not_kept_are_counted():
    gone = Line(sent=False, raw=b"")
    sent, came = Line(sent=True, raw=b"1"), Line.received(b"2")
    evidence = Evidence(lines=(sent, gone, gone, came))
    shown = with_evidence(result("ping.responds", Outcome.FAILED), evidence, "", Path()).wire
    assert shown == ("> 1", "< 2", "... and 2 lines let go, as the server wrote too much to keep")


def test_what_the_server_breaks_counts_beside_a_mistake_of_ours():
    run = run_suite(
        mutant("a_tool_has_a_null_title"), "--select", "ping,tools.def", "-p", "support.crashing_check_plugin"
    )
    assert run.exit == pytest.ExitCode.TESTS_FAILED
    assert run.of("crashed")
    assert run.of("failed")
    assert "verdict: does not conform: 1 rule broken" in run.output
