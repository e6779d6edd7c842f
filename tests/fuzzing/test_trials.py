"""Cases in flight: the verdicts are those of one request at a time, and few processes are started."""

import json
import re
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from hypothesis.database import InMemoryExampleDatabase

from mcp_conformance.fuzzing import reproduction
from mcp_conformance.fuzzing.budgets import CASES
from mcp_conformance.fuzzing.case_source import valid_cases
from mcp_conformance.fuzzing.fuzz_target import FuzzTarget
from mcp_conformance.fuzzing.fuzzer import Fuzzer
from mcp_conformance.fuzzing.oracles import accepts_valid, answers
from mcp_conformance.remedies import NO_ANSWER, TOGETHER
from mcp_conformance.target.probe import probe
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Blocked, Finding
from mcp_conformance_fixtures.reference import SILENCE, Reference
from support.bench import settings_in_memory
from support.in_memory import MemorySettings, MemoryTransport, mutated
from support.scripted_server import Ended

REVISION = "2025-11-25"
EXAMPLES = 200


class Slow(Reference):
    """The reference server, which answers a call after some time, while it reads other lines.

    ``log`` counts the processes (``starts``), notes the calls (``calls``) and the most of them that were in
    flight (``in_flight``).  ``fault`` may change an answer: it gets the number of calls in flight, this one
    included, and the arguments, and returns a reply or None.
    """

    def __init__(self, log, fault, seconds, out):
        super().__init__(out=out)
        self.log, self.fault, self.seconds, self.open = log, fault, seconds, 0
        log["starts"] += 1

    def take(self, line):
        """Answer a call later, another line at once."""
        if b'"tools/call"' not in line:
            super().take(line)
            return
        self.open += 1
        self.log["in_flight"] = max(self.log["in_flight"], self.open)
        self.log["calls"] += 1
        self.log["latest"] = self.open
        self.schedule(self.seconds, partial(self.finish, line, self.open))

    def finish(self, line, in_flight):
        """Answer a call."""
        request = json.loads(line)
        instead = self.fault(in_flight, request["params"]["arguments"])
        self.open -= 1
        if instead is None:
            super().take(line)
        elif instead is not SILENCE:
            self.send({"jsonrpc": "2.0", "id": request["id"], **instead})


@pytest.fixture
def fuzzed(tmp_path, monkeypatch):
    """Return a function that searches the tool `add` of a server in memory, and returns the verdicts."""
    monkeypatch.setattr(Fuzzer, "_database", InMemoryExampleDatabase())
    servers = []

    def run(serve, seed=0):
        settings = settings_in_memory(serve, EXAMPLES, timeout=5.0, seed=seed, transcripts=tmp_path)
        server = Server(settings, probe(settings, REVISION, exactly=True))
        servers.append(server)
        call = server.call(server.tool("add"))
        oracle = partial(accepts_valid, call.tool, REVISION)
        fuzzer = Fuzzer(server, FuzzTarget.of_tool(call), "valid arguments")
        try:
            fuzzer.search(valid_cases(call.tool.input_schema, REVISION, oracle))
            fuzzer.report()
        except (Finding, Blocked) as error:
            return [f"{one} {one.fix}".strip() for one in (error, *error.others)]
        return []

    yield run
    for server in servers:
        server.close()


def slow(log, fault=lambda *_: None, seconds=0.001):
    """Return a ``serve`` for a slow server."""
    return lambda out, _: Slow(log, fault, seconds, out)


def test_calls_of_a_fast_tool_are_in_flight_together(fuzzed):
    log = Counter()
    assert fuzzed(slow(log)) == []
    assert log["in_flight"] == CASES.in_flight


def test_the_start_of_a_process_takes_none_of_the_time_of_a_tool(fuzzed, monkeypatch):
    log, start = Counter(), MemorySettings.start

    def slow_start(settings):
        process = start(settings)
        settings.clock.now += 100.0
        return process

    monkeypatch.setattr(MemorySettings, "start", slow_start)
    assert fuzzed(slow(log)) == []
    assert log["calls"] > EXAMPLES // 2


