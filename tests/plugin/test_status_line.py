"""The status line of a run: it is shown on a terminal only, and removed at the end."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from io import StringIO

import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.plugin.status_line import StatusLine, activity_of, duration, fitted, width
from mcp_conformance.requirements.checks import PACKAGE
from support import environment, quick_mutant
from support.nightly import nightly


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def line(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    return StatusLine(StringIO(), clock)


def screen(status_line):
    """Return the text that a terminal shows, and all text written to it."""
    text = status_line._out.getvalue()
    line = ""
    for part in text.split("\r"):
        line = part + line[len(part) :]
    return line.rstrip(), text


def test_line_shows_the_check_and_the_wait(line, clock):
    line.show()
    assert screen(line)[0] == "0 s: starting the server"
    line.total, line.done, line.found = (
        200,
        12,
        {Outcome.FAILED: 2, Outcome.WARNED: 0, Outcome.BLOCKED: 1},
    )
    line.activity = activity_of(
        "mcp_conformance_suites/test_fuzz_tools.py::test_valid_arguments_are_accepted[2025-11-25-add]"
    )
    clock.now = 75.0
    line.wait(1.0, 30.0)
    assert (
        screen(line)[0]
        == "12 of 200, 1 min 15 s, 2 failed, 1 blocked: fuzzing add: valid arguments are accepted"
    )
    clock.now = 86.0
    line.wait(12.0, 30.0)
    assert screen(line)[0].endswith("fuzzing add: v... (waiting for an answer, 12 of 30 s)")
    assert width(screen(line)[0]) <= 97


def test_line_is_written_ten_times_a_second_at_most(line, clock):
    for number in range(1000):
        clock.now = number / 1000
        line.show()
    assert screen(line)[1].count("starting") <= 11


def test_a_log_gets_a_line_now_and_then_and_none_in_a_short_run(clock):
    out = StringIO()
    log = StatusLine(out, clock, is_log=True)
    log.total = 7
    for number in range(29):
        clock.now = number
        log.show()
    assert out.getvalue() == ""
    for number in range(29, 91):
        clock.now = number
        log.wait(number, 100.0)
    log.clear()
    assert out.getvalue().splitlines() == [
        "0 of 7, 30 s: starting the server (waiting for an answer, 30 of 100 s)",
        "0 of 7, 1 min 00 s: starting the server (waiting for an answer, 60 of 100 s)",
        "0 of 7, 1 min 30 s: starting the server (waiting for an answer, 90 of 100 s)",
    ]


def test_line_is_erased(line):
    line.show()
    line.clear()
    assert screen(line)[0] == ""
    before = screen(line)[1]
    line.clear()
    assert screen(line)[1] == before


@pytest.mark.parametrize("limit", [-2, -1, *range(0, 60, 7)])
@pytest.mark.parametrize(
    "activity", ["a check", "a very long name of a check that is cut", "日本語のツール" * 9]
)
def test_line_fits_into_the_terminal(activity, limit):
    assert width(fitted("1 of 2, 3 s", activity, "waiting for an answer, 4 of 30 s", limit)) <= max(limit, 0)


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (
            "mcp_conformance_suites/test_ping.py::test_a_ping_is_answered[2025-11-25]",
            "ping: a ping is answered",
        ),
        (f"{PACKAGE}/test_tools_call.py::test_x_y[2026-07-28-add]", "tools call: x y (add)"),
        (f"{PACKAGE}::blocked[2025-11-25-initialize]", "suites: blocked (initialize)"),
        ("tests/test_mine.py::test_it", "mine: it"),
        ("mcp_conformance_suites/test_fuzz_tools.py::test_a[2025-11-25-\x1b[31m]", "fuzzing \\u001b[31m: a"),
    ],
)
def test_activity_is_the_name_of_the_check_in_words(node, words):
    assert activity_of(node) == words


def test_duration_is_in_words():
    assert [duration(seconds) for seconds in (0.4, 59.9, 60, 3601)] == [
        "0 s",
        "59 s",
        "1 min 00 s",
        "60 min 01 s",
    ]


# Real runs ---------------------------------------------------------------------------------------

SERVER = quick_mutant("a_tool_has_a_null_title")
SELECTED = ("--select", "tools.def.title-string,ping", "--revision", "2025-11-25")


def on_a_terminal(folder, *options, **variables):
    """Return what a run writes to a terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "mcp_conformance", "run", *SELECTED, *options, "--", *SERVER]
    variables = environment(TERM="xterm", COLUMNS="90", **variables)
    process = subprocess.Popen(words, cwd=folder, env=variables, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    sent = b""
    with suppress(OSError):  # Linux raises it when the other end is closed
        while part := os.read(ours, 65536):
            sent += part
    os.close(ours)
    assert process.wait() == 1
    return sent.decode().replace("\r\n", "\n")


def test_terminal_shows_the_line_in_place_of_dots(tmp_path):
    sent = on_a_terminal(tmp_path, NO_COLOR="1")
    assert re.search(r"\r\d+ of \d+, \d+ s(, 1 failed)?: [a-z ]+: [a-z ]+", sent)
    assert "\x1b[" not in sent
    (last,) = re.findall(r"\r *\r\nverdict: does not conform", sent)
    assert last
    assert not re.search(r"test_\w+\.py [.Fs]", sent)
    assert sent.count("FAILED tools.def.title-string") == 1
    assert "=== FAILURES ===" not in sent
    assert max(len(line) for line in sent.splitlines() if line.startswith(("  -", "not called"))) <= 90


@pytest.mark.parametrize("level", ["-vv", pytest.param("-vvv", marks=nightly)])
def test_line_is_not_shown_beside_the_lines_of_pytest(level, tmp_path):
    sent = on_a_terminal(tmp_path, level)
    assert not re.search(r"\r\d+ of \d+", sent)
    assert re.search(r"test_\w+\.py(::test_\w+\[[^]]*\] PASSED| [.Fs])", re.sub(r"\x1b\[\d*m", "", sent))


@nightly
def test_findings_are_shown_as_they_are_found(tmp_path):
    command = [sys.executable, "-m", "mcp_conformance", "run", "--fuzz", "none", "--call", "none"]
    process = subprocess.Popen(
        [*command, "--", *SERVER], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True
    )
    first = process.stdout.readline()
    assert re.match(r"FAILED tools.def.title-string \w+: expected ", first)
    assert process.poll() is None
    rest, _ = process.communicate()
    assert re.match(r"(?!verdict)(.*\n)*\nverdict: does not conform", rest)
    assert rest.count("FAILED tools.def.title-string (MUST") == 1


@nightly
def test_in_ci_there_is_neither_a_line_nor_dots(tmp_path):
    sent = on_a_terminal(tmp_path, CI="true")
    assert not re.search(r"\r\d+ of \d+|\.py [.Fs]", sent)
    assert re.sub(r"\x1b\[\d*m", "", sent).strip().startswith("verdict: does not conform")
