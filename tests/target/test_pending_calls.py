"""Slow calls run beside the checks: only who needs an answer waits for it, or comes again later."""

from functools import partial

import pytest

from mcp_conformance.protocol.revisions import LATEST_HANDSHAKE, LATEST_MODERN
from mcp_conformance.target.pending_calls import Deferred
from mcp_conformance.target.probe import probe_all
from mcp_conformance.verdicts import Blocked
from mcp_conformance_fixtures.reference import SILENCE
from support.bench import Bench, settings_in_memory
from support.in_memory import mutated

SECONDS = 20.0


def called(request):
    """Return the name of the tool that a request calls, if any."""
    is_call = isinstance(request, dict) and request.get("method") == "tools/call"
    return request["params"]["name"] if is_call else ""


def later(names, server, request, reply):
    """Answer the calls of some tools late, and other requests at once."""
    if called(request) not in names:
        return None
    server.schedule(SECONDS, lambda: server.send(reply))
    return SILENCE


def one_after_the_other(server, request, reply):
    """Answer nothing in a process while a call of echo runs there."""
    if called(request) == "echo":
        server.held_back = [reply]
        server.schedule(SECONDS, lambda: [server.send(each) for each in vars(server).pop("held_back")])
        return SILENCE
    if hasattr(server, "held_back") and reply is not None:
        server.held_back.append(reply)
        return SILENCE
    return None


@pytest.fixture
def begin():
    """Return a function that begins a run of all checks on a server; its processes are ended afterwards."""
    servers = []

    def begun(mutate, revision=LATEST_HANDSHAKE):
        subject = probe_all(settings_in_memory(mutated(mutate)), (revision,))
        servers.append(Bench(subject, revision, is_whole=True).server)
        return servers[-1]

    yield begun
    for server in servers:
        server.close()


def names_of(calls):
    return [call.tool.name for call in calls]


def test_a_slow_tool_holds_up_no_call_of_another(begin):
    server = begin(partial(later, ["echo"]))
    begun = server.clock.monotonic()
    quick = names_of(server.quick_calls())
    assert "echo" not in quick
    assert len(quick) > 3
    assert server.prompts()
    assert server.clock.monotonic() - begun < SECONDS / 2
    assert {*names_of(server.calls())} == {"echo", *quick}
    assert server.call(server.tool("echo")).reply.seconds == pytest.approx(SECONDS)
    assert names_of(server.quick_calls()) == quick


def test_a_check_that_may_be_deferred_does_not_wait(begin):
    server = begin(partial(later, ["echo"]))
    server.tool_calls.pending.may_be_deferred = True
    assert server.quick_calls()
    for ask in (server.calls, lambda: server.call(server.tool("echo"))):
        with pytest.raises(Deferred):
            ask()
    server.tool_calls.pending.may_be_deferred = False
    assert server.call(server.tool("echo")).reply.fault is None


def test_progress_during_a_slow_call_is_that_of_the_call(begin):
    def reporting(server, request, reply):
        token = request["params"].get("_meta", {}).get("progressToken") if called(request) else None
        if token is not None:
            params = {"progressToken": token, "progress": 1}
            server.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        return later(["echo"], server, request, reply)

    server = begin(reporting)
    assert len(server.quick_calls()) > 3
    assert len(server.call(server.tool("echo")).progress) == 1


def test_a_server_that_does_one_thing_after_the_other_gets_one_call_after_the_other(begin):
    server = begin(one_after_the_other)
    assert server.tool_calls.pending.keep_others_waiting
    server.tool_calls.pending.may_be_deferred = True
    with pytest.raises(Deferred):
        server.quick_calls()
    with pytest.raises(Deferred):
        server.prompts()
    server.tool_calls.pending.may_be_deferred = False
    slow = [call.tool.name for call in server.calls() if call.is_slow]
    assert slow == ["echo"]


def test_only_two_slow_calls_run_at_once(begin):
    names = ["echo", "add", "nothing"]
    server = begin(partial(later, names))
    assert sorted(call.tool.name for call in server.tool_calls.pending) == sorted(names[:2])
    begun = server.clock.monotonic()
    assert {*names} < {*names_of(server.calls())}
    assert server.clock.monotonic() - begun < 2.5 * SECONDS


def test_a_slow_call_is_made_again_alone_when_another_call_ends_the_process(begin):
    calls = []

    def ending(server, request, reply):
        calls.append(called(request))
        if calls[-1] == "nothing" and "echo" in calls:
            raise SystemExit(1)
        return later(["echo"], server, request, reply)

    server = begin(ending)
    assert server.call(server.tool("echo")).reply.fault is None


def test_the_timeout_of_a_slow_call_counts_since_the_request(begin):
    server = begin(lambda _, request, __: SILENCE if called(request) == "echo" else None, LATEST_MODERN)
    server.clock.now += 25.0
    begun = server.clock.monotonic()
    with pytest.raises(Blocked, match="no answer within 30 s"):
        server.call(server.tool("echo"))
    assert server.clock.monotonic() - begun < 10.0


def test_a_call_that_takes_a_second_is_explored_with_the_others(begin, monkeypatch):
    # The first call of a FastMCP server on a busy machine: what signs up was called, and never explored.
    monkeypatch.setitem(globals(), "SECONDS", 1.5)
    server = begin(one_after_the_other)
    server.tool_calls.begin()
    assert not server.tool_calls.pending
    assert set(server.tool_calls.exercise) >= {"echo", "add", "fail"}
