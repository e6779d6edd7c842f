"""The output of a run: JUnit for CI servers, and the texts of findings."""

import json
import re
import shlex
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.report.build import CheckFacts, Evidence, build_result
from mcp_conformance.requirements import catalogue
from mcp_conformance.target.settings import Settings
from support import REFERENCE, environment, forked, mutant, run_suite
from support.nightly import nightly

GOLDEN = Path(__file__).parent / "golden"
SELECTED = (
    "--select",
    "errors.method-not-found-code,tools.def.title-string[nothing]",
)


def junit(server, folder, *options):
    """Return the cases of a run as plain values, without times and without the interpreter's path."""
    report = folder / "junit.xml"
    forked(["run", *options, "--revision", "2025-11-25", f"--junitxml={report}", "--", *server], folder, 120)
    return [plain(case) for case in ElementTree.parse(report).iter("testcase")]


def plain(case):
    properties = {prop.get("name"): prop.get("value") for prop in case.iter("property")}
    properties = {name: text.replace(sys.executable, "python") for name, text in properties.items()}
    problems = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
    facts = {"classname": case.get("classname"), "name": case.get("name")}
    return facts | {"properties": properties, "problems": problems}


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
            "info",
            mutant("unknown_method_has_invalid_params"),
            ("--select", "errors.method-not-found-code"),
        ),
        ("skipped", REFERENCE, ("--select", "tools.list-changed.sent")),
        ("blocked", (sys.executable, "-c", "raise SystemExit(3)"), ()),
    ],
)
def test_junit_matches_golden_file(name, server, options, tmp_path):
    """To renew a golden file, delete it and run this test twice."""
    found = json.dumps(junit(server, tmp_path, *options), indent=2) + "\n"
    path = GOLDEN / f"junit-{name}.json"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(found)
        pytest.fail(f"{path.name} was missing and has been written; read it")
    assert found == path.read_text()
    assert f'"outcome": "{name}"' in found
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    of_the_run = {one.get("name"): one.get("value") for one in suite.findall("properties/property")}
    if name == "warned":
        assert of_the_run["verdict"].startswith("the server misleads its clients; passed, with 1 warning")
        assert of_the_run["defect misleads"].startswith(
            "the server misleads its clients: tools/list with the"
        )


def finding():
    run = run_suite(mutant("a_tool_has_a_null_title"), "--select", "tools.def.title-string")
    (failed,) = run.of("failed")
    return run, failed


def test_finding_has_the_rule_the_reason_and_the_command():
    _, failed = finding()
    text = re.sub(r"\s+", " ", failed.text)
    assert "tools.def.title-string · MUST (schema) · 2025-11-25 · tool" in text
    assert "`title`, if a tool has one, is a string." in text
    assert "expected a string, or no title" in text
    assert re.search(r"got tools\[\d+\]\.title = null", text)
    assert '> {"jsonrpc":"2.0","id":' in text
    assert "more ...]" in text
    assert re.search(r"spec https://\S+/2025-11-25/\S+ reproduce", text)


def test_command_of_a_finding_reproduces_it(tmp_path):
    _, failed = finding()
    command = next(line for line in failed.text.splitlines() if line.strip().startswith("reproduce"))
    words = shlex.split(command.split(None, 1)[1])
    assert words[0] == "mcp-conformance"
    exit, output = forked(words[1:], tmp_path, 120)
    assert exit == 1
    assert re.search(r"^1 failed in [\d.]+ s$", output, re.MULTILINE)


def test_broken_should_warns_and_strict_makes_it_fail():
    server, select = (
        mutant("forged_cursor_gives_the_first_page"),
        ("--select", "pagination.invalid-cursor-code"),
    )
    relaxed, strict = run_suite(server, *select), run_suite(server, *select, "--strict")
    assert (relaxed.exit, [case.outcome for case in relaxed.cases]) == (0, ["warned"])
    assert (strict.exit, [case.outcome for case in strict.cases]) == (1, ["failed"])
    assert "WARNED pagination.invalid-cursor-code" in relaxed.output


def test_rule_without_a_keyword_is_a_note_and_pedantic_judges_it():
    server, select = mutant("unknown_method_has_invalid_params"), ("--select", "errors.method-not-found-code")
    relaxed, pedantic = run_suite(server, *select), run_suite(server, *select, "--pedantic")
    assert [case.outcome for case in relaxed.cases] == ["info"]
    assert [case.outcome for case in pedantic.cases] == ["warned"]
    assert "INFO " not in relaxed.output
    assert "INFO errors.method-not-found-code" in run_suite(server, *select, "-v").output


def test_all_findings_of_a_check_are_reported():
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
    outcomes = ("FAILED", "BLOCKED", "WARNED", "INFO")
    for requirement, outcome in zip(case.requirements, outcomes, strict=True):
        assert f"{outcome} {requirement}" in run.output


