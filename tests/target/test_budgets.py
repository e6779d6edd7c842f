"""Budgets: how they are read and written, and what is measured."""

import pytest

from mcp_conformance.protocol.jsonrpc import compact_size
from mcp_conformance.target.budgets import (
    FIGURES,
    BadBudget,
    CallCost,
    measured,
    read_budgets,
    written,
)
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.server import Server
from support.bench import settings_in_memory
from support.in_memory import mutated

NOW = "2025-11-25"


@pytest.mark.parametrize(
    ("text", "name", "limit"),
    [
        ("start=2s", "start", 2.0),
        ("start=500ms", "start", 0.5),
        ("tools.bytes=20kB", "tools.bytes", 20_000),
        ("tools.bytes = 1.5 MB", "tools.bytes", 1_500_000),
        ("result.bytes=100B", "result.bytes", 100),
        ("tools.count=40", "tools.count", 40),
        ("call.p95=0s", "call.p95", 0),
    ],
)
def test_a_budget_is_read_in_bytes_and_seconds(text, name, limit):
    assert read_budgets([text]) == {name: limit}


def test_the_last_budget_for_a_figure_counts():
    assert read_budgets(["start=2s", "tools.count=4", "start=3s"]) == {"start": 3.0, "tools.count": 4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tool.bytes=20kB", "no figure 'tool.bytes' is measured; did you mean tools.bytes?"),
        ("memory=1MB", "no figure 'memory' is measured; these are: start, tools.count"),
        ("", "no figure '' is measured"),
        ("start", "start takes a limit such as start=500ms, not ''"),
        ("start=soon", "start takes a limit such as start=500ms, not 'soon'"),
        ("start=-1s", "start takes a limit such as start=500ms, not '-1s'"),
        ("start=2", "start: its unit is s or ms, not ''"),
        ("start=20kB", "start: its unit is s or ms, not 'kB'"),
        ("start=2S", "start: its unit is s or ms, not 'S'; did you mean s?"),
        ("tools.bytes=20KB", "tools.bytes: its unit is MB or kB or B, not 'KB'; did you mean kB?"),
        ("tools.count=4s", "tools.count: it has no unit, not 's'"),
        ("tools.count=\u0664", "tools.count takes a limit such as tools.count=40"),
    ],
)
def test_a_wrong_budget_is_one_clear_line(text, message):
    with pytest.raises(BadBudget) as error:
        read_budgets([text])
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "amount", "text"),
    [
        ("start", 2.0, "2 s"),
        ("start", 0.0004, "0.4 ms"),
        ("call.p95", 0.8123, "812.3 ms"),
        ("tools.bytes", 999, "999 B"),
        ("tools.bytes", 20_480, "20.48 kB"),
        ("result.bytes", 0, "0 B"),
        ("tools.count", 40.0, "40"),
    ],
)
def test_an_amount_is_written_with_its_unit(name, amount, text):
    assert written(name, amount) == text


@pytest.mark.parametrize(("number", "rank"), [(1, 1), (19, 19), (20, 19), (21, 20), (100, 95)])
def test_the_95th_percentile_is_that_of_the_nearest_rank(number, rank):
    subject = probe_all(settings_in_memory(mutated(None)), (NOW,))
    costs = [CallCost(float(second), 10 * second) for second in range(number, 0, -1)]
    found = measured(subject.surfaces[0], costs)
    assert (found["call.p95"], found["result.bytes"]) == (float(rank), 10.0 * number)


def pages_of(tools_per_page):
    """Return a server with so many tools on each page of a list of two, and the bytes of the pages."""
    pages = [
        {"tools": [{"name": "é", "inputSchema": {}}] * number, "nextCursor": "2"} for number in tools_per_page
    ]
    del pages[-1]["nextCursor"]

    def mutate(server, request, reply):
        if isinstance(request, dict) and request.get("method") == "tools/list":
            cursor = request.get("params", {}).get("cursor", "1")
            return {"jsonrpc": "2.0", "id": request["id"], "result": pages[int(cursor) - 1]}
        return None

    return mutate, sum(map(compact_size, pages))


def test_all_pages_and_all_tools_are_measured():
    mutate, size = pages_of((2, 3))
    subject = probe_all(settings_in_memory(mutated(mutate), max_tools=1), (NOW,))
    found = measured(subject.surfaces[0], [])
    assert (found["tools.count"], found["tools.bytes"]) == (5, size)
    assert 0 < found["start"] < 1


def test_calls_are_measured_once_they_are_answered():
    subject = probe_all(settings_in_memory(mutated(None)), (NOW,))
    server = Server.of(subject, NOW)
    assert server.tool_calls.answered() == []
    calls = server.calls()
    answered = [one.reply for call in calls for one in call.with_others if one.reply.value is not None]
    assert sorted(map(str, server.tool_calls.answered())) == sorted(map(str, answered))
    found = measured(server.surface, list(map(CallCost.of, server.tool_calls.answered())))
    assert set(found) == set(FIGURES)
    assert found["result.bytes"] == max(compact_size(one.value.json) for one in answered)
    server.close()
