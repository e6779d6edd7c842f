"""The watch of a soak: growth that keeps on is reported, and what levels off, jumps or is noise is not."""

import math
import random
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from mcp_conformance.client.reply import Reply
from mcp_conformance.fuzzing import drift as drift_module
from mcp_conformance.fuzzing import repeated_calls as repeated_calls_module
from mcp_conformance.fuzzing.budgets import DRIFT
from mcp_conformance.fuzzing.drift import FILES, LEAST, MEMORY, TIME, Answers, Drift
from mcp_conformance.fuzzing.growth import growth
from mcp_conformance.fuzzing.repeated_calls import expect_level, expect_same_answers
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.revisions import LATEST_MODERN
from mcp_conformance.transport.usage import Usage, usage_of
from mcp_conformance.verdicts import Finding, Skipped
from support.in_memory import VirtualClock

MB = 1e6
CALLS = range(0, 80_000, 1000)
NOISE = random.Random(0)


def memory(figure):
    """Return the growth of a memory that is a function of the calls."""
    return growth([(calls, figure(calls)) for calls in CALLS], *LEAST[MEMORY])


def sawtooth(calls):
    """Return the garbage that is collected every 7,000 calls."""
    return 2_000 * (calls % 7_000)


# Growth


def test_leak_is_reported_with_its_rate():
    found = memory(lambda calls: 35 * MB + 2_000 * calls)
    assert found.per_call == pytest.approx(2_000)
    assert found.after - found.before == pytest.approx(2_000 * found.calls)


@pytest.mark.parametrize(
    "figure",
    [
        lambda calls: 35 * MB + 2_000 * calls + NOISE.uniform(-4, 4) * MB,
        lambda calls: 35 * MB + 2_000 * calls + sawtooth(calls),
        lambda calls: 35 * MB + 20 * MB * (1 - math.exp(-calls / 3_000)) + 1_000 * calls,
        lambda calls: 35 * MB + calls**2 / 100,
    ],
    ids=["noise", "collected", "after-warm-up", "faster-and-faster"],
)
def test_leak_is_found_under(figure):
    assert memory(figure) is not None


@pytest.mark.parametrize(
    "figure",
    [
        lambda calls: 35 * MB,
        lambda calls: 35 * MB - 200 * calls,
        lambda calls: 35 * MB + NOISE.uniform(0, 60) * MB,
        lambda calls: 35 * MB + 20 * sawtooth(calls),
        lambda calls: 35 * MB + 50 * MB * min(1, calls / 20_000),
        lambda calls: 35 * MB + 500 * MB * (1 - math.exp(-calls / 12_000)),
        lambda calls: 35 * MB + 60 * MB * (calls > 60_000),
        lambda calls: 70 * MB + 10 * calls + 70 * MB * (calls > 65_000),
        lambda calls: 35 * MB + 60 * MB * (calls > 40_000),
        lambda calls: 35 * MB + 10 * calls,
        lambda calls: 5_000 * MB + 2_000 * calls,
    ],
    ids=[
        *("steady", "less", "noise", "collected", "full-cache", "levels-off", "late-jump", "jump-of-heap"),
        *("jump", "too-little", "too-little-beside-the-rest"),
    ],
)
def test_memory_without_a_leak_is_not_reported(figure):
    assert memory(figure) is None


def test_few_samples_are_not_judged():
    assert growth([(calls, calls * MB) for calls in range(20)], *LEAST[MEMORY]) is None


def test_samples_without_calls_between_are_not_judged():
    assert growth([(7, number * MB) for number in range(80)], *LEAST[MEMORY]) is None


# Answers


@pytest.mark.parametrize(
    ("answers", "differ"),
    [
        (["a"] * 100, False),
        (["a"] * 50 + ["b"] * 50, True),
        (["a"] * 5 + ["b"] * 4, False),
        (["a", "b"] * 50, False),
        ([str(number) for number in range(100)], False),
        (["a"] * 99 + ["b"], False),
    ],
    ids=["same", "changed", "few", "random", "counter", "once"],
)
def test_only_a_lasting_change_of_answers_counts(answers, differ):
    kept = Answers()
    for answer in answers:
        kept.keep(answer)
    assert kept.differ is differ


# The watch


class Tool:
    """A tool."""

    name = "show"

    def __init__(self, read_only):
        self.read_only = read_only


def watched(monkeypatch, usage, answer=lambda _number: "ok", seconds=lambda _number: 0.01, *, read_only=True):
    """Return the watch over 10,000 calls, 100 a second; each argument is a function of their number."""
    clock = VirtualClock()
    drift, tool = Drift(1, clock, DRIFT), Tool(read_only)
    monkeypatch.setattr(drift_module, "usage_of", lambda _pid: usage(drift.calls))
    for number in range(10_000):
        clock.now += 0.01
        at = clock.now
        message = {"id": number, "result": {"content": answer(number)}}
        reply = Reply(Line(True, b"", at), Line(False, b"", at + seconds(number)), message)
        drift.note(tool, reply, is_repeated=True)
    return drift


