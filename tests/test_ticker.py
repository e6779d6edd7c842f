"""The line that says what a run does just now: on a terminal only, and without a trace at the end."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from io import StringIO

import pytest
from support import environment, quick_mutant

from conformance.plugin.status_line import Ticker, duration, fitted, said, width
from conformance.verdicts import Outcome


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ticker(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    return Ticker(StringIO(), clock)


def screen(ticker):
    """What a terminal shows, and what it has been sent in all."""
    text = ticker._out.getvalue()
    line = ""
    for part in text.split("\r"):
        line = part + line[len(part) :]
    return line.rstrip(), text


def test_it_says_what_is_done_and_what_is_waited_for(ticker, clock):
    ticker.show()
    assert screen(ticker)[0] == "0 s: starting the server"
    ticker.total, ticker.done, ticker.found = (
        200,
        12,
        {Outcome.FAILED: 2, Outcome.WARNED: 0, Outcome.BLOCKED: 1},
    )
    ticker.what = said(
        "conformance/suites/test_fuzz_tools.py::test_valid_arguments_are_accepted[2025-11-25-add]"
    )
    clock.now = 75.0
    ticker.wait(1.0, 30.0)
    assert (
        screen(ticker)[0]
        == "12 of 200, 1 min 15 s, 2 failed, 1 blocked: fuzzing add: valid arguments are accepted"
    )
    clock.now = 86.0
    ticker.wait(12.0, 30.0)
    assert screen(ticker)[0].endswith("fuzzing add: v... (waiting for an answer, 12 of 30 s)")
    assert width(screen(ticker)[0]) <= 97


def test_it_is_not_written_more_often_than_it_can_be_read(ticker, clock):
    for number in range(1000):
        clock.now = number / 1000
        ticker.show()
    assert screen(ticker)[1].count("starting") <= 11


def test_it_is_erased(ticker):
    ticker.show()
    ticker.clear()
    assert screen(ticker)[0] == ""
    before = screen(ticker)[1]
    ticker.clear()
    assert screen(ticker)[1] == before


@pytest.mark.parametrize("most", range(0, 60, 7))
@pytest.mark.parametrize("what", ["a check", "a very long name of a check that is cut", "日本語のツール" * 9])
def test_it_fits_into_the_terminal(what, most):
    assert width(fitted("1 of 2, 3 s", what, "waiting for an answer, 4 of 30 s", most)) <= most


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ("conformance/suites/test_ping.py::test_a_ping_is_answered[2025-11-25]", "ping: a ping is answered"),
        ("conformance/suites/test_tools_call.py::test_x_y[2026-07-28-add]", "tools call: x y (add)"),
        ("conformance/suites::blocked[2025-11-25-initialize]", "suites: blocked (initialize)"),
        ("tests/test_mine.py::test_it", "mine: it"),
        ("conformance/suites/test_fuzz_tools.py::test_a[2025-11-25-\x1b[31m]", "fuzzing \\u001b[31m: a"),
    ],
)
def test_a_check_is_said_in_words(node, words):
    assert said(node) == words


def test_seconds_are_said_in_words():
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
    """What a terminal is sent by a run."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "conformance", "run", *SELECTED, *options, "--", *SERVER]
    told = environment(TERM="xterm", COLUMNS="90", **variables)
    process = subprocess.Popen(words, cwd=folder, env=told, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    sent = b""
    with suppress(OSError):  # Linux's way to say that the other end is closed
        while part := os.read(ours, 65536):
            sent += part
    os.close(ours)
    assert process.wait() == 1
    return sent.decode().replace("\r\n", "\n")


def test_a_terminal_shows_it_in_place_of_dots(tmp_path):
    sent = on_a_terminal(tmp_path, NO_COLOR="1")
    assert re.search(r"\r\d+ of \d+, \d+ s(, 1 failed)?: [a-z ]+: [a-z ]+", sent)
    assert "\x1b[" not in sent
    (last,) = re.findall(r"\r *\r\n=+ MCP conformance", sent)
    assert last
    assert not re.search(r"test_\w+\.py [.Fs]", sent)
    assert sent.count("FAILED tools.def.title-string") == 1
    assert "=== FAILURES ===" not in sent
    assert max(len(line) for line in sent.splitlines() if line.startswith(("  -", "not called"))) <= 90


@pytest.mark.parametrize(("options", "variables"), [(("-v",), {}), ((), {"CI": "true"})], ids=["-v", "CI"])
def test_it_is_not_shown_where_it_would_disturb(options, variables, tmp_path):
    sent = on_a_terminal(tmp_path, *options, **variables)
    assert not re.search(r"\r\d+ of \d+", sent)
    assert re.search(r"test_\w+\.py(::test_\w+\[[^]]*\] PASSED| [.Fs])", re.sub(r"\x1b\[\d*m", "", sent))
