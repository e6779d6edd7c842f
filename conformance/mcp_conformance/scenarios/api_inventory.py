"""What a server asks of the network: when it starts, when it lists, and in the call of each tool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mcp_conformance.backend.contact import AT_START, IN_CALL, IN_LISTS, Contact, HostUse
from mcp_conformance.backend.sickness import WELL
from mcp_conformance.scenarios.ward import Treatment, ward
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server

KIND_SECONDS = 10.0
"""The time for the sicknesses of one kind over all tools, if the run is not thorough.

A server of 22 tools that asks three times took five minutes for 503 alone, and with twice this time more than
three minutes for all sicknesses.
"""
NO_API = "no tool that may be called asks another host"
ANALYTICS = (
    *("sentry.io", "posthog.com", "segment.io", "segment.com", "mixpanel.com", "amplitude.com"),
    *("google-analytics.com", "bugsnag.com", "datadoghq.com", "honeycomb.io", "newrelic.com", "agnost.ai"),
)
"""Services that only count what users do: no tool returns what they answer."""


@dataclass(frozen=True)
class Inventory:
    """What a server asked: at its ``start``, while it listed, and in ``calls`` of each tool with a well API.

    ``waiting`` are the tools that answer only once the API has, and ``betrayed`` are calls while hosts showed
    certificates of an authority that nobody trusts.
    """

    start: tuple[Contact, ...] = ()
    lists: tuple[Contact, ...] = ()
    calls: tuple[Treatment, ...] = ()
    waiting: frozenset[str] = frozenset()
    betrayed: tuple[Treatment, ...] = ()

    @property
    def judged(self) -> tuple[Treatment, ...]:
        """The calls of tools that need the API."""
        return tuple(one for one in self.calls if one.tool in self.waiting)

    def uses(self) -> Iterator[HostUse]:
        """Yield what was asked of which host, for a report."""
        yield from (HostUse.of(one, AT_START) for one in self.start)
        yield from (HostUse.of(one, IN_LISTS) for one in self.lists)
        for treatment in self.calls:
            given = {one for one in treatment.call.arguments.values() if isinstance(one, str) and one}
            yield from (HostUse.of(one, IN_CALL, treatment.tool, given) for one in treatment.contacts)

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """All contacts."""
        calls = (one for treatment in (*self.calls, *self.betrayed) for one in treatment.contacts)
        return (*self.start, *self.lists, *calls)


@scenario
def inventory(server: Server) -> Inventory:
    """Start the server, list its tools and call each that may be called; return what it asks meanwhile."""
    calls = server.quick_calls() if server.is_newest else []
    with ward(server) as room:
        backend, session = room.backend, room.session
        start = backend.contacts
        if server.declares("tools"):
            session.request("tools/list")
        backend.settle()
        lists = backend.contacts[len(start) :]
        held = [room.hold(call) for call in calls]
        waiting = frozenset(one.tool for one, waits in held if waits and needed(one))
        betrayed, begun = [], server.clock.monotonic()
        with backend.untrusted():
            for one, _ in held:
                is_over = server.settings.is_gentle and server.clock.monotonic() - begun > KIND_SECONDS
                if one.contacts and not is_over:
                    betrayed.append(room.treat(one.call, WELL))
    found = Inventory(start, lists, tuple(one for one, _ in held), waiting, tuple(betrayed))
    server.hosts.update(found.uses())
    return found


def needed(treatment: Treatment) -> bool:
    """Return whether a tool asked more than services that only count."""
    return any(not is_analytics(one) for one in treatment.asked)


def is_analytics(contact: Contact) -> bool:
    """Return whether a host only counts what users do."""
    return any(contact.host == one or contact.host.endswith(f".{one}") for one in ANALYTICS)
