"""`mcp-conformance doctor` names the cause of a broken server, and reports a healthy one as healthy."""

import inspect
import io
import os
import re
import sys
from pathlib import Path

import pytest

from mcp_conformance.cli.doctor import Printer
from mcp_conformance.client.reply import Reply
from mcp_conformance.doctor.causes import CAUSES, confinement, diagnose, exits, framing, handshake, launch
from mcp_conformance.doctor.observations import AttemptResult, Observations
from mcp_conformance.doctor.program import Program, find_program
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.credentials import Secret, is_withheld
from mcp_conformance.transport.redaction import Redaction
from support import REFERENCE, forked, script
from support.nightly import some_of

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the command is run in a forked process")

HERE = Path(__file__).parent
STATELESS = (sys.executable, "-m", "mcp_conformance_fixtures.stateless")
SHORT = ("--start-timeout", "2")
OPEN = ("--cwd", str(HERE), "--inherit-home")
"""Options that leave the doctor no restriction to lift in another attempt."""


def broken_server(name):
    return (sys.executable, "-S", script("broken_servers"), name)


@pytest.fixture
def examine(tmp_path, monkeypatch):
    """Run the doctor in a directory; the function returns its exit status and its output."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    for name in [name for name, text in os.environ.items() if is_withheld(name, text)]:
        monkeypatch.delenv(name)
    return lambda *words, cwd=tmp_path: forked(["doctor", *words], cwd, 100)


CERTAIN = {
    "prints_a_banner": "The server starts and answers, but also prints text to stdout that is not a message:",
    "is_stateless_and_prints": "The server starts and answers, but also prints text to stdout that is not a",
    "lacks_a_module": "Python finds no module mcp_server_of_nobody.",
    "lacks_a_variable": "The server needs the environment variable SICK_DATABASE_URL",
    "lacks_a_file_here": "The server needs a file that was not found: its_project.json",
    "lacks_an_argument": "The server needs other arguments: usage: sick [-h] DATABASE",
    "ends_no_line": "The answer has no line end",
    "ends_lines_with_cr": "The server ends its lines with \\r alone",
    "indents": "The answer is spread over several lines",
    "writes_a_byte_order_mark": "The server writes a byte order mark",
    "writes_utf16": "The server writes UTF-16",
    "answers_in_a_list": "The server answers a single request with an array.",
    "answers_another": "The server answers with the id 77; the request has the id 1.",
    "answers_a_string": 'The server answers with the id "1", a string instead of a number',
    "echoes": "The program sends our own request back",
    "answers_with_headers": "The server frames messages with Content-Length headers",
    "ends_at_once": "The server ended with status 0, as if its work were done.",
    "ends_with_status_3": "The server ended with status 3.",
    "raises": "The server ended with status 1: ValueError: the \\u001b[31mmoon\\u001b[0m is full",
    "forgets_to_await": "main() is called but not awaited.",
    "goes_on_in_the_background": "The server ended with status 0, but a process that it started still",
    "kills_itself": "The server was ended by signal 9",
    "refuses_the_version": "The server refuses the version 2025-11-25",
    "refuses": 'The server answers initialize with an error: error -32603 "The disk is full".',
    "sends_no_version": "The answer to initialize has no protocolVersion.",
    "sends_an_odd_version": 'The answer to initialize has the protocolVersion "1.0".',
    "exits_later": "The server starts, but then tools/list was not answered: the server process ended",
}
"""Causes that are certain, and found without waiting for a timeout."""


@pytest.mark.parametrize("name", some_of(CERTAIN, 3))
def test_a_certain_cause_is_named(name, examine):
    exit, output = examine("--", *broken_server(name))
    assert exit == 1, output
    assert f"Cause: {CERTAIN[name]}" in one_line(output)
    assert "What to do:" in output


def test_text_on_stdout_is_reported_beside_another_cause(examine):
    exit, output = examine("--", *broken_server("prints_and_exits_later"))
    assert exit == 1, output
    assert CERTAIN["exits_later"] in one_line(output)
    assert "It also prints text to stdout that is not a message: My server 1.0" in one_line(output)


def one_line(output):
    """Return the wrapped output on one line, without times."""
    return re.sub(r" after [\d.]+ s", "", " ".join(output.split()))


LIKELY = {
    "cannot_read": "The server could not read our request",
    "serves_http": "The server serves HTTP instead of stdio: INFO: Uvicorn running on",
    "asks_to_install": "npx installs the package first, or asks for permission.",
    "reads_to_the_end": "The answer came only when stdin was closed",
}


@pytest.mark.parametrize("name", LIKELY)
def test_an_uncertain_cause_is_reported_as_likely(name, examine):
    exit, output = examine(*SHORT, *OPEN, "--", *broken_server(name))
    assert exit == 1, output
    assert f"Likely cause: {LIKELY[name]}" in one_line(output)


def test_silence_is_reported_with_places_to_check(examine):
    exit, output = examine("--start-timeout", "1", *OPEN, "--", *broken_server("is_silent"))
    assert exit == 1, output
    assert "Likely cause: The server runs, but does not answer initialize in" in one_line(output)
    assert "--transport stdio" in output
    assert "opened with server/discover: no answer" in output


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system does not list open ports")
def test_a_server_on_a_port_is_reported_with_the_port(examine):
    exit, output = examine("--start-timeout", "2", *OPEN, "--", *broken_server("listens"))
    assert exit == 1, output
    assert "· listens on port " in output
    assert "it seems to serve HTTP instead of stdio." in one_line(output)


AFTER_FURTHER_ATTEMPTS = {
    "buffers": "The answer stays in a buffer until the process ends; with PYTHONUNBUFFERED=1",
    "needs_carriage_returns": "The server reads only lines that end with \\r\\n",
    "waits_for_headers": "The server frames messages with Content-Length headers",
    "closes_stdout": "The server runs, but has closed its stdout",
    "floods": "The server floods its stdout and answers nothing.",
}


@pytest.mark.parametrize("name", some_of(AFTER_FURTHER_ATTEMPTS, 3))
def test_a_further_attempt_makes_a_cause_certain(name, examine):
    exit, output = examine(*SHORT, *OPEN, "--", *broken_server(name))
    assert exit == 1, output
    assert f"Cause: {AFTER_FURTHER_ATTEMPTS[name]}" in one_line(output)


def test_a_server_that_needs_a_file_of_its_project_gets_the_option_cwd(examine, tmp_path):
    (tmp_path / "its_project.json").touch()
    exit, output = examine("--", *broken_server("lacks_a_file_here"))
    assert exit == 1
    assert "Cause: The server needs its project directory" in one_line(output)
    assert "mcp-conformance run --cwd . -- " in output


def test_a_server_that_needs_the_users_home_gets_the_option_inherit_home(examine, tmp_path, monkeypatch):
    (tmp_path / ".its_settings").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    exit, output = examine("--", *broken_server("lacks_a_home"))
    assert exit == 1
    assert "Cause: The server needs your home directory" in one_line(output)
    assert "mcp-conformance run --inherit-home -- " in output


def test_a_withheld_credential_is_named_without_its_value(examine, monkeypatch):
    monkeypatch.setenv("SICK_API_KEY", "hush-hush-hush")
    monkeypatch.setenv("OTHER_TOKEN", "hush-hush")
    exit, output = examine("--", *broken_server("lacks_a_credential"))
    assert exit == 1
    assert "Cause: The server needs a credential of your environment" in one_line(output)
    assert "mcp-conformance run --env SICK_API_KEY -- " in output
    assert "hush" not in output


def test_an_unset_variable_gets_the_option_env_with_a_placeholder(examine):
    _, output = examine("--", *broken_server("lacks_a_credential"))
    assert "The server needs the environment variable SICK_API_KEY: SICK_API_KEY is not set" in one_line(
        output
    )
    assert "--env SICK_API_KEY=VALUE" in output


@pytest.mark.parametrize(
    ("server", "description"),
    [
        (REFERENCE, "reference 1.0.0, revision 2025-11-25, offers tools"),
        (
            (sys.executable, "-m", "mcp_conformance_fixtures.stateless"),
            "stateless 1.0.0, revision 2026-07-28",
        ),
        (broken_server("is_healthy"), "sick 1.0, revision 2025-11-25, offers tools (0)"),
        (broken_server("never_stops"), "sick 1.0, revision 2025-11-25, offers tools (0)"),
    ],
    ids=["reference", "stateless", "simple", "stays"],
)
def test_a_healthy_server_is_described_with_exit_status_0(server, description, examine):
    exit, output = examine("--", *server)
    assert exit == 0, output
    assert "healthy" in output
    assert description in one_line(output)
    assert f"mcp-conformance run -- {' '.join(server)}" in output


def test_each_step_shows_the_bytes(examine):
    _, output = examine("--", *broken_server("prints_a_banner"))
    marks = [line.split(" ", 1)[1] for line in output.splitlines() if line.startswith(("✓", "✗", "·"))]
    assert [mark.split(" ")[0] for mark in marks] == [
        *("command", "process", "still", "initialize", "stdout:", "initialize", "initialized", "stops")
    ]
    assert "My server 1.0 \\u001b[1mis starting\\u001b[0m\\n   (not JSON" in output
    assert '"method":"initialize"' in output


def test_an_ascii_terminal_gets_words_for_marks(monkeypatch):
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    Printer(Redaction((Secret("hush", True),))).steps(
        [("✓", "found", ["hush, ünicode"]), ("✗", "started", []), ("·", "stdout:", [])]
    )
    assert terminal.buffer.getvalue().decode() == (
        "ok   found\n    ***, \\xfcnicode\nFAIL started\n-    stdout:\n"
    )


# The command cannot start ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "cause", "advice"),
    [
        (
            ("no-such-program-at-all",),
            "There is no program on the PATH called no-such-program-at-all.",
            "install",
        ),
        (("pythn3", "x.py"), "There is no program on the PATH called pythn3.", "run -- python3 x.py"),
        (("./server.py",), "There is no file called ./server.py.", "full path"),
        (("A=1", "python3", "x.py"), "A=1 is an assignment for a shell", "run --env A=1 -- python3 x.py"),
        (("API_KEY=hush-hush", "python3"), "API_KEY=*** is an assignment", "--env 'API_KEY=***' -- python3"),
        (("cd", "x", "&&", "python3", "x.py"), "cd is for a shell", "--cwd DIR"),
        (("python3 x.py",), "The command is one word with spaces in it", "run -- python3 x.py"),
        (
            ("here.py",),
            "here.py is a file in this directory, but not a program on the PATH.",
            "run -- python3 ",
        ),
        (("./here.py",), "here.py is not executable.", "chmod +x "),
        (("./bare",), "is a script whose first line names no interpreter.", "#!/usr/bin/env python3"),
        (("./returns",), "has CRLF line ends", "sed -i"),
        (("./stray",), "needs the interpreter /no/such/python, which was not found.", "run -- python "),
        (("./other",), "is built for another system or processor.", "for this machine"),
        (("./folder",), "folder is not a file.", "name the program in it"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_program_that_cannot_start_is_explained(command, cause, advice, examine, tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o600 if name == "here.py" else 0o700)
    (tmp_path / "folder").mkdir()
    exit, output = examine("--", *command)
    assert exit == 1, output
    assert cause in one_line(output)
    assert advice in one_line(output)


FILES = {
    "here.py": b"",
    "bare": b"print('hello')\n",
    "returns": b"#!/usr/bin/python3\r\nprint('hello')\r\n",
    "stray": b"#!/no/such/python\n",
    "other": b"\x7fELF\x02\x01\x01" + bytes(100),
}


def test_a_windows_script_gets_the_command_interpreter():
    """On Windows the system finds `npx.cmd`, and cannot start it."""
    path = r"C:\node\npx.cmd"
    program = Program("npx", path.replace("\\", "/"), is_file=True, may_run=True)
    seen = Observations(
        Settings(("npx", "server")), program, AttemptResult(refused="cannot start 'npx': [WinError 2]")
    )
    found = diagnose(seen)
    assert "is a script for the command interpreter" in found.cause
    assert found.advice == ("mcp-conformance run -- cmd /c npx server",)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "doctor: no server is given"),
        (("--",), "doctor: no server is given"),
        (("--strict", "--", "x"), "unrecognised arguments: --strict"),
        (("--cwd", "/no/such/place", "--", "x"), "no such directory"),
        (("--env", "NOT_SET_ANYWHERE", "--", "x"), "NAME=VALUE"),
    ],
    ids=str,
)
def test_invalid_options_are_one_line_with_exit_status_4(words, message, examine):
    exit, output = examine(*words)
    assert exit == 4
    assert message in output
    assert len(output.strip().splitlines()) == 1


# Causes without a process ------------------------------------------------------------------------

ASKED = Line.received(b'{"jsonrpc":"2.0","id":1,"method":"initialize"}')
PYTHON = Program("python3", "/usr/bin/python3", is_file=True, may_run=True)


def answered(at):
    raw = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'
    line = Line.received(raw, at)
    return Reply(ASKED, line, line.message)


def test_a_slow_start_gets_a_longer_timeout():
    attempt = AttemptResult(asked=ASKED, opening=answered(33.3), seconds=33.3)
    found = diagnose(Observations(Settings(("npx", "server")), PYTHON, attempt))
    assert (
        found.cause == "The server starts, but answers only 33.3 s after its start (--start-timeout is 30 s)."
    )
    assert found.advice[0] == "mcp-conformance run --start-timeout 67 -- npx server"
    assert "--inherit-home" in found.advice[1]


@pytest.mark.parametrize(
    ("command", "stderr", "cause"),
    [
        (
            ("python", "x.py"),
            "AttributeError: 'Server' object has no attribute 'list_resources'\n",
            "The server is written for another major version of the Python SDK: AttributeError: 'Server'",
        ),
        (
            ("python", "x.py"),
            "ModuleNotFoundError: No module named 'mcp.server.fastmcp'\n",
            "The server is written for another major version of the Python SDK: ModuleNotFoundError",
        ),
        (
            ("node", "x.js"),
            "Error: Cannot find module '/x/dist/y.js'\n",
            "Node finds no module /x/dist/y.js.",
        ),
        (
            ("npm", "start"),
            "npm error enoent Could not read package.json: Error\n",
            "There is no package.json",
        ),
        (("npm", "start"), 'npm error Missing script: "start"\n', "package.json has no script start."),
        (
            ("node", "x.mjs"),
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'y'\n  code: 'ERR_MODULE_NOT_FOUND'\n",
            "Node finds no module y.",
        ),
        (("bash",), "bash: line 1: {jsonrpc:2.0}: command not found\n", "bash has no program to run"),
        (("npx", "x"), "npm error code E404\n", "The registry has no such package."),
        (
            ("./x.sh",),
            "./x.sh: line 3: npx: command not found\n",
            "A program that the server starts was not found",
        ),
        (
            ("./x.py",),
            "env: 'python': No such file or directory\n",
            "A program that the server starts was not found",
        ),
        (("./x.sh",), "env: 'bash\\r': No such file or directory\n", "A script has CRLF line ends."),
        (("python3", "x.py"), "python3: can't open file '/x.py': [Errno 2]\n", "There is no file x.py."),
        (
            ("python3", "x.py"),
            "ImportError: cannot import name 'y' from 'x'\n",
            "Python cannot import: cannot",
        ),
        (("python3", "x.py"), "SyntaxError: invalid syntax\n", "The source cannot be read: invalid syntax"),
        (
            ("node", "x.js"),
            "Error: GITHUB_TOKEN is required\n",
            "The server needs the environment variable GITHUB_TOKEN",
        ),
        (
            ("go", "run"),
            "please set DATABASE_URL and try again\n",
            "The server needs the environment variable DATABASE_URL",
        ),
        (
            ("x",),
            "Error: listen EADDRINUSE: address already in use :::3000\n",
            "The server opens a port that is in use",
        ),
        (("java", "-jar"), "Error: Unable to access jarfile x.jar\n", "Java cannot find the program"),
        (
            ("x",),
            "Error: no kubeconfig\nUsage:\n  --port: a server on that port\n",
            "The server ended with status 1 ",
        ),
        (("docker", "run", "x"), "", "docker run without -i closes the server's stdin."),
        (("docker", "run", "-it", "x"), "the input device is not a TTY\n", "docker run -t needs a terminal."),
    ],
    ids=str,
)
def test_a_known_message_gives_the_cause(command, stderr, cause):
    attempt = AttemptResult(asked=ASKED, stderr=stderr, exit_code=1, is_closed=True, seconds=0.1)
    found = diagnose(Observations(Settings(command), Program(command[0], command[0]), attempt))
    assert found.cause.startswith(cause)
    assert found.is_sure
    assert found.advice


def test_text_on_stdout_without_an_answer_is_quoted():
    lines = (Line.received(b"", 1.0), Line.received(b"Ready \x1b[1m for requests", 1.0))
    found = diagnose(
        Observations(Settings(("x",)), PYTHON, AttemptResult(asked=ASKED, said=lines, seconds=40))
    )
    assert found.cause.endswith("no answer: Ready \\u001b[1m for requests")
    assert not found.is_sure


@pytest.mark.parametrize("ended", [True, False])
def test_a_warning_about_a_variable_is_not_certain(ended):
    stderr = "warning: LOG_LEVEL is not set\nreally: something else\n"
    attempt = AttemptResult(asked=ASKED, stderr=stderr, exit_code=3 if ended else None, is_closed=ended)
    found = diagnose(Observations(Settings(("x",)), PYTHON, attempt))
    assert found.cause == "The server needs the environment variable LOG_LEVEL: warning: LOG_LEVEL is not set"
    assert not found.is_sure


def test_an_error_before_another_error_is_not_certain():
    stderr = "warning: No module named 'uvloop'\nValueError: the moon is full\n"
    attempt = AttemptResult(asked=ASKED, stderr=stderr, exit_code=1, is_closed=True)
    assert not diagnose(Observations(Settings(("python3", "x.py")), PYTHON, attempt)).is_sure


def test_every_cause_is_in_the_order_of_evaluation():
    defined = [
        function
        for module in (launch, framing, handshake, confinement, exits)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and not name.startswith("_")
        and function.__annotations__.get("return") == "Diagnosis | None"
    ]
    assert set(defined) == set(CAUSES)
    assert len(defined) == len(CAUSES)


def test_a_program_is_found_where_it_will_start(tmp_path):
    (tmp_path / "server").write_bytes(b"#!/bin/sh\n")
    assert find_program(Settings(("./server",), here=tmp_path)).path == str(tmp_path / "server")
    assert find_program(Settings(("./server",), cwd=tmp_path)).path == str(tmp_path / "server")
    assert find_program(Settings(("server",), env={"PATH": ""}, here=tmp_path)).path == ""
