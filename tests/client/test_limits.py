"""Our limits: a run that meets one reports it."""

import json
import re
import sys
from contextlib import closing
from types import SimpleNamespace

import pytest

from mcp_conformance.client.listing import fetch_list
from mcp_conformance.client.message_log import (
    CUT,
    LINE_COST,
    LONG,
    MAX_LOG_BYTES,
    MAX_RESULTS,
    CompressedLine,
    DecompressedMessage,
    MessageLog,
    is_dropped,
    received,
    scan,
    weight,
)
from mcp_conformance.client.reply import Silence
from mcp_conformance.client.session import Session
from mcp_conformance.expect import require_answer
from mcp_conformance.protocol.jsonrpc import MAX_ITEMS, Line, decode
from mcp_conformance.target.probe import probe
from mcp_conformance.target.server import Server
from mcp_conformance.target.settings import Settings
from mcp_conformance.transport.interface import HEAD, Overlong
from mcp_conformance.transport.process import Splitter
from mcp_conformance.verdicts import Blocked
from mcp_conformance_fixtures.reference import SILENCE
from support import awkward, run_suite
from support.in_memory import MemorySettings, VirtualClock, mutated

SERVER = awkward("bare_minimum")
SLOW = "the checks took"


def test_a_line_that_is_too_long_is_reported():
    run = run_suite(
        awkward("big_line"), "--select", "tools.call", "--call", "all", "--max-line", "0.05", "--timeout", "2"
    )
    reason = "the answer is a line longer than this tool reads (--max-line)"
    assert [reason in case.text for case in run.of("blocked")] == [True]
    assert run.exit == 1
    assert run.of("passed")


def test_after_the_time_limit_checks_are_skipped_and_one_reports_it():
    run = run_suite(SERVER, "--fuzz", "none", "--max-time", "0.001")
    assert [case.text.count("--max-time") for case in run.of("blocked")] == [1]
    assert run.exit == 1
    assert not run.of("failed", "internal-error")
    assert re.search(r"\nverdict: not finished: the checks took .* checks did not run\n", run.output)
    assert "BLOCKED" not in run.output


def test_an_invalid_limit_is_a_usage_error():
    run = run_suite(SERVER, "--max-line", "none")
    assert run.exit == 4
    assert "--max-line: a number of megabytes above 0 is expected, not 'none'" in run.output


def test_a_long_line_is_reported_by_its_head_once_and_its_size_repeatedly():
    pieces = []
    splitter = Splitter(pieces.append, limit=HEAD)
    for _ in range(10):
        splitter.feed(b"x" * HEAD)
    splitter.feed(b"\nshort\n")
    *parts, last = pieces
    assert last == b"short"
    assert [len(one.head) for one in parts] == [HEAD, 0, 0, 0, 0, 0]
    assert [one.is_last for one in parts] == [False] * 5 + [True]
    assert sum(one.size for one in parts) == 10 * HEAD
    assert all(isinstance(one, Overlong) for one in parts)


