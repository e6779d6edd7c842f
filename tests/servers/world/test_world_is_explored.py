"""The suites get inside the tools of the world, and find the faults that only working arguments reach.

Each push explores with ten seeds and looks for each fault with one; ``WORLD=whole`` looks with ten, and in a
world whose processes share nothing.
"""

import pytest

from mcp_conformance.target.probe import probe_all
from mcp_conformance.transport.throwaway import Throwaway
from mcp_conformance.world.folder import furnish
from mcp_conformance_fixtures.world.faults import FAULTS
from mcp_conformance_fixtures.world.tools import TOOLS
from support.bench import Bench, checks_of, leave_out_shrinking, settings_in_memory
from support.found_values import breaches
from support.world import WHOLE, Seen, world_in_memory

REVISION = "2025-11-25"
SEEDS = range(10)
WORD = "quillfeather"
EXAMPLES = 50
"""As many values as a quick run makes."""


@pytest.fixture
def throwaway():
    throwaway = Throwaway()
    furnish(throwaway.work)
    yield throwaway
    throwaway.remove()


@pytest.fixture
def existing(tmp_path):
    """A folder with two notes."""
    folder = tmp_path / "there" / WORD
    folder.mkdir(parents=True)
    for number in range(2):
        (folder / f"{number}.txt").write_text(f"{WORD}\n{WORD} text\n", encoding="utf-8")
    return folder.parent


def bench_on(throwaway, seed, examples=0, *, found_values=False, **world):
    """Return a bench with the world, which works in the throwaway folder."""
    serve = world_in_memory(throwaway.work, **world)
    settings = settings_in_memory(serve, examples, throwaway=throwaway, seed=seed, found_values=found_values)
    return Bench(probe_all(settings, (REVISION,)), REVISION)


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


@pytest.mark.parametrize("seed", SEEDS if WHOLE else SEEDS[:2])
@pytest.mark.parametrize("found_values", [True, False])
def test_every_tool_is_exercised_where_something_was_there(throwaway, existing, seed, found_values):
    seen = Seen()
    bench = bench_on(throwaway, seed, disk=True, existing=existing, seen=seen, found_values=found_values)
    bench.server.calls()
    assert sorted(TOOLS.keys() - exercised(bench)) == []
    if not found_values:
        reading = {tool.name for tool in bench.server.tools if tool.read_only}
        assert seen.changes == []
        assert breaches(seen.lines, reading, (WORD, str(existing))) == []
    bench.server.close()


@pytest.mark.parametrize("disk", [True, False] if WHOLE else [True])
@pytest.mark.parametrize("seed", SEEDS if WHOLE else SEEDS[:1])
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_that_only_working_arguments_reach(throwaway, monkeypatch, name, seed, disk):
    leave_out_shrinking(monkeypatch)
    fault = FAULTS[name]
    bench = bench_on(throwaway, seed, EXAMPLES, disk=disk, fault=fault)

    def is_chosen(check):
        return check.suite == "test_fuzz_tools" or fault.breaks in check.ids

    verdicts = bench.run_all(filter(is_chosen, checks_of(REVISION)), [fault.tool])
    assert fault.breaks in {verdict.row.id for verdict in verdicts}, [verdict.text for verdict in verdicts]
    bench.server.close()
