"""`mcp-conformance doctor` names what is wrong with a sick server, and nothing with a healthy one."""

import io
import os
import re
import sys
from pathlib import Path

import pytest
from support import REFERENCE, forked

from conformance.cli.doctor import Paper
from conformance.client.reply import Reply
from conformance.doctor.attempts import Attempt, Program, Seen, looked_up
from conformance.doctor.diagnosis import CAUSES, diagnosis
from conformance.protocol.jsonrpc import Line
from conformance.target.settings import Settings
from conformance.transport.sandbox import SECRET

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the command is run in a forked process")

HERE = Path(__file__).parent
SHORT = ("--start-timeout", "2")
OPEN = ("--cwd", str(HERE), "--inherit-home")
"""Options with which there is no sandbox to be left for another try."""


def sick(name):
    return (sys.executable, "-S", str(HERE / "sick.py"), name)


@pytest.fixture
def examine(tmp_path, monkeypatch):
    """Run the doctor; its exit status and its output."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    for name in filter(SECRET.search, list(os.environ)):
        monkeypatch.delenv(name)
    return lambda *words, cwd=tmp_path: forked(["doctor", *words], cwd, 100)


CURED = {
    "prints_a_banner": "It starts and answers, but also prints to stdout what is no message: My server 1.0",
    "is_stateless_and_prints": "It starts and answers, but also prints to stdout what is no message: My",
    "lacks_a_module": "Python finds no module mcp_server_of_nobody.",
    "lacks_a_variable": "It wants the environment variable SICK_DATABASE_URL",
    "lacks_a_file_here": "It wants a file that is not there: its_project.json",
    "lacks_an_argument": "It wants other arguments: usage: sick [-h] DATABASE",
    "ends_lines_nowhere": "Its answer has no line end",
    "ends_lines_with_a_return": "It ends its lines with \\r alone",
    "indents": "Its answer is spread over several lines",
    "marks_byte_order": "It writes a byte order mark",
    "writes_utf16": "It writes UTF-16",
    "answers_in_a_list": "It answers a single request with an array.",
    "answers_another": "It answers with the id 77; the request has the id 1.",
    "answers_a_string": 'It answers with the id "1", a string where a number was sent',
    "echoes": "It gives back the line that it was sent",
    "answers_with_headers": "It frames messages with Content-Length headers",
    "ends_at_once": "It ended with status 0, as if all were done.",
    "ends_with_status_3": "It ended with status 3.",
    "raises": "It ended with status 1: ValueError: the \\u001b[31mmoon\\u001b[0m is full",
    "forgets_to_await": "main() is called but not awaited.",
    "goes_on_in_the_background": "It ended with status 0, but something that it started goes on",
    "kills_itself": "It was ended by signal 9",
    "refuses_the_version": "It refuses the version 2025-11-25",
    "refuses": 'It answers initialize with an error: error -32603 "The disk is full".',
    "tells_no_version": "Its answer to initialize has no protocolVersion.",
    "tells_an_odd_version": 'Its answer to initialize has the protocolVersion "1.0".',
    "dies_later": "It starts, but then tools/list was not answered: the server process ended",
}
"""What is certain, and found without waiting for what does not come."""


@pytest.mark.parametrize("name", CURED)
def test_what_is_wrong_is_named(name, examine):
    exit, output = examine("--", *sick(name))
    assert exit == 1, output
    assert f"What is wrong: {CURED[name]}" in told(output)
    assert "What to do:" in output


def test_what_else_is_wrong_is_told_too(examine):
    exit, output = examine("--", *sick("prints_and_dies_later"))
    assert exit == 1, output
    assert CURED["dies_later"] in told(output)
    assert "It also prints to stdout what is no message: My server 1.0" in told(output)


def told(output):
    """The output on one line, as it is wrapped, without times."""
    return re.sub(r" after [\d.]+ s", "", " ".join(output.split()))


GUESSED = {
    "cannot_read": "It could not read our request",
    "serves_http": "It serves HTTP instead of stdio: INFO: Uvicorn running on",
    "asks_to_install": "npx installs the package first, or asks whether it may.",
    "reads_to_the_end": "Its answer came only when stdin was closed",
}
"""What is likely, as far as anybody can see."""


@pytest.mark.parametrize("name", GUESSED)
def test_what_cannot_be_certain_is_told_as_likely(name, examine):
    exit, output = examine(*SHORT, *OPEN, "--", *sick(name))
    assert exit == 1, output
    assert f"What is likely wrong: {GUESSED[name]}" in told(output)


def test_silence_is_given_up_with_what_to_look_at(examine):
    exit, output = examine("--start-timeout", "1", *OPEN, "--", *sick("is_mute"))
    assert exit == 1, output
    assert "What is likely wrong: It runs, but does not answer initialize in" in told(output)
    assert "--transport stdio" in output
    assert "opened with server/discover: no answer" in output


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system does not tell who listens")
def test_a_server_that_listens_on_a_port_is_no_server_on_stdio(examine):
    exit, output = examine("--start-timeout", "2", *OPEN, "--", *sick("listens"))
    assert exit == 1, output
    assert "· listens on port " in output
    assert "it seems to serve HTTP instead of stdio." in told(output)


WAITED_FOR = {
    "buffers": "Its answer stays in a buffer until the process ends; with PYTHONUNBUFFERED=1",
    "wants_carriage_returns": "It reads lines that end with \\r\\n only",
    "waits_for_headers": "It frames messages with Content-Length headers",
    "closes_stdout": "It runs, but has closed its stdout",
    "floods": "It floods its stdout and answers nothing.",
}


@pytest.mark.parametrize("name", WAITED_FOR)
def test_what_only_another_try_can_tell_is_certain_then(name, examine):
    exit, output = examine(*SHORT, *OPEN, "--", *sick(name))
    assert exit == 1, output
    assert f"What is wrong: {WAITED_FOR[name]}" in told(output)


def test_a_file_where_the_user_stands_is_missed_in_a_throwaway_directory(examine, tmp_path):
    (tmp_path / "its_project.json").touch()
    exit, output = examine("--", *sick("lacks_a_file_here"))
    assert exit == 1
    assert "What is wrong: It needs its project around it" in told(output)
    assert "mcp-conformance run --cwd . -- " in output


def test_a_file_in_the_users_home_is_missed_in_a_throwaway_one(examine, tmp_path, monkeypatch):
    (tmp_path / ".its_settings").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    exit, output = examine("--", *sick("lacks_a_home"))
    assert exit == 1
    assert "What is wrong: It needs your home directory" in told(output)
    assert "mcp-conformance run --inherit-home -- " in output


def test_a_credential_that_was_withheld_is_named_and_not_shown(examine, monkeypatch):
    monkeypatch.setenv("SICK_API_KEY", "hush-hush-hush")
    monkeypatch.setenv("OTHER_TOKEN", "hush-hush")
    exit, output = examine("--", *sick("lacks_a_credential"))
    assert exit == 1
    assert "What is wrong: It needs a credential of your environment" in told(output)
    assert "mcp-conformance run --env SICK_API_KEY -- " in output
    assert "hush" not in output


def test_a_variable_nobody_has_is_to_be_given(examine):
    _, output = examine("--", *sick("lacks_a_credential"))
    assert "It wants the environment variable SICK_API_KEY: SICK_API_KEY is not set" in told(output)
    assert "--env SICK_API_KEY=VALUE" in output


@pytest.mark.parametrize(
    ("server", "who"),
    [
        (REFERENCE, "reference 1.0.0, revision 2025-11-25, offers tools"),
        ((sys.executable, "-m", "conformance.fixtures.stateless"), "stateless 1.0.0, revision 2026-07-28"),
        (sick("is_healthy"), "sick 1.0, revision 2025-11-25, offers tools (0)"),
        (sick("never_stops"), "sick 1.0, revision 2025-11-25, offers tools (0)"),
    ],
    ids=["reference", "stateless", "simple", "stays"],
)
def test_a_healthy_server_is_said_to_be(server, who, examine):
    exit, output = examine("--", *server)
    assert exit == 0, output
    assert "It is healthy" in output
    assert who in told(output)
    assert f"mcp-conformance run -- {' '.join(server)}" in output


def test_each_step_is_shown_with_the_bytes(examine):
    _, output = examine("--", *sick("prints_a_banner"))
    marks = [line.split(" ", 1)[1] for line in output.splitlines() if line.startswith(("✓", "✗", "·"))]
    assert [mark.split(" ")[0] for mark in marks] == [
        *("command", "process", "still", "initialize", "stdout:", "initialize", "initialized", "stops")
    ]
    assert "My server 1.0 \\u001b[1mis starting\\u001b[0m\\n   (not JSON" in output
    assert '"method":"initialize"' in output


def test_a_terminal_without_the_marks_gets_words(monkeypatch):
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    Paper(["hush"]).steps([("✓", "found", ["hush, ünicode"]), ("✗", "started", []), ("·", "stdout:", [])])
    assert terminal.buffer.getvalue().decode() == (
        "ok   found\n    ***, \\xfcnicode\nFAIL started\n-    stdout:\n"
    )


# Before there is a process -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "said", "advised"),
    [
        (
            ("no-such-program-at-all",),
            "There is no program on the PATH called no-such-program-at-all.",
            "install",
        ),
        (("pythn3", "x.py"), "There is no program on the PATH called pythn3.", "doctor -- python3 x.py"),
        (("./server.py",), "There is no file called ./server.py.", "full path"),
        (("A=1", "python3", "x.py"), "A=1 is an assignment for a shell", "doctor --env A=1 -- python3 x.py"),
        (("API_KEY=hush-hush", "python3"), "API_KEY=*** is an assignment", "--env 'API_KEY=***' -- python3"),
        (("cd", "x", "&&", "python3", "x.py"), "cd is for a shell", "--cwd DIR"),
        (("python3 x.py",), "The command is one word with blanks in it", "doctor -- python3 x.py"),
        (("here.py",), "here.py is a file here, but no program on the PATH.", "doctor -- python3 "),
        (("./here.py",), "here.py is not executable.", "chmod +x "),
        (("./bare",), "is a script whose first line names no interpreter.", "#!/usr/bin/env python3"),
        (("./returns",), "has CRLF line ends", "sed -i"),
        (("./stray",), "wants the interpreter /no/such/python, which does not exist.", "doctor -- python "),
        (("./other",), "is built for another system or processor.", "for this machine"),
        (("./folder",), "folder is no file.", "name the program in it"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_keeps_a_program_from_being_started(command, said, advised, examine, tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o600 if name == "here.py" else 0o700)
    (tmp_path / "folder").mkdir()
    exit, output = examine("--", *command)
    assert exit == 1, output
    assert said in told(output)
    assert advised in told(output)


FILES = {
    "here.py": b"",
    "bare": b"print('hello')\n",
    "returns": b"#!/usr/bin/python3\r\nprint('hello')\r\n",
    "stray": b"#!/no/such/python\n",
    "other": b"\x7fELF\x02\x01\x01" + bytes(100),
}


def test_a_script_for_the_command_interpreter_is_told_as_one():
    """On Windows a program such as npx is found, and cannot be started."""
    path = r"C:\node\npx.cmd"
    program = Program("npx", path.replace("\\", "/"), is_file=True, may_run=True)
    seen = Seen(Settings(("npx", "server")), program, Attempt(refused="cannot start 'npx': [WinError 2]"))
    found = diagnosis(seen)
    assert "is a script of the command interpreter" in found.cause
    assert found.advice == ("mcp-conformance doctor -- cmd /c npx server",)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "doctor: which server?"),
        (("--",), "doctor: which server?"),
        (("--strict", "--", "x"), "unknown words: --strict"),
        (("--cwd", "/no/such/place", "--", "x"), "no such directory"),
        (("--env", "NOT_SET_ANYWHERE", "--", "x"), "NAME=VALUE"),
    ],
    ids=str,
)
def test_the_users_mistakes_are_one_line_and_exit_4(words, said, examine):
    exit, output = examine(*words)
    assert exit == 4
    assert said in output
    assert len(output.strip().splitlines()) == 1


# Causes by themselves ----------------------------------------------------------------------------

ASKED = Line.received(b'{"jsonrpc":"2.0","id":1,"method":"initialize"}')
PYTHON = Program("python3", "/usr/bin/python3", is_file=True, may_run=True)


def answered(at):
    raw = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'
    line = Line.received(raw, at)
    return Reply(ASKED, line, line.message)


def test_a_slow_start_is_told_with_what_to_allow():
    attempt = Attempt(asked=ASKED, hello=answered(33.3), seconds=33.3)
    found = diagnosis(Seen(Settings(("npx", "server")), PYTHON, attempt))
    assert found.cause == "It starts, but answers only 33.3 s after its start (--start-timeout is 30)."
    assert found.advice[0] == "mcp-conformance run --start-timeout 67 -- npx server"
    assert "--inherit-home" in found.advice[1]


@pytest.mark.parametrize(
    ("command", "stderr", "cause"),
    [
        (
            ("node", "x.js"),
            "Error: Cannot find module '/x/dist/x.js'\n",
            "Node finds no module /x/dist/x.js.",
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
        (("./x.sh",), "./x.sh: line 3: npx: command not found\n", "It starts something that is not there"),
        (("./x.py",), "env: 'python': No such file or directory\n", "It starts something that is not there"),
        (("./x.sh",), "env: 'bash\\r': No such file or directory\n", "A script has CRLF line ends."),
        (("python3", "x.py"), "python3: can't open file '/x.py': [Errno 2]\n", "Python finds no file /x.py."),
        (
            ("python3", "x.py"),
            "ImportError: cannot import name 'y' from 'x'\n",
            "Python cannot import: cannot",
        ),
        (("python3", "x.py"), "SyntaxError: invalid syntax\n", "Its source cannot be read: invalid syntax"),
        (
            ("node", "x.js"),
            "Error: GITHUB_TOKEN is required\n",
            "It wants the environment variable GITHUB_TOKEN",
        ),
        (
            ("go", "run"),
            "please set DATABASE_URL and try again\n",
            "It wants the environment variable DATABASE_URL",
        ),
        (
            ("x",),
            "Error: listen EADDRINUSE: address already in use :::3000\n",
            "It opens a port that is taken",
        ),
        (("java", "-jar"), "Error: Unable to access jarfile x.jar\n", "Java cannot find the program"),
        (
            ("x",),
            "Error: no kubeconfig\nUsage:\n  --port: a server on that port\n",
            "It ended with status 1 ",
        ),
        (("docker", "run", "x"), "", "docker run without -i closes the server's stdin."),
        (("docker", "run", "-it", "x"), "the input device is not a TTY\n", "docker run -t wants a terminal."),
    ],
    ids=str,
)
def test_known_words_tell_the_cause(command, stderr, cause):
    attempt = Attempt(asked=ASKED, stderr=stderr, exit_code=1, is_closed=True, seconds=0.1)
    found = diagnosis(Seen(Settings(command), Program(command[0], command[0]), attempt))
    assert found.cause.startswith(cause)
    assert found.is_sure
    assert found.advice


def test_other_words_on_stdout_are_quoted_where_no_answer_comes():
    said = (Line.received(b"", 1.0), Line.received(b"Ready \x1b[1m for requests", 1.0))
    found = diagnosis(Seen(Settings(("x",)), PYTHON, Attempt(asked=ASKED, said=said, seconds=40)))
    assert found.cause.endswith("does not answer: Ready \\u001b[1m for requests")
    assert not found.is_sure


@pytest.mark.parametrize("ended", [True, False])
def test_a_variable_that_is_only_warned_of_is_no_certain_cause(ended):
    stderr = "warning: LOG_LEVEL is not set\nreally: something else\n"
    attempt = Attempt(asked=ASKED, stderr=stderr, exit_code=3 if ended else None, is_closed=ended)
    found = diagnosis(Seen(Settings(("x",)), PYTHON, attempt))
    assert found.cause == "It wants the environment variable LOG_LEVEL: warning: LOG_LEVEL is not set"
    assert not found.is_sure


def test_an_error_that_others_follow_is_no_certain_cause():
    stderr = "warning: No module named 'uvloop'\nValueError: the moon is full\n"
    attempt = Attempt(asked=ASKED, stderr=stderr, exit_code=1, is_closed=True)
    assert not diagnosis(Seen(Settings(("python3", "x.py")), PYTHON, attempt)).is_sure


def test_every_cause_says_in_its_first_line_what_it_is():
    assert len({cause.__name__ for cause in CAUSES}) == len(CAUSES)
    assert all(cause.__doc__ for cause in CAUSES)


def test_a_program_is_looked_up_where_it_will_be_started(tmp_path):
    (tmp_path / "server").write_bytes(b"#!/bin/sh\n")
    assert looked_up(Settings(("./server",), here=tmp_path)).path == str(tmp_path / "server")
    assert looked_up(Settings(("./server",), cwd=tmp_path)).path == str(tmp_path / "server")
    assert looked_up(Settings(("server",), env={"PATH": ""}, here=tmp_path)).path == ""
