"""Unusual ways to open a session in a handshake revision; other checks use these sessions afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.outcome import Defect
from mcp_conformance.protocol import revisions
from mcp_conformance.scenarios.client_features import FULL_CLIENT, answers_for
from mcp_conformance.target.fuzz_levels import FUZZ_EXAMPLES
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server

OLD, NEW = "1999-01-01", "2099-01-01"
"""Revisions that do not exist."""
UNKNOWN = "org.example/unknown"
UNKNOWN_CAPABILITIES: dict[str, Any] = {UNKNOWN: {}, "experimental": {UNKNOWN: {}}}
SHUTS_CLIENTS_OUT = Defect.SHUTS_OUT
"""The defect of a server that refuses a revision of the future: newer clients propose theirs."""
PROPOSABLE = revisions.HANDSHAKE[1:]


# Proposals


def proposable(server: Server) -> list[str]:
    """Return the revisions to propose, in ascending order.

    They are the oldest one and those that cost no process, all of them if the server is fuzzed thoroughly.
    """
    if server.settings.examples >= FUZZ_EXAMPLES["thorough"]:
        return list(PROPOSABLE)
    return [one for one in PROPOSABLE if one == PROPOSABLE[0] or one in server.run.proposals]


def propose_new_revision(server: Server) -> Reply:
    """Return the reply to ``initialize`` for a revision of the future."""
    return server.proposed(NEW)


# Before the session is open


@dataclass(frozen=True)
class EarlyRequests:
    """The replies to requests that came too early; those after one without an answer were not sent."""

    ping: Reply
    list_before_initialize: Reply | None = None
    initialize: Reply | None = None
    list_before_initialized: Reply | None = None
    last_ping: Reply | None = None


@scenario
def early_requests(server: Server) -> EarlyRequests:
    """Send a ping and a list request before ``initialize``, and a list request before ``initialized``.

    The revision proposed does not exist, or is that of the run if no session opens with that.
    """
    early = _early_requests(server, OLD)
    if early.initialize is None or early.initialize.value is not None:
        return early
    return _early_requests(server, server.revision)


def _early_requests(server: Server, proposed: str) -> EarlyRequests:
    session = server.sessions.launch("requests before initialize")
    seconds = server.settings.start_timeout
    steps: dict[str, Callable[[], Reply]] = {
        "ping": lambda: session.request("ping", timeout=seconds),
        "list_before_initialize": lambda: session.request("tools/list"),
        "initialize": lambda: session.propose(seconds, proposed),
        "list_before_initialized": lambda: session.request("tools/list"),
        "last_ping": lambda: _ping_after_initialized(session),
    }
    replies: dict[str, Reply] = {}
    for name, step in steps.items():
        replies[name] = step()
        if replies[name].fault is not None or (name == "initialize" and replies[name].value is None):
            break
    early = EarlyRequests(**replies)
    if early.initialize is not None and early.initialize.value is not None:
        server.run.proposals.setdefault(proposed, early.initialize)
    server.sessions.release(session)
    return early


def _ping_after_initialized(session: Session) -> Reply:
    session.notify("notifications/initialized")
    return session.drain()


def ping_breaks_initialize(server: Server) -> bool:
    """Return whether ``initialize`` fails when only a ping came before it."""
    initialize = early_requests(server).initialize
    is_failed = initialize is not None and initialize.value is None
    return is_failed and initialize_after_ping(server).value is None


@scenario
def initialize_after_ping(server: Server) -> Reply:
    """Send a ping, then ``initialize``, and return the reply to that."""
    with server.sessions.launch("initialize after a ping") as session:
        session.request("ping", timeout=server.settings.start_timeout)
        return session.propose(server.settings.start_timeout)


# Other openings


@scenario
def initialize_with_unknown_members(server: Server) -> Reply:
    """Send ``initialize`` with members that no server knows, and return the reply.

    It comes after an incomplete ``initialize`` that was refused, if it works then.
    """
    session, incomplete = _incomplete_initialize(server)
    if incomplete.error is None or _initialize_with_unknown_members(server, session).value is None:
        session.begin_close()
        session = server.sessions.launch("unknown members of initialize", UNKNOWN_CAPABILITIES)
        _initialize_with_unknown_members(server, session)
    server.sessions.release(session)
    assert session.opening is not None
    return session.opening


def initialize_incompletely(server: Server) -> Reply:
    """Return the reply to an ``initialize`` without two of its required members."""
    return _incomplete_initialize(server)[1]


@scenario
def _incomplete_initialize(server: Server) -> tuple[Session, Reply]:
    session = server.sessions.launch("an incomplete initialize", UNKNOWN_CAPABILITIES)
    params = {"protocolVersion": server.revision}
    return session, session.request("initialize", params, timeout=server.settings.start_timeout)


def _initialize_with_unknown_members(server: Server, session: Session) -> Reply:
    session.client_info |= {UNKNOWN: [], "title": "Example", "websiteUrl": "https://example.org"}
    return session.initialize(server.settings.start_timeout)


@scenario
def delay_initialized(server: Server) -> None:
    """Open a session with every client capability, and send ``initialized`` late."""
    answers = answers_for(server, FULL_CLIENT)
    session = server.sessions.launch("a late initialized", FULL_CLIENT.declares(server.revision), answers)
    if session.propose(server.settings.start_timeout).fault is None:
        session.drain()
        session.drain()
        session.notify("notifications/initialized")
        session.drain()
    server.sessions.release(session)
