"""Walks: calls in any order on what tools make; what breaks is shrunk, and seen again in a fresh process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from mcp_conformance.expect import require
from mcp_conformance.scenarios.state import StateRecord, finding_of, kept, state_of
from mcp_conformance.state.hand import Lost, Spent
from mcp_conformance.state.links import Doing, Thing
from mcp_conformance.state.machine import Walks, again
from mcp_conformance.state.violation import Violation
from mcp_conformance.state.walk import Step, Walk
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.state import Limits
from mcp_conformance.verdicts import Finding, Skipped

MAX_SHRUNK = 4
"""Not measured: how often a thing gets its calls again, to shrink what breaks."""
SEEN_AGAIN = 2
"""How often in a row a fresh process shows what broke."""


@dataclass(frozen=True)
class WalkBudget:
    """What walks cost: calls and seconds for all things, and how many walks of how many steps for each.

    What breaks is shrunk with as many calls again as the thing had.
    """

    calls: int
    seconds: float
    walks: int
    steps: int


# A server that answers in 5 ms takes 3 s for 600 calls; all sequences together may take 2,000
# (benchmarks/state.py).
QUICK = WalkBudget(calls=600, seconds=8.0, walks=100, steps=12)
THOROUGH = WalkBudget(calls=6000, seconds=120.0, walks=500, steps=20)
# The seconds end the walks of a soak: a quick server answers 10,000 calls in one.
SOAK = WalkBudget(calls=10**9, seconds=60.0, walks=10**6, steps=30)


@dataclass(frozen=True, eq=False)
class WalksRecord:
    """The number of things that were walked over, and what broke, by the rules."""

    things: int
    broken: Mapping[str, Violation]


@scenario
def walks_of(server: Server) -> WalksRecord:
    """Walk over each thing that tools make; skip the check as `state_of` does."""
    return _walked(server, QUICK if server.settings.is_gentle else THOROUGH)


def broken_in(server: Server, budget: WalkBudget) -> Iterator[Finding]:
    """Yield what scenes and longer walks show, as findings; nothing where neither can be judged."""
    with suppress(Skipped):
        record = state_of(server)
        broken = [(rule, one) for rule, some in record.violations.items() for one in some]
        for rule, one in (*broken, *_walked(server, budget).broken.items()):
            yield finding_of(one, rule)


def _walked(server: Server, budget: WalkBudget) -> WalksRecord:
    record = state_of(server)
    lasting = [one for one in record.learned.things if one.lasts]
    # The others have been made and read in scenes, and walks over many things would be short.
    things = [one for one in lasting if one.doing(Doing.DELETES) or one.doing(Doing.CHANGES)] or lasting
    # What more tools delete and change has more ways to break.
    ways = sum(1 + len(one.effects) for one in things)
    broken: dict[str, Violation] = {}
    for thing in things:
        share = (1 + len(thing.effects)) / ways
        calls = int(budget.calls * share)
        limits = Limits(MAX_SHRUNK * calls, budget.seconds * share)
        shop = server.state.workshop(server.state.session(), "walks", limits)
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
    require(record.things or None, skip="no tool shows what another one makes")
    found = [finding_of(one, rule) for rule, one in record.broken.items()]
    if found:
        raise found[0].with_others(found[1:])
