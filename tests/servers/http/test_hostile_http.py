"""A run ends by itself, and with a verdict, whatever a server over HTTP does."""

import json
import re
import threading
import time

import pytest

from mcp_conformance.cli.main import main
from support.nightly import some_of
from support.raw_server import RawServer

ID = re.compile(rb'"id":("[^"]*"|\d+)')
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\n"
STREAM, JSON = HEAD % b"text/event-stream", HEAD % b"application/json"
OPENED = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
LIMIT_SECONDS = 60.0
"""Far more than any of these runs takes on a busy machine."""
QUICK = ("--timeout", "1", "--start-timeout", "1", "--fuzz", "none", "--max-line", "1")


def endless(connection, begin, more):
    """Send some bytes, then others until the client closes the connection."""
    connection.sendall(begin)
    while True:
        connection.sendall(more)


def body(message):
    text = json.dumps(message).encode()
    return JSON + b"Content-Length: %d\r\n\r\n" % len(text) + text


def opened(request):
    """Return the response to initialize, and to what needs none; None for other requests."""
    if b'"initialize"' in request:
        return body({"jsonrpc": "2.0", "id": json.loads(ID.search(request)[1]), "result": OPENED})
    if b'"id"' not in request and request.startswith(b"POST"):
        return b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
    return b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n" if request.startswith(b"GET") else None


AT_ONCE = {
    "silent": lambda connection, _: connection.recv(1),
    "endless head": lambda connection, _: endless(
        connection, HEAD % b"x", b"X-More: " + b"y" * 60_000 + b"\r\n"
    ),
    "endless body": lambda connection, _: endless(connection, JSON + b"\r\n", b"[" * 60_000),
    "endless event": lambda connection, _: endless(connection, STREAM + b"\r\ndata: ", b"x" * 60_000),
    "endless events": lambda connection, _: endless(connection, STREAM + b"\r\n", b"data: {}\n\n" * 6000),
    "endless comments": lambda connection, _: endless(connection, STREAM + b"\r\n", b": here\n\n" * 6000),
    "garbage": lambda connection, _: connection.sendall(b"\0\xff" * 1000),
    "hung up": lambda *_: None,
    "half a head": lambda connection, _: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-"),
    "a page": lambda connection, _: connection.sendall(
        HEAD % b"text/html" + b"Content-Length: 6\r\n\r\n<html>"
    ),
}
LATER = {
    "never answers after initialize": AT_ONCE["silent"],
    "endless events after initialize": AT_ONCE["endless events"],
    "streams that end at once and can be resumed": lambda connection, _: connection.sendall(
        STREAM + b"Connection: close\r\n\r\nid: 1\nretry: 1\ndata:\n\n"
    ),
}


@pytest.fixture
def run():
    """Return a function that runs the suite on a server, and returns the exit status and the seconds."""
    servers = []

    def begin(serve):
        def answer(connection):
            while request := server.read_request(connection):
                if (reply := serve(connection, request)) is None:
                    return
                connection.sendall(reply)

        server = RawServer(answer)
        servers.append(server)
        begun = time.monotonic()
        status = main(["run", *QUICK, "--url", f"http://127.0.0.1:{server.port}/mcp"])
        return status, time.monotonic() - begun

    yield begin
    for server in servers:
        server.close()
    assert [one.name for one in threading.enumerate() if "_work" in one.name] == []


@pytest.mark.parametrize("name", some_of(AT_ONCE, 3))
def test_a_server_that_never_opens_did_not_start(name, run):
    status, seconds = run(AT_ONCE[name])
    assert status == 6
    assert seconds < LIMIT_SECONDS


@pytest.mark.parametrize("name", some_of(LATER, 3))
def test_a_server_that_opens_and_goes_wrong_does_not_conform(name, run):
    status, seconds = run(lambda connection, request: opened(request) or LATER[name](connection, request))
    assert status == 1
    assert seconds < LIMIT_SECONDS
