"""Fuzzing shrinks failures to the plainest values, whatever the seed, and transcripts replay them."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis.database import InMemoryExampleDatabase

from mcp_conformance.client.replaying import replay
from mcp_conformance.client.transcript import Transcript
from mcp_conformance.deadline import Deadline
from mcp_conformance.fuzzing import fuzzer
from mcp_conformance.fuzzing.fuzzer import Fuzzer
from mcp_conformance.fuzzing.oracles import Case
from mcp_conformance.fuzzing.reproduction import FailedCase
from mcp_conformance.fuzzing.trials import Trials
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES
from mcp_conformance.transport.credentials import secrets_of
from mcp_conformance.transport.files import BadFile
from mcp_conformance.transport.process import Process
from mcp_conformance.transport.redaction import Redaction
from mcp_conformance_fixtures import reference_surface as surface
from mcp_conformance_fixtures.mutants import named
from mcp_conformance_fixtures.validating import TOOL, fault_without, first_item
from support import REFERENCE, environment, forked, mutant, run_suite
from support.bench import leave_out_shrinking, run_checks, settings_in_memory
from support.in_memory import mutated
from support.nightly import IS_NIGHTLY, nightly, some_of

REVISION = "2025-11-25"
QUICK = ("--timeout", "5", "--revision", REVISION)
ANSWERED, VALIDATED = "jsonrpc.response-every-request", "tools.call.inputs-validated"


@pytest.fixture
def fuzzed(tmp_path, monkeypatch):
    """Return a function that fuzzes one tool of a server in memory, and returns the verdicts."""
    monkeypatch.setattr(Fuzzer, "_database", InMemoryExampleDatabase())

    def run(serve, tool, *rules, seed=0, examples=50):
        settings = settings_in_memory(serve, examples, timeout=5.0, seed=seed, transcripts=tmp_path)
        found = run_checks(
            replace(settings, call=(tool,)),
            REVISION,
            lambda check: check.source.per_tool and not check.ids.isdisjoint(rules),
            is_whole=False,
        )
        assert found.failures == []
        return found.verdicts

    return run


def blocked(name, *options, tool="echo", cwd=None):
    run = run_suite(mutant(name), "--select", f"{ANSWERED}[{tool}]", *QUICK, *options, cwd=cwd)
    return [case.text for case in run.of("failed", "blocked")]


def found_in(name, tool, *options, cwd=None):
    """Return a run that fuzzes one tool of a mutant in a process."""
    words = [word for one in (ANSWERED, VALIDATED) for word in ("--select", f"{one}[{tool}]")]
    return run_suite(mutant(name), *words, *QUICK, *options, cwd=cwd)


def test_a_failure_that_has_passed_the_last_time_stays_as_it_was_seen():
    seen, case = cast("FailedCase", SimpleNamespace(is_brief=False)), Case(b"{}", lambda reply: None)
    trials = object.__new__(Trials)
    vars(trials).update(failures={"kind": [seen]}, _outcomes={}, target=SimpleNamespace(tool=""))
    assert trials.whole(case, "kind") is seen


EACH_SEED = pytest.mark.parametrize("seed", range(3) if IS_NIGHTLY else (0,))


@EACH_SEED
def test_empty_string_is_found_and_shrunk(fuzzed, seed):
    serve = mutated(named("an_empty_string_is_never_answered").mutate)
    texts = [str(one.error) for one in fuzzed(serve, "echo", ANSWERED, seed=seed)]
    assert any('valid arguments {"text":""}: no answer' in text for text in texts), texts


@EACH_SEED
def test_negative_number_is_found_and_shrunk(fuzzed, seed):
    serve = mutated(named("a_negative_sum_is_a_text").mutate)
    (failed,) = fuzzed(serve, "add", ANSWERED, VALIDATED, seed=seed)
    assert (failed.row.id, failed.outcome) == ("tools.structured.conforms", "failed")
    assert '{"a":-1,"b":0}' in failed.text


@EACH_SEED
def test_missing_result_is_found_and_shrunk(fuzzed, seed):
    serve = mutated(named("a_long_forecast_is_not_structured").mutate)
    (failed,) = fuzzed(serve, "weather", ANSWERED, VALIDATED, seed=seed)
    assert (failed.row.id, failed.outcome) == ("tools.structured.present", "failed")
    assert re.search(r'valid arguments {"city":"(example)?","days":4}:', failed.text), failed.text


@pytest.mark.parametrize("seed", some_of(range(10), 5))
def test_an_integer_of_more_than_64_bits_is_found_and_shrunk(fuzzed, seed):
    """It is an edge of the schema, so each seed has it."""
    serve = mutated(named("an_integer_of_more_than_64_bits_raises_an_exception").mutate)
    (thrown,) = fuzzed(serve, "add", "tools.call.no-exception", seed=seed)
    assert thrown.outcome == "failed"
    a = int(
        re.search(r'{"a":(-?\d+),"b":[^}]+}: OverflowError: int too big to convert', thrown.text).group(1)
    )
    assert a in (2**63, -(2**63) - 1)


def overflows(_, request, reply):
    """Answer a sum of 32 bits or more with an error."""
    sum = reply["result"].get("structuredContent", {}).get("sum", 0) if "result" in (reply or ()) else 0
    error = {"code": -32603, "message": "overflow"}
    return {"jsonrpc": "2.0", "id": request["id"], "error": error} if sum >= 2**31 else None


@EACH_SEED
def test_failure_at_an_edge_is_shrunk(fuzzed, seed):
    (failed,) = fuzzed(mutated(overflows), "add", ANSWERED, seed=seed)
    a, b = re.search(r'valid arguments {"a":(\d+),"b":(\d+)}:', failed.text).groups()
    assert int(a) + int(b) == 2**31


def breaks_on_long_texts(_, request, reply):
    """Answer a text of more than 10,000 characters with an error."""
    is_call = (
        isinstance(request, dict) and request.get("method") == "tools/call" and "result" in (reply or ())
    )
    is_long = is_call and len(request["params"].get("arguments", {}).get("text") or "") > 10_000
    error = {"code": -32603, "message": "value too long"}
    return {"jsonrpc": "2.0", "id": request["id"], "error": error} if is_long else None


def test_a_long_text_is_judged_by_its_result(fuzzed):
    (failed,) = fuzzed(mutated(breaks_on_long_texts), "echo", ANSWERED, examples=5)
    assert "error -32603" in failed.text
    assert '"text":"xxx' in failed.text


def test_shrinking_ends_after_some_seconds_of_ours(fuzzed, monkeypatch):
    monkeypatch.setattr(fuzzer, "Deadline", lambda _: Deadline(0.0))
    (failed,) = fuzzed(mutated(overflows), "add", ANSWERED)
    a, b = re.search(r'valid arguments {"a":([-\d.e]+),"b":([-\d.e]+)}:', failed.text).groups()
    assert float(a) + float(b) >= 2**31


def breaks_on_lists(_, request, reply):
    """Add a list of 300 items or more to what the tool takes, and answer most of those with an error."""
    method = request.get("method") if isinstance(request, dict) else None
    if method == "tools/list" and "result" in (reply or ()):
        items = {"type": "array", "items": {"type": "integer"}, "minItems": 300, "maxItems": 400}
        taking = {"type": "object", "properties": {"items": items}, "required": ["items"]}
        for tool in reply["result"]["tools"]:
            if tool["name"] == "echo":
                tool["inputSchema"] = taking
    if method != "tools/call" or request["params"].get("name") != "echo":
        return None
    items = request["params"].get("arguments", {}).get("items")
    is_met = isinstance(items, list) and sum(isinstance(one, int) and one > 3 for one in items[200:]) > 2
    error = {"error": {"code": -32603, "message": "list index out of range"}}
    done = {"result": {"content": [{"type": "text", "text": "done"}]}}
    return {"jsonrpc": "2.0", "id": request["id"], **(error if is_met else done)}


def test_shrinking_a_long_list_is_ended_by_the_deadline(fuzzed, monkeypatch):
    """Hypothesis works for minutes on so many choices without asking whether one fails."""
    ended = []

    class Noted(Deadline):
        def __exit__(self, *error):
            ended.append(error[0])
            super().__exit__(*error)

    monkeypatch.setattr(fuzzer, "Deadline", lambda _: Noted(1.0))
    found = fuzzed(mutated(breaks_on_lists), "echo", ANSWERED, examples=10)
    assert any("list index out of range" in one.text for one in found)
    assert any(ended), ended


def test_value_that_failed_before_is_tried_first(tmp_path):
    ids = []
    for seed in "01":
        (failed,) = found_in("a_negative_sum_is_a_text", "add", "--seed", seed, cwd=tmp_path).of("failed")
        ids.append(int(re.search(r'> .*"id":(\d+)', failed.text)[1]))
    assert ids[0] > 2
    assert ids[1] == 2  # the first request after initialize


def test_failure_that_needs_earlier_calls_says_how_many(fuzzed):
    serve = mutated(named("the_twentieth_call_of_echo_ends_the_server").mutate)
    texts = [one.text for one in fuzzed(serve, "echo", ANSWERED, examples=FUZZ_EXAMPLES["thorough"])]
    assert all("(on a fresh server, after 19 other requests)" in text for text in texts), texts
    assert texts


def test_a_quick_run_reduces_a_history_for_a_few_starts_only():
    texts = blocked("the_twentieth_call_of_echo_ends_the_server")
    assert texts
    for text in texts:
        others = re.search(r"\(on a fresh server, after (\d+) other requests, the fewest so far\)", text)
        assert 19 <= int(others[1]) < 40


def test_failure_that_does_not_repeat_is_flaky_and_has_both_conversations(tmp_path):
    server = tmp_path / "server"
    server.mkdir()
    found = found_in("a_long_string_ends_the_server_once", "echo", "--cwd", str(server), cwd=tmp_path)
    (text,) = [case.text for case in found.of("failed", "blocked")]
    assert "it happened once" in text
    assert "flaky" in text
    folder = tmp_path / ".mcp-conformance"
    assert (folder / ".gitignore").read_text() == "*\n"
    first, again = sorted(folder.glob("*.jsonl"))
    assert f"see {first.relative_to(tmp_path)} and {again.relative_to(tmp_path)}" in text
    assert "mcp-conformance" not in text.replace(".mcp-conformance", "")  # no command shows it again
    assert Transcript.read(first).lines[-1].sent
    assert not Transcript.read(again).lines[-1].sent


@nightly
def test_error_in_the_wrong_channel_is_reported_once(fuzzed):
    serve = mutated(named("too_many_days_are_an_internal_error").mutate)
    (note,) = fuzzed(serve, "weather", ANSWERED, VALIDATED)
    assert note.row.id == "tools.call.invalid-arguments-channel"
    assert re.search(r'"days":([6-9]|\d\d)', note.text), note.text


PLACES = {
    "type": "/id /name /count /price /tags /place /marks /contact",
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
"""The places in the arguments where a server that does not validate a keyword is caught."""


@pytest.fixture
def validating(monkeypatch):
    """Return a function that makes the reference server validate all keywords but some."""

    def serve(*ignored):
        monkeypatch.setitem(surface.TOOLS, "order", TOOL)
        monkeypatch.setattr(surface, "fault", fault_without(ignored))
        return mutated(None)

    return serve


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("keyword", PLACES)
def test_server_that_ignores_a_keyword_is_caught(fuzzed, validating, keyword, monkeypatch):
    leave_out_shrinking(monkeypatch)
    verdicts = fuzzed(validating(keyword), "order", VALIDATED)
    failed = [one for one in verdicts if one.outcome == "failed"]
    text = "\n".join(one.text for one in verdicts)
    assert {one.row.id for one in failed} == {VALIDATED}, text
    places = re.findall(
        r"a refusal \(\S+(?: '[^']*')? at (?:(/\w+)|the (root))", "\n".join(one.text for one in failed)
    )
    assert {place or f"the-{root}" for place, root in places} <= set(PLACES[keyword].split()), text
    assert places


def test_server_that_validates_only_the_first_item_is_caught(fuzzed, validating, monkeypatch):
    leave_out_shrinking(monkeypatch)
    serve = validating()
    monkeypatch.setattr(surface, "fault", fault_without(["items"], first_item))
    verdicts = fuzzed(serve, "order", VALIDATED)
    assert "a refusal (type at /tags/1)" in "\n".join(one.text for one in verdicts if one.outcome == "failed")


def test_a_tool_that_ignores_several_keywords_is_one_finding(fuzzed, validating, monkeypatch):
    leave_out_shrinking(monkeypatch)
    verdicts = fuzzed(validating("pattern", "minLength", "maximum"), "order", VALIDATED)
    (found,) = [one for one in verdicts if one.outcome == "failed"]
    words = f"{found.error.expected} {found.error.got}"
    assert "accepted too: " in words
    assert all(one in words for one in ("pattern at /id", "minLength at /name", "maximum at /count")), words


def test_a_tool_that_takes_any_type_is_not_said_to_repair_values_too(fuzzed, validating, monkeypatch):
    leave_out_shrinking(monkeypatch)
    verdicts = fuzzed(validating("type"), "order", VALIDATED)
    assert {one.outcome for one in verdicts if one.row.id == VALIDATED} == {"failed"}


def test_server_that_validates_every_keyword_is_not_accused():
    server = (sys.executable, "-m", "mcp_conformance_fixtures.validating")
    run = run_suite(server, "--select", f"{VALIDATED}[order]", *QUICK)
    assert run.findings == []
    assert run.of("passed")


def test_failure_is_replayed(tmp_path):
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
    command = [sys.executable, "-m", "mcp_conformance", "replay", str(file), *words]
    return subprocess.run(
        command,
        cwd=file.parent,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


# Transcripts


def lines():
    return (
        Line(sent=True, raw=b'{"jsonrpc":"2.0","id":1,"method":"ping"}', at=0.5),
        Line.received(b'{"jsonrpc":"2.0","id":1,"result":{}}', 0.75),
        Line(sent=True, raw=b"\xff not JSON", at=1.0),
    )


def test_transcript_keeps_every_byte(tmp_path):
    Transcript(("server", "--flag"), "2025-11-25", "a test", lines()).write(tmp_path / "new" / "t.jsonl")
    read = Transcript.read(tmp_path / "new" / "t.jsonl")
    assert read.command == ("server", "--flag")
    assert [(line.sent, line.raw) for line in read.lines] == [(line.sent, line.raw) for line in lines()]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "line 1: not JSON"),
        ("{}\n", "line 1: a header"),
        ("nonsense\n", "line 1: not JSON"),
        ("[]\n", "line 1: a header"),
        (
            '{"format": 1, "command": [], "revision": "x", "about": "x"}\n{"sent": true}\n',
            "line 2: a row of a session is expected",
        ),
    ],
)
def test_file_that_is_not_a_transcript_is_refused(tmp_path, text, error):
    (tmp_path / "t.jsonl").write_text(text)
    with pytest.raises(BadFile, match=error):
        Transcript.read(tmp_path / "t.jsonl")


def test_replay_compares_answers(tmp_path):
    Transcript(REFERENCE, "2025-11-25", "a test", lines()[:2]).write(tmp_path / "t.jsonl")
    transcript = Transcript.read(tmp_path / "t.jsonl")
    (step,) = replay(transcript, Process(REFERENCE, env=dict(os.environ)), 10)
    assert not step.differs
    assert json.loads(step.now.raw)["result"] == {}


SECRET = "hush-hush-42"


def test_transcript_has_no_credentials_and_its_replay_needs_the_command(tmp_path):
    command = (*REFERENCE, "--token", SECRET)
    echo = Line.received(f'{{"jsonrpc":"2.0","id":1,"result":{{"a":"{SECRET} other-secret"}}}}'.encode())
    path = tmp_path / "t.jsonl"
    about = f"a test of {SECRET}"
    redaction = Redaction(secrets_of(command, {"API_KEY": "other-secret"}))
    Transcript(command, "2025-11-25", about, (*lines()[:1], echo), redaction).write(path)
    assert "other-secret" not in path.read_text()
    assert SECRET not in path.read_text()
    read = Transcript.read(path)
    assert (read.command[-2:], read.is_redacted) == (("--token", "***"), True)
    assert read.lines[-1].message["result"] == {"a": "*** ***"}
    assert read.lines[0].raw == lines()[0].raw
    exit, output = forked(["replay", str(path)], tmp_path, 60)
    assert (exit, output.count("\n")) == (4, 1)
    assert "credentials are left out of its command: give" in output
    exit, output = forked(["replay", str(path), "--", *REFERENCE], tmp_path, 60)
    assert exit == 1
    assert '> {"jsonrpc":"2.0","id":1,"method":"ping"}' in output


@pytest.mark.parametrize(("requirement", "calls_made"), [(ANSWERED, 2), ("tools.call.inputs-validated", 7)])
def test_tool_that_reaches_no_host_is_called_a_few_times(tmp_path, requirement, calls_made):
    calls = []

    def unreachable(_, request, reply):
        if isinstance(request, dict) and request.get("method") == "tools/call" and "result" in reply:
            calls.append(request["params"])
            words = {"type": "text", "text": "getaddrinfo ENOTFOUND api.example.org"}
            return {**reply, "result": {"content": [words], "isError": True}}
        return reply

    settings = settings_in_memory(mutated(unreachable), 50, timeout=5.0, transcripts=tmp_path)
    found = run_checks(
        replace(settings, call=("echo",)),
        REVISION,
        lambda check: check.source.per_tool and requirement in check.ids,
        is_whole=False,
    )
    assert (found.failures, found.verdicts, found.passed) == ([], [], set())
    assert len(calls) == calls_made
