"""Sessions that open in unusual ways, in a handshake revision: each costs one process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conformance.client.reply import Reply
from conformance.client.session import Session
from conformance.scenarios.client_features import all_capabilities
from conformance.target.scenario import scenario
from conformance.target.server import Server


@dataclass(frozen=True)
class EarlyRequests:
    """The replies to requests before the session is open, in the order they were sent.

    None stands for a request that was not sent, as the server did not survive an earlier one, or as
    ``initialize`` failed.
    """

    ping: Reply
    list_before_initialize: Reply | None = None
    initialize: Reply | None = None
    list_before_initialized: Reply | None = None
    last_ping: Reply | None = None


@scenario
def early_requests(server: Server) -> EarlyRequests:
    """Send a ping and a list request before ``initialize``, and a list request before ``initialized``."""
    with server.launch() as session:
        steps: dict[str, Callable[[], Reply]] = {
            "ping": lambda: session.request("ping", timeout=server.settings.start_timeout),
            "list_before_initialize": lambda: session.request("tools/list"),
            "initialize": lambda: session.propose(server.settings.start_timeout),
            "list_before_initialized": lambda: session.request("tools/list"),
            "last_ping": lambda: _ping_after_initialized(session),
        }
        replies: dict[str, Reply] = {}
        for name, step in steps.items():
            replies[name] = step()
            if replies[name].fault is not None or (name == "initialize" and replies[name].value is None):
                break
    return EarlyRequests(**replies)


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
    with server.launch() as session:
        session.request("ping", timeout=server.settings.start_timeout)
        return session.propose(server.settings.start_timeout)


@scenario
def delay_initialized(server: Server) -> None:
    """Open a session with every client capability, and send ``initialized`` late."""
    with server.launch(all_capabilities(server.revision)) as session:
        if session.propose(server.settings.start_timeout).fault is None:
            session.drain()
            session.drain()
            session.notify("notifications/initialized")
            session.drain()