@pytest.mark.parametrize(("spent", "least", "most"), [(100.0, 1, 2), (-100.0, 10, 12)], ids=["none", "much"])
def test_a_target_takes_its_share_of_the_time_and_what_others_have_left(spent, least, most, tmp_path):
    log = Counter()
    settings = settings_in_memory(slow(log, seconds=1.0), 50, transcripts=tmp_path)
    server = Server(settings, probe(settings, REVISION, exactly=True))
    call = server.call(server.tool("add"))
    log["calls"], server.fuzzing.seconds_spent = 0, spent
    budget = replace(CASES, all_tools_seconds=1.0, max_seconds=10.0, in_flight=1)
    fuzzer = Fuzzer(server, FuzzTarget.of_tool(call), "valid arguments", budget=budget)
    oracle = partial(accepts_valid, call.tool, REVISION)
    fuzzer.search(valid_cases(call.tool.input_schema, REVISION, oracle))
    assert least <= log["calls"] <= most
    assert spent < server.fuzzing.seconds_spent <= spent + most
    server.close()


def test_several_calls_are_sent_in_one_write(fuzzed, monkeypatch):
    log, writes, write = Counter(), [], MemoryTransport.write
    monkeypatch.setattr(MemoryTransport, "write", lambda *given: writes.append(given) or write(*given))
    assert fuzzed(slow(log)) == []
    assert len(writes) < log["calls"] / 4


@pytest.mark.parametrize(("seconds", "in_flight"), [(0.1, 10), (0.2, 10), (1.0, 2), (2.0, 1)])
def test_fewer_calls_of_a_slow_tool_are_in_flight(seconds, in_flight, fuzzed):
    """All of them together take half the time allowed for one: 20 times the usual, 5 s at most."""
    log = Counter()
    assert fuzzed(slow(log, seconds=seconds)) == []
    assert log["in_flight"] == in_flight


def test_server_that_fails_only_with_several_in_flight_is_not_accused(fuzzed):
    log = Counter()
    error = {"error": {"code": -32603, "message": "busy"}}
    assert fuzzed(slow(log, lambda in_flight, _: error if in_flight > 1 else None)) == []
    assert log["in_flight"] == CASES.in_flight
    assert log["latest"] == 1


@pytest.mark.parametrize("most", [1, 4])
def test_server_that_drops_calls_in_flight_is_accused_of_that_alone(fuzzed, most):
    log = Counter()
    (text,) = fuzzed(slow(log, lambda in_flight, _: SILENCE if in_flight > most else None))
    assert f"no answer within 5 s with {most} others in flight (alone it is answered)" in text
    assert log["in_flight"] == CASES.in_flight
    assert log["calls"] > EXAMPLES // 2


def test_a_lock_that_calls_at_once_take_is_not_the_fault_of_one_call(fuzzed):
    """From the fifth call at once on, no call of the process is answered any more, but pings are."""
    stuck = []

    class Locking(Slow):
        def finish(self, line, in_flight):
            if in_flight > 4:
                stuck.append(self)
            if self not in stuck:
                super().finish(line, in_flight)

    log = Counter()
    (text,) = fuzzed(lambda out, _: Locking(log, lambda *_: None, 0.01, out))
    assert "no answer within 5 s with 4 others in flight (alone it is answered)" in text
    assert text.endswith(TOGETHER)


def test_wrong_answer_in_flight_is_shrunk(fuzzed):
    log = Counter()
    wrong = {"result": {"content": "none"}}
    (text,) = fuzzed(slow(log, lambda _, given: wrong if given["a"] > 20 else None))
    assert 'valid arguments {"a":21,"b":0}: result' in text
    assert log["in_flight"] == CASES.in_flight


