"""What the line to a server over HTTP loses or refuses is never put on the server."""

import sys
from collections import Counter
from contextlib import closing
from dataclasses import replace

import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.remedies import FREE_STREAM
from mcp_conformance.report.text import connection_lines
from mcp_conformance.target.probe import probe_all
from mcp_conformance.transport.http import throttle
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance_fixtures.http_adverse import (
    Accepts,
    BlocksPosts,
    CountsCalls,
    EndsStreams,
    Exhausted,
    Limits,
    LosesReused,
    LosesSessions,
    Proxied,
    Slow,
)
from mcp_conformance_fixtures.reference_http_wire import Connection
from support.bench import Bench, checks_of, run_checks, settings_on_process
from support.http_in_thread import served
from support.nightly import nightly

HANDSHAKE = "2025-11-25"


CALLS = ("test_an_unknown_tool_is_a_protocol_error", "test_tool_names_are_case_sensitive")
UNKNOWN_SESSION = "test_a_session_id_that_was_never_assigned_gets_404"
RESPONSE_COMES = "test_a_stream_has_the_response"
CROSSING = "test_a_cancellation_that_crosses_the_answer_does_no_harm"


def found(http, handler, folder, *names, timeout=5.0):
    """Return what the checks of these names, or of suites of these names, find on a server in a thread."""
    with served(http, handler) as server, settings_on_process((), folder, timeout=timeout) as settings:
        chosen = replace(settings, http=server)
        return run_checks(
            chosen, HANDSHAKE, lambda one: {one.suite, one.name} & {*names}, is_whole=False
        ), server


def test_a_call_whose_connection_is_lost_is_carried_out_once(tmp_path):
    http = CountsCalls()
    run, server = found(http, LosesReused, tmp_path, "test_ping", "test_tools_call")
    assert [one.text for one in run.verdicts] == []
    assert len(run.passed) > 5
    assert server.tally.lost > 0
    assert [call for call, times in Counter(http.calls).items() if times > 1] == []


@pytest.mark.parametrize(
    ("http", "most", "suites"),
    [(Limits(), 100, ["test_tools_call"]), (Exhausted(), 10, ["test_lifecycle", "test_version"])],
    ids=["limits", "exhausted"],
)
def test_a_server_that_limits_requests_is_not_accused(http, most, suites, tmp_path):
    http.most = most
    run, server = found(http, Connection, tmp_path, *suites, timeout=10.0)
    assert [one.text for one in run.verdicts] == []
    assert run.passed
    assert server.tally.statuses[429] > 0
    assert server.throttle.is_exhausted == isinstance(http, Exhausted)


def test_an_open_stream_that_blocks_requests_is_named(tmp_path):
    run, _ = found(BlocksPosts(), Connection, tmp_path, "test_ping", timeout=0.3)
    (failure,) = run.failures
    assert "blocks POSTs" in failure.reason
    assert failure.fix == FREE_STREAM


@pytest.mark.parametrize(
    ("http", "rule", "got"),
    [
        (LosesSessions(), "http.session.any-connection", '"There is no such session." for each request'),
        (Accepts(), "http.post.request-content-type", "HTTP 202 Accepted without a body (for tools/list)"),
        pytest.param(
            *(EndsStreams(), "http.sse.response-comes", "with an event stream that ended without it"),
            marks=nightly,
        ),
    ],
    ids=["loses-sessions", "accepts", "ends-streams"],
)
def test_responses_without_an_answer_are_one_finding(http, rule, got, tmp_path):
    run, _ = found(http, Connection, tmp_path, "test_ping", "test_tools_call", RESPONSE_COMES)
    findings = [(one.requirement, one.reason) for one in run.failures]
    findings += [(one.error.requirement, one.error.got) for one in run.verdicts]
    assert [name for name, _ in findings] == [rule]
    assert got in findings[0][1]


@nightly
def test_what_a_proxy_loses_by_chance_is_no_finding(tmp_path, monkeypatch):
    monkeypatch.setattr(throttle, "FIRST_HOLD_SECONDS", 0.01)
    run, server = found(Proxied(), Connection, tmp_path, "test_ping", *CALLS, timeout=1.0)
    assert [one.text for one in run.verdicts] == []
    assert run.passed
    assert server.tally.statuses[502] > server.tally.recovered > 0


