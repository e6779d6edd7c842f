"""The command: its arguments reach pytest and the server; ``list`` and ``explain`` print the catalogue."""

import json
import subprocess
import sys

import pytest

from mcp_conformance.report.formats import json as json_format
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.checks import checked
from support import COMMAND, REFERENCE, environment, forked, run_suite
from support.sample_report import REPORT, REVISION


@pytest.fixture
def printed(tmp_path):
    """Run the command with these words; return its exit status and what it prints."""
    return lambda *words: forked(words, tmp_path, 60)


def ids(done):
    status, output = done
    assert status == 0
    return [line.split()[0] for line in output.splitlines()]


def test_list_prints_every_requirement(printed):
    assert ids(printed("list")) == list(catalogue.all_requirements())


@pytest.mark.parametrize(
    ("words", "holds"),
    [
        (("tools.def",), lambda row: row.id.startswith("tools.def.")),
        (("--level", "must"), lambda row: "MUST" in row.levels.values()),
        (("--revision", "2024-10-07"), lambda row: row.holds_in("2024-10-07")),
        (("--checked",), lambda row: row.id in checked()),
        (("tools", "--unchecked"), lambda row: row.family == "tools" and row.id not in checked()),
    ],
    ids=["family", "level", "revision", "checked", "unchecked"],
)
def test_list_filters(words, holds, printed):
    wanted = [id for id, row in catalogue.all_requirements().items() if holds(row)]
    assert ids(printed("list", *words)) == wanted
    assert 0 < len(wanted) < len(catalogue.all_requirements())


def test_list_has_the_outcomes_of_a_report_in_each_format(printed, tmp_path):
    (tmp_path / "report.json").write_text(json_format.render(REPORT))
    words = ("list", "ping", "--with", "report.json", "--format")
    status, array = printed(*words, "json")
    assert status == 0
    outcomes = {row["id"]: row["outcomes"] for row in json.loads(array)}
    assert outcomes["ping.responds"] == {REVISION: "blocked"}
    assert outcomes["ping.prompt"] == {}
    _, table = printed(*words, "md")
    (line,) = (line for line in table.splitlines() if line.startswith("| [`ping.responds`]("))
    assert line.endswith("| blocked |")
    assert table.splitlines()[0].endswith(f"| {REVISION} |")
    _, lines = printed(*words, "text")
    assert f"blocked in {REVISION}: ping is" in lines
    assert "not run: " in lines


def test_list_names_a_file_that_is_no_report(printed, tmp_path):
    (tmp_path / "report.json").write_text("{}")
    status, text = printed("list", "--with", "report.json")
    assert (status, text.count("\n")) == (4, 1)
    assert "report.json: it is not a report of format 1" in text


def test_rules_of_clients_are_listed_and_explained(printed):
    _, text = printed("explain", "fromclient.http-session")
    assert "Each request after the handshake has the session id" in text
    assert (
        "2025-11-25  MUST   (keyword)  https://modelcontextprotocol.io/specification/2025-11-25/basic/"
        in text
    )
    _, text = printed("list", "fromclient", "--level", "SHOULD", "--format", "json")
    assert {"fromclient.elicited-content"} <= {row["id"] for row in json.loads(text)}
    assert {"SHOULD"} == {level for row in json.loads(text) for level in row["levels"].values()}


def test_explain_prints_rule_reason_check_and_places(printed):
    _, text = printed("explain", "tools.structured.conforms")
    row = catalogue.requirement("tools.structured.conforms")
    for revision in row.revisions:
        assert f"{revision}  MUST   (keyword)  {row.url(revision)}" in text
    for title in ("Why it matters", "How it is checked", "Careful", "A server that breaks it", "Checks"):
        assert f"\n{title}\n" in text
    assert "test_tools_structured.py::test_structured_content_conforms_to_the_output_schema" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("explain", "tools.structured.conform"), "did you mean tools.structured.conforms"),
        (("explain", "tools"), "'tools' is a family"),
        (("explain", "fromclient.answer-onc"), "did you mean fromclient.answer-once"),
        (("explain", "fromclient"), "mcp-conformance list fromclient"),
        (("list", "fromclient.none"), "no rule of clients"),
        (("list", "toools"), "no requirement or family 'toools'"),
        (("list", "--level", "PERHAPS"), "invalid choice: 'PERHAPS'"),
        (("run",), "run: no server is given: mcp-conformance run"),
        (("run", "--"), "run: no server is given"),
        (("list", "tools", "more"), "unrecognised arguments: more"),
        (("dance",), "no command 'dance' (mcp-conformance --help lists the commands)"),
        (("rnu",), "no command 'rnu'; did you mean run?"),
        ((), "a command is expected (mcp-conformance --help lists the commands)"),
    ],
    ids=str,
)
def test_usage_error_is_one_line_and_exit_status_4(words, message, printed):
    status, output = printed(*words)
    assert status == 4
    assert message in output
    assert len(output.splitlines()) == 1


def test_usage_errors_go_to_stderr():
    done = subprocess.run(
        [*COMMAND, "dance"], env=environment(), capture_output=True, check=False, timeout=60
    )
    assert done.stdout == b""
    assert b"dance" in done.stderr


def test_words_after_the_dashes_belong_to_the_server(tmp_path):
    """The server gets its own ``--select``, ``-v``, ``--``, blanks and a star, and no shell sees them."""
    words = ["--select", "x", "-v", "--", "two words", "*", "$HOME", "a'b\"c"]
    seen = tmp_path / "argv.json"
    code = f"import json, sys; json.dump(sys.argv[1:], open({str(seen)!r}, 'w'))"
    run_suite((sys.executable, "-c", code, *words))
    assert seen.read_text() == '["--select", "x", "-v", "--", "two words", "*", "$HOME", "a\'b\\"c"]'


def test_environment_and_directory_reach_the_server(tmp_path):
    seen = tmp_path / "seen"
    code = f"import os; open({str(seen)!r}, 'w').write(os.getcwd() + ' ' + os.environ['MCP_COLOUR'])"
    run_suite((sys.executable, "-c", code), "--env", "MCP_COLOUR=a=b c", "--cwd", str(tmp_path))
    assert seen.read_text() == f"{tmp_path} a=b c"


def test_options_of_pytest_reach_pytest():
    run = run_suite(REFERENCE, "--select", "capabilities", "-vvv", "-x", "--durations=1", "-p", "no:randomly")
    assert "test_capabilities.py::test_a_server_with_tools_declares_them[2025-11-25] PASSED" in run.output
    assert "slowest 1 durations" in run.output
    assert run.exit == 0


def test_names_of_checks_contain_the_revision():
    run = run_suite(REFERENCE, "--select", "tools.list", "--revision", "2024-11-05,2025-06-18")
    assert {case.revision for case in run.cases} == {"2024-11-05", "2025-06-18"}
    assert all(f"[{case.revision}" in case.check for case in run.cases)