@pytest.mark.parametrize("seed", range(3))
def test_end_of_the_process_in_flight_has_a_culprit_and_costs_one_more_start(fuzzed, monkeypatch, seed):
    monkeypatch.setattr(Fuzzer, "shrink", lambda *_: None)
    log, ends = Counter(), []

    def fault(_, given):
        if 20 < given["a"] < 30:
            ends.append(given)
            raise Ended(3)

    (text,) = fuzzed(slow(log, fault), seed)
    assert log["in_flight"] == CASES.in_flight
    assert "the server process ended (exit status 3)" in text
    assert "flaky" not in text
    culprits = {json.dumps(one) for one in ends}
    usual = 3  # the probe's, the first calls', the first for cases
    assert log["starts"] <= usual + len(culprits) + 1 + 1  # once in flight, and once to reproduce it


def at_the_fortieth_call(log, act):
    """Return a ``serve`` for servers that do ``act`` instead of their fortieth answer."""

    def serve(out, _):
        done = Counter()

        def fault(*_):
            done["calls"] += 1
            return act() if done["calls"] == 40 else None

        return Slow(log, fault, 0.001, out)

    return serve


def test_end_after_many_calls_is_reproduced_after_others(fuzzed):
    def end():
        raise Ended(3)

    log = Counter()
    (text,) = fuzzed(at_the_fortieth_call(log, end))
    assert log["in_flight"] == CASES.in_flight
    assert "(on a fresh server, after 39 other requests)" in text


def test_wrong_answer_after_many_calls_is_reproduced_after_others(fuzzed):
    (text,) = fuzzed(at_the_fortieth_call(Counter(), lambda: {"result": {"content": "none"}}))
    assert "(on a fresh server, after 39 other requests)" in text


def test_a_wrong_answer_is_reproduced_after_the_last_calls_only(fuzzed, monkeypatch):
    monkeypatch.setattr(reproduction, "CASES", replace(CASES, max_history=10))
    assert fuzzed(at_the_fortieth_call(Counter(), lambda: {"result": {"content": "none"}})) == []


def test_shrinking_ends_when_nothing_new_may_be_sent(fuzzed, monkeypatch):
    tried, fails = [], Fuzzer._fails

    def noted(self, kind, case):
        tried.append(self._trials.is_spent)
        return fails(self, kind, case)

    monkeypatch.setattr(Fuzzer, "_fails", noted)
    wrong = {"result": {"content": "none"}}
    (text,) = fuzzed(slow(Counter(), lambda _, given: wrong if given["a"] > 20 else None, seconds=1.0))
    assert "valid arguments" in text
    assert 0 < sum(tried) <= 2 * CASES.max_cases_per_example


def test_hung_process_is_replaced_and_other_values_are_not_accused(fuzzed):
    hung = []

    def mutate(server, request, _):
        given = request.get("params", {}).get("arguments", {}) if isinstance(request, dict) else {}
        hung.extend([server] if 20 < given.get("a", 0) < 30 else [])
        return SILENCE if server in hung else None

    (text,) = fuzzed(mutated(mutate))
    assert re.search(r'valid arguments \{"a":2\d(\.\d+)?,"b":\S+\}: no answer within 5 s', text)
    assert text.endswith(NO_ANSWER)


def test_no_value_is_sent_twice(fuzzed):
    sent = []

    def mutate(request, _):
        sent.append(json.dumps(request["params"]["arguments"])) if "tools/call" in str(request) else None

    assert fuzzed(mutated(lambda _, request, reply: mutate(request, reply))) == []
    assert len(sent) > EXAMPLES // 2
    assert len(sent[1:]) == len(set(sent[1:]))  # the first is the usual call


def test_values_depend_on_the_seed_alone(fuzzed):
    def sent_with(seed):
        sent = []

        def mutate(_, request, __):
            if isinstance(request, dict) and request.get("method") == "tools/call":
                sent.append(json.dumps(request["params"]["arguments"]))

        fuzzed(mutated(mutate), seed)
        return sent

    first, again, other = map(sent_with, (0, 0, 1))
    assert first == again
    assert first != other


