"""What a finding shows of a conversation: the request before a line, and the stderr since a request."""

import sys

import pytest

from mcp_conformance.client.reply import Closed, Silence
from mcp_conformance.client.session import Session
from mcp_conformance.transport.process import Process

SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    method = message["method"]
    if method == "log":
        print(method + " failed", file=sys.stderr, flush=True)
    elif method == "print":
        print("printed", flush=True)
    elif method == "die":
        sys.exit("it was too much")
    elif method == "die quietly":
        break
    if method != "silence":
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}), flush=True)
"""


@pytest.fixture
def session():
    with Session(Process([sys.executable, "-c", SERVER]), revision="2025-11-25", timeout=30) as session:
        yield session


def fail(session):
    """Make the server write to stderr, and wait until that is read: a thread of its own reads it."""
    session.request("log")
    while not session.process.stderr.endswith("\n"):
        assert session.drain().fault is None


def test_a_line_comes_with_the_last_line_sent_before_it(session):
    for method in ("log", "print"):
        session.send(method)
    session.drain()
    (printed,) = [line for line in session.received.kept_lines if line.raw == b"printed"]
    request, line = session.received.after_request(printed)
    assert request.message["method"] == "print"
    assert line is printed


def test_a_missing_answer_has_the_stderr_since_its_request(session):
    fail(session)
    fault = session.request("silence", timeout=0.1).fault
    assert isinstance(fault, Silence)
    assert fault.stderr == ""


@pytest.mark.parametrize(
    ("method", "written"), [("die", "it was too much\n"), ("die quietly", "log failed\n")]
)
def test_the_end_has_the_stderr_since_the_request_or_all_of_it(session, method, written):
    fail(session)
    fault = session.request(method).fault
    assert isinstance(fault, Closed)
    assert fault.stderr == written
