"""The sequences of calls of a soak, without its load."""

from contextlib import closing
from dataclasses import replace

from mcp_conformance.scenarios.walks import SOAK, broken_in
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.server import Server
from support.bench import settings_in_memory
from support.nightly import nightly
from support.state import REVISION, state_in_memory


def broken_on(name, called="all", **budget):
    """Return the rules that sequences of calls break, and the calls that they took."""
    settings = replace(settings_in_memory(state_in_memory(name)), call=(called,))
    with closing(Server.of(probe_all(settings, (REVISION,)), REVISION)) as server:
        found = {one.requirement: one for one in broken_in(server, replace(SOAK, **budget))}
        return found, server.state.spent


def test_nothing_is_walked_over_where_no_tool_may_write():
    assert broken_on("", "readonly") == ({}, {})


@nightly
def test_what_breaks_late_is_found():
    found, spent = broken_on("the_second_update_of_a_note_is_lost", calls=600, walks=100)
    assert found["state.read-after-change"].tool in ("get_note", "list_notes")
    assert spent["walks"][0] >= 100


@nightly
def test_a_right_server_breaks_nothing():
    found, spent = broken_on("", calls=2000, walks=200)
    assert found == {}
    assert 600 < spent["walks"][0] < 2100
