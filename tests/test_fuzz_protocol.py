"""Fuzzing of the protocol: what a window shows, what is told of it, and what it costs."""

import itertools
import json
import re
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis.strategies import data
from support import HANDSHAKE, REFERENCE, mutant, run_suite, started

from conformance.client.in_flight import Window
from conformance.fuzzing.invariants import broken_rules
from conformance.fuzzing.payloads import (
    BROKEN_LINE_KINDS,
    NOTIFICATIONS,
    PING,
    LivenessRequest,
    broken_lines,
    damaged_lines,
    message_line,
    unusual_requests,
    request_line,
)
from conformance.fuzzing.protocol import in_any_order, right_messages
from conformance.protocol.jsonrpc import Kind, Line, decode, kind
from conformance.target.probe import probe
from conformance.target.server import Server
from conformance.target.settings import Settings

ANSWERED = "jsonrpc.response-every-request"
QUICK = ("--timeout", "5", "--call", "all")


# What a window shows


def asked(id, method="ping", **params):
    return {"jsonrpc": "2.0", "id": id, "method": method} | ({"params": params} if params else {})


def told(method, **params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def cancelled(id):
    return told("notifications/cancelled", requestId=id)


def answered(id, **members):
    return {"jsonrpc": "2.0", "id": id, **(members or {"result": {}})}


def progress(token, value):
    return told("notifications/progress", progressToken=token, progress=value)


def call(id, token):
    return asked(id, "tools/call", name="a", _meta={"progressToken": token})


ERROR = {"error": {"code": -32601, "message": "No."}}
TOOLS = {"result": {"tools": []}}


def shown(sent, came, revision="2025-11-25"):
    """The rules that a window shows to be broken when lines were sent and others came back."""
    opening = [message_line(told("notifications/initialized"))]
    process = SimpleNamespace(stderr="", wait=lambda _: 1)
    session = SimpleNamespace(
        lines=opening, revision=revision, closed=False, flooded=False, process=process, timeout=1
    )
    window = Window(session)
    session.lines += [message_line(message) for message in sent]
    session.lines += [
        Line.received(one if isinstance(one, bytes) else json.dumps(one).encode()) for one in came
    ]
    return sorted({seen.trouble.requirement for seen in broken_rules(window)})


RIGHT = {
    "one after another": ([asked(5), asked("5")], [answered("5"), answered(5)]),
    "an id as a fraction": ([asked(5)], [answered(5.0)]),
    "a cancelled request that is answered": ([asked(5), cancelled(5)], [answered(5)]),
    "a cancelled request that is not": ([asked(5), cancelled(5)], []),
    "a refusal": ([asked(5, "nonsense")], [answered(5, **ERROR)]),
    "a request of the server's under the same id": ([asked(5)], [asked(5), answered(5)]),
    "progress of two": (
        [call(5, "a"), call(6, 0)],
        [progress(0, 1), progress("a", 1), progress(0, 1.5), progress("a", 2), answered(5), answered(6)],
    ),
    "a refused list": ([asked(5, "tools/list"), asked(6)], [answered(5, **ERROR), answered(6)]),
    "a blank line": ([asked(5)], [b"", answered(5)]),
}

WRONG = {
    "no answer": ([asked(5)], [], ANSWERED),
    "an answer under another id": ([asked(5)], [answered(6)], "jsonrpc.response-id-echo"),
    "an answer under no id": ([asked(5)], [answered(None, **ERROR)], "jsonrpc.response-id-echo"),
    "an answer under a text": ([asked(5)], [answered("5")], "jsonrpc.response-id-echo"),
    "an answer under the id of another": (
        [asked(5), asked(6)],
        [answered(5), answered(5)],
        "jsonrpc.response-id-echo",
    ),
    "an answer to nothing": ([asked(5)], [answered(5), answered(6)], "jsonrpc.response-id-echo"),
    "answers mixed up": (
        [asked(5, "tools/list"), asked(6)],
        [answered(5), answered(6, **TOOLS)],
        "jsonrpc.response-id-echo",
    ),
    "two answers": ([asked(5)], [answered(5), answered(5)], "jsonrpc.response-exactly-once"),
    "two answers to a cancelled request, none to another": (
        [asked(5), cancelled(5), asked(6)],
        [answered(5), answered(5, **ERROR)],
        [ANSWERED, "jsonrpc.response-exactly-once"],
    ),
    "an answer to a notification": (
        [told("nonsense"), asked(5)],
        [answered(None, **ERROR), answered(5)],
        "jsonrpc.no-response-to-notification",
    ),
    "a result and an error": ([asked(5)], [answered(5, result={}, error=None)], "jsonrpc.result-xor-error"),
    "neither": ([asked(5)], [answered(5, other=1)], "jsonrpc.result-xor-error"),
    "a result of null": ([asked(5)], [answered(5, result=None)], "jsonrpc.result-object"),
    "no version": ([asked(5)], [answered(5) | {"jsonrpc": 2.0}], "jsonrpc.version-member"),
    "an array": ([asked(5)], [[answered(5)]], "jsonrpc.message-shape"),
    "no message": ([asked(5)], [{"level": "info"}, answered(5)], "jsonrpc.message-shape"),
    "a number": ([asked(5)], [5, answered(5)], "jsonrpc.message-shape"),
    "words": ([asked(5)], [b"ready", answered(5)], "stdio.stdout-purity"),
    "progress under a text": ([call(5, 0)], [progress("0", 1), answered(5)], "progress.token-known"),
    "progress that stands still": (
        [call(5, 0)],
        [progress(0, 1), progress(0, 1), answered(5)],
        "progress.increasing",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_window_shows_nothing(name):
    assert shown(*RIGHT[name]) == []


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_window_shows_the_rule_that_was_broken(name):
    sent, came, rules = WRONG[name]
    assert shown(sent, came) == (rules if isinstance(rules, list) else [rules])


def test_an_array_is_a_message_where_there_are_batches():
    assert shown([asked(5)], [[answered(5)]], "2025-03-26") == []


# What is sent


MODERN = LivenessRequest("server/discover", {"io.modelcontextprotocol/protocolVersion": "2026-07-28"})
PULSES = pytest.mark.parametrize("pulse", [PING, MODERN], ids=["handshake", "modern"])


@PULSES
def test_a_broken_line_is_one_line_and_not_too_long(pulse):
    assert tuple(broken_lines(pulse)) == BROKEN_LINE_KINDS
    lines = [raw for lines in broken_lines(pulse).values() for raw in lines]
    assert [raw for raw in lines if b"\n" in raw or len(raw) > 1_000_000] == []


@PULSES
def test_an_odd_request_is_right(pulse):
    for name, form in unusual_requests(pulse).items():
        message, fault, _ = decode((form % 7).replace(b"[" * 5000 + b"]" * 5000, b"[]"))
        assert fault == "", name
        assert (message["id"], message["method"], message["jsonrpc"]) == (7, pulse.method, "2.0"), name
        assert pulse.meta.items() <= message.get("params", {}).get("_meta", {}).items(), name


@PULSES
@given(data())
def test_a_damaged_line_is_one_line(pulse, data):
    assert b"\n" not in data.draw(damaged_lines(pulse))


def held(talk):
    """What was sent in a talk that one process held, without the answers to what the server asked."""
    sent = [line for line in talk._window.session.lines if line.sent]
    return [line.raw for line in sent if kind(line.message) is not Kind.RESULT]


def subject(command, **chosen):
    settings = Settings(tuple(command), timeout=5, examples=10, **chosen)
    return Server(settings, probe(settings, "2025-11-25", exactly=True))


def test_no_tool_is_called_that_may_not_be():
    server = subject(REFERENCE, call=())
    assert not any(b"tools/call" in raw for raw in held(right_messages(server)))
    server.close()


class Listener:
    """What a state machine needs of a talk; it only keeps the bursts."""

    def __init__(self, seed):
        chosen = SimpleNamespace(seed=seed, examples=10)
        self.server = SimpleNamespace(settings=chosen, declares=lambda *_: True, listed=lambda _: [])
        self.bursts, self.next_id = [], itertools.count(1).__next__
        self.liveness_method, self.request = PING, request_line

    def begin(self, *_, **__):
        pass

    def send(self, *burst):
        self.bursts.append([line.raw for line in burst])


def test_the_same_seed_makes_the_same_choices():
    bursts = []
    for seed in (7, 7, 8):
        listener = Listener(seed)
        in_any_order(listener, ["tools/list"], [])
        bursts.append(listener.bursts)
    assert bursts[0] == bursts[1] != bursts[2]
    assert max(map(len, bursts[0])) > 1


def test_a_talk_holds_what_it_should():
    server = subject(REFERENCE, call=("all",))
    methods = {json.loads(raw)["method"] for raw in held(right_messages(server))}
    server.close()
    assert methods >= {line.message["method"] for line in NOTIFICATIONS}
    assert methods >= {"ping", "tools/list", "resources/list", "tools/call", "logging/setLevel"}
    assert methods >= {"resources/subscribe", "resources/unsubscribe", "notifications/cancelled"}


def test_nothing_is_fuzzed_without_a_profile():
    run = run_suite(REFERENCE, "--fuzz", "none", "--select", "jsonrpc", "-k", "test_fuzz_protocol", "-rs")
    assert {case.outcome for case in run.cases} == {"skipped"}
    assert "nothing is fuzzed: --mcp-fuzz none" in run.output


# What is told


def blocked(command, *options, cwd=None):
    select = ("--select", ANSWERED, "-k", "test_fuzz_protocol")
    return [case.text for case in run_suite(command, *select, *QUICK, *options, cwd=cwd).of("blocked")]


def wire(text):
    """The messages that a finding shows."""
    shown = text[text.index("  wire") : text.index("  spec")]
    return [json.loads(line) for line in re.findall(r"^\s*(?:wire)?\s*[<>] (.*)$", shown, re.MULTILINE)]


@pytest.mark.parametrize("seed", range(3))
def test_a_death_is_reduced_to_a_request_and_its_cancellation(seed):
    (text,) = blocked(mutant("a_prompt_cancellation_ends_the_server"), "--seed", str(seed))
    request, cancellation, ping = wire(text)
    assert cancellation["params"]["requestId"] == request["id"]
    assert ping["method"] == "ping"


def test_a_request_is_lost_after_another_burst(tmp_path):
    (text,) = blocked(mutant("a_cancellation_of_nothing_cancels_the_next_request"), cwd=tmp_path)
    first, second = wire(text)
    assert (first["method"], second["method"]) == ("notifications/cancelled", "tools/list")
    assert "was never answered: a later ping is" in text


def test_a_death_is_replayed_with_its_requests_in_flight(tmp_path):
    (text,) = blocked(mutant("calls_at_once_end_the_server"), cwd=tmp_path)[:1]
    file = re.search(r"mcp-conformance replay (\S+)", text)[1]
    exit, output = started(["replay", file], tmp_path, 60)
    assert "= (the server process ended (exit status 1))" in output
    assert exit == 0, output
    exit, output = started(["replay", file, "--", *REFERENCE], tmp_path, 60)
    assert exit == 1, output


ONCE = """
import sys, time
from pathlib import Path
from conformance.fixtures.reference import main

def spoil(server, request, reply):
    if isinstance(request, dict) and request.get("method") == "notifications/cancelled":
        try:
            Path({marker!r}).touch(exist_ok=False)
        except FileExistsError:
            return
        {act}

sys.exit(main(spoil))
"""


def once(folder, act):
    """A server that does something when it is first told of a cancellation, and never again."""
    script = folder / "once.py"
    script.write_text(ONCE.format(marker=str(folder / "marker"), act=act))
    return [sys.executable, str(script)]


def test_what_happens_once_is_told_as_flaky_with_both_conversations(tmp_path):
    (text,) = blocked(once(tmp_path, "sys.exit('once')"), cwd=tmp_path)
    assert "it happened once, and not when the same lines were sent to a fresh server: flaky" in text
    first, second = re.search(r"both conversations: (\S+) and (\S+)\)", text).groups()
    sent = [
        [json.loads(row) for row in (tmp_path / file).read_text().splitlines()] for file in (first, second)
    ]
    assert [row["raw"] for row in sent[0] if row.get("sent")][-1] not in ([], None)
    assert len(sent[1]) > len(sent[0])


def test_what_is_slow_once_is_not_told(tmp_path):
    run = run_suite(
        once(tmp_path, "time.sleep(4)"), "--select", "jsonrpc", "-k", "test_fuzz_protocol", "--timeout", "2"
    )
    assert run.findings == []
    assert (tmp_path / "marker").exists()


COUNTED = """
import sys
from pathlib import Path
from conformance.fixtures.mutants import named
from conformance.fixtures.reference import main

with Path({log!r}).open("a") as log:
    log.write("started\\n")
sys.exit(main(named({name!r}).spoil))
"""


def test_a_server_that_dies_of_each_broken_line_is_not_started_often(tmp_path):
    script, log = tmp_path / "counted.py", tmp_path / "log"
    script.write_text(COUNTED.format(log=str(log), name="broken_json_ends_the_server"))
    select = ("--select", "jsonrpc.garbage-not-fatal", "-k", "test_fuzz_protocol", "--revision", HANDSHAKE)
    run = run_suite([sys.executable, str(script)], *select)
    assert {case.outcome for case in run.findings} == {"info"}
    assert any('after "hello"' in case.text for case in run.findings)
    assert len(log.read_text().splitlines()) <= 10
