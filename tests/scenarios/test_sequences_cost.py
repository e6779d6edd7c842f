"""What sequences of calls cost: nothing where no tool may write, and little elsewhere."""

from contextlib import closing
from dataclasses import replace

import pytest

from mcp_conformance.plugin.run_counts import RunCounts
from mcp_conformance.scenarios.state import state_of
from mcp_conformance.scenarios.walks import walks_of
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Skipped
from support.bench import settings_in_memory
from support.nightly import nightly
from support.state import REVISION, state_in_memory

MAX_CALLS = 2000
"""At 5 ms each these are 10 s."""


def served(called):
    """Return the server with state, whose tools may be called if they are these."""
    settings = replace(settings_in_memory(state_in_memory()), call=(called,))
    return closing(Server.of(probe_all(settings, (REVISION,)), REVISION))


def test_nothing_is_called_where_no_tool_may_write():
    with served("readonly") as server:
        for scenario in (state_of, walks_of):
            with pytest.raises(Skipped, match="no tool that may change something may be called"):
                scenario(server)
        assert server.state.spent == {}
        assert server.tool_calls.exercise == {}


@nightly
def test_a_quick_run_makes_few_calls():
    with served("all") as server:
        walks_of(server)
        assert sum(calls for calls, _ in server.state.spent.values()) <= MAX_CALLS


def test_workers_add_what_their_sequences_took():
    one = RunCounts(sequences={"noise": (2, 0.5)})
    one.add(RunCounts.from_data(RunCounts(sequences={"noise": (1, 0.25), "walks": (3, 1.0)}).as_data()))
    assert one.sequences == {"noise": (3, 0.75), "walks": (3, 1.0)}
