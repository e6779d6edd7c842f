"""Repeat calls of tools that only read in one process, and watch what changes in it."""

from __future__ import annotations

from mcp_conformance.client.tool_call import Call
from mcp_conformance.expect import require_some, skip
from mcp_conformance.fuzzing.budgets import REPEATED
from mcp_conformance.fuzzing.drift import FIGURES, TIME, Drift
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Finding


def expect_level(server: Server, figure: str) -> None:
    """Expect that a figure of `FIGURES` does not grow with the calls in two processes.

    Skips the check if no process can be judged.
    """
    found = _require_judged(server, 1)
    if not found.has_figures(figure):
        skip(f"{figure} of the server cannot be followed here")
    _expect_unchanged(server, [figure], "a figure that levels off")


def expect_same_answers(server: Server) -> None:
    """Expect that no tool answers the same call in the end otherwise than at first, in two processes.

    Skips the check if no process can be judged.
    """
    changed = [name for name in _require_judged(server, 1).changes() if name not in FIGURES]
    _expect_unchanged(server, changed, "the answers that came at first")


def _expect_unchanged(server: Server, names: list[str], expected: str) -> None:
    """Report what changed under one of these names in a process, and in another one too."""
    changes = _require_judged(server, 1).changes()
    if any(name in changes for name in names):
        confirmed = _require_judged(server, 2).changes()
        for name in names:
            if name in changes and name in confirmed:
                raise Finding(expected, f"{changes[name]}; in a second process too")


def _require_judged(server: Server, process: int) -> Drift:
    """Return the watch over a process; skip the check if it was not called often enough."""
    if not server.is_newest:
        skip("growth is judged in the newest revision")
    drift, fault = repeated_calls(server, process)
    if fault:
        skip(fault)
    if not drift.is_judged:
        least = f"{REPEATED.drift.min_calls} calls and {REPEATED.drift.min_seconds:g} s"
        skip(f"{drift.calls} calls were made; growth shows in {least} or more")
    return drift


@scenario
def repeated_calls(server: Server, process: int) -> tuple[Drift, str]:
    """Repeat calls in a new process; return the watch over it, and what ended it early, if anything.

    ``process`` is the number of the process.
    """
    able = [call for call in server.quick_calls() if _can_be_repeated(server, call)]
    calls = require_some(able, skip="no tool that only reads may be called often")[: REPEATED.max_tools]
    with server.fresh(f"repeated calls ({process})") as session:
        drift = Drift(session.process.pid, server.clock, REPEATED.drift)
        until = server.clock.monotonic() + min(REPEATED.max_seconds, server.run.fuzz_seconds(server.clock))
        while not _is_enough(drift) and server.clock.monotonic() < until:
            for call in calls:
                reply = session.request("tools/call", call.params)
                if reply.fault is not None:
                    return drift, f"call {drift.calls + 1:,} of a process was not answered: {reply.fault}"
                drift.note(call.tool, reply, is_repeated=True)
            if drift.memory_growth > REPEATED.max_growth_bytes:
                return drift, f"memory grew by {drift.memory_growth / 1e9:.1f} GB in {drift.calls:,} calls"
            if len(session.lines) > REPEATED.max_lines:
                session.forget()
    return drift, ""


def _is_enough(drift: Drift) -> bool:
    """Return whether a process was called often enough to judge it, or as often as allowed."""
    return (drift.is_judged and drift.has_figures(TIME)) or drift.calls >= REPEATED.max_calls


def _can_be_repeated(server: Server, call: Call) -> bool:
    """Return whether a call succeeds quickly, reads only, reaches nothing outside, and has no limit."""
    tool = call.tool
    is_free = tool.read_only and not (tool.open_world or server.settings.calls_of(tool.name))
    return is_free and not (call.failed or call.asked)
