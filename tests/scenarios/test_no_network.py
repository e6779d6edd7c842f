"""A server that reaches no host is not told to register its handlers."""

from types import SimpleNamespace

import pytest

from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.report.text import limit_lines
from mcp_conformance.sandbox.traffic import Attempt
from mcp_conformance.target.circumstances import hosts_tried
from mcp_conformance.target.exercise import ToolExercise
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Blocked, Cause, Skipped
from mcp_conformance_fixtures.mutants import answered, method, params, refused
from support.bench import run_checks, settings_in_memory
from support.in_memory import MemoryTransport, mutated

HANDSHAKE = "2025-11-25"


def without_list(code, words):
    """Return a mutation that refuses the list of tools."""

    def mutate(_, request, reply):
        is_list = isinstance(request, dict) and method(request) == "tools/list" and reply
        return refused(request, code, words) if is_list else None

    return mutate


def found(code, words):
    settings = settings_in_memory(mutated(without_list(code, words)))
    run = run_checks(settings, HANDSHAKE, lambda one: one.suite == "test_tools_list", is_whole=False)
    return run.failures, [one.row.id for one in run.verdicts if one.outcome.counts]


@pytest.mark.parametrize(
    ("code", "words"), [(-32603, "fetch failed"), (-32000, "connect ECONNREFUSED 127.0.0.1:5432")]
)
def test_a_list_that_needs_a_host_is_skipped_once_with_the_reason(code, words):
    (failure,), counted = found(code, words)
    assert counted == []
    assert isinstance(failure.verdict, Skipped)
    assert failure.verdict.cause is Cause.NO_HOST
    assert failure.reason.startswith("tools/list could not be judged: the server reaches no host")
    assert failure.requirement == "tools.list.answered"


@pytest.mark.parametrize(("code", "words"), [(-32601, "fetch failed"), (-32603, "list is not iterable")])
def test_another_error_of_a_list_is_the_fault_of_the_server(code, words):
    (failure,), _ = found(code, words)
    assert (failure.verdict.fix, failure.requirement) == ("", "tools.list.answered")
    assert words in failure.reason


def test_tools_that_reach_no_host_are_named():
    def fails(_, request, reply):
        if not isinstance(request, dict) or params(request).get("name") != "add" or not reply:
            return None
        text = {"type": "text", "text": "Error: getaddrinfo ENOTFOUND db.example"}
        return answered(request, {"content": [text], "isError": True})

    subject = probe_all(settings_in_memory(mutated(fails)), (HANDSHAKE,))
    exercise = {"add": ToolExercise(3, complaint="ENOTFOUND"), "fail": ToolExercise(2)}
    lines = list(limit_lines(subject, [], exercise))
    assert lines[0].startswith("could not be judged: add, as no host is reached (ENOTFOUND)")
    assert lines[1].startswith("no call succeeded: fail (0 of 2)")


class Packets:
    """What a sandbox sees of a server: ``attempts``."""

    def __init__(self):
        self.attempts: tuple[Attempt, ...] = ()


@pytest.mark.parametrize("has_failed", [True, False])
def test_what_a_failed_call_sends_shows_that_it_needs_a_host_whatever_it_says(has_failed, monkeypatch):
    packets = Packets()

    def reaches_out(_, request, reply):
        if not isinstance(request, dict) or params(request).get("name") != "add" or not reply:
            return None
        packets.attempts = (*packets.attempts, Attempt("UDP", "192.0.2.1", 53, "db.example"))
        text = {"type": "text", "text": "It did not work." if has_failed else "3"}
        return answered(request, {"content": [text], "isError": has_failed})

    monkeypatch.setattr(MemoryTransport, "traffic", packets, raising=False)
    server = Server.of(probe_all(settings_in_memory(mutated(reaches_out)), (HANDSHAKE,)), HANDSHAKE)
    server.calls()
    complaint = server.tool_calls.exercise["add"].complaint
    server.close()
    assert complaint == ("a look-up of the name db.example" if has_failed else "")
    assert server.tool_calls.exercise["echo"].complaint == ""


def waiting(monkeypatch, method_of, *, tries):
    """Return the settings of a server that answers no request of a method.

    If it ``tries``, it looks for a host meanwhile, else it has done so before.
    """
    packets = Packets()
    monkeypatch.setattr(MemoryTransport, "traffic", packets, raising=False)

    def mutate(server, request, reply):
        if not isinstance(request, dict) or method(request) != method_of or not reply:
            return None
        if tries or not packets.attempts:
            passed = 1.0 if tries else -100.0
            attempt = Attempt("UDP", "192.0.2.1", 53, "db.example", settings.clock.now + passed)
            packets.attempts = (*packets.attempts, attempt)
        return []

    settings = settings_in_memory(mutated(mutate))
    return settings


@pytest.mark.parametrize(
    ("method_of", "suite"), [("tools/call", "test_tools_call"), ("prompts/get", "test_prompts_get")]
)
def test_a_server_that_waits_for_a_refused_host_is_not_said_to_hang(method_of, suite, monkeypatch):
    def counted(*, tries):
        settings = waiting(monkeypatch, method_of, tries=tries)
        run = run_checks(settings, HANDSHAKE, lambda one: one.suite == suite, is_whole=False)
        return [one for one in run.verdicts if one.outcome.counts]

    assert any("no answer" in str(one.error) for one in counted(tries=False))
    assert counted(tries=True) == []


def test_a_call_that_waits_for_a_host_is_told_with_the_host(monkeypatch):
    settings = waiting(monkeypatch, "tools/call", tries=True)
    server = Server.of(probe_all(settings, (HANDSHAKE,)), HANDSHAKE)
    verdict = failure_of(server)
    complaint = server.tool_calls.exercise["add"].complaint
    server.close()
    assert complaint == "db.example"
    assert verdict.cause is Cause.CIRCUMSTANCES
    assert "while the server tried to reach db.example" in str(verdict)


def failure_of(server):
    """Return why a check skips that calls a tool without an answer."""
    try:
        server.call(server.tool("add"))
    except Blocked as blocked:
        with pytest.raises(Skipped) as skipped:
            server.causes.examine(blocked)
        return skipped.value
    raise AssertionError


def test_what_a_later_call_tries_excuses_no_earlier_one():
    before, silent, later = (
        Line.sending({"jsonrpc": "2.0", "id": at, "method": "tools/call"}, at) for at in (0, 1, 3)
    )
    answers = [Line.received(b'{"jsonrpc":"2.0","id":%d,"result":{}}' % at, 5) for at in (0, 3)]
    packets = Packets()
    process = SimpleNamespace(traffic=packets, age=0)
    session = SimpleNamespace(lines=[before, silent, later, *answers], process=process)
    settings = SimpleNamespace(backend=None, clock=SimpleNamespace(monotonic=lambda: 0))
    for at, hosts in ((2, ["db.example"]), (4, []), (6, ["db.example"]), (20, [])):
        packets.attempts = (Attempt("UDP", "192.0.2.1", 53, "db.example", at),)
        assert hosts_tried(session, silent, settings, 10) == hosts
