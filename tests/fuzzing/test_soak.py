"""The soak: right servers have no findings; failures are found, shrunk, reported once and stored."""

import json
import os
import random
import re
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import find, settings

from mcp_conformance.fuzzing.budgets import DRIFT, SOAK
from mcp_conformance.fuzzing.soak import Soak
from mcp_conformance.protocol.revisions import LATEST_HANDSHAKE
from mcp_conformance.report.formats import json as json_format
from mcp_conformance.target.probe import probe
from mcp_conformance.target.server import Server
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.interface import SYSTEM_CLOCK
from mcp_conformance.verdicts import Blocked, Finding
from support import REFERENCE, awkward, environment, forked, mutant, started
from support.nightly import nightly
from support.world import bench_on, furnished

AWKWARD = ("out_of_order", "notification_first", "split_writes", "chatty_stderr")
LONG = 600.0
"""Seconds; every test stops a soak earlier."""


@pytest.fixture
def soak_of(tmp_path):
    """Return a function that returns the soak of a server."""
    servers = []

    def make(command, budget=SOAK, **chosen):
        chosen = {"call": ("all",), "timeout": 5.0, "transcripts": tmp_path / "kept", **chosen}
        options = Settings(tuple(command), **chosen)
        servers.append(Server(options, probe(options, "2025-11-25", exactly=True)))
        return Soak(servers[-1], budget)

    yield make
    for server in servers:
        server.close()


def findings_of(soak, findings, calls=0):
    """Soak until this number of findings and calls; return the findings."""
    found = []
    for one in soak.run(SYSTEM_CLOCK.monotonic() + LONG):
        found += [one] if one is not None else []
        if len(found) >= findings and soak.calls >= calls:
            break
    return found


