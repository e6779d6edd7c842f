"""Explore tools in one process, and learn how they use what others make."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.generation import NoExample, example
from mcp_conformance.state.hand import CallTool, Hand
from mcp_conformance.state.learning import Learner
from mcp_conformance.state.links import Workable
from mcp_conformance.state.tokens import Tokens
from mcp_conformance.state.uses import Use, uses_of
from mcp_conformance.state.workshop import Workshop
from mcp_conformance.world.exploration import Exploration
from mcp_conformance.world.world import World

MAX_CALLS = 2000
"""Not measured: 17 tools that make, read, change and delete three kinds of things took 450 calls."""


def uses_in(call: CallTool, tools: Sequence[Tool], world: World, revision: str) -> tuple[Use, ...]:
    """Return how tools use what others make, after calls in one process; ``world`` is one without values."""
    world.meet(tools, revision)
    first = []
    for tool in tools:
        with suppress(NoExample):
            plain = world.jail.arguments(tool, example(tool.input_schema, revision))
            first += [] if plain is None else [call(tool, plain)]
    Exploration(world, revision, call).explore(first)
    worked = [(tool, world.worked[tool.name]) for tool in world.in_order(tools)]
    workable = [Workable(tool, some[0].arguments, some[0].known) for tool, some in worked if some]
    tokens = Tokens(world.ownership.text, secrets.randbits(64), world.jail.cores)
    shop = Workshop(Hand(call, max_calls=MAX_CALLS), tokens, world.ownership.ours, revision)
    return tuple(uses_of(Learner(shop, workable).learn(), workable))
