"""Lists that a call changes only with another flag or listed value, and whether the change is announced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.expect import require_some, skip
from mcp_conformance.scenarios.changing_call import MAX_SECONDS, changing_calls, make
from mcp_conformance.scenarios.list_changes import NOTIFICATION_SECONDS
from mcp_conformance.scenarios.server_snapshot import LISTED, snapshot
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import CALLS
from mcp_conformance.target.settings import Sample
from mcp_conformance.verdicts import Finding
from mcp_conformance.world.variation import switched

# Not measured: so many of the calls that a tool may get anyway.
MAX_CALLS = 8
"""How often a tool is called with other flags and listed values."""


@dataclass(frozen=True)
class SwitchedList:
    """A call between two looks at the lists: the features whose lists differ, and those that it announced."""

    sample: Sample
    call: Reply
    changed: frozenset[str]
    announced: frozenset[str]


def expect_announced_by_switches(server: Server, feature: str) -> None:
    """Expect that a list that a flag or a listed value of a call changes is announced, if declared."""
    if server.surface.is_modern:
        skip("a notification needs a subscription in this revision")
    found = [one for one in switched_lists(server) if feature in one.changed]
    require_some(found, skip=f"no flag or listed value changed {feature}/list")
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
