"""A server over HTTP that is asked to end: what is judged, and what is not."""

import sys
from dataclasses import replace

import pytest

from mcp_conformance.client.reply import Closed
from mcp_conformance.protocol.revisions import LATEST_MODERN
from mcp_conformance.scenarios import http_shutdown
from mcp_conformance.scenarios.http_shutdown import end_of_subscription
from mcp_conformance.target.probe import probe_all
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance.verdicts import Skipped
from mcp_conformance_fixtures.reference_http import HttpReference
from support.bench import Bench, settings_on_process
from support.http_in_thread import served
from support.nightly import nightly

START = "import os, signal, sys; from mcp_conformance_fixtures import reference_http as server\n"
SERVE = "\nserver.main(['--port', sys.argv[1]])"
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="the signal is one of POSIX")


@pytest.fixture
def ended(tmp_path):
    """Return a function from a server to what became of its subscription, and to its starts."""

    def found(http):
        with settings_on_process((), tmp_path, timeout=5.0, start_timeout=10.0) as settings:
            subject = probe_all(replace(settings, command=http.command, http=http), (LATEST_MODERN,))
            bench = Bench(subject, LATEST_MODERN, is_whole=False)
            try:
                return end_of_subscription(bench.server), bench.server.processes.starts
            finally:
                bench.server.close()
                subject.close()
                http.close()

    return found


def running(code, *words):
    return HttpServer(command=(sys.executable, "-c", START + code + SERVE, "{port}", *words))


@posix_only
def test_a_right_server_ends_a_subscription_with_a_result(ended):
    http = running("")
    reply, starts = ended(http)
    assert reply.value.get("resultType").json == "complete"
    assert http.starts == starts["a server that is asked to end"] == 1


@posix_only
def test_a_server_that_handles_no_signal_ends_without_an_answer(ended):
    reply, _ = ended(running("signal.signal = lambda *_: None"))
    assert isinstance(reply.fault, Closed)
    assert str(reply.fault) == "the server process ended (signal 15)"


@nightly
@posix_only
def test_a_server_that_goes_on_is_not_judged(ended, monkeypatch):
    monkeypatch.setattr(http_shutdown, "SHUTDOWN_SECONDS", 0.3)
    ignored = "handle = signal.signal\nsignal.signal = lambda number, _: handle(number, signal.SIG_IGN)"
    with pytest.raises(Skipped, match="the subscription of a server that got SIGTERM goes on"):
        ended(running(ignored))


@nightly
@posix_only
def test_a_server_that_runs_only_once_is_not_judged(ended, tmp_path):
    with pytest.raises(Skipped, match="no second process of the server starts beside the first one"):
        ended(running("os.mkdir(sys.argv[2])", str(tmp_path / "lock")))


@posix_only
def test_a_server_without_subscriptions_is_not_judged(ended):
    code = "server.reference_modern.Modern.listen = lambda *_: server.reference_modern.need(False, 'no')"
    with pytest.raises(Skipped, match="no listen request was acknowledged"):
        ended(running(code))


def test_a_server_that_others_have_started_is_not_asked_to_end(ended):
    with served(HttpReference()) as server, pytest.raises(Skipped, match="not started by this run"):
        ended(server)


@nightly
@pytest.mark.skipif(sys.platform != "linux", reason="the processes of a server are seen on Linux")
def test_a_server_in_a_process_of_its_own_is_not_judged(ended):
    child = "import subprocess\nsubprocess.Popen(['sleep', '60'])\n"
    with pytest.raises(Skipped, match="starts the server as another process"):
        ended(running(child))
