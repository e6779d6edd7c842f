"""What fuzzing finds is shrunk to the obvious, whatever the seed, and replayed from its transcript."""

import json
import os
import re
import subprocess
import sys

import pytest
from support import REFERENCE, environment, forked, mutant, run_suite

from conformance.client.transcript import BadTranscript, Transcript, replay
from conformance.fuzzing.reduction import reduced
from conformance.protocol.jsonrpc import Line
from conformance.transport.process import Process

QUICK = ("--timeout", "5", "--revision", "2025-11-25")


def blocked(name, *options, tool="echo", cwd=None):
    run = run_suite(
        mutant(name), "--select", f"jsonrpc.response-every-request[{tool}]", *QUICK, *options, cwd=cwd
    )
    return [case.text for case in run.of("failed", "blocked")]


def found_in(name, tool, *options, cwd=None):
    """What is told of one tool of a mutant."""
    select = [f"jsonrpc.response-every-request[{tool}]", f"tools.call.inputs-validated[{tool}]"]
    words = [word for one in select for word in ("--select", one)]
    return run_suite(mutant(name), *words, *QUICK, *options, cwd=cwd)


@pytest.mark.parametrize("seed", range(2))
def test_an_empty_text_is_found_and_shrunk(seed):
    texts = blocked("an_empty_string_is_never_answered", "--seed", str(seed))
    assert any('valid arguments {"text":""}: no answer' in text for text in texts), texts


@pytest.mark.parametrize("seed", range(10))
def test_a_negative_number_is_found_and_shrunk(seed):
    run = found_in("a_negative_sum_is_a_text", "add", "--seed", str(seed))
    (failed,) = run.of("failed")
    assert '{"a":-1,"b":0}' in failed.text
    assert failed.requirement == "tools.structured.conforms"


@pytest.mark.parametrize("seed", range(10))
def test_a_missing_result_is_found_and_shrunk(seed):
    run = found_in("a_long_forecast_is_not_structured", "weather", "--seed", str(seed))
    (failed,) = run.of("failed")
    assert re.search(r'valid arguments {"city":"(example)?","days":4}:', failed.text), failed.text
    assert failed.requirement == "tools.structured.present"


def test_what_failed_before_is_tried_first(tmp_path):
    ids = []
    for seed in "01":
        (failed,) = found_in("a_negative_sum_is_a_text", "add", "--seed", seed, cwd=tmp_path).of("failed")
        ids.append(int(re.search(r'> .*"id":(\d+)', failed.text)[1]))
    assert ids[0] > 2
    assert ids[1] == 2  # the first request after initialize


def test_a_failure_that_needs_other_calls_before_says_how_many():
    texts = blocked("the_twentieth_call_of_echo_ends_the_server")
    assert all("(on a fresh server, after 19 other requests)" in text for text in texts), texts
    assert texts


def test_a_failure_that_never_comes_again_is_flaky_and_both_conversations_are_kept(tmp_path):
    server = tmp_path / "server"
    server.mkdir()
    found = found_in("a_long_string_ends_the_server_once", "echo", "--cwd", str(server), cwd=tmp_path)
    (text,) = [case.text for case in found.of("failed", "blocked")]
    assert "it happened once" in text
    assert "flaky" in text
    folder = tmp_path / ".mcp-conformance"
    assert (folder / ".gitignore").read_text() == "*\n"
    first, again = sorted(folder.glob("*.jsonl"))
    assert f"replay {first.relative_to(tmp_path)} or {again.relative_to(tmp_path)}" in text
    assert Transcript.read(first).lines[-1].sent
    assert not Transcript.read(again).lines[-1].sent


def test_an_error_in_the_wrong_channel_is_told_once():
    (note,) = found_in("too_many_days_are_an_internal_error", "weather").findings
    assert note.requirement == "tools.call.invalid-arguments-channel"
    assert '"days":6' in note.text


PLACES = {
    "type": "/id /name /count /price /tags /place",
    "pattern": "/id",
    "minLength": "/name",
    "maxLength": "/name /labels",
    "minimum": "/count",
    "maximum": "/count",
    "exclusiveMinimum": "/price",
    "exclusiveMaximum": "/price",
    "multipleOf": "/price",
    "enum": "/unit",
    "const": "/version",
    "items": "/tags /place",
    "minItems": "/tags",
    "maxItems": "/tags",
    "uniqueItems": "/tags",
    "prefixItems": "/place",
    "contains": "/marks",
    "oneOf": "/payment",
    "anyOf": "/contact",
    "not": "/colour",
    "propertyNames": "/labels",
    "maxProperties": "/labels",
    "minProperties": "/labels",
    "patternProperties": "/sizes",
    "required": "the-root /contact",
    "additionalProperties": "the-root",
    "dependentRequired": "the-root",
}
"""Where a server that does not check a keyword is caught."""


@pytest.mark.parametrize("keyword", PLACES)
def test_a_server_that_does_not_check_a_keyword_is_caught(keyword):
    server = (sys.executable, "-m", "conformance.fixtures.validating", keyword)
    run = run_suite(server, "--select", "tools.call.inputs-validated[order]", *QUICK)
    failed = run.of("failed")
    assert {case.requirement for case in failed} == {"tools.call.inputs-validated"}, run.output
    places = re.findall(
        r"a refusal \(\S+(?: '[^']*')? at (?:(/\w+)|the (root))", "\n".join(c.text for c in failed)
    )
    assert {place or f"the-{root}" for place, root in places} <= set(PLACES[keyword].split()), run.output
    assert places


def test_a_server_that_checks_every_keyword_is_not_accused():
    server = (sys.executable, "-m", "conformance.fixtures.validating")
    run = run_suite(server, "--select", "tools.call.inputs-validated[order]", *QUICK)
    assert run.findings == []
    assert run.of("passed")


def test_a_failure_is_replayed(tmp_path):
    texts = blocked("deep_arguments_end_the_server", cwd=tmp_path)
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
    run = run_suite(REFERENCE, "--select", "jsonrpc", "--call", "all", "--fuzz", "thorough", timeout=300)
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


SECRET = "hush-hush-42"


def test_a_transcript_has_no_credentials_and_wants_the_command_again(tmp_path):
    command = (*REFERENCE, "--token", SECRET)
    echo = Line.received(f'{{"jsonrpc":"2.0","id":1,"result":{{"a":"{SECRET} other-secret"}}}}'.encode())
    path = tmp_path / "t.jsonl"
    about = f"a test of {SECRET}"
    Transcript(command, "2025-11-25", about, (*lines(), echo), {"API_KEY": "other-secret"}).write(path)
    assert "secret" not in path.read_text()
    assert SECRET not in path.read_text()
    read = Transcript.read(path)
    assert (read.command[-2:], read.is_redacted) == (("--token", "***"), True)
    assert read.lines[-1].message["result"] == {"a": "*** ***"}
    assert [line.raw for line in read.lines[:3]] == [line.raw for line in lines()]
    exit, output = forked(["replay", str(path)], tmp_path, 60)
    assert (exit, output.count("\n")) == (4, 1)
    assert "credentials were left out of its command: give the server's command behind --" in output
    exit, output = forked(["replay", str(path), "--", *REFERENCE], tmp_path, 60)
    assert exit == 1
    assert '> {"jsonrpc":"2.0","id":1,"method":"ping"}' in output


@pytest.mark.parametrize("guilty", [{3}, {0, 7}, {2, 5, 6}, set(range(8))])
def test_reduced_keeps_only_what_is_needed(guilty):
    assert set(reduced(range(8), lambda kept: guilty <= set(kept), most=200)) == guilty
