"""A run starts few processes of the server."""

import json
import sys

import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.protocol.revisions import LATEST_HANDSHAKE, LATEST_MODERN
from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.server import RunShared
from mcp_conformance_fixtures.mutants import OPENING, refused
from support import run_suite, script
from support.bench import Bench, checks_of
from support.in_memory import MemorySettings, VirtualClock, mutated
from support.nightly import nightly

DONE = {"resultType": "complete", "content": []}
BOTH = (LATEST_HANDSHAKE, LATEST_MODERN)
OTHERS = ("prompts/", "resources/", "completion/", "logging/", "tasks/")
"""The beginnings of the methods of features that the server lacks."""


def with_two_tools(server, request, reply):
    """Make the reference server offer two tools that only read, and nothing else."""
    method = request.get("method") if isinstance(request, dict) else None
    if not isinstance(method, str) or "id" not in request:
        return None
    result = (reply or {}).get("result", {})
    if method in OPENING:
        result["capabilities"] = {"tools": {}}
    if method == "tools/list" and "tools" in result:
        result["tools"] = [tool for tool in result["tools"] if tool["name"] in ("echo", "nothing")]
        result.pop("nextCursor", None)
    if method == "tools/call" and "task" in request.get("params", ()):
        return {"jsonrpc": "2.0", "id": request["id"], "result": DONE}
    return refused(request, -32601) if method.startswith(OTHERS) else None


@pytest.mark.parametrize(
    ("revisions", "fuzz", "most"),
    [
        ((LATEST_HANDSHAKE,), "none", 8),
        ((LATEST_MODERN,), "none", 9),
        (BOTH, "none", 14),
        pytest.param((LATEST_HANDSHAKE,), "quick", 12, marks=nightly),
        pytest.param((LATEST_MODERN,), "quick", 12, marks=nightly),
        (BOTH, "quick", 20),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_right_server_is_started_a_few_times(revisions, fuzz, most, tmp_path):
    starts = []

    def serve(out, err):
        starts.append(1)
        return mutated(with_two_tools)(out, err)

    examples, clock = FUZZ_EXAMPLES[fuzz], VirtualClock()
    settings = MemorySettings(
        ("in-memory",), examples=examples, serve=serve, clock=clock, transcripts=tmp_path
    )
    subject = probe_all(settings, revisions)
    run = RunShared(subject.live)
    benches = [Bench(subject, revision, is_whole=True, run=run) for revision in revisions]
    verdicts = [one for bench in benches for one in bench.run_all(checks_of(bench.revision))]
    purposes = {bench.revision: dict(bench.server.processes.starts) for bench in benches}
    assert {one.outcome for one in verdicts} <= {Outcome.INFO, Outcome.WARNED}, verdicts
    assert len(starts) <= most, purposes
    assert len(starts) == len(revisions) + sum(sum(one.values()) for one in purposes.values())


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(words.split(), id=words, marks=marks)
        for words, marks in {
            "--select ping": (),
            "-m conformance -k ping": (),
            "--fuzz none": (),
            "--fuzz none --select tools -n 2": nightly,
            "--fuzz none -n 2": nightly,
        }.items()
    ],
)
def test_no_process_is_started_for_nothing(options, tmp_path):
    """A process that is started ahead and not used is in no report."""
    starts, report = tmp_path / "starts", tmp_path / "report.json"
    server = (sys.executable, script("counted_server"), str(starts))
    run = run_suite(server, "--report", str(report), *options)
    assert run.exit == 0, run.output
    reported = json.loads(report.read_text())["run"]["starts"]
    assert starts.stat().st_size == sum(sum(one.values()) for one in reported.values())