class Dripping(Reference):
    """The reference server, which writes an answer with many x in pieces, and meanwhile nothing else.

    It stops in the middle of such an answer if it ``sticks``.
    """

    def __init__(self, sticks, out):
        super().__init__(out=out)
        self.sticks, self.pieces = sticks, []

    def send_raw(self, data):
        """Write an answer at once, or in pieces after those that are not written yet."""
        if not self.pieces and b"xxxxx" not in data:
            super().send_raw(data)
            return
        self.pieces.append(data)
        if len(self.pieces) == 1:
            self.schedule(0.2, self.drip)

    def drip(self):
        """Write a piece of a few bytes."""
        first, *others = self.pieces
        self.out.write(first[:50])
        self.pieces = [rest for rest in (first[50:], *others) if rest]
        if self.pieces and not (self.sticks and len(first) < 1900):
            self.schedule(0.2, self.drip)


@pytest.mark.parametrize(("sticks", "verdicts"), [(False, 0), (True, 1)], ids=["goes on", "sticks"])
def test_an_answer_that_is_still_being_written_is_not_missing(tmp_path, sticks, verdicts):
    settings = settings_in_memory(lambda out, _: Dripping(sticks, out), EXAMPLES, transcripts=tmp_path)
    server = Server(settings, probe(settings, REVISION, exactly=True))
    fuzzer = Fuzzer(server, FuzzTarget.of_tool(server.call(server.tool("echo"))), "hostile arguments")
    fuzzer.try_hostile([("long", json.dumps({"text": "x" * 2000}).encode())], answers)
    found = []
    try:
        fuzzer.report()
    except Finding as finding:
        found.append(finding)
    server.close()
    assert len(found) == verdicts


def test_hostile_values_that_were_read_for_one_slow_tool_are_in_flight_for_another(tmp_path):
    log = Counter()
    settings = settings_in_memory(slow(log, seconds=0.03), EXAMPLES, transcripts=tmp_path)
    server = Server(settings, probe(settings, REVISION, exactly=True))
    names = [f"unreadable {number}" for number in range(8)]
    for tool, member in (("echo", "text"), ("fail", "reason")):
        log["in_flight"] = 0
        fuzzer = Fuzzer(server, FuzzTarget.of_tool(server.call(server.tool(tool))), "hostile arguments")
        values = [(f"{name} as member {member}", json.dumps({member: name}).encode()) for name in names]
        fuzzer.try_hostile(values, answers)
        assert log["in_flight"] == (1 if tool == "echo" else len(names)), tool
    server.close()


class Logging(Reference):
    """The reference server, which logs a traceback for each sum that it refuses, and one for a mistake."""

    def take(self, line):
        """Refuse a sum with a negative number on purpose, and one with a large second number by mistake."""
        given = json.loads(line).get("params", {}).get("arguments")
        if not given:
            super().take(line)
        elif given["b"] > 1e6:
            self.refuse(line, "return a + TOO_LARGE[b]", "KeyError: 7")
        elif given["a"] < 0:
            self.refuse(line, 'raise ValueError("negative")', "ValueError: negative")
        else:
            super().take(line)

    def refuse(self, line, code, last):
        """Log an exception, and answer with an error that does not say which."""
        frame = f'  File "/srv/sums.py", line 5, in add\n    {code}\n'
        self.complain(f"Traceback (most recent call last):\n{frame}{last}\n")
        result = {"content": [{"type": "text", "text": "Error executing tool add"}], "isError": True}
        self.send({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": result})


def test_exception_of_one_call_among_refusals_in_flight_is_found_and_no_other(fuzzed):
    (found,) = fuzzed(lambda out, err: Logging(out=out, err=err))
    assert "KeyError: 7, sums.py:5" in found
