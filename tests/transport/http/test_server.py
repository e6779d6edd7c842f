"""The HTTP server of a run: started with a port, replaced when it ends, or found at a URL."""

import sys

import pytest

from mcp_conformance.transport.http.client import Client
from mcp_conformance.transport.http.request import Request
from mcp_conformance.transport.http.server import HttpServer
from mcp_conformance.transport.interface import CannotStart, NotServing
from mcp_conformance.transport.process import Process
from support.raw_server import replying

SECONDS = 20.0
ONE_EXCHANGE = """
import http.server, sys
print("noise on stdout " * 1000, flush=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print("asked", file=sys.stderr, flush=True)
        import os; os._exit(3)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def started():
    """Return a function from Python code to a server that is ready; its first argument is the port."""
    servers = []

    def start(code, timeout=SECONDS):
        servers.append(HttpServer(command=(sys.executable, "-c", code, "{port}")))
        servers[-1].ready(Process, timeout)
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def test_a_server_is_started_once_and_again_when_it_has_ended(started):
    server = started(ONE_EXCHANGE)
    port = server.endpoint.port
    server.ready(Process, SECONDS)
    assert (server.starts, server.endpoint.port) == (1, port)
    client = Client(server.endpoint)
    exchange = client.begin(Request.to(server.endpoint, "GET"))
    exchange.wait(SECONDS)
    assert server.has_gone(exchange)
    assert server.exit_code == 3
    assert server.stderr_since(0.0).strip() == "asked"
    server.ready(Process, SECONDS)
    assert server.starts == 2
    client.close()


def test_a_server_that_ends_before_it_listens_cannot_start(started):
    with pytest.raises(NotServing, match=r"ended \(exit status 2\) before it listened") as failed:
        started("import sys; print('no database', file=sys.stderr); sys.exit(2)")
    assert failed.value.stderr == "no database\n"


def test_a_server_that_never_listens_cannot_start(started):
    with pytest.raises(CannotStart, match=r"does not listen on port \d+ after 0\.2 s"):
        started("import sys; sys.stdin.read()", timeout=0.2)


def test_a_url_where_nothing_listens_cannot_start():
    gone = replying()
    gone.close()
    server = HttpServer(f"http://127.0.0.1:{gone.port}/mcp")
    with pytest.raises(CannotStart, match="refused the connection"):
        server.ready(Process, SECONDS)


def test_the_url_of_a_server_is_an_http_url():
    with pytest.raises(ValueError, match="not a URL"):
        HttpServer("ftp://x")
