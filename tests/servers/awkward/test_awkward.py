"""Servers that are right but awkward are not reported.

Those whose awkwardness is a matter of processes, time or streams run as processes, the others in memory.
"""

from contextlib import nullcontext
from pathlib import Path

import pytest

from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES
from mcp_conformance_fixtures import awkward as folder
from support import awkward, run_suite
from support.bench import is_any, run_checks, settings_on_process
from support.in_memory import MemorySettings, VirtualClock, awkward_in_memory
from support.nightly import nightly, some_of

NAMES = sorted(path.stem for path in Path(folder.__file__).parent.glob("[a-z]*.py"))
ARGUMENTS = {"slow_start": ["0.3"]}
NEWEST, OLDEST = "2025-11-25", "2024-11-05"
OLD_CHAPTERS = ("tools.", "prompts.", "resources.", "ping.", "jsonrpc.")
"""The chapters that run in the oldest revision: the lists, calls and messages of these servers."""
FUZZED = ("deep_schema", "odd_numbers", "out_of_order", "split_writes", "unicode")
"""The servers that are fuzzed too: what is awkward about them shows in many answers."""
ON_PROCESSES = ("chatty_stderr", "out_of_order", "slow_start", "slow_tool", "split_writes")
"""The servers that sleep, have threads, or write to stderr."""
ALLOWED = {
    "deep_schema": {"jsonschema.recommended-dialect", "jsonschema.prefer-2020-12"},
    "unread_params": {"tools.call.malformed-request-code", "errors.invalid-params-code"},
}
"""Notes that are due: an old dialect is allowed, and reported, as is the wrong code of a refusal."""


@pytest.mark.parametrize(
    ("name", "revision"),
    some_of([(name, revision) for name in NAMES for revision in (NEWEST, OLDEST)], 4),
)
def test_an_awkward_server_passes(name, revision, tmp_path):
    is_whole = revision == NEWEST
    selects = is_any if is_whole else is_of_old_chapters
    examples = FUZZ_EXAMPLES["quick"] if name in FUZZED and is_whole else 0
    with settings_for(name, tmp_path, examples) as settings:
        run = run_checks(settings, revision, selects, is_whole=is_whole)
    assert [failure.reason for failure in run.failures] == []
    assert [verdict.text for verdict in run.verdicts if is_stray(name, verdict)] == []
    assert run.passed


def settings_for(name, folder, examples):
    """Give the settings of a run on an awkward server."""
    if name in ON_PROCESSES:
        return settings_on_process(awkward(name, *ARGUMENTS.get(name, [])), folder, examples)
    serve, clock = awkward_in_memory(name), VirtualClock()
    settings = MemorySettings(
        ("in-memory",), call=("all",), examples=examples, transcripts=folder, serve=serve, clock=clock
    )
    return nullcontext(settings)


def is_of_old_chapters(check):
    return any(id.startswith(OLD_CHAPTERS) for id in check.ids)


def is_stray(name, verdict):
    return verdict.row.id not in ALLOWED.get(name, ()) or verdict.outcome != "info"


@nightly
def test_a_start_of_eight_seconds_is_waited_for():
    run = run_suite(awkward("slow_start", "8"), "--select", "capabilities")
    assert run.findings == []
    assert run.exit == 0, run.output
