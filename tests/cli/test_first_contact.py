"""First contact: a user's mistakes are one line each, and the output is short and says the verdict first."""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from support import REFERENCE, forked, mutant, run_suite
from support.nightly import nightly

PROJECT = Path(__file__).parents[2]
QUICK = ("--fuzz", "none", "--revision", "2025-11-25")


# Mistakes of a user -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "--", "https://a.example/mcp"), "https://a.example/mcp is a URL"),
        (("run", "https://a.example/mcp"), "https://a.example/mcp is a URL"),
        (("run", "--fuz", "none", "--", *REFERENCE), "unknown option --fuz; did you mean --fuzz?"),
        (("run", "--bogus", "--", *REFERENCE), "run: neither run nor pytest knows: --bogus"),
        (("run", "--maxfail", "--", *REFERENCE), "run: argument --maxfail: expected one argument"),
        (("run", "python", "server.py"), "put -- before the server's command: -- python server.py"),
        (("run", "--call", "ad", "--", *REFERENCE), "the server has no tool 'ad'; did you mean add?"),
        (("run", "--tool", "add", "--tool", "ad", "--", *REFERENCE), "--tool: the server has no tool 'ad'"),
        (("run", "--sdk-findings", "fial", "--", *REFERENCE), "not 'fial'; did you mean fail?"),
        (("run", "--skip", "pong", "--", *REFERENCE), "--skip: no requirement or family 'pong'"),
        (
            ("run", "--rules-as-of", "first", "--", *REFERENCE),
            "a version such as 0.1 is expected, not 'first'",
        ),
        (
            ("run", "-k", "nothing", "--select", "ping", "--", *REFERENCE),
            "-k nothing: no check of this server",
        ),
        (("run", "--env", "NOT_SET_HERE", "--", *REFERENCE), "or the name of a variable set here"),
        (("run", "--env-file", "none.env", "--", *REFERENCE), "none.env: No such file or directory"),
    ],
)
def test_a_mistake_is_one_line(words, message, tmp_path):
    exit, output = forked(words, tmp_path, 60)
    assert exit == 4
    assert message in output
    assert len(output.strip().splitlines()) == 1


def test_the_version_is_printed(tmp_path):
    exit, output = forked(["--version"], tmp_path, 60)
    assert (exit, output) == (0, f"mcp-conformance {version('pytest-mcp-conformance')}\n")


def test_a_report_in_a_new_folder_says_so(tmp_path):
    words = ["run", "--report", "new/report.json", "--select", "ping", *QUICK, "--", *REFERENCE]
    exit, output = forked(words, tmp_path, 60)
    assert exit == 0
    assert "report: new/report.json (made the folder new)" in output.replace("\\", "/")


@nightly
def test_skipped_rules_are_left_out():
    run = run_suite(REFERENCE, "--select", "ping", "--skip", "ping.responds", *QUICK)
    rules = {case.requirement for case in run.of("passed")}
    assert rules
    assert "ping.responds" not in rules


def test_a_finding_of_a_skipped_rule_does_not_count():
    """The check goes on, as it judges other rules too."""
    server = mutant("annotations_of_a_resource_are_a_word")
    words = (server, "--select", "jsonrpc.message-shape,resources.list", *QUICK)
    assert run_suite(*words).exit == 1
    run = run_suite(*words, "--skip", "content.annotations.audience")
    assert (run.exit, run.of("failed")) == (0, [])
    assert run.of("passed")


def test_a_server_that_does_not_start_gets_its_own_verdict_and_a_diagnosis():
    run = run_suite((sys.executable, "-c", "import a_module_of_nobody"), *QUICK)
    assert run.exit == 6
    assert run.output.lstrip().startswith(
        "verdict: the server did not start: Python finds no module a_module_of_nobody\n"
    )
    assert run.output.count("\nBLOCKED ") == 1
    assert "mcp-conformance doctor" not in run.output


# The forms of the output --------------------------------------------------------------------------


def test_a_right_server_takes_few_lines(tmp_path):
    output = run_bills(tmp_path, right=True)
    assert output.startswith("verdict: passed; 1 of 1 tool exercised\n")
    assert len(output.splitlines()) <= 15


def test_a_server_with_one_fault_takes_few_lines(tmp_path):
    output = run_bills(tmp_path, right=False)
    found, _, report = output.partition("\n\nverdict: ")
    assert found.startswith("FAILED tools.structured.conforms share: expected ")
    assert report.startswith("does not conform: 1 rule broken; 1 of 1 tool exercised\n")
    assert len(output.splitlines()) <= 32


@nightly
def test_the_concise_form_is_a_line_for_each_finding(tmp_path):
    verdict, finding = run_bills(tmp_path, "--output-format", "concise", right=False).splitlines()
    assert verdict.startswith("verdict: does not conform: 1 rule broken; 1 of 1 tool exercised (1 f")
    assert finding.startswith("failed tools.structured.conforms 2025-11-25 share: expected ")


@nightly
def test_the_json_form_is_the_report(tmp_path):
    output = run_bills(tmp_path, "--output-format", "json", "--report", "report.json", right=False)
    assert json.loads(output) == json.loads((tmp_path / "report.json").read_text())


@nightly
def test_the_github_form_is_annotations(tmp_path):
    (line,) = run_bills(tmp_path, "--output-format", "github", right=False).splitlines()
    assert line.startswith("::error ")
    assert "tools.structured.conforms" in line


def run_bills(folder, *options, right):
    """Run the suites on the server of the tutorial, with or without its fault; return the output."""
    source = (PROJECT / "docs" / "examples" / "server.py").read_text()
    fault = '{"each": str(each)}'
    assert fault in source
    (folder / "server.py").write_text(source.replace(fault, '{"each": each}') if right else source)
    words = ["run", *options, "--fuzz", "none", "--", sys.executable, "server.py"]
    return forked(words, folder, 60)[1].lstrip("\n")
