"""Fuzzing of the tool itself: no output of a server raises an exception in parsers, engine or runs.

SELF_FUZZ is the number of examples of each test, 2,000 in the nightly; `benchmarks/RESULTS.md` has more.
"""

import json
import os
import random
import re
import subprocess
import sys
from contextlib import suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mcp_conformance.generation import NoExample, boundary, clearly_invalid, hostile
from mcp_conformance.generation import example as example_of
from mcp_conformance.json_schema.subschemas import subschemas
from mcp_conformance.json_schema.validation import Unjudgeable, instance_errors, schema_errors
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT, Line, decode, glued, id_key, kind, show, torn
from mcp_conformance.protocol.text import shorten
from mcp_conformance.protocol.uri import expand, is_template, matches, scheme, variables
from mcp_conformance.protocol.value import Value
from mcp_conformance.protocol.wire_schema import CLIENT, SERVER, conversation_errors, message_errors
from mcp_conformance.requirements.checks import checked
from mcp_conformance.transport.interface import Overlong
from mcp_conformance.transport.process import Splitter
from support import scripted_server
from support.bench import all_checks
from support.nightly import nightly
from support.reports_in_memory import run_in_memory
from support.resource_usage import measured
from support.script_strategies import messages, names, replacements, schemas, scripts, values