def test_leaking_process_is_reported_with_figures(monkeypatch):
    drift = watched(monkeypatch, lambda calls: Usage(round(35 * MB) + 15_000 * calls, 10 + calls // 20, 0))
    memory, files = drift.lines({})
    assert memory.startswith("memory grew from ")
    assert memory.endswith(", 15 kB a call, and did not level off")
    assert files.startswith("open files grew from ")
    assert ", 0.05 a call, " in files


def test_slower_and_slower_process_is_reported(monkeypatch):
    drift = watched(monkeypatch, lambda _calls: Usage(1, 1, 0), seconds=lambda number: 0.001 + number * 1e-6)
    (line,) = drift.lines({})
    assert line.startswith(f"{TIME} grew from ")
    assert re.search(r", (1|0\.\d+) µs a call, ", line)
    drift.forget_times()
    assert "nothing kept on growing" in drift.lines({})[0]


def test_steady_process_is_not_reported(monkeypatch):
    drift = watched(monkeypatch, lambda _calls: Usage(round(35 * MB), 10, 2))
    figures = "memory 35 MB, open files 10, child processes 2, the time of the same calls 10 ms"
    assert drift.lines({}) == [f"nothing kept on growing over 10,000 calls: {figures}"]


def test_changed_answer_is_reported_unless_a_tool_may_change_things(monkeypatch):
    def answer(number):
        return "gone" if number > 5_000 else f"here since 2026-01-01 10:00:{number % 60:02}"

    def lines(*, read_only):
        usage = Usage(1, 1, 0)
        return watched(monkeypatch, lambda _calls: usage, answer, read_only=read_only).lines({})

    assert "answers to the same call of show changed over 10000 calls of it" in lines(read_only=True)[0]
    assert '"here since "' in lines(read_only=True)[0]
    assert "nothing kept on growing" in lines(read_only=False)[0]


def test_what_is_not_seen_or_too_short_is_said_in_a_line(monkeypatch):
    drift = watched(monkeypatch, lambda _calls: None)
    assert drift.lines({})[1] == "memory, open files and child processes of the server are not seen here"
    (line,) = Drift(None, VirtualClock(), DRIFT).lines({})
    assert str(DRIFT.min_calls) in line


# Repeated calls


class Watched:
    """A watch that shows these changes, if it judges at all."""

    def __init__(self, *names, is_judged=True):
        self.calls, self.is_judged = 700, is_judged
        self._changes = {name: f"{name} grew" for name in names}

    def has_figures(self, name):
        return name in (MEMORY, TIME)

    def changes(self):
        return self._changes


def repeated(monkeypatch, *watches, fault=""):
    """Return a server whose processes show these watches."""
    monkeypatch.setattr(
        repeated_calls_module, "repeated_calls", lambda _server, process: (watches[process - 1], fault)
    )
    return SimpleNamespace(revision=LATEST_MODERN, is_newest=True)


def test_growth_counts_only_if_two_processes_show_it(monkeypatch):
    with pytest.raises(Finding, match="memory grew; in a second process too"):
        expect_level(repeated(monkeypatch, Watched(MEMORY), Watched(MEMORY)), MEMORY)
    expect_level(repeated(monkeypatch, Watched(MEMORY), Watched()), MEMORY)
    expect_level(repeated(monkeypatch, Watched("answers of show")), MEMORY)
    with pytest.raises(Finding, match="answers of show grew"):
        expect_same_answers(repeated(monkeypatch, *[Watched(MEMORY, "answers of show")] * 2))
    expect_same_answers(repeated(monkeypatch, Watched(MEMORY)))


def test_growth_is_not_judged_without_the_means(monkeypatch):
    with pytest.raises(Skipped, match="700 calls were made; growth shows in 500 calls and 10 s or more"):
        expect_level(repeated(monkeypatch, Watched(is_judged=False)), MEMORY)
    with pytest.raises(Skipped, match="open files of the server cannot be followed here"):
        expect_level(repeated(monkeypatch, Watched()), FILES)
    with pytest.raises(Skipped, match="no answer"):
        expect_level(repeated(monkeypatch, Watched(), fault="no answer"), MEMORY)
    server = repeated(monkeypatch, Watched())
    server.revision, server.is_newest = "2025-11-25", False
    with pytest.raises(Skipped, match="the newest revision"):
        expect_level(server, MEMORY)


# A process


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_usage_counts_descendants_and_open_files():
    code = """
import os, subprocess, sys
kept = [open(os.devnull) for _ in range(50)]
memory = bytearray(os.urandom(1000)) * 20_000
child = subprocess.Popen([sys.executable, "-c", "input()"])
print(child.pid, flush=True)
input()
"""
    ours = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert ours.stdout.readline()
    usage = usage_of(ours.pid)
    ours.communicate(b"\n\n", timeout=60)
    assert usage.children == 1
    assert 53 <= usage.files < 100
    assert 20 * MB < usage.memory < 1_000 * MB
    assert usage_of(ours.pid) is None