def test_the_oldest_lines_are_dropped_first():
    lines = MessageLog()
    raw = json.dumps({"a": [1, 2, 3]}).encode()
    for number in range(2 * MAX_LOG_BYTES // weight(raw)):
        lines.keep(Line.received(raw, float(number)))
    kept = [line for line in lines if not is_dropped(line)]
    assert len(lines) == len(kept) + lines.dropped
    assert lines[-len(kept) :] == kept
    assert sum(weight(line.raw) for line in kept) <= MAX_LOG_BYTES
    assert lines[0].at == 0.0


def test_sent_lines_are_kept():
    lines = MessageLog()
    lines.keep(Line(sent=True, raw=b"ours"))
    lines.keep(Line.received(b"theirs"))
    lines.keep(Line.received(b"theirs again"))
    lines.trim(LINE_COST)
    assert [line.raw for line in lines] == [b"ours", b"", b"theirs again"]
    assert lines.dropped == 1


def test_long_sent_lines_are_cut_to_their_head():
    lines = MessageLog()
    lines.keep(Line(sent=True, raw=b"long" * MAX_LOG_BYTES, message={"id": 1}))
    lines.keep(Line(sent=True, raw=b"short"))
    lines.keep(Line(sent=True, raw=b"last" * HEAD))
    assert [(len(line.raw), line.fault) for line in lines] == [(HEAD, CUT), (5, ""), (4 * HEAD, "")]
    assert (lines[0].message, lines.dropped) == ({"id": 1}, 0)


def test_equal_results_are_in_memory_once():
    lines = MessageLog()
    kept = [Line.received(b'{"id": %d, "result": {"a": [1]}}' % number) for number in range(MAX_RESULTS)]
    others = [
        Line.received(b'{"id": 0, "result": {"a": [%s]}}' % value) for value in (b"1.0", b"true", b'"1"')
    ]
    for line in (*kept, *others):
        lines.keep(line)
    assert len({id(line.message["result"]) for line in lines}) == 1 + len(others)
    assert [str(line.message["result"]["a"][0]) for line in others] == ["1.0", "True", "1"]
    assert [line.message["id"] for line in kept] == list(range(MAX_RESULTS))


def test_results_that_differ_are_not_kept_for_ever():
    lines, taken = MessageLog(), set()
    for number in range(2 * MAX_RESULTS):
        lines.keep(Line.received(b'{"id": 1, "result": {"a": %d}}' % (number % (MAX_RESULTS + 1))))
        taken.add(id(lines[-1].message["result"]))
    assert len(taken) == 2 * MAX_RESULTS


def test_a_compressed_line_displaces_no_other():
    lines = MessageLog()
    raw = json.dumps({"id": 1, "result": {"text": LONG * "x"}}).encode()
    for number in range(2 * MAX_LOG_BYTES // len(raw)):
        lines.keep(received(raw, float(number)))
    assert lines.dropped == 0


def test_an_empty_line_is_not_a_dropped_line():
    assert not is_dropped(Line.received(b""))


def listing(number):
    return {"id": 1, "result": {"tools": [{"name": "[,]"}] * number, "nextCursor": "more"}}


@pytest.mark.parametrize("more", [1, MAX_ITEMS])
def test_the_first_items_of_a_long_list_are_read(more):
    line = Line.received(json.dumps(listing(MAX_ITEMS + more)).encode())
    assert line.message == listing(MAX_ITEMS)
    assert (line.fault, line.left_out) == ("", more)


def test_other_lists_are_read_to_their_end():
    numbers = [[0]] * (2 * MAX_ITEMS)
    for value in (listing(MAX_ITEMS), {"id": 1, "result": {"content": {"tools": numbers}, "a": numbers}}):
        assert decode(json.dumps(value).encode()) == (value, "", ())


def test_a_long_line_is_compressed_and_can_be_read():
    raws = [json.dumps({"id": number, "result": {"text": LONG * "x"}}).encode() for number in range(2)]
    lines = [received(raw, 1.0) for raw in raws]
    assert [(type(line), line.raw) for line in lines] == [(CompressedLine, raw) for raw in raws]
    assert [DecompressedMessage(line)["id"] for line in lines] == [0, 1]
    assert [line.message for line in lines] == [decode(raw)[0] for raw in raws]
    assert all(len(vars(line)["compressed"]) < LONG // 100 for line in lines)
    assert type(received(b"x" * LONG, 1.0)) is Line


def test_a_scan_is_kept_until_another_line_comes():
    session = SimpleNamespace(lines=MessageLog())
    texts = scan(lambda session: [line.text for line in session.lines])
    session.lines.keep(Line.received(b"1"))
    first = texts(session)
    assert texts(session) is first
    session.lines.keep(Line.received(b"2"))
    assert list(texts(session)) == ["1", "2"]
    session.lines.trim(0)
    assert list(texts(session)) == ["", "2"]
    session.lines.clear()
    assert list(texts(session)) == []


def test_a_scan_of_long_lines_is_not_kept():
    session = SimpleNamespace(lines=MessageLog())
    messages = scan(lambda session: [line.message for line in session.lines])
    session.lines.keep(received(b'["%s"]' % (b"a" * LONG), 0.0))
    assert list(messages(session)) == [["a" * LONG]]
    assert session.lines.scans == {}


def test_an_answer_without_a_line_end_is_not_complete():
    pieces = []
    splitter = Splitter(pieces.append, limit=HEAD)
    splitter.feed(b"x" * HEAD * 3)
    assert not any(one.is_last for one in pieces)


def ended(server):
    """Return the `Blocked` that a check raises when the process ends."""
    with server.fresh("a test") as session:
        try:
            while True:
                require_answer(session.request("tools/call", {"name": "hello", "arguments": {}}))
        except Blocked as blocked:
            return blocked


@pytest.mark.parametrize(("words", "new"), [(["exits_at_nth", "4"], 1), (["dies_of_signal"], 3)])
def test_equal_ends_are_reported_once_or_thrice_if_one_request_causes_them(words, new):
    settings = Settings((sys.executable, "-m", f"mcp_conformance_fixtures.hostile.{words[0]}", *words[1:]))
    with closing(Server(settings, probe(settings, "2025-11-25", exactly=True))) as server:
        duplicates = [server.causes.is_repeated(ended(server)) for _ in range(4)]
    assert duplicates == [False] * new + [True] * (4 - new)


def test_a_silence_is_reported_each_time():
    settings = Settings(SERVER)
    with closing(Server(settings, probe(settings, "2025-11-25", exactly=True))) as server:
        silent = Blocked("no answer", fault=Silence(1.0))
        assert [server.causes.is_repeated(silent) for _ in range(2)] == [False, False]


def next_page_in_a_while(server, request, reply):
    """Answer each page of a list after 21 s, with a cursor to the next."""
    if isinstance(request, dict) and request.get("method") == "tools/list":
        server.pages = getattr(server, "pages", 0) + 1
        result = {"tools": [], "nextCursor": f"page {server.pages}"}
        server.schedule(21.0, lambda: server.send({"jsonrpc": "2.0", "id": request["id"], "result": result}))
        return SILENCE
    return None


def test_a_list_of_slow_pages_is_given_up_after_the_time_of_ten_answers():
    settings = MemorySettings(("in-memory",), serve=mutated(next_page_in_a_while), clock=VirtualClock())
    session = Session(settings.start(), timeout=30.0)
    session.open()
    listing = fetch_list(session, "tools/list", "tools")
    assert listing.failure == "tools/list still has a nextCursor after 15 pages in 300 s"
    assert not listing.never_ends


def test_a_time_in_which_nobody_waited_is_not_shown():
    assert str(Silence(0.0)) == "no answer"
    assert str(Silence(0.004, strays=(7,))) == "no answer, but one with id 7, which no open request has"
    assert str(Silence(0.3)) == "no answer within 0.3 s"
