"""Measure the calls per second over HTTP, and the seconds of a whole run over HTTP and over stdio.

    python benchmarks/http_cost.py                 # about two minutes
    python benchmarks/http_cost.py --rounds 1

The server is the reference server.  The bare client writes prepared requests to one socket and reads the
bodies; a session makes the same calls, one at a time and several in flight.  The ways take turns, so that
other load of the machine affects all of them; the median of the rounds is printed, with the extremes.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from statistics import median
from typing import IO

from mcp_conformance.client.session import Session
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.transport.http.headers import ACCEPT, JSON, Mirror
from mcp_conformance.transport.http.lines import HttpLines
from mcp_conformance.transport.http.request import Request
from mcp_conformance.transport.http.server import PORT, HttpServer
from mcp_conformance.transport.process import Process
from mcp_conformance_fixtures.reference_modern import STEP

REVISIONS = ("2025-11-25", "2026-07-28")
PARAMS = {"name": "add", "arguments": {"a": 1, "b": 2}}
CALLS = 3000
IN_FLIGHT = 8
START_SECONDS = 10.0
OVER_STDIO = ("--", sys.executable, "-m", "mcp_conformance_fixtures.reference")
SERVER = (sys.executable, "-m", "mcp_conformance_fixtures.reference_http", "--port", PORT)
OVER_HTTP = ("--http", "--", *SERVER, "--step", str(STEP))
"""The reference over HTTP, with the pauses that it has over stdio."""
RUN = (sys.executable, "-m", "mcp_conformance", "run", "--call", "all")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    server = HttpServer("", SERVER)
    server.ready(started, START_SECONDS)
    with closing(server):
        for revision in REVISIONS:
            show_calls(server, revision, rounds)
    seconds = [(run_seconds(*OVER_STDIO), run_seconds(*OVER_HTTP)) for _ in range(rounds)]
    stdio, http = zip(*seconds, strict=True)
    print(f"a whole run over stdio: {shown(stdio)} s, over HTTP: {shown(http)} s")
    print(f"HTTP to stdio: {shown([one / other for other, one in seconds], 2)}")


def started(command: tuple[str, ...]) -> Process:
    """Start the server."""
    return Process(command)


def show_calls(server: HttpServer, revision: str, rounds: int) -> None:
    """Print the calls per second of each way in a revision."""
    ways = {
        "bare client": partial(bare_rate, server, revision),
        "session, one at a time": partial(session_rate, server, revision, 1),
        f"session, {IN_FLIGHT} in flight": partial(session_rate, server, revision, IN_FLIGHT),
    }
    found = [[rate() for rate in ways.values()] for _ in range(rounds)]
    for way, rates in zip(ways, zip(*found, strict=True), strict=True):
        print(f"{revision} {way}: {shown(rates, 0)} calls a second")


def session_rate(server: HttpServer, revision: str, in_flight: int) -> float:
    """Return the calls per second of a session."""
    with closing(Session(HttpLines(server), revision=revision)) as session:
        session.open()
        begun, open_calls = time.monotonic(), []
        for _ in range(CALLS):
            open_calls.append(session.send("tools/call", PARAMS))
            if len(open_calls) == in_flight:
                assert session.await_reply(open_calls.pop(0)).value is not None
        for call in open_calls:
            assert session.await_reply(call).value is not None
        return CALLS / (time.monotonic() - begun)


def bare_rate(server: HttpServer, revision: str) -> float:
    """Return the calls per second of a client that only writes and reads."""
    lines = HttpLines(server)
    with closing(Session(lines, revision=revision)) as session:
        session.open()
        messages = [session.request_of("tools/call", PARAMS) for _ in range(CALLS)]
        requests = [prepared(server, lines.mirror, message) for message in messages]
        with socket.create_connection((server.endpoint.host, server.endpoint.port)) as connected:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            responses = connected.makefile("rb")
            begun = time.monotonic()
            for request in requests:
                connected.sendall(request)
                assert b'"result"' in body_of(responses)
            return CALLS / (time.monotonic() - begun)


def prepared(server: HttpServer, mirror: Mirror, message: dict[str, object]) -> bytes:
    """Return the bytes of the POST that carries a message."""
    return Request.to(
        server.endpoint, "POST", (JSON, ACCEPT, *mirror.headers(message)), encode(message)
    ).encoded


def body_of(responses: IO[bytes]) -> bytes:
    """Read a response, and return its body; it must have a Content-Length."""
    length = 0
    while (line := responses.readline()) != b"\r\n":
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    return responses.read(length)


def run_seconds(*arguments: str) -> float:
    """Return the seconds of a run of all suites, which must pass."""
    begun = time.monotonic()
    subprocess.run([*RUN, *arguments], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


def shown(figures: Sequence[float], digits: int = 1) -> str:
    """Return the median, with the extremes."""
    return f"{median(figures):,.{digits}f} ({min(figures):,.{digits}f} to {max(figures):,.{digits}f})"


if __name__ == "__main__":
    main()
