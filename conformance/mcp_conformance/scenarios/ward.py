"""A process of the server with an API of its own, which can be made sick, and what its tools answer then."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcp_conformance.backend.contact import ANSWERED_PORTS, OTHER_PORT, Contact
from mcp_conformance.backend.sickness import WELL, Sickness
from mcp_conformance.client.in_flight import reply_within
from mcp_conformance.client.reply import Closed, Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.tool_call import Call
from mcp_conformance.expect import skip
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.sandbox.traffic import Attempt
from mcp_conformance.scenarios.api_fetches import Fetch
from mcp_conformance.scenarios.tool_effects import attempts
from mcp_conformance.target.server import Server
from mcp_conformance.transport.http.endpoint import is_loopback
from mcp_conformance.transport.interface import NotServing

if TYPE_CHECKING:
    from mcp_conformance.backend.backend import Backend

HELD_SECONDS = 0.3
"""How long the answer to a tool is held, to see whether the tool waits for it.  A tool that does not was
answered within milliseconds in all servers seen."""
SURE_SECONDS = 1.0
"""The same before something is said against a tool, which may do other work; less than a tool's timeout."""
HELD_SHARE = 2
"""The answer is held at least so many times as long as the request took to come: a machine may be busy."""
LOOK_SECONDS = 0.02
STARTS = "the API of the server"


@dataclass(frozen=True)
class Treatment:
    """A call or a fetch while the API had a ``sickness``: what was asked and tried meanwhile, and the reply.

    ``stderr`` is what the server wrote there meanwhile.  ``is_cut`` says that the answer was not awaited for
    as long as the API was sick.
    """

    call: Call | Fetch
    sickness: Sickness
    reply: Reply
    contacts: tuple[Contact, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    stderr: str = ""
    is_cut: bool = False
    noise: tuple[Line, ...] = ()

    @property
    def tool(self) -> str:
        """The name of the tool, or of what is fetched."""
        return self.call.tool.name

    @property
    def is_fetch(self) -> bool:
        """Whether a prompt or a resource is fetched, not a tool called."""
        return isinstance(self.call, Fetch)

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
    def asked_outside(self) -> tuple[Contact, ...]:
        """The requests that arrived and were not for this machine."""
        return tuple(one for one in self.asked if not is_loopback(one.where))

    @property
    def asked(self) -> tuple[Contact, ...]:
        """The requests that arrived."""
        return tuple(one for one in self.contacts if one.method)


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
            try:
                self.opening = self.begin().open(self.settings.start_timeout)
            except NotServing as error:
                skip(f"a process of the server with an API of its own takes no connection: {error}")
            self.backend.settle()
            if self.opening.value is None:
                skip(f"no session opens while every host works: {self.opening}")
        assert self._session is not None
        return self._session

    def begin(self) -> Session:
        """Start a process, and return its session before it is opened."""
        self.server.processes.starts[STARTS] += 1
        started = self.settings.start() if self.settings.http is None else self.settings.start_beside()
        self._session = self.settings.session(started, self.server.revision)
        return self._session

    def leave(self) -> None:
        """End the process."""
        if self._session is not None:
            self._session.begin_close()
            self._session = None

    def wait(self, is_done: Callable[[], object], seconds: float) -> None:
        """Wait until something is so, here or in the session, or for so many seconds."""
        session = self.session
        until = session.clock.monotonic() + seconds
        while not (is_done() or session.closed) and session.clock.monotonic() < until:
            session.wait_for(is_done, LOOK_SECONDS)

    def treat(self, call: Call | Fetch, sickness: Sickness, patience: float = math.inf) -> Treatment:
        """Call or fetch while the API has a sickness, which ends after so many seconds of ``patience``."""
        session = self.session
        begun, tried, at = len(self.backend.contacts), len(attempts(session)), session.process.age
        self.backend.become(sickness)
        request = session.send(call.method, call.params)
        is_cut = patience < session.timeout and not session.wait_for(
            lambda: session.is_answered(request) or session.closed, patience
        )
        if is_cut:
            self.backend.become(WELL)
        reply = reply_within(session, request, session.timeout)
        self.backend.settle()
        contacts, reached = self.backend.contacts[begun:], tuple(attempts(session)[tried:])
        self.backend.become(WELL)
        stderr = session.process.stderr_since(at)
        noise = _noise(session, at)
        return Treatment(call, sickness, reply, contacts, reached, stderr, is_cut, noise)

    def hold(self, call: Call | Fetch, seconds: float = HELD_SECONDS) -> tuple[Treatment, bool]:
        """Call a tool of which the API is well, but answers late; return whether the tool waited for that."""
        session, backend = self.session, self.backend
        begun, tried, at = len(backend.contacts), len(attempts(session)), session.process.age
        backend.become(WELL, held=True)
        request = session.send(call.method, call.params)

        def is_over() -> bool:
            return session.is_answered(request) or session.closed

        self.wait(lambda: len(backend.contacts) > begun or is_over(), session.timeout)
        seconds = max(seconds, HELD_SHARE * (session.process.age - at))
        waits = len(backend.contacts) > begun and not session.wait_for(is_over, seconds)
        backend.release()
        reply = reply_within(session, request, session.timeout)
        backend.settle()
        noise = _noise(session, at)
        contacts = (*backend.contacts[begun:], *elsewhere(backend, attempts(session)[tried:]))
        return Treatment(call, WELL, reply, contacts, noise=noise), waits


def elsewhere(backend: Backend, tried: Iterable[Attempt]) -> Iterator[Contact]:
    """Yield the hosts that were tried at ports that nothing here answers."""
    for one in tried:
        if one.protocol == "TCP" and one.port not in ANSWERED_PORTS:
            yield Contact(backend.host_at(one.address), one.port, refusal=OTHER_PORT)


def _noise(session: Session, at: float) -> tuple[Line, ...]:
    """Return the lines that are not JSON of those since the process was so many seconds old."""
    return tuple(line for line in session.received.non_json() if line.at >= at and line.raw.strip())


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
