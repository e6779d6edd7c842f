"""Limits of ours are met with a word, never in silence."""

import json

from support import awkward, run_suite

from conformance.keeping import CUT, LINE_COST, MOST_KEPT, Lines, is_let_go, weight
from conformance.process import HEAD, Overlong, Splitter
from conformance.wire import Line

SERVER = awkward("bare_minimum")
SLOW = "the checks took"


def test_a_line_that_is_too_long_is_named():
    run = run_suite(
        awkward("big_line"), "--select", "tools.call", "--call", "all", "--max-line", "0.05", "--timeout", "2"
    )
    assert "a line longer than this tool reads (--mcp-max-line)" in run.output
    assert run.exit == 1
    assert run.of("passed")


def test_when_the_time_is_up_the_rest_is_skipped_and_one_check_says_so():
    run = run_suite(SERVER, "--profile", "none", "--max-time", "0.001")
    assert [case.text.count("--mcp-max-time") for case in run.of("blocked")] == [1]
    assert run.exit == 1
    assert not run.of("failed", "crashed")


def test_a_wrong_limit_is_one_clear_line():
    run = run_suite(SERVER, "--max-line", "none")
    assert run.exit == 4
    assert "--mcp-max-line: a number of megabytes above 0 is expected, not 'none'" in run.output


def test_of_a_long_line_the_head_is_told_once_and_the_size_again_and_again():
    told = []
    splitter = Splitter(told.append, limit=HEAD)
    for _ in range(10):
        splitter.feed(b"x" * HEAD)
    splitter.feed(b"\nshort\n")
    *parts, last = told
    assert last == b"short"
    assert [len(one.head) for one in parts] == [HEAD, 0, 0, 0, 0]
    assert sum(one.size for one in parts) == 10 * HEAD
    assert all(isinstance(one, Overlong) for one in parts)


def test_lines_are_let_go_of_in_their_order():
    lines = Lines()
    raw = json.dumps({"a": [1, 2, 3]}).encode()
    for number in range(2 * MOST_KEPT // weight(raw)):
        lines.keep(Line.received(raw, float(number)))
    kept = [line for line in lines if not is_let_go(line)]
    assert len(lines) == len(kept) + lines.let_go
    assert lines[-len(kept) :] == kept
    assert sum(weight(line.raw) for line in kept) <= MOST_KEPT
    assert lines[0].at == 0.0


def test_lines_of_ours_are_kept():
    lines = Lines()
    lines.append(Line(sent=True, raw=b"ours"))
    lines.keep(Line.received(b"theirs"))
    lines.keep(Line.received(b"theirs again"))
    lines.thin(LINE_COST)
    assert [line.raw for line in lines] == [b"ours", b"", b"theirs again"]
    assert lines.let_go == 1


def test_of_long_lines_of_ours_the_beginning_is_kept():
    lines = Lines()
    lines.keep(Line(sent=True, raw=b"long" * MOST_KEPT, message={"id": 1}))
    lines.keep(Line(sent=True, raw=b"short"))
    lines.keep(Line(sent=True, raw=b"last" * HEAD))
    assert [(len(line.raw), line.fault) for line in lines] == [(HEAD, CUT), (5, ""), (4 * HEAD, "")]
    assert (lines[0].message, lines.let_go) == ({"id": 1}, 0)


def test_an_empty_line_is_not_one_that_was_let_go():
    assert not is_let_go(Line.received(b""))
