"""The soak: silent on right servers; what breaks under it is found, made small, told once and kept."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import find, settings
from support import REFERENCE, awkward, environment, forked, mutant, started

from conformance.fuzzing import soak as soak_module
from conformance.fuzzing.soak import Soak
from conformance.report.formats import json as json_format
from conformance.target.probe import probe
from conformance.target.server import Server
from conformance.target.settings import Settings
from conformance.verdicts import Blocked, Finding

AWKWARD = ("out_of_order", "notification_first", "split_writes", "chatty_stderr")
LONG = 600.0
"""Seconds; no test waits for them."""


@pytest.fixture
def soak_of(tmp_path):
    """Makes the soak of a server."""
    servers = []

    def make(command, **chosen):
        chosen = {"call": ("all",), "timeout": 5.0, "transcripts": tmp_path / "kept", **chosen}
        options = Settings(tuple(command), **chosen)
        servers.append(Server(options, probe(options, "2025-11-25", exactly=True)))
        return Soak(servers[-1])

    yield make
    for server in servers:
        server.close()


def told_by(soak, findings, calls=0):
    """Soak until there are so many findings and calls; the findings."""
    told = []
    for one in soak.run(time.monotonic() + LONG):
        told += [one] if one is not None else []
        if len(told) >= findings and soak.calls >= calls:
            break
    return told


def mutated(*lines):
    """The reference server with a ``mutate`` of these lines, which sees every request and its reply."""
    body = "\n    ".join(lines)
    code = f"""
import os, sys
from conformance.fixtures.mutants import params
from conformance.fixtures.mutants.fuzz_tools import arguments
from conformance.fixtures.reference import SILENCE, main
calls = 0
def mutate(server, request, reply):
    global calls
    name = params(request).get("name")
    calls += name is not None
    {body}
