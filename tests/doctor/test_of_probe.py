"""The cause of a server that opens no session, by what the probe has seen of it already."""

import sys

import pytest

from mcp_conformance.doctor.of_probe import explained
from mcp_conformance.target.head_start import HeadStart
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance_fixtures.mutants import method
from mcp_conformance_fixtures.reference import SILENCE
from support.in_memory import MemorySettings, VirtualClock, mutated
from support.raw_server import replying

LATEST = ("latest",)
COMMAND = (sys.executable, "-c", "...")


def in_memory(mutate, clock=None):
    return MemorySettings(COMMAND, serve=mutated(mutate), clock=clock or VirtualClock())


def failure_of(settings, begun=()):
    subject = explained(probe_all(settings, LATEST, begun))
    (surface,) = subject.surfaces
    (failure,) = surface.failures
    subject.close()
    return failure


def ending(words):
    """Return a server that ends with these last words at its first request."""

    def end(server, request, reply):
        server.err.write(words.encode())
        raise SystemExit(1)

    return end


@pytest.mark.parametrize(
    ("words", "cause", "advice"),
    [
        ("OSError: [Errno 98] Address already in use", "The server opens a port that is in use", "stop the"),
        ("error: stdin is not a TTY", "The server needs a terminal", "leave out the prompt"),
        ("curses.error: setupterm needs a terminal", "The server needs a terminal", "leave out the prompt"),
        ("KeyError: 'API_TOKEN'", "The server needs the environment variable API_TOKEN", "--env API_TOKEN"),
    ],
)
def test_the_last_words_of_a_server_name_the_cause(words, cause, advice):
    failure = failure_of(in_memory(ending(words)))
    assert failure.reason.startswith(cause)
    assert "the server process ended" in failure.reason
    assert advice in failure.fix
    assert failure.verdict.args[0] == failure.reason


def test_a_silent_server_is_waited_for_once():
    clock = VirtualClock()
    settings = in_memory(lambda *_: SILENCE, clock)
    before = clock.now
    failure = failure_of(settings, HeadStart(settings, LATEST).take(settings))
    assert failure.reason.startswith("The server runs, but does not answer initialize in 30 s")
    assert "mcp-conformance doctor" in failure.fix
    assert clock.now - before < 2 * settings.start_timeout


def test_an_error_at_the_start_is_the_cause():
    def refuse(server, request, reply):
        if method(request) in ("initialize", "server/discover"):
            return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "no version"}}
        return SILENCE

    failure = failure_of(in_memory(refuse))
    assert failure.reason.startswith("The server refuses the version 2025-11-25")


def test_a_server_that_opens_a_session_has_no_cause():
    subject = probe_all(in_memory(lambda *_: None), LATEST)
    assert explained(subject) is subject
    subject.close()


@pytest.mark.parametrize(
    ("head", "cause", "advice"),
    [
        ("307 There\r\nLocation: /mcp/", "The endpoint is at another address", "/mcp/: clients lose"),
        ("302 There\r\nLocation: /login", "The server sends its caller to another page", "(/login)"),
        ("404 Not Found", "There is no MCP endpoint at this path", "--http-path"),
    ],
)
def test_over_http_the_answer_names_the_cause(head, cause, advice):
    server = replying(f"HTTP/1.1 {head}\r\nContent-Length: 4\r\n\r\noops".encode())
    try:
        failure = failure_of(over_http(server.port))
    finally:
        server.close()
    assert failure.reason.startswith(cause)
    assert "oops" in failure.reason
    assert advice in failure.fix


def test_nobody_listens():
    gone = replying()
    gone.close()
    failure = failure_of(over_http(gone.port))
    assert failure.reason.startswith("Nothing listens there; cannot connect to")
    assert failure.fix.startswith("start the server")


def over_http(port):
    url = f"http://127.0.0.1:{port}/mcp"
    return Settings((url,), http=HttpServer(url, (), "/mcp", (), float("inf")))
