"""Lists that calls change only with other arguments, and whether the change is announced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.expect import require_some, skip
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.scenarios.changing_call import MAX_SECONDS, changing_calls, make
from mcp_conformance.scenarios.list_changes import NOTIFICATION_SECONDS, lists_after_calls
from mcp_conformance.scenarios.server_snapshot import LISTED, snapshot
from mcp_conformance.target.exercise import named_call
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import CALLS, FUZZED
from mcp_conformance.target.settings import Sample
from mcp_conformance.verdicts import Finding
from mcp_conformance.world.filling import Filling
from mcp_conformance.world.variation import switched

# Not measured: so many of the calls that a tool may get anyway.
MAX_CALLS, MAX_DRAWN = 8, 60
"""How often a tool is called with other flags and listed values, and how many drawn calls are repeated."""


@dataclass(frozen=True)
class SwitchedList:
    """A call between two looks at the lists: the features whose lists differ, and those that it announced."""

    sample: Sample
    call: Reply
    changed: frozenset[str]
    announced: frozenset[str]


def expect_announced_by_others(server: Server, feature: str) -> None:
    """Expect that a list that a call changes only with other arguments is announced, if declared.

    These have another flag or listed value, or were drawn by the fuzzer.  What is not announced is seen again
    in a new process.
    """
    if server.surface.is_modern:
        skip("a notification needs a subscription in this revision")
    seen = (*switched_lists(server), *lists_after_drawn_calls(server))
    found = require_some(
        [one for one in seen if feature in one.changed], skip=f"no other arguments changed {feature}/list"
    )
    first = next((one for one in found if feature not in one.announced), None)
    if first is None:
        return
    with server.fresh("a call that changes a list") as session:
        again = _switched(server, session, first.sample)
    if again is None or feature not in again.changed or feature in again.announced:
        skip(f"calling {first.sample.tool} changed {feature}/list without an announcement, and not again")
    method = f"notifications/{feature}/list_changed"
    got = f"nothing in {NOTIFICATION_SECONDS:g} s or more, although {feature}/list has changed"
    rule = f"{feature}.list-changed.sent"
    raise Finding(method, got, again.call.lines, rule, tool=first.sample.tool)


@scenario
def switched_lists(server: Server) -> tuple[SwitchedList, ...]:
    """Make the calls that worked again with other flags and listed values; return those that change a list.

    They share the session of the calls, one at a time.
    """
    session = server.shared(CALLS)
    until = session.clock.monotonic() + MAX_SECONDS
    found = []
    for sample in _switches(server):
        if session.closed or session.is_silent or session.clock.monotonic() > until:
            break
        seen = _switched(server, session, sample)
        if seen is not None and seen.changed:
            found.append(seen)
    return tuple(found)


@scenario
def lists_after_drawn_calls(server: Server) -> tuple[SwitchedList, ...]:
    """Look at the lists in the process of the fuzzer; return the drawn calls that change what differs there.

    They are made one at a time in a new process, which is started only if a list differs that neither the
    first calls nor other flags have changed.
    """
    session = server.sessions.running(FUZZED)
    if session is None or not _declared(server):
        return ()
    after, known = snapshot(server, session, ()).names, lists_after_calls(server)[1]
    before = {one: frozenset(server.listing(f"{one}/list").identifiers()) for one in _declared(server)}
    by_calls = {one for one in before if known and set(known[f"{one}/list"].identifiers()) != before[one]}
    by_flags = frozenset().union(*(one.changed for one in switched_lists(server)))
    wanted = {one for one in before if after.get(one, before[one]) != before[one]} - by_calls - by_flags
    found: list[SwitchedList] = []
    if not wanted:
        return ()
    with server.fresh("drawn calls, one at a time") as alone:
        for sample in _drawn(server, session):
            if alone.closed or alone.is_silent or wanted <= {each for one in found for each in one.changed}:
                break
            seen = _switched(server, alone, sample)
            if seen is not None and seen.changed & wanted:
                found.append(seen)
    return tuple(found)


def _drawn(server: Server, session: Session) -> Iterator[Sample]:
    """Yield the different valid calls of tools that may change something, as the fuzzer has made them."""
    fillings = {
        one.tool.name: Filling(one.tool.input_schema, server.revision) for one in changing_calls(server)
    }
    made: set[bytes] = set()
    for line in session.lines:
        name, arguments = named_call(line) if line.sent else ("", None)
        if name in fillings and isinstance(arguments, dict) and len(made) < MAX_DRAWN:
            key = encode([name, arguments])
            if key not in made and fillings[name].allows(arguments):
                made.add(key)
                yield Sample(name, arguments)


def _switches(server: Server) -> Iterator[Sample]:
    """Yield calls with another flag or listed value; what the user vouches for stays as it is."""
    for call in changing_calls(server) if _declared(server) else ():
        if not server.settings.vouched(call.tool.name):
            for arguments in islice(switched(call.tool, call.arguments, server.revision), MAX_CALLS):
                server.arguments.world.make_copies(arguments)
                yield Sample(call.tool.name, arguments)


def _declared(server: Server) -> frozenset[str]:
    return frozenset(one for one in LISTED if server.declares(one, "listChanged"))


def _switched(server: Server, session: Session, sample: Sample) -> SwitchedList | None:
    """Make a call between two looks at the lists, and wait for what is due; None if it is not answered."""

    def came(feature: str) -> list[object]:
        return list(session.received.notifications(f"notifications/{feature}/list_changed"))

    known = {feature: len(came(feature)) for feature in LISTED}
    before = snapshot(server, session, ()).names
    call = make(session, sample)
    if call.fault is not None:
        return None
    after = snapshot(server, session, ()).names
    changed = frozenset(one for one in _declared(server) if after.get(one) != before.get(one))
    seconds = session.scaled_timeout(NOTIFICATION_SECONDS)
    if changed:
        session.wait_for(lambda: all(came(one)[known[one] :] for one in changed), seconds)
    return SwitchedList(sample, call, changed, frozenset(one for one in changed if came(one)[known[one] :]))
