"""A server that limits requests by itself is not accused of what it then refuses."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from mcp_conformance.client.reply import Reply, Silence
from mcp_conformance.client.session import Session
from mcp_conformance.client.spacing import Spacing
from mcp_conformance.plugin.run_counts import RunCounts
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.report.text import spacing_line
from mcp_conformance.target.limiter import BURST, MAX_BURSTS_IN_VAIN, Limiter
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.server import Server
from mcp_conformance_fixtures.mutants import answered, method, refused
from mcp_conformance_fixtures.reference import END, START
from support.bench import run_checks, settings_in_memory
from support.in_memory import VirtualClock, mutated

HANDSHAKE = "2025-11-25"
REFUSED = {"content": [{"type": "text", "text": "Slow down: try again in 1 s."}], "isError": True}
SUITES = ("test_ping", "test_tools_call", "test_progress", "test_errors", "test_cancel")


class Bucket:
    """A bucket of tokens that fills up by itself; a request takes one, or is refused."""

    def __init__(self, most, a_second, refusal, methods=None):
        self.most, self.a_second, self.refusal, self.methods = most, a_second, refusal, methods
        self.clock, self.left, self.at = VirtualClock(), most, 0.0

    def __call__(self, server, request, reply):
        if request in (START, END) or not isinstance(request, dict) or not reply or "id" not in request:
            return None
        if self.methods is not None and method(request) not in self.methods:
            return None
        now = self.clock.now
        self.left = min(self.most, self.left + (now - self.at) * self.a_second)
        self.at = now
        if self.left < 1:
            return self.refusal(request)
        self.left -= 1
        return None


def with_error(request):
    return refused(request, -32000, f"Rate limit exceeded, {request['id']} too many.")


def with_tool_error(request):
    return answered(request, REFUSED)


def found(bucket):
    settings = settings_in_memory(mutated(bucket))
    bucket.clock = settings.clock
    run = run_checks(settings, HANDSHAKE, lambda check: check.suite in SUITES, is_whole=False)
    return settings, [one.text for one in run.verdicts if one.outcome.counts], run.passed


def test_a_limiter_of_all_requests_is_recognised_and_obeyed():
    settings, counted, passed = found(Bucket(40, 20.0, with_error))
    assert counted == []
    assert len(passed) > 10
    assert settings.spacing.is_slowed
    assert 10 < settings.spacing.rate <= 20
    server, shared = Server.of(probe_all(settings, (HANDSHAKE,)), HANDSHAKE), RunCounts()
    counts = RunCounts()
    counts.add_server(server)
    server.close()
    for data in (counts.as_data(), RunCounts().as_data()):  # as two workers of xdist send them
        shared.add(RunCounts.from_data(data))
    line = spacing_line(shared.spaced, shared.calls_spaced)
    assert line.startswith("slowed: the server refuses for their number requests that it serves otherwise")
    assert f"--rate {settings.spacing.rate:.2g}" in line
    assert spacing_line(0.0, 0.0) == ""


def test_a_result_without_an_id_is_no_proof_that_a_request_was_served():
    """A server of Hugging Face sends some, which ended the check by an error of ours."""

    def forgets_the_id(_, request, reply):
        if isinstance(request, dict) and method(request) == "ping" and reply:
            del reply["id"]
            return None
        return refused(request, -32000, "No.") if isinstance(request, dict) and "id" in request else None

    settings = settings_in_memory(mutated(forgets_the_id), timeout=1.0)
    with Session(settings.start(), revision=HANDSHAKE) as session:
        session.request("ping")
        reply = session.request("tools/list")
        surface = SimpleNamespace(only_reads=lambda _: True)
        sessions = SimpleNamespace(every=[session], surface=surface, settings=settings)
        assert not Limiter(sessions).is_reason(reply.lines)


def test_a_limiter_of_calls_is_recognised_by_tool_errors():
    bucket = Bucket(10, 5.0, with_tool_error, {"tools/call"})
    settings = settings_in_memory(mutated(bucket))
    bucket.clock = settings.clock
    server = Server.of(probe_all(settings, (HANDSHAKE,)), HANDSHAKE)
    params = {"name": "weather", "arguments": {"city": "Kyiv", "units": "metric"}}
    replies = [server.session.request("tools/call", params) for _ in range(11)]
    limiter = Limiter(server.sessions)
    assert not limiter.is_reason(replies[0].lines)
    assert replies[-1].is_tool_error
    assert limiter.is_reason(replies[-1].lines)
    assert settings.spacing.calls_rate <= 5
    assert not settings.spacing.is_slowed
    server.close()


def send_few_together(session, *messages):
    """Send messages in one write, as `Session` does; a queue of 16 places would refuse more."""
    assert len(messages) <= 16
    return session.send_lines(map(Line.sending, messages))


def with_own_code(request):
    return refused(request, -31999, f"Busy: {request['id']} are too many.")


def test_a_limiter_of_calls_is_recognised_by_errors_with_a_code_of_its_own():
    bucket = Bucket(10, 2.0, with_own_code, {"tools/call"})
    settings = settings_in_memory(mutated(bucket))
    bucket.clock = settings.clock
    server = Server.of(probe_all(settings, (HANDSHAKE,)), HANDSHAKE)
    params = {"name": "weather", "arguments": {"city": "Kyiv", "units": "metric"}}
    replies = [server.session.request("tools/call", params) for _ in range(11)]
    assert replies[-1].code == -31999
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "send_together", send_few_together)
        assert Limiter(server.sessions).is_reason(replies[-1].lines)
    sent = server.session.sent
    assert Limiter(server.sessions).is_reason(replies[-1].lines)  # as that of the other revision knows it
    assert server.session.sent == sent
    assert settings.spacing.calls_rate <= 2
    counts = RunCounts()
    counts.add_server(server)
    server.close()
    line = spacing_line(counts.spaced, counts.calls_spaced)
    assert "at most 1.8 calls of tools a second from then on (--rate 1.8 " in line


def test_a_limiter_is_recognised_in_a_new_session_if_the_one_with_the_calls_has_ended():
    buckets = []

    def limits(server, request, reply):
        if not hasattr(server, "bucket"):
            server.bucket = Bucket(10, 2.0, with_own_code, {"tools/call"})
            server.bucket.clock = settings.clock
            buckets.append(server.bucket)
        return server.bucket(server, request, reply)

    settings = settings_in_memory(mutated(limits))
    server = Server.of(probe_all(settings, (HANDSHAKE,)), HANDSHAKE)
    params = {"name": "weather", "arguments": {"city": "Kyiv", "units": "metric"}}
    replies = [server.session.request("tools/call", params) for _ in range(11)]
    server.session.begin_close()
    number = len(buckets)
    assert Limiter(server.sessions).is_reason(replies[-1].lines)
    assert len(buckets) == number + 1
    assert settings.spacing.calls_rate <= 2
    server.close()


def test_an_argument_that_is_always_refused_with_an_own_code_is_no_limiter():
    def refuses(server, request, reply):
        if isinstance(request, dict) and method(request) == "tools/call" and reply:
            return with_own_code(request) if request["params"]["arguments"]["city"] == "Oslo" else None
        return None

    settings = settings_in_memory(mutated(refuses))
    server = Server.of(probe_all(settings, (HANDSHAKE,)), HANDSHAKE)
    params = {"name": "weather", "arguments": {"city": "Kyiv", "units": "metric"}}
    server.session.request("tools/call", params)
    reply = server.session.request("tools/call", {**params, "arguments": {"city": "Oslo", "units": "metric"}})
    assert reply.code == -31999
    assert not Limiter(server.sessions).is_reason(reply.lines)
    assert not settings.spacing.has_slow_calls
    server.close()


@pytest.mark.parametrize("released", [("all",), ("readonly",)])
def test_a_limiter_of_a_tool_that_writes_is_recognised_if_it_may_be_called(released):
    bucket = Bucket(10, 5.0, with_tool_error, {"tools/call"})
    settings = replace(settings_in_memory(mutated(bucket)), call=released)
    bucket.clock = settings.clock
    server = Server.of(probe_all(settings, (HANDSHAKE,)), HANDSHAKE)
    params = {"name": "grow", "arguments": {}}
    replies = [server.session.request("tools/call", params) for _ in range(11)]
    sent = server.session.sent
    assert Limiter(server.sessions).is_reason(replies[-1].lines) == (released == ("all",))
    assert (server.session.sent > sent) == (released == ("all",))
    server.close()


def test_tool_errors_in_vain_hide_no_limiter_with_a_code_of_its_own():
    bucket = Bucket(300, 2.0, with_own_code, {"tools/call"})

    def refuses(server, request, reply):
        if isinstance(request, dict) and method(request) == "tools/call" and reply:
            city = request["params"]["arguments"]["city"]
            text = {"content": [{"type": "text", "text": f"{city} is unknown."}], "isError": True}
            return bucket(server, request, reply) or (None if city == "Kyiv" else answered(request, text))
        return None

    settings = settings_in_memory(mutated(refuses))
    bucket.clock = settings.clock
    server = Server.of(probe_all(settings, (HANDSHAKE,)), HANDSHAKE)
    params = {"name": "weather", "arguments": {"city": "Kyiv", "units": "metric"}}
    server.session.request("tools/call", params)
    limiter = Limiter(server.sessions)
    for letter in "abcd":
        other = {**params, "arguments": {"city": letter, "units": "metric"}}
        assert not limiter.is_reason(server.session.request("tools/call", other).lines)
    replies = [server.session.request("tools/call", params) for _ in range(300)]
    assert replies[-1].code == -31999
    assert limiter.is_reason(replies[-1].lines)
    server.close()


def test_the_search_for_a_limiter_ends_after_some_bursts_in_vain():
    def refuses(server, request, reply):
        if not (isinstance(request, dict) and method(request) == "tools/call" and reply):
            return None
        city = request["params"]["arguments"]["city"]
        text = {"content": [{"type": "text", "text": f"{city} is unknown."}], "isError": True}
        return None if city == "Kyiv" else answered(request, text)

    settings = settings_in_memory(mutated(refuses))
    server = Server.of(probe_all(settings, (HANDSHAKE,)), HANDSHAKE)
    params = {"name": "weather", "arguments": {"city": "Kyiv", "units": "metric"}}
    server.session.request("tools/call", params)
    limiter, sent = Limiter(server.sessions), []
    for letter in "abcdef":
        other = {**params, "arguments": {"city": letter, "units": "metric"}}
        reply = server.session.request("tools/call", other)
        before = server.session.sent
        assert not limiter.is_reason(reply.lines)
        sent.append(server.session.sent - before)
    assert sent == [BURST] * MAX_BURSTS_IN_VAIN + [0] * 3
    server.close()


def test_a_server_that_always_refuses_a_request_so_is_judged():
    def refuses_pings(server, request, reply):
        is_refused = isinstance(request, dict) and method(request) == "ping"
        return refused(request, -32000, "Rate limit exceeded.") if is_refused and reply else None

    settings = settings_in_memory(mutated(refuses_pings))
    run = run_checks(settings, HANDSHAKE, lambda check: check.suite == "test_ping", is_whole=False)
    assert [one.row.id for one in run.verdicts if one.outcome.counts]
    assert not settings.spacing.is_slowed


def test_messages_are_kept_apart():
    slept, spacing = [], Spacing(4.0)
    for now in (10.0, 10.0, 10.1, 20.0):
        spacing.wait(now, slept.append)
    assert slept == pytest.approx([0.25, 0.4])
    spacing.slow_down(0.5)
    assert (spacing.rate, spacing.is_slowed) == (0.5, True)
    spacing.slow_down(2.0)
    assert spacing.rate == 0.5


def test_calls_are_kept_apart_and_nothing_else():
    slept, spacing = [], Spacing()
    spacing.slow_down(4.0, calls_only=True)
    for is_call in (True, False, True, False, True):
        spacing.wait(10.0, slept.append, is_call=is_call)
    assert slept == pytest.approx([0.25, 0.5])
    assert (spacing.is_slowed, spacing.has_slow_calls) == (False, True)


def test_a_missing_answer_ends_a_burst(monkeypatch):
    awaited = []

    def await_reply(line):
        awaited.append(line)
        return Reply(line, fault=Silence(30.0) if len(awaited) > 2 else None)

    session = SimpleNamespace(
        closed=False,
        request_of=lambda method, _: {"jsonrpc": "2.0", "id": 1, "method": method},
        send_together=lambda *messages: list(map(Line.sending, messages)),
        await_reply=await_reply,
    )
    monkeypatch.setattr(Limiter, "_sendings", lambda *_: BURST)
    limiter = Limiter(None)
    assert limiter._is_refused(session, {"method": "prompts/get"}, (-32000, "later")) == [False, False]
    assert len(awaited) == 3
