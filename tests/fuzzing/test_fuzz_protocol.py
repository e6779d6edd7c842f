"""Fuzzing of the protocol: violations in a window, sent lines, findings and processes."""

import itertools
import json
import re
import sys
from random import Random
from types import SimpleNamespace

import pytest

from mcp_conformance.client.in_flight import Window
from mcp_conformance.client.inbox import Inbox
from mcp_conformance.fuzzing.invariants import broken_rules
from mcp_conformance.fuzzing.payloads import (
    BROKEN_LINE_KINDS,
    NOTIFICATIONS,
    PING,
    LivenessRequest,
    broken_lines,
    request_line,
    unusual_requests,
)
from mcp_conformance.fuzzing.protocol import id_violations, in_any_order, right_messages
from mcp_conformance.fuzzing.random_bursts import broken_line
from mcp_conformance.protocol.jsonrpc import Kind, Line, decode, kind
from mcp_conformance.protocol.revisions import LATEST_MODERN
from mcp_conformance.target.probe import probe
from mcp_conformance.target.server import Server
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.interface import NoAnswer
from support import HANDSHAKE, REFERENCE, mutant, run_suite, started
from support.bench import settings_in_memory
from support.in_memory import mutated
from support.nightly import IS_NIGHTLY, nightly

ANSWERED = "jsonrpc.response-every-request"
QUICK = ("--timeout", "5", "--call", "all")


# Violations in a window


def request(id, method="ping", **params):
    return {"jsonrpc": "2.0", "id": id, "method": method} | ({"params": params} if params else {})