@nightly
def test_what_a_proxy_never_gets_through_is_a_finding(tmp_path):
    http = Proxied()
    http.every, http.methods = 1, ("tools/call", "prompts/get")
    run, _ = found(http, Connection, tmp_path, *CALLS, timeout=1.0)
    assert "HTTP 502 Bad Gateway" in "".join(one.text for one in run.verdicts)


def test_a_slow_server_gets_the_time_that_our_own_requests_take(tmp_path):
    """All notifications together take longer than one answer may."""
    http = Slow()
    http.seconds = 0.02
    run, _ = found(http, Connection, tmp_path, CROSSING, timeout=1.0)
    assert [one.text for one in run.verdicts] == []
    assert run.passed == {CROSSING}


@pytest.mark.parametrize(
    ("name", "rule", "got"),
    [
        ("ends-at-head", "http.endpoint.other-methods", "after HEAD: the process ends (exit status 1)"),
        pytest.param(
            *(
                "spoilt-by-delete",
                "http.session.delete-other",
                "after DELETE of a session: no answer: HTTP 500",
            ),
            marks=nightly,
        ),
        pytest.param(
            *("one-session", "lifecycle.initialize.responds", "when one is open: error -32600"), marks=nightly
        ),
    ],
)
def test_an_exchange_that_spoils_a_server_is_the_only_finding(name, rule, got, tmp_path):
    command = (sys.executable, "-m", "mcp_conformance_fixtures.http_adverse", name, "{port}")
    http = HttpServer(command=command)
    with closing(http), settings_on_process(command, tmp_path, timeout=5.0) as settings:
        run = run_checks(replace(settings, http=http), HANDSHAKE, concerns_sessions, is_whole=False)
    findings = [(one.requirement, one.reason) for one in run.failures]
    findings += [(one.row.id, one.error.got) for one in run.verdicts]
    assert [found for found, _ in findings] == [rule]
    assert got in findings[0][1]
    assert http.is_spoilt
    assert len(run.passed) >= 25


@nightly
@pytest.mark.parametrize("mutant", ["unknown_session_gets_400", ""])
def test_a_session_of_before_a_restart_must_get_404(mutant, tmp_path):
    words = ("--port", "{port}", *filter(None, [mutant]))
    command = (sys.executable, "-m", "mcp_conformance_fixtures.reference_http", *words)
    http = HttpServer(command=command)
    with closing(http), settings_on_process(command, tmp_path, timeout=5.0) as settings:
        bench = Bench(probe_all(replace(settings, http=http), (HANDSHAKE,)), HANDSHAKE)
        assert bench.server.session.drain().fault is None
        http.terminate()
        assert http.wait(5.0) is not None
        verdicts = bench.run_all([one for one in checks_of(HANDSHAKE) if one.name == UNKNOWN_SESSION])
        bench.server.close()
    assert [one.outcome for one in verdicts] == [Outcome.WARNED] * bool(mutant)
    assert bench.passed == (set() if mutant else {UNKNOWN_SESSION})


def concerns_sessions(check):
    """Select checks that open sessions over HTTP, or send unusual requests."""
    return check.suite in ("test_http_endpoint", "test_http_session", "test_ping", "test_lifecycle")


def test_the_report_says_how_a_server_was_spared():
    (line,) = connection_lines(Counter(), rate=1.5, asked=60.0)
    assert "asked for waits of up to 60 s" in line
    assert "--rate 1.5 " in line


def test_the_report_says_what_the_connections_have_lost():
    numbers = Counter({("reused", ""): 49, ("lost", ""): 2, ("status", "429"): 3, ("status", "502"): 1})
    lost, busy = connection_lines(numbers)
    assert lost.startswith("connections: 2 of 49 requests on a reused connection got no byte of a response")
    assert busy == "busy: the server, or a proxy before it, answered 3 with HTTP 429, 1 with HTTP 502"
    assert list(connection_lines(Counter({("reused", ""): 49}))) == []
    numbers["waited", ""] = 7
    assert list(connection_lines(numbers))[1].endswith(
        "; pings and lists were sent again after waits of 7 s in all"
    )
