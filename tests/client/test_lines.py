"""Lines that are not UTF-8, and lines that are long."""

import json
import sys
from dataclasses import fields

import pytest

from mcp_conformance.client.message_log import (
    CUT,
    HEAD,
    LONG,
    CompressedLine,
    head_of,
    received,
    without_message,
)
from mcp_conformance.client.session import Session
from mcp_conformance.protocol.jsonrpc import ABSENT, Line, encode, foreign_encoding
from mcp_conformance.transport.interface import Overlong
from mcp_conformance.transport.process import Splitter
from mcp_conformance_fixtures.reference import SILENCE
from support.in_memory import MemorySettings, VirtualClock, mutated


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ('{"a": "\xe9"}'.encode("cp1252"), "Windows-1252"),
        ('{"a": "\xe9"}'.encode("utf-16"), "UTF-16"),
        (b"\xff\xfe\x00", ""),
        (b"Listening\xe9", ""),
    ],
)
def test_the_encoding_of_a_line_that_is_json_is_named(raw, name):
    assert foreign_encoding(raw) == name


def test_a_long_line_is_cut_or_loses_its_message():
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"text": "x" * 2 * LONG}}).encode()
    line = received(raw, 1.0)
    assert isinstance(line, CompressedLine)
    assert (head_of(line).raw, head_of(line).fault) == (raw[:HEAD], CUT)
    assert (without_message(line).raw, without_message(line).message) == (raw, ABSENT)


def test_a_long_line_keeps_all_that_is_known_of_it():
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"text": "x" * 2 * LONG}}).encode()
    line = Line(sent=False, raw=raw, at=1.0, fault="odd", carried_by="HTTP 200", status=200, is_lost=True)
    kept = CompressedLine(line)
    names = {one.name for one in fields(Line)} - {"message"}
    assert {name: getattr(kept, name) for name in names} == {name: getattr(line, name) for name in names}


def session_with(mutate, timeout):
    settings = MemorySettings(("in-memory",), serve=mutated(mutate), clock=VirtualClock())
    session = Session(settings.start(), timeout=timeout)
    session.open()
    return session


@pytest.mark.parametrize("written_at", [0.9, 0.999])
def test_a_line_whose_end_comes_after_the_timeout_is_the_answer(written_at):
    def slow(server, request, reply):
        if not isinstance(request, dict) or request.get("method") != "ping":
            return None
        server.schedule(written_at, lambda: server.send_raw(encode(reply)))
        server.schedule(1.3, lambda: server.send_raw(b"\n"))
        return SILENCE

    session = session_with(slow, timeout=1.0)
    assert session.request("ping").value is not None
    assert session.inbox.unended is None


def test_a_line_is_never_seen_without_the_end_it_has():
    """The thread of a session reads what has no end yet, while another thread splits lines."""
    splitter, seen = Splitter(lambda _: None), set()
    sys.settrace(lambda *_: lambda *_: seen.add(splitter.unended))
    try:
        splitter.feed(b'{"jsonrpc": ')
        splitter.feed(b'"2.0"}\n')
    finally:
        sys.settrace(None)
    assert seen == {b"", b'{"jsonrpc": '}


def test_a_flood_says_what_came_instead_of_the_answer():
    session = session_with(lambda *_: None, timeout=1.0)
    for _ in range(3):
        session.request("ping")
    line = session.send("ping")
    session.wait_for(lambda: session.is_answered(line), 1.0)
    session.process.exit_code = 0
    session.process._lines.append((9.0, Overlong(b"x" * 50, 112_000_000)))
    fault = session.request("ping").fault
    assert str(fault).startswith("no answer among the line (112 MB) the server wrote instead, the last")
