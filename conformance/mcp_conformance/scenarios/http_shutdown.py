"""A server over HTTP that is asked to end while a subscription is open."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace

from mcp_conformance.client.reply import Closed, Reply, Unanswered
from mcp_conformance.client.subscriptions import LISTEN, Listen
from mcp_conformance.expect import require_some, skip
from mcp_conformance.scenarios.subscriptions import subscriptions
from mcp_conformance.target.server import Server
from mcp_conformance.transport.interface import CannotStart, NotServing, Transport
from mcp_conformance.transport.usage import usage_of

SHUTDOWN_SECONDS = 3.0
"""How long a server may take to end its subscriptions; more if it is slow."""


def end_of_subscription(server: Server) -> Reply:
    """Return what became of an open listen request when its process was asked to end by SIGTERM.

    All conversations of a run share a process, so this one gets a process of its own.  Skips the check if
    the server was not started by us or is confined, acknowledges no listen request, has started other
    processes, or goes on.
    """
    http = server.settings.http
    if http is None or http.url:
        skip("the server was not started by this run, so it is not asked to end")
    if os.name != "posix":
        skip("this system has no signal that asks a server to end")
    if server.settings.sandbox is not None:
        skip("it is not judged in a sandbox, which a signal may end first")
    acknowledged = list(subscriptions(server).acknowledged.values())
    filter = require_some(acknowledged, skip="no listen request was acknowledged")[0].filter
    with closing(http.beside()) as own:
        try:
            process = replace(server.settings, http=own).start()
        except (CannotStart, NotServing) as error:
            skip(f"no second process of the server starts beside the first one: {error}")
        server.processes.starts["a server that is asked to end"] += 1
        with closing(server.settings.session(process, server.revision)) as session:
            listen = Listen(session, session.send(LISTEN, {"notifications": dict(filter)}))
            session.wait_for(lambda: listen.is_answered, session.timeout)
            if listen.acknowledgment is None or listen.answers:
                skip("a second process of the server acknowledges no listen request")
            if _has_others(process):
                skip("the command starts the server as another process, which may get the signal twice")
            own.terminate()
            reply = session.await_reply(listen.request, session.scaled_timeout(SHUTDOWN_SECONDS))
    if reply.fault is not None and not isinstance(reply.fault, Closed | Unanswered):
        skip("the subscription of a server that got SIGTERM goes on")
    return reply


def _has_others(process: Transport) -> bool:
    """Return whether a process has started others, as far as this system shows that."""
    usage = usage_of(process.pid) if process.pid is not None else None
    return usage is not None and usage.children > 0
