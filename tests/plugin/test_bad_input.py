"""User errors: one line and exit status 4. Servers that open no session: blocked once."""

import os
import re
import signal
import subprocess
import sys

import pytest

from mcp_conformance.cli.main import main
from mcp_conformance.plugin.execution import pytest_keyboard_interrupt
from support import REFERENCE, environment, forked, run_suite
from support.nightly import nightly
from support.processes import is_alive

QUICK = ("--start-timeout", "2", "--timeout", "2")


def python(code):
    return (sys.executable, "-c", code)


def faulty(condition, action):
    """Return the reference server with an action where a condition on (server, request, reply) holds."""
    return python(
        f"""
from mcp_conformance_fixtures.mutants import params
from mcp_conformance_fixtures.reference import SILENCE, main
def fault(server, request, reply):
    if {condition}:
            {action}
main(fault)
"""
    )


def one_line(run):
    return [line for line in run.output.splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--revision", "2025-13-13"), "--revision: unknown revision '2025-13-13'"),
        (("--timeout", "soon"), "--timeout: a number of seconds above 0 is expected, not 'soon'"),
        (("--timeout", "-1"), "--timeout"),
        (
            ("--env", "NOVALUE"),
            "--env: NAME=VALUE, or the name of a variable set here, not 'NOVALUE'",
        ),
        (("--budget", "tool.count=4"), "no figure 'tool.count' is measured; did you mean tools.count?"),
        (("--cwd", "/no/such/place"), "--cwd: no such directory"),
        (("--select", "tools.def.titel-string"), "did you mean tools.def.title-string"),
        (("--select", "deprecated"), "no check covers 'deprecated' yet"),
        (("--failing-call", "fail {"), "--failing-call: not JSON"),
        (("--failing-call", "fail []"), "--failing-call: arguments are a JSON object"),
        (("--no-such-option",), "neither run nor pytest knows: --no-such-option"),
    ],
)
def test_invalid_option_is_one_line(options, message):
    run = run_suite(REFERENCE, *options)
    assert run.exit == 4
    assert message in run.output
    assert "Traceback" not in run.output


def test_unknown_program_is_one_line():
    run = run_suite(("no-such-program-anywhere", "--flag"))
    assert run.exit == 4
    message = "ERROR: There is no program on the PATH called no-such-program-anywhere"
    advice = "(install no-such-program-anywhere, or give its full path)"
    assert one_line(run) == [f"{message} {advice}"]


def test_unsupported_revision_is_one_line():
    run = run_suite(OLD, "--revision", "2025-11-25")
    assert run.exit == 4
    assert "the server does not speak 2025-11-25; it offers 2024-11-05" in run.output


OLD = python(
    """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        info = {"name": "old", "version": "1"}
        reply["result"] = {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": info}
    elif message["method"] == "ping":
        reply["result"] = {}
    else:
        reply["error"] = {"code": -32601, "message": "There is no such method."}
    print(json.dumps(reply), flush=True)
"""
)

