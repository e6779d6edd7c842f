"""Servers in a network in which the tests are every host."""

import os
import sys
from contextlib import contextmanager

import pytest

from mcp_conformance.backend.choice import Choice, backend, sicknesses
from mcp_conformance.sandbox.confined import Confined
from mcp_conformance.sandbox.policy import Unavailable
from mcp_conformance.transport.process import Process

ASKER = """
import sys, urllib.request
for line in sys.stdin:
    kind, _, url = line.strip().partition(" ")
    try:
        asked = urllib.request.Request(url, b"body" if kind == "POST" else None, {"X-Key": "key-of-ours"})
        with urllib.request.urlopen(asked, timeout=20) as answer:
            print(answer.status, answer.read().decode()[:40], flush=True)
    except Exception as error:
        reason = getattr(error, "reason", None)
        shown = reason if isinstance(reason, Exception) else error
        print(type(shown).__name__, getattr(error, "code", ""), flush=True)
"""
"""A program that sends the requests that it reads."""


CHOSEN = "503,500,429,429-date,401,cut,large,elsewhere,reset,silent"
"""One sickness of each kind, and what the mutants need."""


def sick_network():
    """Return a network with a sick API; None where a process gets none of its own."""
    try:
        return backend(Choice(sicknesses(CHOSEN)))
    except Unavailable:
        return None


def require_network():
    """Skip the test where a process gets no network of its own."""
    try:
        backend(Choice())
    except Unavailable as reason:
        pytest.skip(str(reason))


class Program:
    """A running program: a call hands it a line, and returns the line that it writes."""

    def __init__(self, process):
        self.process = process

    def __call__(self, line):
        self.process.write(f"{line}\n".encode())
        came = self.process.read(30)
        assert came is not None
        assert isinstance(came[1], bytes), self.process.stderr
        return came[1].decode().strip()


@contextmanager
def program(network, text=ASKER, own=(), listens=False):
    """Give a program that runs in the network."""
    plain = Confined((sys.executable, "-c", text), os.environ)
    confined = network.around(plain, dict(own), listens=listens)
    process = Process(("program",), confined=confined)

    try:
        yield Program(process)
    finally:
        process.stop()
