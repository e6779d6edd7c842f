"""What fuzzing finds is shrunk to the obvious, whatever the seed, and replayed from its transcript."""

import json
import os
import subprocess
import sys

import pytest
from support import REFERENCE, environment, mutant, run_suite

from conformance.process import Process
from conformance.transcript import BadTranscript, Transcript, reduced, replay
from conformance.wire import Line

QUICK = ("--timeout", "5")


def blocked(name, *options, tool="echo", cwd=None):
    run = run_suite(
        mutant(name), "--select", f"jsonrpc.response-every-request[{tool}]", *QUICK, *options, cwd=cwd
    )
    return [case.text for case in run.of("failed", "blocked")]


@pytest.mark.parametrize("seed", range(2))
def test_an_empty_text_is_found_and_shrunk(seed):
    texts = blocked("an_empty_text_is_never_answered", "--seed", str(seed))
    assert any('valid arguments {"text":""}: no answer' in text for text in texts), texts


@pytest.mark.parametrize("seed", range(10))
def test_a_negative_number_is_found_and_shrunk(seed):
    select = ("--select", "jsonrpc.response-every-request[add]", "--seed", str(seed))
    run = run_suite(mutant("a_negative_sum_is_a_text"), *select)
    (failed,) = run.of("failed")
    assert '{"a":-1,"b":0}' in failed.text
    assert failed.requirement == "tools.structured.conforms"


def test_a_failure_that_needs_other_calls_before_says_how_many():
    texts = blocked("call_of_echo_no_twenty_is_the_end")
    assert all("(on a fresh server, after 19 other calls)" in text for text in texts), texts
    assert texts


def test_a_failure_is_replayed(tmp_path):
    texts = blocked("deep_arguments_are_the_end", cwd=tmp_path)
    assert texts
    (file, *_) = sorted((tmp_path / ".mcp-conformance").glob("*.jsonl"))
    same = replay_again(file)
    assert same.returncode == 0, same.stdout
    assert same.stdout.endswith("the answers are the same\n")
    other = replay_again(file, "--", *REFERENCE)
    assert other.returncode == 1
    assert "- (no answer)" in other.stdout
    assert "1 answers differ from the transcript" in other.stdout


def replay_again(file, *words):
    command = [sys.executable, "-m", "conformance", "replay", str(file), *words]
    return subprocess.run(
        command,
        cwd=file.parent,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_right_server_is_fuzzed_without_a_word():
    run = run_suite(REFERENCE, "--select", "jsonrpc", "--call", "all", "--profile", "thorough", timeout=300)
    assert run.findings == []
    assert run.exit == 0


# Transcripts


def lines():
    return (
        Line(sent=True, raw=b'{"jsonrpc":"2.0","id":1,"method":"ping"}', at=0.5),
        Line.received(b'{"jsonrpc":"2.0","id":1,"result":{}}', 0.75),
        Line(sent=True, raw=b"\xff not JSON", at=1.0),
    )


def test_a_transcript_keeps_every_byte(tmp_path):
    Transcript(("server", "--flag"), "2025-11-25", "a test", lines()).write(tmp_path / "new" / "t.jsonl")
    read = Transcript.read(tmp_path / "new" / "t.jsonl")
    assert read.command == ("server", "--flag")
    assert [(line.sent, line.raw) for line in read.lines] == [(line.sent, line.raw) for line in lines()]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: a header"),
        ("{}\n", "line 1: a header"),
        ("nonsense\n", "line 1: not JSON"),
        ("[]\n", "line 1: an object is expected"),
        (
            '{"format": 1, "command": [], "revision": "x", "about": "x"}\n{"sent": true}\n',
            "a member is missing",
        ),
    ],
)
def test_a_file_that_is_no_transcript_is_refused(tmp_path, text, said):
    (tmp_path / "t.jsonl").write_text(text)
    with pytest.raises(BadTranscript, match=said):
        Transcript.read(tmp_path / "t.jsonl")


def test_replay_compares_answers(tmp_path):
    Transcript(REFERENCE, "2025-11-25", "a test", lines()[:2]).write(tmp_path / "t.jsonl")
    transcript = Transcript.read(tmp_path / "t.jsonl")
    (step,) = replay(transcript, Process(REFERENCE, env=dict(os.environ)), 10)
    assert not step.differs
    assert json.loads(step.now.raw)["result"] == {}


@pytest.mark.parametrize("guilty", [{3}, {0, 7}, {2, 5, 6}, set(range(8))])
def test_reduced_keeps_only_what_is_needed(guilty):
    assert set(reduced(range(8), lambda kept: guilty <= set(kept), most=200)) == guilty