main(mutate)
"""
    return (sys.executable, "-c", code)


# Right servers


@pytest.mark.parametrize("command", [REFERENCE, *map(awkward, AWKWARD)], ids=lambda words: words[-1][20:])
def test_a_right_server_is_soaked_without_a_word(soak_of, tmp_path, command):
    soak = soak_of(command)
    assert told_by(soak, 0, calls=1000) == []
    assert (soak.calls, soak.processes, soak.repeats) == (1000, 2, 0)
    assert not (tmp_path / "kept").exists()


def test_an_answer_that_is_only_late_is_no_finding(soak_of):
    """The answer to one call comes when a ping has come: when the soak asks whether the server lives."""
    late = mutated(
        "if calls == 60 and name is not None:",
        "    server.memory['late'] = reply",
        "    return SILENCE",
        "if reply and request and request.get('method') == 'ping' and 'late' in server.memory:",
        "    server.send(server.memory.pop('late'))",
    )
    soak = soak_of(late)
    assert told_by(soak, 0, calls=200) == []
    assert soak.left_out.keys() == {"ponder"}


def test_a_tool_that_is_often_late_is_left_out(soak_of):
    late = mutated(
        "if calls > 60 and name == 'echo':",
        "    server.memory.setdefault('late', []).append(reply)",
        "    return SILENCE",
        "if reply and request and request.get('method') == 'ping':",
        "    for answer in server.memory.pop('late', []):",
        "        server.send(answer)",
    )
    soak = soak_of(late, timeout=2.0)
    for _ in soak.run(time.monotonic() + LONG):
        if "echo" in soak.left_out:
            break
    assert "3 calls took long" in soak.left_out["echo"][1]


# Broken servers


def test_a_wrong_answer_is_told_once_and_small(soak_of):
    soak = soak_of(mutant("a_negative_sum_is_a_text"), seed=3)
    (told,) = told_by(soak, 1, calls=1000)
    assert (told.tool, told.what.requirement) == ("add", "tools.structured.conforms")
    assert 'valid arguments {"a":-1,"b":0}: result' in told.what.got
    assert soak.repeats > 0
    assert "add" not in soak.left_out


def test_invalid_arguments_that_are_accepted_are_told(soak_of):
    (told,) = told_by(soak_of(mutant("a_number_above_the_maximum_is_accepted")), 1)
    assert isinstance(told.what, Finding)
    assert re.search(r'invalid arguments \{"city":"\w*","days":\d+\}: result', told.what.got)


def test_a_call_that_is_never_answered_costs_its_tool(soak_of):
    soak = soak_of(mutant("an_empty_string_is_never_answered"))
    (told,) = told_by(soak, 1)
    assert isinstance(told.what, Blocked)
    assert re.search(r'valid arguments \{"\w+":""\}: no answer within 5 s', told.what.reason)
    assert soak.left_out[told.tool][1] == "it leaves calls unanswered"
    assert soak.processes == 2


def test_a_death_is_pinned_on_its_call_and_the_others_go_on(soak_of):
    server = mutated("if name == 'weather' and arguments(request).get('days') == 5:", "    os._exit(7)")
    soak = soak_of(server)
    (told,) = told_by(soak, 1, calls=1000)
    assert re.search(
        r'arguments \{"city":"\w*","days":5\}: the server process ended \(exit status 7\);', told.what.reason
    )
    assert soak.left_out["weather"][1] == "its calls end the server"
    assert soak.processes == 3


def test_a_server_that_hangs_is_replaced(soak_of):
    server = mutated(
        "if name == 'weather' and arguments(request).get('days') == 5:",
        "    while sys.stdin.buffer.readline(): pass",
    )
    soak = soak_of(server, timeout=2.0)
    (told,) = told_by(soak, 1, calls=500)
    assert '"days":5}: no answer within 2 s;' in told.what.reason
    assert soak.left_out["weather"][1] == "it leaves calls unanswered"
    assert soak.processes == 3


def test_a_death_that_other_calls_prepare_is_told_with_them(soak_of, tmp_path):
    (told,) = told_by(soak_of(mutant("the_twentieth_call_of_echo_ends_the_server")), 1, calls=1000)
    assert told.tool == "echo"
    before = re.search(r"on a fresh server, after (\d+) other calls, up to 32 under way", told.what.reason)
    assert int(before[1]) >= 19  # on a busy machine they are not reduced all the way
    (file,) = (tmp_path / "kept").glob("*.jsonl")
    exit, output = run("replay", str(file), cwd=tmp_path)
    assert (exit, output.count("(the server process ended (exit status 3))")) == (0, 1), output


def test_a_death_that_does_not_come_again_is_told_as_such(soak_of, tmp_path):
    marker = str(tmp_path / "died")
    server = mutated(
        f"if calls == 60 and not os.path.exists({marker!r}):", f"    open({marker!r}, 'x')", "    os._exit(7)"
    )
    (told,) = told_by(soak_of(server), 1)
    assert re.search(r"\(it happened once, and not again when the last \d+ calls were made", told.what.reason)


def test_a_server_that_does_not_start_again_ends_the_soak(soak_of, tmp_path):
    marker = str(tmp_path / "died")
    server = mutated(
        "if calls == 60:",
        f"    open({marker!r}, 'x')",
        f"if os.path.exists({marker!r}):",
        "    os._exit(8)",
    )
    told = list(soak_of(server).run(time.monotonic() + LONG))
    assert "the server no longer starts" in told[-1].what.reason


def test_tools_that_never_answer_cost_one_timeout_each(soak_of):
    soak = soak_of(mutated("if name in ('add', 'echo'):", "    return SILENCE"), timeout=1.0)
    told = told_by(soak, 2, calls=500)
    assert [one.tool for one in told] == ["add", "echo"]
    assert {name: reason for name, (_, reason) in soak.left_out.items() if name in ("add", "echo")} == {
        "add": "no answer within 1 s",
        "echo": "no answer within 1 s",
    }


# The engine


def test_a_call_is_made_of_its_number_and_the_seed(soak_of):
    soaks = [soak_of(REFERENCE, seed=seed) for seed in (5, 5, 6)]
    for soak in soaks:
        told_by(soak, 0, calls=60)
    first, second, other = (
        [load.shot(soak.seed, number).case.text for number in range(50) for load in soak.loads]
        for soak in soaks
    )
    assert first == second
    assert first != other


def test_most_arguments_are_valid(soak_of):
    soak = soak_of(REFERENCE)
    told_by(soak, 0, calls=60)
    cases = [load.shot(0, number).case for number in range(100) for load in soak.loads]
    assert 0.02 < sum(case.wrong is not None for case in cases) / len(cases) < 0.2


def test_a_long_soak_forgets_what_was_said(soak_of, monkeypatch):
    monkeypatch.setattr(soak_module, "MOST_LINES", 200)
    soak = soak_of(REFERENCE, call=("readonly",))
    longest = 0
    for _ in soak.run(time.monotonic() + LONG):
        longest = max(longest, *(len(session.lines) for session in soak.server.sessions))
        if soak.calls >= 3000:
            break
    assert 200 < longest < 1000
    assert soak.processes == 2


def test_a_rare_failure_is_made_small_from_its_own_seed(soak_of):
    """What random arguments hardly ever meet is found again among variations of those that did."""
    soak = soak_of(REFERENCE)
    told_by(soak, 0, calls=60)
    (weather,) = (load for load in soak.loads if load.name == "weather")

    def fails(case):
        given = json.loads(case.text)
        return case.wrong is None and given.get("units") == "imperial" and "日本" in given["city"]

    rare = next(shot for number in range(10**6) if fails((shot := weather.shot(0, number)).case))
    chosen = settings(max_examples=200, database=None)
    smallest = find(weather.variations(rare), fails, settings=chosen, random=random.Random(0))
    assert json.loads(smallest.text).keys() == {"city", "units"}


# The command


def run(*words, cwd):
    return (forked if hasattr(os, "fork") else started)(words, cwd, 120)


def test_the_command_says_what_was_done(tmp_path):
    exit, output = run("soak", "--for", "1s", "--seed", "7", "--", *REFERENCE, cwd=tmp_path)
    assert exit == 0
    assert re.search(r"^done after [\d]+ s: [\d,]+ calls, [\d,]+ a second, seed 7$", output, re.MULTILINE)
    assert (
        "not called: change, grow (release them by name with --call NAME, or all with --call all)" in output
    )
    assert re.search(r"\nverdict: passed \(\d+ passed\)\n$", output)


def test_the_command_shows_a_finding_and_how_to_see_it_again(tmp_path):
    server = mutated("if name == 'echo' and calls > 30:", "    reply['result'].pop('content')")
    report = ("--report", "r.json", "--report", "r.md")
    exit, output = run("soak", "--for", "3s", *report, "--", *server, cwd=tmp_path)
    assert exit == 1
    assert re.search(
        r"^call [\d,]+: tools.call.result-content-array · MUST .* · tool echo$", output, re.MULTILINE
    )
    assert re.search(r"to see it again: mcp-conformance replay \.mcp-conformance/\S+\.jsonl", output)
    assert "verdict: does not conform: 1 rule broken (1 failed" in output
    written = json_format.read((tmp_path / "r.json").read_text())
    (finding,) = written.findings
    assert (finding.requirement, finding.tool) == ("tools.call.result-content-array", "echo")
    assert (finding.wire[0][0], len(finding.transcripts)) == (">", 1)
    assert f"verdict: {written.verdict}" in output
    assert "echo" not in {one.tool for one in written.results if one.outcome == "passed"}
    assert written.verdict in (tmp_path / "r.md").read_text()


def test_an_older_revision_can_be_soaked(tmp_path):
    exit, output = run(
        "soak", "--for", "1s", "--revision", "2024-10-07", "--call", "all", "--", *REFERENCE, cwd=tmp_path
    )
    assert exit == 0, output
    assert "revision 2024-10-07" in output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--for takes a duration such as 30s, 10m or 1h, not None"),
        (("--for", "soon"), "--for takes a duration such as 30s, 10m or 1h, not 'soon'"),
        (("--for", "0s"), "--for takes a duration"),
        (("--for", "1s", "--select", "tools"), "unrecognised arguments: --select tools"),
        (("--for", "1s", "--timeout", "soon"), "--mcp-timeout: a number of seconds above 0 is expected"),
        (("--for", "1s", "--report", "r.txt"), "--mcp-report: 'r.txt' ends in none of"),
        (("--for", "1s", "--revision", "all"), "--mcp-revision: a soak takes one revision"),
        (("--for", "1s", "--revision", "2019-01-01"), "--mcp-revision: unknown revision '2019-01-01'"),
    ],
    ids=str,
)
def test_a_mistake_is_one_line_and_exit_4(words, said, tmp_path):
    exit, output = run("soak", *words, "--", *REFERENCE, cwd=tmp_path)
    assert exit == 4
    assert said in output
    assert "Traceback" not in output


@pytest.mark.parametrize("command", [(), ("no-such-program-anywhere",)], ids=["none", "unknown"])
def test_a_server_that_cannot_be_started_is_one_line_and_exit_4(command, tmp_path):
    exit, output = run("soak", "--for", "1s", "--", *command, cwd=tmp_path)
    assert exit == 4
    assert "no server is given" in output or "no such program" in output


def test_nothing_that_may_be_called_is_exit_5_with_the_flag_that_releases_it(tmp_path):
    exit, output = run("soak", "--for", "1h", "--call", "none", "--", *REFERENCE, cwd=tmp_path)
    assert exit == 5
    assert "(release them by name with --call NAME, or all with --call all)" in output
    assert "verdict: nothing was tested" in output


def test_a_server_that_never_serves_is_red(tmp_path):
    command = (sys.executable, "-c", "import sys; sys.exit('no config')")
    exit, output = run("soak", "--for", "1h", "--", *command, cwd=tmp_path)
    assert exit == 1
    assert "no config" in output


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_the_soak_with_its_summary(tmp_path):
    """The server tells where it is once it is well under way."""
    marker = tmp_path / "pid"
    os.mkfifo(marker)
    server = mutated(
        "if calls == 200:", f"    print(os.getpid(), file=open({str(marker)!r}, 'w'), flush=True)"
    )
    ours = subprocess.Popen(
        [sys.executable, "-m", "conformance", "soak", "--for", "1h", "--", *server],
        env=environment(),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with marker.open() as told:
        pid = int(told.readline())
    ours.send_signal(signal.SIGINT)
    output = ours.communicate(timeout=60)[0].decode()
    assert ours.returncode == 2, output
    assert "stopped after" in output
    assert "verdict: not finished: interrupted" in output
    assert "Traceback" not in output
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
