"""The suites get inside the tools of the world, and find the faults that only working arguments reach.

Each push explores with ten seeds and looks for each fault with one; ``WORLD=whole`` looks with ten.  The
processes of a world share their state, or nothing: then the fuzzer's have to make what its values name.
"""

import json
import sys

import pytest

from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.server import RunShared, Server
from mcp_conformance.world.ownership import made_text
from mcp_conformance.world.success import is_success
from mcp_conformance_fixtures.world.faults import FAULTS
from mcp_conformance_fixtures.world.tools import TOOLS
from support import run_suite
from support.bench import checks_of, leave_out_shrinking
from support.found_values import breaches, writing_tools
from support.nightly import some_of
from support.world import REVISION, WHOLE, Seen, bench_on, furnished, settings_on

SEEDS = range(10)
MODERN = "2026-07-28"
WORD = "quillfeather"
EXAMPLES = 50
"""As many values as a quick run makes."""


IN_MEMORY = FAULTS.keys() - {"reading_a_number_changes_the_list_of_folders"}
"""The faults that are found where processes share nothing; an effect is seen in the reads of two of them."""
EVERY_FAULT = [*((name, True) for name in FAULTS), *((name, False) for name in sorted(IN_MEMORY))]
"""The faults, and whether the server keeps its notes on the disk."""


@pytest.fixture
def throwaway():
    with furnished() as throwaway:
        yield throwaway


@pytest.fixture
def existing(tmp_path):
    """A folder with two notes."""
    folder = tmp_path / "there" / WORD
    folder.mkdir(parents=True)
    for number in range(2):
        (folder / f"{number}.txt").write_text(f"{WORD}\n{WORD} text\n", encoding="utf-8")
    return folder.parent


def exercised(bench):
    """Return the names of the tools that were exercised."""
    return {name for name, one in bench.server.tool_calls.exercise.items() if one.successes}


@pytest.mark.parametrize("seed", SEEDS)
def test_every_tool_is_exercised(throwaway, seed):
    bench = bench_on(throwaway, seed, disk=seed % 2 == 0)
    bench.server.calls()
    assert sorted(TOOLS.keys() - exercised(bench)) == []
    calls = {name: one.calls for name, one in bench.server.tool_calls.exercise.items()}
    assert max(calls.values()) <= 40, calls
    bench.server.close()


@pytest.mark.parametrize("own_ids", [True, False] if WHOLE else [True])
def test_the_tools_work_in_a_second_revision_without_exploration(throwaway, own_ids):
    revisions = (REVISION, MODERN)
    subject = probe_all(settings_on(throwaway, own_ids=own_ids), revisions)
    run = RunShared(subject.live)
    first, second = (Server.of(subject, revision, run) for revision in revisions)
    first.calls()
    called = second.calls()
    failed = [call.tool.name for call in called if not is_success(call.reply)]
    assert failed == []
    assert sum(len(call.with_others) for call in called) <= 2 * len(TOOLS)
    first.close()
    second.close()


def test_the_tools_work_in_the_next_run_without_exploration(tmp_path):
    explored = []
    for number in range(2):
        with furnished() as folder:
            subject = probe_all(settings_on(folder, kept=tmp_path), (REVISION,))
            server = Server.of(subject, REVISION)
            assert [call.tool.name for call in server.calls() if not is_success(call.reply)] == [], number
            explored.append(sum(len(server.tool_calls.explored(name)) for name in TOOLS))
            server.close()
    assert (explored[0] > len(TOOLS), explored[1]) == (True, 0)


@pytest.mark.parametrize("seed", SEEDS if WHOLE else SEEDS[:2])
@pytest.mark.parametrize("found_values", [True, False])
def test_every_tool_is_exercised_where_something_was_there(throwaway, existing, seed, found_values):
    seen = Seen()
    bench = bench_on(throwaway, seed, disk=True, existing=existing, seen=seen, found_values=found_values)
    bench.server.calls()
    assert sorted(TOOLS.keys() - exercised(bench)) == []
    if not found_values:
        writing = writing_tools(tool.definition.json for tool in bench.server.tools)
        assert seen.changes == []
        assert breaches(seen.lines, writing, (WORD, str(existing))) == []
    bench.server.close()


def test_the_next_run_changes_nothing_that_the_first_one_made_or_found(tmp_path, existing):
    made = made_text(0)
    for words in ((WORD, str(existing)), (WORD, str(existing), made)):
        with furnished() as folder:
            seen = Seen()
            bench = bench_on(folder, disk=True, existing=existing, seen=seen, kept=tmp_path / "kept")
            bench.server.calls()
            assert sorted(TOOLS.keys() - exercised(bench)) == []
            writing = writing_tools(tool.definition.json for tool in bench.server.tools)
            assert (seen.changes, breaches(seen.lines, writing, words)) == ([], [])
            bench.server.close()


@pytest.mark.parametrize("seed", SEEDS if WHOLE else SEEDS[:1])
@pytest.mark.parametrize(
    ("name", "disk"),
    EVERY_FAULT if WHOLE else some_of(EVERY_FAULT, 4),
)
def test_a_fault_is_found_that_only_working_arguments_reach(throwaway, monkeypatch, name, seed, disk):
    leave_out_shrinking(monkeypatch)
    fault = FAULTS[name]
    bench = bench_on(throwaway, seed, EXAMPLES, disk=disk, fault=fault)

    def is_chosen(check):
        return check.suite == "test_fuzz_tools" or fault.breaks in check.ids

    verdicts = bench.run_all(filter(is_chosen, checks_of(REVISION)), [fault.tool])
    assert fault.breaks in {verdict.row.id for verdict in verdicts}, [verdict.text for verdict in verdicts]
    bench.server.close()


@pytest.mark.skipif(not WHOLE, reason="a whole run takes a quarter of a minute: WORLD=whole")
@pytest.mark.parametrize("state", [(), ("--disk",)])
def test_a_run_reports_every_tool_as_exercised(tmp_path, state):
    report = tmp_path / "report.json"
    server = (sys.executable, "-m", "mcp_conformance_fixtures.world", *state)
    run = run_suite(server, "--call", "all", "--report", str(report), "--require-exercised", "100%")
    exercise = json.loads(report.read_text(encoding="utf-8"))["exercise"]
    assert (run.exit, exercise["exercised"], exercise["callable"]) == (0, len(TOOLS), len(TOOLS)), run.output


def calls_of(seed):
    """Return the calls of a run that explores all tools and fuzzes one, with a placeholder for its folder."""
    with furnished() as throwaway:
        seen = Seen()
        bench = bench_on(throwaway, seed, examples=2, seen=seen)
        bench.server.calls()
        fuzzing = [check for check in checks_of(REVISION) if check.source.fuzzes and check.source.per_tool]
        bench.run_all(fuzzing, {"get_note"})
        bench.server.close()
        lines = [line.replace(str(throwaway.root).encode(), b"{folder}") for line in seen.lines]
        return [line for line in lines if b'"tools/call"' in line]


def test_the_same_seed_and_the_same_answers_make_the_same_calls():
    first = calls_of(1)
    assert first == calls_of(1)
    assert len(first) > 100