EXAMPLES = int(os.environ.get("SELF_FUZZ", "10"))
MANY = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
FEWER = settings(MANY, max_examples=max(1, EXAMPLES // 5))
MAX_LINE_BYTES = 20
known = st.sampled_from(revisions.KNOWN)

# --- bytes ----------------------------------------------------------------------------------------

PIECES = (
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\x00",
    b"\xff",
    b"\xe2\x82",
    b"\xef\xbb\xbf",
    b" ",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    b'{"a":1,"a":2}',
    b"NaN",
    b"1" * 30,
    b'"\\ud800"',
    b"[" * 400,
)
chunks = st.lists(st.one_of(st.binary(max_size=30), st.sampled_from(PIECES)).filter(bool), max_size=12)


@MANY
@given(chunks)
def test_lines_do_not_depend_on_the_chunks(chunks):
    whole, lines, longest = b"".join(chunks), [], max(map(len, chunks), default=0)
    splitter = Splitter(lines.append, limit=MAX_LINE_BYTES)
    for chunk in chunks:
        splitter.feed(chunk)
        assert len(splitter.unended) <= MAX_LINE_BYTES + longest
    splitter.finish()
    *ended, rest = whole.split(b"\n")
    for right in [*ended, rest] if rest else ended:
        if len(right) <= MAX_LINE_BYTES:
            assert lines.pop(0) == right
        else:
            assert 0 <= len(right) - reported_size(lines, right) <= MAX_LINE_BYTES
    assert lines == []


def reported_size(lines, right):
    """Return the number of bytes that the first parts report of a line that is too long."""
    first = lines.pop(0)
    assert first.head
    assert right.startswith(first.head)
    size = first.size
    while lines and isinstance(lines[0], Overlong) and not lines[0].head:
        size += lines.pop(0).size
    return size


@MANY
@given(chunks)
def test_every_line_is_classified(chunks):
    lines = [Line.received(raw) for raw in b"".join(chunks).split(b"\n")]
    for line in lines:
        assert (line.message is ABSENT) is bool(line.fault)
        assert decode(line.raw)[0] is ABSENT or not line.fault
        assert line.text.isprintable() or shorten(line.text).replace("\n", "").isprintable()
        assert isinstance(glued(line), bool)
        for part in line.parts():
            process_message(part)
    assert [one for pieces in torn(lines) for one in pieces if one not in lines] == []


def process_message(part):
    """Process a message as the engine does, which must not raise."""
    kind(part)
    assert len(show(part)) < 3000
    hash(id_key(part))
    for value in Value(part).walk():
        str(value)


# --- messages -------------------------------------------------------------------------------------


@MANY
@given(messages | values, known, st.sampled_from((CLIENT, SERVER)), st.none() | messages | values)
def test_every_message_can_be_validated(message, revision, sender, request):
    for wrong in message_errors(message, revision, sender, request):
        assert wrong.rule
        assert str(wrong)
    process_message(message)


@MANY
@given(st.lists(st.tuples(st.booleans(), messages), max_size=6), known)
def test_every_conversation_can_be_validated(exchanged, revision):
    lines = [Line(sent, encoded(message), float(at), message) for at, (sent, message) in enumerate(exchanged)]
    for sender in (CLIENT, SERVER):
        for proof, wrong in conversation_errors(lines, revision, sender):
            assert proof
            assert str(wrong)


def encoded(message):
    return json.dumps(message).encode()


# --- schemas, templates ---------------------------------------------------------------------------

objects = st.dictionaries(names, schemas, max_size=3).map(
    lambda given: {"type": "object", "properties": given}
)


@MANY
@given(schemas | objects | replacements, replacements, known)
def test_senseless_schema_raises_only_unjudgeable(schema, value, revision):
    with suppress(Unjudgeable):  # no other exception
        schema_errors(schema, revision)
    with suppress(Unjudgeable):
        instance_errors(value, schema, revision)
    list(subschemas(Value(schema)))


@FEWER
@given(schemas | objects, known)
@example({"$schema": True, "const": None}, "2024-10-07")
def test_schema_raises_only_no_example(schema, revision):
    with suppress(NoExample):  # no other exception
        list(islice(hostile(schema, revision), 5))
    with suppress(NoExample):
        list(islice(boundary(schema, revision), 5))
    with suppress(NoExample):
        clearly_invalid(schema, revision, example_of(schema, revision))


texts = st.text(st.characters(exclude_categories=()))  # half surrogate pairs too
braced = st.lists(
    st.sampled_from(["{", "}", "a", "+", "#", "?", "&", "*", ":3", ",", "/", "%", "\ud800", "é"])
)


@MANY
@given(braced.map("".join) | texts, texts, texts)
def test_any_text_can_be_read_as_a_template(template, uri, value):
    is_template(template)  # must not raise, nor must the others
    matches(template, uri)
    scheme(uri)
    expand(template, dict.fromkeys(variables(template), value))


# --- the engine, on a server in memory ------------------------------------------------------------

CHECKS = [(one, case) for one in all_checks() if one.suite != "test_backend" for case in one.cases]
"""All but those of a network, which a server in memory does not have."""


def some_checks(seed, count):
    chance = random.Random(seed)
    return [(check, case, chance.randrange(30)) for check, case in chance.sample(CHECKS, count)]


@FEWER
@given(scripts, known, st.integers(0, 2**32))
@example([], "2025-11-25", 0)
@example([], revisions.LATEST_MODERN, 0)
def test_checks_raise_only_verdicts(script, revision, seed):
    run_in_memory(script, (revision,), some_checks(seed, 20))  # must not raise


@pytest.mark.parametrize("revision", [revisions.LATEST_HANDSHAKE, revisions.LATEST_MODERN])
def test_reference_in_memory_has_no_findings(revision):
    everything = [(check, case, 0) for check, case in CHECKS]
    counts = run_in_memory([], (revision,), everything)
    assert counts["checks"] > 300
    assert counts["verdicts"] == 0


BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "self_fuzz.py"


@nightly
def test_the_benchmark_runs_a_script():
    command = [sys.executable, str(BENCHMARK), "memory", "--seconds", "0", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "'scripts': 1" in done.stdout


# --- a run, on a server in a process --------------------------------------------------------------

OUR_TRACEBACK = re.compile(r"File \"[^\"]*/mcp_conformance(_suites)?/[\w/]+\.py\"")
OUTCOMES = {"passed", "failed", "blocked", "warned", "info", "skipped"}
FAMILIES = sorted({id.partition(".")[0] for id in checked()})
OPTIONS = ("--call", "all", "--fuzz", "none", "--timeout", "2", "--start-timeout", "5")


def run_scripted(script, revision, families):
    """Run these families on a scripted server; raise an `AssertionError` for an error of this tool."""
    server = (sys.executable, str(Path(scripted_server.__file__)), json.dumps(script))
    chosen = (*OPTIONS, "--revision", revision, "--select", ",".join(families))
    with TemporaryDirectory() as folder:
        run = measured([*chosen, "--", *server], Path(folder), 500)
    refused = "--revision: the server does not speak" in run.output
    assert run.exit in ((4,) if refused else (0, 1, 5, 6)), run.output
    assert not OUR_TRACEBACK.search(run.output), run.output
    assert {case.outcome for case in run.cases} <= OUTCOMES, run.output
    assert run.cases or refused or "did not apply" in run.output, run.output
    assert run.left == (), run.output
    return run


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the run is measured in a forked process")
@settings(MANY, max_examples=max(1, EXAMPLES // 50))
@given(scripts, known, st.lists(st.sampled_from(FAMILIES), min_size=1, max_size=3, unique=True))
def test_no_run_has_an_internal_error(script, revision, families):
    run_scripted(script, revision, families)  # must not raise
