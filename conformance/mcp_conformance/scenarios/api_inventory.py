"""What a server asks of the network: when it starts, when it lists, and in the call of each tool."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from mcp_conformance.backend.contact import AT_START, IN_CALL, IN_LISTS, Contact, HostUse
from mcp_conformance.backend.sickness import WELL, Sickness
from mcp_conformance.client.in_flight import reply_within
from mcp_conformance.client.reply import Closed, Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Call
from mcp_conformance.expect import skip
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.sandbox.traffic import Attempt
from mcp_conformance.scenarios.tool_effects import attempts
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server

HELD_SECONDS = 0.3
"""How long the answer to a tool is held, to see whether the tool waits for it.  A tool that does not was
answered within milliseconds in all servers seen."""
SURE_SECONDS = 1.0
"""The same before something is said against a tool, which may do other work; less than a tool's timeout."""
KIND_SECONDS = 20.0
"""The time for the sicknesses of one kind over all tools, if the run is not thorough.

A server of 22 tools that asks three times took five minutes for 503 alone.
"""
LOOK_SECONDS = 0.02
STARTS = "the API of the server"
NO_API = "no tool that may be called asks another host"
ANALYTICS = (
    *("sentry.io", "posthog.com", "segment.io", "segment.com", "mixpanel.com", "amplitude.com"),
    *("google-analytics.com", "bugsnag.com", "datadoghq.com", "honeycomb.io", "newrelic.com", "agnost.ai"),
)
"""Services that only count what users do: no tool returns what they answer."""


@dataclass(frozen=True)
class Treatment:
    """A call of a tool while the API had a ``sickness``: what was asked and tried meanwhile, and the reply.

    ``stderr`` is what the server wrote there meanwhile.
    """

    call: Call
    sickness: Sickness
    reply: Reply
    contacts: tuple[Contact, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    stderr: str = ""

    @property
    def tool(self) -> str:
        """The name of the tool."""
        return self.call.tool.name

    @property
    def lines(self) -> tuple[Line, ...]:
        """The request and its answer; what came for others in place of one is left out."""
        return self.reply.lines if self.reply.line is not None else (self.reply.request,)

    @property
    def is_success(self) -> bool:
        """Whether the tool answered with a result that is not an error."""
        return self.reply.value is not None and not (self.reply.is_tool_error or self.reply.needs_input)

    @property
    def has_ended(self) -> bool:
        """Whether the process ended in place of an answer."""
        return isinstance(self.reply.fault, Closed)

    @property
    def asked(self) -> tuple[Contact, ...]:
        """The requests that arrived."""
        return tuple(one for one in self.contacts if one.method)


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


class Ward:
    """A process of the server with an API of its own, which can be made sick; one that ends is replaced."""

    def __init__(self, server: Server):
        backend = server.settings.backend
        assert backend is not None
        self.server = server
        self.backend = backend.apart(server.settings.redaction.of_names.finds)
        self.settings = replace(server.settings, backend=self.backend)
        self._session: Session | None = None
        self.opening: Reply | None = None

    @property
    def session(self) -> Session:
        """An open session.  Skips the check if none can be opened."""
        if self._session is None or self._session.closed or self._session.is_silent:
            self.leave()
            self.opening = self.begin().open(self.settings.start_timeout)
            if self.opening.value is None:
                skip(f"no session opens while every host answers 200 with {{}}: {self.opening}")
        assert self._session is not None
        return self._session

    def begin(self) -> Session:
        """Start a process, and return its session before it is opened."""
        self.server.processes.starts[STARTS] += 1
        timeout = self.settings.timeout
        self._session = Session(self.settings.start(), revision=self.server.revision, timeout=timeout)
        return self._session

    def leave(self) -> None:
        """End the process."""
        if self._session is not None:
            self._session.begin_close()
            self._session = None

    def treat(self, call: Call, sickness: Sickness) -> Treatment:
        """Call a tool while the API has a sickness."""
        session = self.session
        begun, tried, at = len(self.backend.contacts), len(attempts(session)), session.process.age
        self.backend.become(sickness)
        reply = session.request("tools/call", call.params)
        contacts, reached = self.backend.contacts[begun:], tuple(attempts(session)[tried:])
        self.backend.become(WELL)
        stderr = session.process.stderr_since(at)
        return Treatment(call, sickness, reply, contacts, reached, stderr)

    def hold(self, call: Call, seconds: float = HELD_SECONDS) -> tuple[Treatment, bool]:
        """Call a tool of which the API is well, but answers late; return whether the tool waited for that."""
        session, backend = self.session, self.backend
        begun = len(backend.contacts)
        backend.become(WELL, held=True)
        request = session.send("tools/call", call.params)

        def is_over() -> bool:
            return session.is_answered(request) or session.closed

        left = session.timeout
        while not (len(backend.contacts) > begun or session.wait_for(is_over, LOOK_SECONDS) or left < 0):
            left -= LOOK_SECONDS
        waits = len(backend.contacts) > begun and not session.wait_for(is_over, seconds)
        backend.release()
        reply = reply_within(session, request, session.timeout)
        return Treatment(call, WELL, reply, backend.contacts[begun:]), waits


@contextmanager
def ward(server: Server) -> Iterator[Ward]:
    """Give a process of the server with an API of its own.  Skips the check in older revisions."""
    if not server.is_newest:
        skip("what the API does is judged in the newest revision")
    found = Ward(server)
    try:
        yield found
    finally:
        found.leave()


@scenario
def inventory(server: Server) -> Inventory:
    """Start the server, list its tools and call each that may be called; return what it asks meanwhile."""
    calls = server.quick_calls() if server.is_newest else []
    with ward(server) as room:
        backend, session = room.backend, room.session
        start = backend.contacts
        if server.declares("tools"):
            session.request("tools/list")
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