def notification(method, **params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def cancelled(id):
    return notification("notifications/cancelled", requestId=id)


def answered(id, **members):
    return {"jsonrpc": "2.0", "id": id, **(members or {"result": {}})}


def progress(token, value):
    return notification("notifications/progress", progressToken=token, progress=value)


def call(id, token):
    return request(id, "tools/call", name="a", _meta={"progressToken": token})


ERROR = {"error": {"code": -32601, "message": "No."}}
TOOLS = {"result": {"tools": []}}


def rules_broken(sent, received, revision="2025-11-25"):
    """Return the rules that a window shows to be broken when lines were sent and others received."""
    return sorted({violation.error.requirement for violation in violations(sent, received, revision)})


def violations(sent, received, revision="2025-11-25"):
    opening = [Line.sending(notification("notifications/initialized"))]
    session = bare_session(opening, revision)
    window = Window(session)
    session.lines += [Line.sending(message) for message in sent]
    session.lines += [
        Line.received(one if isinstance(one, bytes) else json.dumps(one).encode()) for one in received
    ]
    return list(broken_rules(window))


def test_a_second_answer_is_shown_with_the_cancellation_that_raced_with_it():
    sent = [request(5), cancelled(5)]
    (one,) = violations(sent, [answered(5), answered(5, error={"code": 0, "message": "Request cancelled"})])
    assert [line.message.get("method") for line in one.error.lines] == [
        "ping",
        "notifications/cancelled",
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("sent", "received", "text"),
    [
        ([request(5, "tools/list"), request(6)], [answered(6)], "a later ping was answered"),
        ([request(5), request(6)], [], "a later ping was not answered either"),
        ([request(5), request(6), request(7)], [], "(nor was 1 other): a later ping was not answered either"),
        ([request(n) for n in (5, 6, 7, 8)], [], "(nor were 2 others): a later ping was not answered either"),
    ],
)
def test_a_missing_answer_is_told_with_what_became_of_a_later_ping(sent, received, text):
    (one,) = violations(sent, received)
    assert one.error.reason.endswith(f"was never answered{'' if text[0] == '(' else ':'} {text}")


RIGHT = {
    "two requests": ([request(5), request("5")], [answered("5"), answered(5)]),
    "an id as a fraction": ([request(5)], [answered(5.0)]),
    "a cancelled request that is answered": ([request(5), cancelled(5)], [answered(5)]),
    "a cancelled request that is not": ([request(5), cancelled(5)], []),
    "a refusal": ([request(5, "nonsense")], [answered(5, **ERROR)]),
    "a server's request with the same id": ([request(5)], [request(5), answered(5)]),
    "progress of two": (
        [call(5, "a"), call(6, 0)],
        [progress(0, 1), progress("a", 1), progress(0, 1.5), progress("a", 2), answered(5), answered(6)],
    ),
    "a refused list": ([request(5, "tools/list"), request(6)], [answered(5, **ERROR), answered(6)]),
    "a blank line": ([request(5)], [b"", answered(5)]),
}

WRONG = {
    "no answer": ([request(5)], [], ANSWERED),
    "an answer with another id": ([request(5)], [answered(6)], "jsonrpc.response-id-echo"),
    "an answer without an id": ([request(5)], [answered(None, **ERROR)], "jsonrpc.response-id-echo"),
    "an answer with the id as text": ([request(5)], [answered("5")], "jsonrpc.response-id-echo"),
    "an answer with the id of another request": (
        [request(5), request(6)],
        [answered(5), answered(5)],
        "jsonrpc.response-id-echo",
    ),
    "an answer without a request": ([request(5)], [answered(5), answered(6)], "jsonrpc.response-id-echo"),
    "swapped answers": (
        [request(5, "tools/list"), request(6)],
        [answered(5), answered(6, **TOOLS)],
        "jsonrpc.response-id-echo",
    ),
    "two answers": ([request(5)], [answered(5), answered(5)], "jsonrpc.response-exactly-once"),
    "two answers to a cancelled request, none to another": (
        [request(5), cancelled(5), request(6)],
        [answered(5), answered(5, **ERROR)],
        [ANSWERED, "jsonrpc.response-exactly-once"],
    ),
    "an answer to a notification": (
        [notification("nonsense"), request(5)],
        [answered(None, **ERROR), answered(5)],
        "jsonrpc.no-response-to-notification",
    ),
    "a result and an error": ([request(5)], [answered(5, result={}, error=None)], "jsonrpc.result-xor-error"),
    "neither a result nor an error": ([request(5)], [answered(5, other=1)], "jsonrpc.result-xor-error"),
    "a result of null": ([request(5)], [answered(5, result=None)], "jsonrpc.result-object"),
    "no version": ([request(5)], [answered(5) | {"jsonrpc": 2.0}], "jsonrpc.version-member"),
    "an array": ([request(5)], [[answered(5)]], "jsonrpc.message-shape"),
    "not a message": ([request(5)], [{"level": "info"}, answered(5)], "jsonrpc.message-shape"),
    "a number": ([request(5)], [5, answered(5)], "jsonrpc.message-shape"),
    "words": ([request(5)], [b"ready", answered(5)], "stdio.stdout-purity"),
    "progress with the token as text": (
        [call(5, 0)],
        [progress("0", 1), answered(5)],
        "progress.token-known",
    ),
    "progress that does not grow": (
        [call(5, 0)],
        [progress(0, 1), progress(0, 1), answered(5)],
        "progress.increasing",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_window_shows_no_violation(name):
    assert rules_broken(*RIGHT[name]) == []


@pytest.mark.parametrize("name", WRONG)
def test_wrong_window_shows_the_broken_rule(name):
    sent, received, rules = WRONG[name]
    assert rules_broken(sent, received) == (rules if isinstance(rules, list) else [rules])


def test_array_is_a_message_in_a_revision_with_batches():
    assert rules_broken([request(5)], [[answered(5)]], "2025-03-26") == []


# Lines sent


MODERN = LivenessRequest("server/discover", {"io.modelcontextprotocol/protocolVersion": LATEST_MODERN})
EACH_LIVENESS = pytest.mark.parametrize("liveness", [PING, MODERN], ids=["handshake", "modern"])


@EACH_LIVENESS
def test_broken_line_is_one_line_and_not_too_long(liveness):
    assert tuple(broken_lines(liveness)) == BROKEN_LINE_KINDS
    lines = [raw for lines in broken_lines(liveness).values() for raw in lines]
    assert [raw for raw in lines if b"\n" in raw or len(raw) > 1_000_000] == []


@EACH_LIVENESS
def test_unusual_request_is_right(liveness):
    forms = unusual_requests(liveness)
    assert forms
    for name, form in forms.items():
        message, fault, _ = decode((form % 7).replace(b"[" * 5000 + b"]" * 5000, b"[]"))
        assert fault == "", name
        assert (message["id"], message["method"], message["jsonrpc"]) == (7, liveness.method, "2.0"), name
        assert liveness.meta.items() <= message.get("params", {}).get("_meta", {}).items(), name


@EACH_LIVENESS
def test_random_broken_line_is_one_line(liveness):
    random = Random(1)
    lines = [broken_line(liveness, random) for _ in range(500)]
    assert not any(b"\n" in line for line in lines)
    assert len(set(lines)) > 400


def sent_in(conversation):
    """Return the lines sent in a conversation with one process, without answers to the server's requests."""
    sent = [line for line in conversation._window.session.lines if line.sent]
    return [line.raw for line in sent if kind(line.message) is not Kind.RESULT]


def probed_server(command, **chosen):
    settings = Settings(tuple(command), timeout=5, examples=10, **chosen)
    return Server(settings, probe(settings, "2025-11-25", exactly=True))


def test_forbidden_tools_are_not_called():
    server = probed_server(REFERENCE, call=())
    assert not any(b"tools/call" in raw for raw in sent_in(right_messages(server)))
    server.close()


def test_calls_that_block_each_other_are_not_sent_at_once_again():
    settings = settings_in_memory(mutated(None), examples=10)
    server = Server(settings, probe(settings, "2025-11-25", exactly=True))
    server.fuzzing.blocks_together = True
    assert not any(b"tools/call" in raw for raw in sent_in(right_messages(server)))
    server.close()


class BurstRecorder:
    """A stand-in for a conversation that only records random bursts."""

    def __init__(self, seed):
        chosen = SimpleNamespace(seed=seed, examples_of=lambda: 10)
        self.server = SimpleNamespace(
            settings=chosen,
            declares=lambda *_: True,
            listed=lambda _: [],
            run=SimpleNamespace(fuzz_seconds=lambda _: 60.0),
            clock=None,
        )
        self.bursts, self.next_id = [], itertools.count(1).__next__
        self.liveness, self.request = PING, request_line

    def begin_stage(self, *_, **__):
        pass

    def send(self, *burst):
        self.bursts.append([line.raw for line in burst])


def test_same_seed_makes_the_same_choices():
    bursts = []
    for seed in (7, 7, 8):
        recorder = BurstRecorder(seed)
        in_any_order(recorder, ["tools/list"], [])
        bursts.append(recorder.bursts)
    assert bursts[0] == bursts[1] != bursts[2]
    assert max(map(len, bursts[0])) > 1


def test_conversation_sends_every_kind_of_message():
    server = probed_server(REFERENCE, call=("all",))
    methods = {json.loads(raw)["method"] for raw in sent_in(right_messages(server))}
    server.close()
    assert methods >= {line.message["method"] for line in NOTIFICATIONS}
    assert methods >= {"ping", "tools/list", "resources/list", "tools/call", "logging/setLevel"}
    assert methods >= {"resources/subscribe", "resources/unsubscribe", "notifications/cancelled"}


def test_with_fuzz_none_the_checks_do_not_apply():
    run = run_suite(REFERENCE, "--fuzz", "none", "--select", "jsonrpc", "-v")
    assert run.of("passed")
    assert not any("test_fuzz" in case.suite for case in run.cases)
    assert "nothing is fuzzed (--fuzz none): " in run.output


# Findings


def blocked(command, *options, cwd=None):
    select = ("--select", ANSWERED, "-k", "test_fuzz_protocol")
    return [case.text for case in run_suite(command, *select, *QUICK, *options, cwd=cwd).of("blocked")]


def wire(text):
    """Return the messages that a finding shows."""
    shown = text[text.index("  wire") : text.index("  spec")]
    return [json.loads(line) for line in re.findall(r"^\s*(?:wire)?\s*[<>] (.*)$", shown, re.MULTILINE)]


@pytest.mark.parametrize("seed", range(3) if IS_NIGHTLY else (0,))
def test_exit_is_reduced_to_a_request_and_its_cancellation(seed):
    (text,) = blocked(mutant("a_prompt_cancellation_ends_the_server"), "--seed", str(seed))
    request, cancellation, ping = wire(text)
    assert cancellation["params"]["requestId"] == request["id"]
    assert ping["method"] == "ping"


@nightly
def test_server_that_ends_at_the_line_after_the_one_it_swallowed_has_ended():
    (text,) = blocked(mutant("a_prompt_cancellation_ends_the_server_two_lines_later"))
    assert "the server process ended" in text
    assert "a later ping" not in text


@nightly
def test_lost_request_is_shown_with_the_bursts_before_it(tmp_path):
    (text,) = blocked(mutant("a_cancellation_of_nothing_cancels_the_next_request"), cwd=tmp_path)
    first, *between, last = wire(text)
    assert len(between) <= 1  # the budget of a quick run may be spent before
    assert (first["method"], last["method"]) == ("notifications/cancelled", "tools/list")
    assert "was never answered: a later ping was answered" in text


def test_exit_is_replayed_with_its_requests_in_flight(tmp_path):
    (text,) = blocked(mutant("calls_at_once_end_the_server"), cwd=tmp_path)[:1]
    file = re.search(r"mcp-conformance replay .*?(\S+\.jsonl)", text)[1]
    exit, output = started(["replay", file], tmp_path, 60)
    assert "= (the server process ended (exit status 1)" in output
    assert exit == 0, output
    exit, output = started(["replay", file, "--", *REFERENCE], tmp_path, 60)
    assert exit == 1, output


ONCE = """
import sys, time
from pathlib import Path
from mcp_conformance_fixtures.reference import main

def mutate(server, request, reply):
    if isinstance(request, dict) and request.get("method") == "notifications/cancelled":
        try:
            Path({marker!r}).touch(exist_ok=False)
        except FileExistsError:
            return
        {act}

sys.exit(main(mutate))
"""


def once(folder, act):
    """Return a server that does ``act`` at its first cancellation, in its first process only."""
    script = folder / "once.py"
    script.write_text(ONCE.format(marker=str(folder / "marker"), act=act))
    return [sys.executable, str(script)]


def test_failure_that_does_not_repeat_is_flaky_and_has_both_conversations(tmp_path):
    (text,) = blocked(once(tmp_path, "sys.exit('once')"), cwd=tmp_path)
    assert "it happened once, and not again when the same lines were sent to a fresh server: flaky" in text
    first, second = re.search(r"; see (\S+) and (\S+)", text).groups()
    sent = [
        [json.loads(row) for row in (tmp_path / file).read_text().splitlines()] for file in (first, second)
    ]
    assert any(row.get("sent") for row in sent[0])
    assert len(sent[1]) > len(sent[0])


@nightly
def test_answer_that_is_slow_once_is_not_reported(tmp_path):
    run = run_suite(
        once(tmp_path, "time.sleep(4)"), "--select", "jsonrpc", "-k", "test_fuzz_protocol", "--timeout", "2"
    )
    assert run.findings == []
    assert (tmp_path / "marker").exists()


COUNTED = """
import sys
from pathlib import Path
from mcp_conformance_fixtures.mutants import named
from mcp_conformance_fixtures.reference import main

with Path({log!r}).open("a") as log:
    log.write("started\\n")
sys.exit(main(named({name!r}).mutate))
"""


def test_server_that_exits_at_each_broken_line_is_started_a_few_times(tmp_path):
    script, log = tmp_path / "counted.py", tmp_path / "log"
    script.write_text(COUNTED.format(log=str(log), name="broken_json_ends_the_server"))
    select = ("--select", "jsonrpc.garbage-not-fatal", "-k", "test_fuzz_protocol", "--revision", HANDSHAKE)
    run = run_suite([sys.executable, str(script)], *select)
    assert {case.outcome for case in run.findings} == {"warned"}
    assert any('after the line "hello"' in case.text for case in run.findings)
    assert len(log.read_text().splitlines()) <= 10


def bare_session(lines=(), revision="2025-11-25"):
    """Return as much of a session as a window reads."""
    process = SimpleNamespace(stderr="", wait=lambda _: 1, clock=None, max_line=1000)
    log = [*lines]
    return SimpleNamespace(
        lines=log,
        revision=revision,
        closed=False,
        process=process,
        timeout=1,
        inbox=Inbox(process, log, print, float),
    )


@pytest.mark.parametrize(
    ("carried_by", "rules"), [("", ["jsonrpc.no-response-to-notification"]), ("POST 2: HTTP 400", [])]
)
def test_an_error_without_an_id_answers_a_notification_over_stdio_only(carried_by, rules):
    """Over HTTP it is the response to the POST that it came with."""
    session = bare_session()
    window = Window(session)
    session.lines += [Line.sending(notification("notifications/initialized")), Line.sending(request(1))]
    session.lines += [
        Line.received(json.dumps(one).encode(), 0.0, carried_by)
        for one in (answered(1), answered(None, **ERROR))
    ]
    assert [one.error.requirement for one in broken_rules(window)] == rules


def test_a_large_id_that_comes_back_rounded_with_an_error_status_is_a_fault_of_large_ids():
    """Over HTTP, the error of a server that reads numbers as binary fractions is the response to the POST."""
    session = bare_session()
    window = Window(session)
    session.lines += [Line.sending(request(2**53 + 1)), Line.sending(request(1))]
    session.lines += [
        Line.received(json.dumps(one).encode(), 0.0, "POST 2: HTTP 400")
        for one in (answered(2**53, **ERROR), answered(1))
    ]
    session.inbox.line_from(NoAnswer(2**53 + 1, "HTTP 400", 400), 0.0)
    window.look()
    (found,) = (one.error for one in id_violations(window, large=True))
    assert (found.requirement, found.got) == (
        "jsonrpc.id-types-accepted",
        "one with id 9007199254740992 for the id 9007199254740993",
    )


@pytest.mark.parametrize("own_id", [True, False])
def test_a_large_id_may_be_refused(own_id):
    session = bare_session()
    window = Window(session)
    session.lines += [Line.sending(request(2**64)), Line.sending(request(1))]
    session.lines += [
        Line.received(json.dumps(one).encode(), 0.0)
        for one in (answered(2**64 if own_id else None, **ERROR), answered(1))
    ]
    window.look()
    assert list(id_violations(window, large=True)) == []
    assert list(id_violations(window, large=False))
