"""The replay of an earlier run's steps: what worked is called again in its order, before any exploration."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.world.members import members_of
from mcp_conformance.world.steps import NewNames
from mcp_conformance.world.success import is_success
from mcp_conformance.world.world import World

CallTool = Callable[[Tool, dict[str, Any]], Call]
"""Calls a tool with arguments."""


def replay(
    world: World, tools: Iterable[Tool], call_tool: CallTool, may_call: Callable[[Tool], bool]
) -> dict[str, list[Call]]:
    """Make the calls of an earlier run that is kept again; return them by tool, the best of each first.

    A tool gets only what it may get in this run.  The world learns from what works; after a call without an
    answer there are no more.
    """
    by_name, names = {tool.name: tool for tool in tools}, NewNames()
    best = {name: some[0].arguments for name in by_name if (some := world.worked[name])}
    calls: dict[str, list[Call]] = {}
    for step in world.kept_steps(by_name.values()):
        tool = by_name[step.tool]
        if not may_call(tool):
            continue
        working = world.here(tool, step, names.working(step.working), names.is_made)
        if working is None:
            continue
        world.make_copies(working.arguments)
        call = call_tool(tool, dict(working.arguments))
        is_best = step.working.arguments == best.get(tool.name)
        made = calls.setdefault(tool.name, [])
        made.insert(0 if is_best or not _works(made) else len(made), call)
        if call.reply.fault is not None:
            break
        if _works([call]):
            names.learn(step, call)
            world.worked.forget_recalled(tool.name)
            world.learn_success(call, working.known, working.needed, is_best=is_best)
        elif is_success(call.reply, needs_values=False):
            names.learn(step, call)
            world.note_step(call, working.known, working.needed)
    return calls


def _works(calls: list[Call]) -> bool:
    """Return whether the first of some calls worked."""
    return any(
        is_success(one.reply, needs_values=bool(members_of(one.tool.input_schema))) for one in calls[:1]
    )
