"""Walks: calls in any order on what tools make; what breaks is shrunk, and seen again in a fresh process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from mcp_conformance.expect import require
from mcp_conformance.scenarios.state import StateRecord, finding_of, kept, state_of
from mcp_conformance.state.hand import Lost, Spent
from mcp_conformance.state.links import Thing
from mcp_conformance.state.machine import Walks, again
from mcp_conformance.state.violation import Violation
from mcp_conformance.state.walk import Step, Walk
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server

SEEN_AGAIN = 2
"""How often in a row a fresh process shows what broke."""


@dataclass(frozen=True)
class WalkBudget:
    """What walks cost: the ``calls`` for all things, and how many walks of how many steps for each at most.

    What breaks is shrunk with as many calls again as the thing had.
    """

    calls: int
    walks: int
    steps: int


# A server that answers in 5 ms takes 3 s for 600 calls; all sequences together may take 2,000
# (benchmarks/state.py).
QUICK = WalkBudget(calls=600, walks=100, steps=12)
THOROUGH = WalkBudget(calls=6000, walks=500, steps=20)


@dataclass(frozen=True, eq=False)
class WalksRecord:
    """The number of things that were walked over, and what broke, by the rules."""

    things: int
    broken: Mapping[str, Violation]


@scenario
def walks_of(server: Server) -> WalksRecord:
    """Walk over each thing that tools make; skip the check as `state_of` does."""
    record = state_of(server)
    things = [one for one in record.learned.things if one.lasts]
    budget = QUICK if server.settings.is_gentle else THOROUGH
    # What more tools delete and change has more ways to break.
    ways = sum(1 + len(one.effects) for one in things)
    broken: dict[str, Violation] = {}
    shop = server.state.workshop(server.state.session(), "walks")
    for thing in things:
        calls = budget.calls * (1 + len(thing.effects)) // ways
        walks = Walks(partial(Walk, shop, thing, record.learned.noise), shop.hand, calls)
        walks.take(server.settings.seed, budget.walks, budget.steps)
        for rule, steps in walks.shortest.items():
            # What a scene has shown of a rule, or of a tool, need not be shown by a longer sequence.
            known = record.violations.get(rule) or rule in broken
            if not known and (found := _again(server, record, thing, rule, steps)) is not None:
                broken[rule] = found
    tools = {one.tool for some in record.violations.values() for one in some}
    return WalksRecord(len(things), {rule: one for rule, one in broken.items() if one.tool not in tools})


def _again(
    server: Server, record: StateRecord, thing: Thing, rule: str, steps: Sequence[Step]
) -> Violation | None:
    """Return what a walk breaks in a fresh process too; None if it does not."""
    with server.state.fresh() as session:
        shop = server.state.workshop(session, "seen again")
        for _ in range(SEEN_AGAIN):
            try:
                seen = again(steps, Walk(shop, thing, record.learned.noise), rule)
            except (Spent, Lost):
                return None
            if seen is None:
                return None
        return kept(server, rule, seen.violation, session.lines) if seen else None


def expect_no_broken_walk(server: Server) -> None:
    """Report what breaks on walks; skip the check if nothing that tools make lasts."""
    record = walks_of(server)
    require(record.things, skip="no tool shows what another one makes")
    found = [finding_of(one, rule) for rule, one in record.broken.items()]
    if found:
        raise found[0].with_others(found[1:])