def test_tools_not_called_are_listed_with_the_options_that_allow_them():
    output = run_suite(REFERENCE, "--select", "tools.call.is-error-boolean").output
    assert (
        "not called: change, grow (release them by name with --call NAME, or all with --call all)" in output
    )
    output = run_suite(REFERENCE, "--select", "tools.call.is-error-boolean", "--call", "grow,change").output
    assert "not called" not in output


@nightly
def test_call_none_calls_no_tool():
    ends_at_a_call = """
from mcp_conformance_fixtures.mutants import params
from mcp_conformance_fixtures.reference import main
def mutate(server, request, reply):
    if params(request).get("name") in ("add", "echo", "nothing", "weather"):
        raise SystemExit(3)
main(mutate)
"""
    server = (sys.executable, "-c", ends_at_a_call)
    assert run_suite(server, "--select", "tools.call", "--fuzz", "none").exit == 1
    assert run_suite(server, "--select", "tools.call", "--call", "none").findings == []


def test_exception_in_a_check_is_an_internal_error():
    run = run_suite(
        REFERENCE, "--select", "ping", "-p", "support.crashing_check_plugin", allow_internal_errors=True
    )
    assert run.exit == pytest.ExitCode.INTERNAL_ERROR
    assert {case.outcome for case in run.cases if case.suite.endswith("test_ping")} <= {
        "internal-error",
        "skipped",
    }
    text = run.of("internal-error")[0].text
    assert "KeyError" in text
    assert "This is a bug in pytest-mcp-conformance, not in the server. Please report it" in text
    assert "verdict: not tested in full: an internal error in this tool, please report it" in run.output


def test_exception_in_the_probe_is_an_internal_error(tmp_path):
    run = run_suite(
        *(REFERENCE, "-p", "support.crashing_probe_plugin", "--report", str(tmp_path / "r.json"), "-n", "1"),
        allow_internal_errors=True,
    )
    assert run.exit == pytest.ExitCode.INTERNAL_ERROR
    (case,) = run.cases
    assert (case.outcome, case.requirement) == ("internal-error", "lifecycle.initialize.responds")
    assert "This is a bug in pytest-mcp-conformance, not in the server. Please report it" in run.output
    assert run.output.count("KeyError: 'a member that the server left out'") == 1
    assert "INTERNALERROR" not in run.output
    assert "verdict: not tested in full: an internal error in this tool, please report it" in run.output
    assert json.loads((tmp_path / "r.json").read_text())["verdict"]["status"] == "internal-error"


HOSTILE = "::stop-commands::x\n  ::add-mask::e ::set-output name=a::b\n##[add-mask]e\na ##[debug]b"
"""Commands for GitHub's runner at the beginning, after a blank and in the middle of lines."""


@pytest.mark.parametrize("more", [(), ("-v", "--tb=long")], ids=["short", "long"])
def test_github_runs_no_command_of_a_server(more, tmp_path):
    """The server writes commands to stderr in lines that are wrapped."""
    code = f"import sys; sys.exit({HOSTILE!r} + ' word' * 30 + ' ::error ::x' * 30)"
    variables = environment(GITHUB_ACTIONS="true", COLUMNS="60")
    _, output = forked(["run", *more, "--", sys.executable, "-c", code], tmp_path, 120, variables)
    lines = output.splitlines()
    executed = [line for line in lines if line.strip().startswith("::") or "##[" in line]
    assert len(executed) == 1
    assert executed[0].startswith("::error title=MCP lifecycle.initialize.responds blocked")
    assert "\\u003a:add-mask::e" in output


def test_dropped_lines_are_counted():
    dropped = Line(sent=False, raw=b"")
    sent, received = Line(sent=True, raw=b"1"), Line.received(b"2")
    row = catalogue.requirement("ping.responds")
    facts = CheckFacts(
        "node", row, "2025-11-25", Outcome.FAILED, evidence=Evidence(lines=(sent, dropped, dropped, received))
    )
    shown = build_result(facts, Settings(("server",))).wire
    assert shown == ("> 1", "< 2", "... and 2 lines dropped, as the server wrote too much to keep")


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ({"id": 1, "method": "ping"}, "ping"),
        ({"id": 1, "method": 1}, "1"),
        ({"id": 1, "method": "tools/call", "params": {"name": {}}}, "tools/call {}"),
    ],
)
def test_what_was_asked_is_a_request_with_a_method(message, asked):
    row = catalogue.requirement("ping.responds")
    shown = Evidence(lines=(Line.sending(message),))
    facts = CheckFacts("node", row, "2025-11-25", Outcome.FAILED, evidence=shown)
    assert build_result(facts, Settings(("server",))).asked == asked


def test_findings_count_beside_an_internal_error():
    run = run_suite(
        *(mutant("a_tool_has_a_null_title"), "--select", "ping,tools.def"),
        *("-p", "support.crashing_check_plugin"),
        allow_internal_errors=True,
    )
    assert run.exit == pytest.ExitCode.TESTS_FAILED
    assert run.of("internal-error")
    assert run.of("failed")
    assert "verdict: does not conform: 1 rule broken" in run.output
