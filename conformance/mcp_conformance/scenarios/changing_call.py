"""The mutating call: the user's, or one of the run's own calls that changes what the server shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.subscriptions import UPDATED
from mcp_conformance.client.tool_call import Call
from mcp_conformance.expect import require
from mcp_conformance.protocol import revisions
from mcp_conformance.scenarios.server_snapshot import LISTED, ServerSnapshot, changes, snapshot, watched
from mcp_conformance.target.preparation import renamed_value
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import CALLS
from mcp_conformance.target.settings import Sample
from mcp_conformance.world.exploration import ENDING
from mcp_conformance.world.members import words_of
from mcp_conformance.world.ownership import is_deleting
from mcp_conformance.world.variation import Variation, variations

MAX_CANDIDATES = 20
# Not measured: some hundred quick requests.  What is not found by then is not judged.
MAX_SECONDS = 5.0
"""How many tools are tried, and how long the search may take."""


@dataclass(frozen=True)
class ChangingCall:
    """A call that changes each time what a client can be notified of.

    ``kinds`` are the features whose lists change, and `UPDATED` for contents of resources.
    """

    variation: Variation
    kinds: frozenset[str]


def mutating_call(server: Server) -> Sample:
    """Return the user's mutating call, else the next turn of one that was found; skip if there is none."""
    if (sample := server.settings.mutating_call) is not None:
        return sample
    variation = _found(server).variation
    return require(_turn(server, variation), skip=f"no other arguments are known for {variation.tool.name}")


def require_mutating_call(server: Server) -> None:
    """Skip the check if there is no mutating call, neither the user's nor one that was found."""
    if server.settings.mutating_call is None:
        _found(server)


def _found(server: Server) -> ChangingCall:
    skip = "no permitted call that works changes what a client subscribes to (--mutating-call names one)"
    return require(changing_call(server), skip=skip)


def users_mutating_call(server: Server) -> Sample:
    """Return the user's mutating call; skip the check if there is none."""
    return require(
        server.settings.mutating_call,
        skip="--mutating-call names a tool that changes a list, or a resource",
    )


def has_mutating_call(server: Server) -> bool:
    """Return whether there is a mutating call, the user's or one that was found."""
    return server.settings.mutating_call is not None or changing_call(server) is not None


def session_of_calls(server: Server, because: str) -> AbstractContextManager[Session]:
    """Return a context with a fresh session for the user's call; a call that was found shares its session."""
    if server.settings.mutating_call is not None:
        return server.fresh(because)
    return nullcontext(server.shared(CALLS))


def params_of(session: Session, sample: Sample) -> dict[str, Any]:
    """Return the params of a mutating call, with the names that things have in the process of a session."""
    return renamed_value(session, {"name": sample.tool, "arguments": dict(sample.arguments)})


def make(session: Session, sample: Sample) -> Reply:
    """Make a mutating call."""
    return session.request("tools/call", params_of(session, sample))


@scenario
def changing_call(server: Server) -> ChangingCall | None:
    """Look among the calls that worked for one that changes what a client can be notified of; None without.

    The calls are made again, with other values, in the session of the calls.  Those of tools that take
    something away or end something are left out.
    """
    wanted = _notified(server)
    calls = changing_calls(server) if wanted else []
    if not calls:
        return None
    session = server.shared(CALLS)
    until = session.clock.monotonic() + MAX_SECONDS
    found: list[ChangingCall] = []
    for row in zip_longest(*(_variations(server, call) for call in calls)):
        if session.closed or session.is_silent or session.clock.monotonic() > until:
            break
        found += _found_in(server, session, [one for one in row if one is not None], wanted)
        if any(one.kinds == wanted for one in found):
            break
    return max(found, key=lambda one: len(one.kinds), default=None)


def _notified(server: Server) -> frozenset[str]:
    """Return the kinds of changes that a client can be notified of under a subscription."""
    kinds = {UPDATED} if server.declares("resources", "subscribe") else set()
    if revisions.is_modern(server.revision):
        kinds |= {feature for feature in LISTED if server.declares(feature, "listChanged")}
    return frozenset(kinds)


def changing_calls(server: Server) -> list[Call]:
    """Return the first calls that worked of tools that may change something, and take nothing away."""
    return [call for call in server.quick_calls() if _may_change(call)][:MAX_CANDIDATES]


def _may_change(call: Call) -> bool:
    tool = call.tool
    is_usual = not (tool.read_only or is_deleting(tool) or set(words_of(tool.name)) & ENDING)
    return is_usual and not (call.failed or call.asked or call.reply.needs_input)


def _variations(server: Server, call: Call) -> list[Variation]:
    """Return variations of a call; what the user vouches for stays as it is."""
    found = list(variations(call.tool, call.arguments))
    return found[:1] if server.settings.vouched(call.tool.name) else found


def _found_in(
    server: Server, session: Session, some: list[Variation], wanted: frozenset[str]
) -> Iterator[ChangingCall]:
    """Make some calls together, and if anything wanted changes, each alone; yield those that change it."""
    if not _changed_by(server, session, some) & wanted:
        return
    for one in some:
        kinds = _changed_by(server, session, [one]) & wanted
        if kinds:
            # Neither a clock, nor a call that changes nothing the second time.
            kinds -= _changed_by(server, session, [])
            kinds &= _changed_by(server, session, [one])
        if kinds:
            yield ChangingCall(one, kinds)
        if kinds == wanted:
            return


def _changed_by(server: Server, session: Session, some: Iterable[Variation]) -> frozenset[str]:
    """Return the kinds of changes that the next turns of some calls bring."""
    before = snapshot(server, session, watched(server, session))
    for one in some:
        sample = _turn(server, one)
        if sample is not None and not (session.closed or session.is_silent):
            make(session, sample)
    return changed_kinds(before, snapshot(server, session, before.contents))


def changed_kinds(before: ServerSnapshot, after: ServerSnapshot) -> frozenset[str]:
    """Return the features whose lists differ in two snapshots, and `UPDATED` if contents do."""
    changed = changes(before, after)
    return frozenset(
        (changed & before.names.keys()) | ({UPDATED} if changed & before.contents.keys() else set())
    )


def _turn(server: Server, variation: Variation) -> Sample | None:
    """Return the next turn of a call; None if its schema allows no other values."""
    arguments = server.arguments.world.turn_of(variation, server.revision)
    return Sample(variation.tool.name, arguments) if arguments is not None else None