SILENT = python(
    """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        info = {"name": "mute", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
)


NO_ANSWER = "no answer within 2 s"
NOT_JSON = "what it wrote to stdout is not JSON-RPC"
LINES, A_LINE = "lines the server wrote instead", "the server never answered initialize"
ENDED = ("the config file is missing", "the server process ended (signal 6)")
NOT_STARTED = (*ENDED, NO_ANSWER, NOT_JSON, LINES, A_LINE)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit('the config file is missing')", "the config file is missing"),
        ("import os; os.abort()", "the server process ended (signal 6)"),
        ("import time; time.sleep(600)", NO_ANSWER),
        ("print('Listening on port 3000')", NOT_JSON),
        ("import os\nwhile True: os.write(1, b'garbage\\n')", LINES),
        ("import os\nwhile True: os.write(1, b'x' * 65536)", A_LINE),
        ('print(\'{"jsonrpc": "2.0", "id": 1, "result": {}}\'); input(); input()', "no protocolVersion"),
        ('print(\'{"jsonrpc": "2.0", "id": 1, "error": 5}\'); input(); input()', "refused initialize"),
    ],
    ids=[
        "exits",
        "aborts",
        "hangs",
        "garbage",
        "floods-lines",
        "floods-one-line",
        "no-version",
        "refuses",
    ],
)
@nightly
def test_server_without_a_session_is_blocked_once(code, message):
    run = run_suite(python(code), *QUICK)
    starts = message not in NOT_STARTED
    assert run.exit == (1 if starts else 6)
    assert ("verdict: the server did not start" in run.output) == (not starts)
    assert message in " ".join(run.output.split())
    assert [case.outcome for case in run.cases] == ["blocked"]


def test_an_opening_with_a_wrong_id_is_one_finding():
    code = 'print(\'{"jsonrpc": "2.0", "id": 9, "result": {}}\', flush=True); input(); input(); input()'
    run = run_suite(python(code), *QUICK)
    assert run.exit == 1
    assert [(case.outcome, case.requirement) for case in run.cases] == [
        ("failed", "jsonrpc.response-id-echo")
    ]


def test_server_that_ends_at_tools_list_is_blocked():
    server = python(
        """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "tools/list":
        sys.exit("no tools today")
    if message.get("method") == "initialize":
        info = {"name": "dies", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    else:
        result = {}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
    )
    run = run_suite(server, *QUICK, "--select", "tools,lifecycle")
    assert run.exit == 1
    blocked = [case for case in run.of("blocked") if case.check.startswith("blocked[")]
    assert [case.requirement for case in blocked] == ["tools.list.answered"]
    assert "no tools today" in blocked[0].text
    assert not [case for case in run.of("passed") if case.requirement.startswith("tools.call")]


@nightly
def test_hanging_tool_is_blocked_once_and_other_checks_run():
    server = faulty("params(request).get('name') == 'echo'", "return SILENCE")
    run = run_suite(server, *QUICK, "--select", "tools,prompts,jsonrpc", "--fuzz", "none")
    assert run.exit == 1
    assert [case.requirement for case in run.of("blocked")] == ["tools.call.listed-is-callable"]
    assert "tools/call of echo was not answered: no answer within 2 s" in run.output
    assert len(run.of("passed")) > 100


DEADLY = "tools.call.valid-not-fatal"
NAME = "params(request).get('name')"


def deadly():
    """Return a server that writes the name of each tool to stderr, and exits at a call of echo."""
    return faulty(
        f"print('on', {NAME}, file=__import__('sys').stderr) or {NAME} == 'echo'", "raise SystemExit(3)"
    )


def test_a_tool_that_ends_the_process_is_one_finding(tmp_path):
    """Of stderr it shows what the server wrote since the call, and the file ends the process again."""
    run = run_suite(deadly(), *QUICK, "--select", "tools.call", "--fuzz", "none", cwd=tmp_path)
    (case,) = run.of("failed")
    assert (run.exit, case.requirement) == (1, DEADLY)
    # lines of requests just before may come in the same read
    assert re.search(r"^  stderr( +on None\n)* +on echo$", case.text, re.MULTILINE)
    (path,) = re.findall(r"mcp-conformance replay .*?(\S+\.jsonl)", case.text)
    _, output = forked(("replay", path), tmp_path, 60)
    assert "exit status 3" in output


def test_a_tool_after_which_the_server_no_longer_starts_is_named(tmp_path):
    lock = f"__import__('pathlib').Path({str(tmp_path / 'lock')!r})"
    server = faulty(f"{lock}.exists() or {NAME} == 'echo'", f"{lock}.touch(); raise SystemExit(3)")
    run = run_suite(server, *QUICK, "--select", "tools.call", "--fuzz", "none", cwd=tmp_path)
    blocked = {case.requirement: case.text for case in run.of("blocked")}
    assert "tools/call of echo was not answered: the server process ended (exit status 3)" in blocked[DEADLY]
    assert "the server no longer starts" in "".join(blocked.values())


def test_a_server_that_needs_what_a_call_has_deleted_starts_in_a_new_folder(tmp_path):
    file = "__import__('pathlib').Path('example.txt')"
    server = faulty(f"not {file}.exists() or {NAME} == 'echo'", f"{file}.unlink(); raise SystemExit(3)")
    run = run_suite(server, *QUICK, "--select", "tools.call", "--fuzz", "none", cwd=tmp_path)
    assert DEADLY in {case.requirement for case in run.findings}
    assert "no longer starts" not in run.output
    assert "furnished again: the server did not start in its folder any more" in run.output


def test_an_expected_finding_in_a_fixture_is_no_mistake_of_ours(tmp_path):
    baseline = tmp_path / "expected.toml"
    baseline.write_text(f"[[expected]]\nrequirement = '{DEADLY}'\nreason = 'ours'\n")
    words = ("--select", "tools.call", "--fuzz", "none", "--baseline", str(baseline))
    run = run_suite(deadly(), *QUICK, *words, cwd=tmp_path)
    assert (run.exit, [case.requirement for case in run.of("expected")]) == (0, [DEADLY]), run.output


@nightly
def test_server_that_answers_only_initialize_is_blocked():
    run = run_suite(SILENT, *QUICK)
    assert run.exit == 1
    assert 1 <= len(run.of("blocked")) <= 4
    assert "stopped answering" in run.output


def test_run_without_a_tested_rule_is_not_green():
    run = run_suite(OLD, "--select", "tools.def", "--revision", "latest")
    assert run.exit == 5
    assert "nothing was tested" in run.output
    assert not run.of("passed", "failed", "blocked")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_the_server_and_writes_the_report(tmp_path):
    """The server hangs in a tool call, and its child holds its pipes."""
    report, marker = tmp_path / "junit.xml", tmp_path / "called"
    command = [sys.executable, "-m", "mcp_conformance", "run", "-v", "--call", "all", f"--junitxml={report}"]
    command.append(f"--allow-write={tmp_path}")  # the pipe is outside of the run's folders
    os.mkfifo(marker)
    hang = f"""
            import os, subprocess, time
            child = subprocess.Popen(['sleep', '600'])
            print(os.getpid(), child.pid, file=open({str(marker)!r}, 'w'), flush=True)
            time.sleep(600)"""
    command += ["--", *faulty("params(request).get('name') == 'echo'", hang)]
    ours = subprocess.Popen(
        command, env=environment(), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    with marker.open() as called:
        pids = [int(pid) for pid in called.readline().split()]
    assert len(pids) == 2
    ours.send_signal(signal.SIGINT)
    output, _ = ours.communicate(timeout=30)
    assert ours.returncode == 2, output.decode()
    assert b"verdict: not finished: interrupted" in output
    assert b"KeyboardInterrupt" not in output
    assert [pid for pid in pids if is_alive(pid)] == []
    assert report.read_text("utf-8").rstrip().endswith("</testsuites>")


@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer, as of coverage, needs line numbers")
def test_interrupt_in_a_frame_without_line_numbers_is_shown():
    def interrupted():
        raise KeyboardInterrupt

    of_no_line = b"\xff" * len(interrupted.__code__.co_code)  # 8 instructions each
    interrupted.__code__ = interrupted.__code__.replace(co_linetable=of_no_line)
    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted()
    pytest_keyboard_interrupt(caught)
    assert "interrupted()" in str(caught.getrepr(funcargs=True))


@pytest.mark.parametrize("text", ["Authorization", "Two words: x", "X-Key: caf\u00e9"])
def test_a_wrong_header_of_replay_is_one_line(text, capsys):
    assert main(["replay", "--header", text, "transcript.json"]) == 4
    *before, line = capsys.readouterr().err.splitlines()
    expected = "replay: --header: NAME: VALUE in visible ASCII is expected"  # the text may be a credential
    assert (before, line) == ([], f"mcp-conformance: {expected}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["doctor", "--cwd", "/no/such/place"], "doctor: --cwd: no such directory: /no/such/place"),
        (["lock", "--revision", "2020-01-01"], "lock: --revision: unknown revision '2020-01-01'"),
        (["lock", "--env-file", "nothing"], "lock: --env-file: nothing: No such file or directory"),
        (["soak", "--for", "1s", "--report", "a.txt"], "soak: --report: 'a.txt' ends in none of "),
        (
            ["soak", "--for", "1s", "--fuzz-errors", "warn"],
            "soak: --fuzz-errors: inform, proven or fail is expected",
        ),
        (["replay", "a.jsonl", "--timeout", "soon"], "replay: --timeout: a number of seconds above 0"),
        (["replay", "a.jsonl", "--allow-read", "/"], "replay: a.jsonl: "),
    ],
)
def test_a_command_names_its_option_in_one_line(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([*words, "--", sys.executable]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"mcp-conformance: {message}")
