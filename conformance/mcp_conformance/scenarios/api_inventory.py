"""What a server asks of the network: when it starts, when it lists, and in each call and each fetch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mcp_conformance.backend.contact import AT_START, IN_CALL, IN_FETCH, IN_LISTS, Contact, HostUse
from mcp_conformance.backend.sickness import WELL
from mcp_conformance.client.tool_call import Call
from mcp_conformance.protocol.methods import LISTED
from mcp_conformance.scenarios.api_fetches import Fetch, api_fetches
from mcp_conformance.scenarios.ward import Treatment, ward
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server

MAX_BETRAYED = 10
"""How many tools and fetches are shown certificates that nobody trusts, if the run is not thorough.

Not measured: the tools of a server share a client.
"""
NO_API = "no tool that may be called asks another host, and no prompt or resource"
ANALYTICS = (
    *("sentry.io", "posthog.com", "segment.io", "segment.com", "mixpanel.com", "amplitude.com"),
    *("google-analytics.com", "bugsnag.com", "datadoghq.com", "honeycomb.io", "newrelic.com", "agnost.ai"),
)
"""Services that only count what users do: no tool returns what they answer."""


@dataclass(frozen=True)
class Inventory:
    """What a server asked of a well API: at its ``start``, while it listed, and in ``calls`` and fetches.

    ``waiting`` are the names of those that are answered only once the API has answered, ``betrayed`` are
    calls and fetches while hosts showed certificates of an authority that nobody trusts.
    """

    start: tuple[Contact, ...] = ()
    lists: tuple[Contact, ...] = ()
    calls: tuple[Treatment, ...] = ()
    waiting: frozenset[str] = frozenset()
    betrayed: tuple[Treatment, ...] = ()

    @property
    def judged(self) -> tuple[Treatment, ...]:
        """The calls and fetches that need the API."""
        return tuple(one for one in self.calls if one.tool in self.waiting)

    def uses(self) -> Iterator[HostUse]:
        """Yield what was asked of which host, for a report."""
        yield from (HostUse.of(one, AT_START) for one in self.start)
        yield from (HostUse.of(one, IN_LISTS) for one in self.lists)
        for treatment in self.calls:
            given = {one for one in treatment.call.arguments.values() if isinstance(one, str) and one}
            when = IN_FETCH if treatment.is_fetch else IN_CALL
            yield from (HostUse.of(one, when, treatment.tool, given) for one in treatment.contacts)

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """All contacts."""
        calls = (one for treatment in (*self.calls, *self.betrayed) for one in treatment.contacts)
        return (*self.start, *self.lists, *calls)


@scenario
def inventory(server: Server) -> Inventory:
    """Start the server, list its tools, call each that may be called, and fetch; return what it asks."""
    calls: list[Call | Fetch] = [*server.quick_calls(), *api_fetches(server)] if server.is_newest else []
    with ward(server) as room:
        backend, session = room.backend, room.session
        start = backend.contacts
        for feature, method in LISTED.items():
            if server.declares(feature):
                session.request(method)
        backend.settle()
        lists = backend.contacts[len(start) :]
        held = [room.hold(call) for call in calls]
        waiting = frozenset(one.tool for one, waits in held if waits and needed(one))
        asking = [one.call for one, _ in held if one.contacts]
        with backend.untrusted():
            tried = asking[:MAX_BETRAYED] if server.settings.is_gentle else asking
            betrayed = [room.treat(one, WELL) for one in tried]
    found = Inventory(start, lists, tuple(one for one, _ in held), waiting, tuple(betrayed))
    server.hosts.update(found.uses())
    return found


def needed(treatment: Treatment) -> bool:
    """Return whether a tool asked more than services that only count."""
    return any(not is_analytics(one) for one in treatment.asked)


def is_analytics(contact: Contact) -> bool:
    """Return whether a host only counts what users do."""
    return any(contact.host == one or contact.host.endswith(f".{one}") for one in ANALYTICS)