def mutated(*lines):
    """Return a reference server with a ``mutate`` of these lines, which gets each request and its reply."""
    body = "\n    ".join(lines)
    code = f"""
import os, sys
from mcp_conformance_fixtures.mutants import params
from mcp_conformance_fixtures.mutants.fuzz_tools import arguments
from mcp_conformance_fixtures.reference import SILENCE, main
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
def test_right_server_has_no_findings(soak_of, tmp_path, command):
    soak = soak_of(command)
    assert findings_of(soak, 0, calls=1000) == []
    assert (soak.calls, soak.processes, soak.repeats) == (1000, 2, 0)
    assert not (tmp_path / "kept").exists()


def test_answer_that_is_only_late_is_not_a_finding(soak_of):
    """The server sends one answer only after the ping with which the soak tests that the server is alive."""
    late = mutated(
        "if calls == 60 and name is not None:",
        "    server.memory['late'] = reply",
        "    return SILENCE",
        "if reply and request and request.get('method') == 'ping' and 'late' in server.memory:",
        "    server.send(server.memory.pop('late'))",
    )
    soak = soak_of(late)
    assert findings_of(soak, 0, calls=200) == []
    assert soak.left_out.keys() == {"ponder"}


@nightly
def test_tool_that_is_often_late_is_left_out(soak_of):
    late = mutated(
        "if calls > 60 and name == 'echo':",
        "    server.memory.setdefault('late', []).append(reply)",
        "    return SILENCE",
        "if reply and request and request.get('method') == 'ping':",
        "    for answer in server.memory.pop('late', []):",
        "        server.send(answer)",
    )
    soak = soak_of(late, timeout=2.0)
    for _ in soak.run(SYSTEM_CLOCK.monotonic() + LONG):
        if "echo" in soak.left_out:
            break
    assert "3 calls took long" in soak.left_out["echo"][1]


# Broken servers


def test_wrong_answer_is_reported_once_and_shrunk(soak_of):
    soak = soak_of(mutant("a_negative_sum_is_a_text"), seed=3)
    (finding,) = findings_of(soak, 1, calls=1000)
    assert (finding.tool, finding.verdict.requirement) == ("add", "tools.structured.conforms")
    assert 'valid arguments {"a":-1,"b":0}: result' in finding.verdict.got
    assert soak.repeats > 0
    assert "add" not in soak.left_out


def test_accepted_invalid_arguments_are_reported(soak_of):
    (finding,) = findings_of(soak_of(mutant("a_number_above_the_maximum_is_accepted")), 1)
    assert isinstance(finding.verdict, Finding)
    assert re.search(r'invalid arguments \{"city":"\w*","days":\d+\}: result', finding.verdict.got)


@nightly
def test_unanswered_call_excludes_its_tool(soak_of):
    soak = soak_of(mutant("an_empty_string_is_never_answered"))
    (finding,) = findings_of(soak, 1)
    assert isinstance(finding.verdict, Blocked)
    assert re.search(r'valid arguments \{"\w+":""\}: no answer within 5 s', finding.verdict.reason)
    assert soak.left_out[finding.tool][1] == "it leaves calls unanswered"
    assert soak.processes == 2


def test_exit_is_reported_for_its_call_and_other_tools_go_on(soak_of):
    server = mutated("if name == 'weather' and arguments(request).get('days') == 5:", "    os._exit(7)")
    soak = soak_of(server)
    (finding,) = findings_of(soak, 1, calls=1000)
    assert re.search(
        r'arguments \{"city":"\w*","days":5\}: the server process ended \(exit status 7\)',
        finding.verdict.got,
    )
    assert finding.verdict.requirement == "tools.call.valid-not-fatal"
    assert soak.left_out["weather"][1] == "its calls end the server"
    assert soak.processes == 3


@nightly
def test_hanging_server_is_replaced(soak_of):
    server = mutated(
        "if name == 'weather' and arguments(request).get('days') == 5:",
        "    while sys.stdin.buffer.readline(): pass",
    )
    soak = soak_of(server, timeout=2.0)
    (finding,) = findings_of(soak, 1, calls=500)
    assert '"days":5}: no answer within 2 s' in finding.verdict.reason
    assert soak.left_out["weather"][1] == "it leaves calls unanswered"
    assert soak.processes == 3


@nightly
def test_exit_after_other_calls_is_reported_with_them(soak_of, tmp_path):
    (finding,) = findings_of(soak_of(mutant("the_twentieth_call_of_echo_ends_the_server")), 1, calls=1000)
    assert finding.tool == "echo"
    before = re.search(
        r"on a fresh server, after (\d+) other calls, up to 32 in flight", finding.verdict.reason
    )
    assert int(before[1]) >= 19  # on a busy machine they are not reduced all the way
    (file,) = (tmp_path / "kept").glob("*.jsonl")
    exit, output = run("replay", str(file), cwd=tmp_path)
    assert (exit, output.count("(the server process ended (exit status 3))")) == (0, 1), output


def test_exit_that_does_not_repeat_is_flaky(soak_of, tmp_path):
    marker = str(tmp_path / "died")
    server = mutated(
        f"if calls == 60 and not os.path.exists({marker!r}):", f"    open({marker!r}, 'x')", "    os._exit(7)"
    )
    (finding,) = findings_of(soak_of(server), 1)
    assert re.search(
        r"\(it happened once, and not again when the last \d+ calls were made", finding.verdict.reason
    )


def test_server_that_does_not_start_again_ends_the_soak(soak_of, tmp_path):
    marker = str(tmp_path / "died")
    server = mutated(
        "if calls == 60:",
        f"    open({marker!r}, 'x')",
        f"if os.path.exists({marker!r}):",
        "    os._exit(8)",
    )
    found = list(soak_of(server).run(SYSTEM_CLOCK.monotonic() + LONG))
    assert "the server no longer starts" in found[-1].verdict.reason


@nightly
def test_tools_that_never_answer_take_one_timeout_each(soak_of):
    soak = soak_of(mutated("if name in ('add', 'echo'):", "    return SILENCE"), timeout=1.0)
    found = findings_of(soak, 2, calls=500)
    assert [one.tool for one in found] == ["add", "echo"]
    assert {name: reason for name, (_, reason) in soak.left_out.items() if name in ("add", "echo")} == {
        "add": "no answer within 1 s",
        "echo": "no answer within 1 s",
    }


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.parametrize("leaks", [True, False], ids=["leaking", "right"])
def test_files_that_are_never_closed_are_reported(soak_of, leaks):
    """Their number depends on the calls alone, however busy the machine is."""
    hurried = replace(SOAK, drift=replace(DRIFT, pause_seconds=0.002, min_seconds=0.0))
    opened = mutated(
        "if name is not None and calls % 10 == 0:",
        "    server.memory.setdefault('files', []).append(open(os.devnull))",
    )
    soak = soak_of(opened if leaks else REFERENCE, hurried, call=("readonly",))
    assert findings_of(soak, 0, calls=1500) == []
    grown = [line for line in soak.drift if line.startswith("open files grew from ")]
    assert [bool(re.search(r", 0\.(09\d?|1|11) a call, ", line)) for line in grown] == [True] * leaks


# The engine


def test_call_depends_on_its_number_and_the_seed(soak_of):
    soaks = [soak_of(REFERENCE, seed=seed) for seed in (5, 5, 6)]
    for soak in soaks:
        findings_of(soak, 0, calls=60)
    first, second, other = (
        [load.call(soak.seed, number).case.text for number in range(50) for load in soak.loads]
        for soak in soaks
    )
    assert first == second
    assert first != other


def test_most_arguments_are_valid(soak_of):
    soak = soak_of(REFERENCE)
    findings_of(soak, 0, calls=60)
    cases = [load.call(0, number).case for number in range(100) for load in soak.loads]
    assert 0.02 < sum(case.wrong is not None for case in cases) / len(cases) < 0.2


def test_long_soak_clears_its_log(soak_of):
    soak = soak_of(REFERENCE, replace(SOAK, max_lines=200), call=("readonly",))
    longest = 0
    for _ in soak.run(SYSTEM_CLOCK.monotonic() + LONG):
        longest = max(longest, *(len(session.lines) for session in soak.server.sessions))
        if soak.calls >= 3000:
            break
    assert 200 < longest < 1000
    assert soak.processes == 2


def test_rare_failure_is_shrunk_from_its_own_choices(soak_of):
    """Variations of failing arguments fail too, even if random arguments hardly ever do."""
    soak = soak_of(REFERENCE)
    findings_of(soak, 0, calls=60)
    (weather,) = (load for load in soak.loads if load.name == "weather")

    def fails(case):
        given = json.loads(case.text)
        return case.wrong is None and given.get("units") == "imperial" and "日本" in given["city"]

    rare = next(call for number in range(10**6) if fails((call := weather.call(0, number)).case))
    chosen = settings(max_examples=200, database=None)
    smallest = find(weather.cases.variations(rare.case.seed), fails, settings=chosen, random=random.Random(0))
    assert json.loads(smallest.text).keys() == {"city", "units"}


# The command


def run(*words, cwd):
    return (forked if hasattr(os, "fork") else started)(words, cwd, 120)


def test_command_prints_the_calls_and_the_verdict(tmp_path):
    exit, output = run("soak", "--for", "1s", "--seed", "7", "--", *REFERENCE, cwd=tmp_path)
    assert exit == 0
    assert re.search(r"^done after [\d]+ s: [\d,]+ calls, [\d,]+ a second, seed 7$", output, re.MULTILINE)
    assert (
        "not called: change, grow (release them by name with --call NAME, or all with --call all)" in output
    )
    assert re.search(r"\nverdict: passed; \d+ of \d+ tools exercised.* \(\d+ passed\)\n$", output)


def test_command_shows_a_finding_and_how_to_reproduce_it(tmp_path):
    server = mutated("if name == 'echo' and calls > 30:", "    reply['result'].pop('content')")
    report = ("--report", "r.json", "--report", "r.md")
    only = ("--call", "none,echo,add")
    revision = ("--revision", LATEST_HANDSHAKE)
    exit, output = run("soak", "--for", "3s", *revision, *only, *report, "--", *server, cwd=tmp_path)
    assert exit == 1
    assert re.search(
        r"^call [\d,]+: tools.call.result-content-array · MUST .* · tool echo$", output, re.MULTILINE
    )
    assert re.search(r"  replay +mcp-conformance replay .*\.mcp-conformance/\S+\.jsonl", output)
    share = "2 of 2 tools exercised, 19 not called"
    assert f"verdict: does not conform: 1 rule broken; {share} (1 failed" in output
    written = json_format.read((tmp_path / "r.json").read_text())
    (finding,) = written.findings
    assert (finding.requirement, finding.tool) == ("tools.call.result-content-array", "echo")
    assert (finding.wire[0][0], len(finding.transcripts)) == (">", 1)
    assert f"verdict: {written.verdict}" in output
    assert "echo" not in {one.tool for one in written.results if one.outcome == "passed"}
    assert written.verdict in (tmp_path / "r.md").read_text()


def test_older_revision_can_be_soaked(tmp_path):
    exit, output = run(
        "soak", "--for", "1s", "--revision", "2024-10-07", "--call", "all", "--", *REFERENCE, cwd=tmp_path
    )
    assert exit == 0, output
    assert "revision 2024-10-07" in output


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "--for takes a duration such as 30s, 10m or 1h, not None"),
        (("--for", "soon"), "--for takes a duration such as 30s, 10m or 1h, not 'soon'"),
        (("--for", "0s"), "--for takes a duration"),
        (("--for", "1s", "--select", "tools"), "unrecognised arguments: --select tools"),
        (
            ("--for", "1s", "--timeout", "soon"),
            "--timeout: a number of seconds above 0 is expected",
        ),
        (("--for", "1s", "--report", "r.txt"), "--report: 'r.txt' ends in none of"),
        (("--for", "1s", "--revision", "all"), "--revision: a soak takes one revision"),
        (
            ("--for", "1s", "--revision", "2019-01-01"),
            "--revision: unknown revision '2019-01-01'",
        ),
    ],
    ids=str,
)
def test_usage_error_is_one_line_and_exit_status_4(words, error, tmp_path):
    exit, output = run("soak", *words, "--", *REFERENCE, cwd=tmp_path)
    assert exit == 4
    assert error in output
    assert "Traceback" not in output


@pytest.mark.parametrize("command", [(), ("no-such-program-anywhere",)], ids=["none", "unknown"])
def test_server_that_cannot_start_is_one_line_and_exit_status_4(command, tmp_path):
    exit, output = run("soak", "--for", "1s", "--", *command, cwd=tmp_path)
    assert exit == 4
    assert "no server is given" in output or "There is no program" in output


def test_no_callable_tool_is_exit_status_5_and_names_the_option(tmp_path):
    exit, output = run("soak", "--for", "1h", "--call", "none", "--", *REFERENCE, cwd=tmp_path)
    assert exit == 5
    assert "(release them by name with --call NAME, or all with --call all)" in output
    assert "verdict: nothing was tested" in output


def test_server_that_exits_at_once_fails(tmp_path):
    command = (sys.executable, "-c", "import sys; sys.exit('no config')")
    exit, output = run("soak", "--for", "1h", "--", *command, cwd=tmp_path)
    assert exit == 1
    assert "no config" in output
    assert "verdict: the server did not start" in output
    assert "Traceback" not in output


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_the_soak_with_its_summary(tmp_path):
    """The server writes its process id after 200 calls."""
    marker = tmp_path / "pid"
    os.mkfifo(marker)
    server = mutated(
        "if calls == 200:", f"    print(os.getpid(), file=open({str(marker)!r}, 'w'), flush=True)"
    )
    ours = subprocess.Popen(
        [sys.executable, "-m", "mcp_conformance", "soak", "--for", "1h", "--", *server],
        env=environment(),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with marker.open() as lines:
        pid = int(lines.readline())
    ours.send_signal(signal.SIGINT)
    output = ours.communicate(timeout=60)[0].decode()
    assert ours.returncode == 2, output
    assert "stopped after" in output
    assert "verdict: not finished: interrupted" in output
    assert "Traceback" not in output
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_soak_makes_calls_that_work():
    """Of these tools most refuse what does not exist, and each process knows only what it made itself."""
    with furnished() as throwaway:
        server = bench_on(throwaway).server
        soak = Soak(server)
        for _ in soak.run(server.clock.monotonic() + LONG):
            if soak.calls >= 200:
                break
        exercise = server.tool_calls.exercise
        assert {"create_note", "get_note", "set_state"} <= {
            name for name in exercise if exercise[name].successes
        }
        lines = [line.message for line in soak._conversation.lines if not line.sent]
        answers = [
            one["result"] for one in lines if isinstance(one, dict) and "content" in one.get("result", ())
        ]
        assert sum(not one.get("isError") for one in answers) > len(answers) // 4
        server.close()
