"""A process of a server that keeps its state in memory is prepared: the calls that worked are made again."""

import json

import pytest

from mcp_conformance.target.preparation import renamed
from mcp_conformance.target.sessions import FUZZED
from mcp_conformance_fixtures.world.faults import FAULTS, Fault
from support.bench import checks_of, leave_out_shrinking
from support.world import REVISION, WHOLE, bench_on, furnished


@pytest.fixture
def throwaway():
    with furnished() as throwaway:
        yield throwaway


def called_in(session):
    """Return the names of the tools that were called in a session."""
    sent = [line.message for line in session.lines if line.sent]
    return [one["params"]["name"] for one in sent if one.get("method") == "tools/call"]


@pytest.mark.parametrize("own_ids", [False, True])
def test_what_the_known_values_name_is_made_in_a_new_process(throwaway, own_ids):
    bench = bench_on(throwaway, own_ids=own_ids)
    call = bench.server.call(bench.server.tool("set_state"))
    assert not call.failed
    session = bench.server.shared(FUZZED)
    assert {"create_folder", "create_note"} <= set(called_in(session))
    assert "delete_note" not in called_in(session)
    given = json.dumps(call.arguments).encode()
    assert (renamed(session, given) != given) is own_ids
    params = {**call.params, "arguments": json.loads(renamed(session, given))}
    assert not session.request("tools/call", params).is_tool_error
    bench.server.close()


def test_a_process_that_shares_the_state_gets_only_calls_that_read(throwaway):
    bench = bench_on(throwaway, disk=True)
    bench.server.calls()
    session = bench.server.shared(FUZZED)
    reading = {tool.name for tool in bench.server.tools if tool.read_only}
    assert {"open_book", "read_page"} <= set(called_in(session)) <= reading
    bench.server.close()


def test_nothing_is_called_before_the_tools_are(throwaway):
    bench = bench_on(throwaway)
    assert called_in(bench.server.shared(FUZZED)) == []
    bench.server.close()


def test_a_failure_after_a_preparation_shows_its_calls(throwaway, monkeypatch):
    leave_out_shrinking(monkeypatch)
    bench = bench_on(throwaway, examples=50, fault=FAULTS["an_empty_folder_is_an_internal_error"])
    checks = [check for check in checks_of(REVISION) if check.name == "test_valid_arguments_are_handled"]
    (verdict,) = bench.run_all(checks, ["list_notes"])
    assert "on a fresh server, after" in verdict.text or "after the calls that worked before" in verdict.text
    bench.server.close()


def end(*_):
    """End the process when a note is read."""
    raise SystemExit(3)


@pytest.mark.parametrize("own_ids", [True, False] if WHOLE else [True])
def test_an_explored_call_that_ends_the_process_is_a_finding(throwaway, own_ids):
    fault = Fault("", "get_note", "tools.call.valid-not-fatal", "", end, is_before=False)
    bench = bench_on(throwaway, own_ids=own_ids, fault=fault)
    name = "test_a_call_with_valid_arguments_leaves_the_server_running"
    checks = [check for check in checks_of(REVISION) if check.name == name]
    (verdict,) = bench.run_all(checks, ["get_note"])
    assert (verdict.outcome, verdict.error.tool) == ("failed", "get_note")
    assert "in two processes, after the calls that worked before" in verdict.text
    bench.server.close()
