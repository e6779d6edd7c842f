"""Resource subscriptions: requests to subscribe and unsubscribe, and the updates that the server sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.subscriptions import UPDATED
from mcp_conformance.expect import require_some, skip
from mcp_conformance.protocol.jsonrpc import Kind, kind
from mcp_conformance.protocol.revisions import is_modern
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.changing_call import (
    has_mutating_call,
    make,
    mutating_call,
    session_of_calls,
)
from mcp_conformance.scenarios.list_changes import NOTIFICATION_SECONDS
from mcp_conformance.scenarios.server_snapshot import MAX_RESOURCES, contents, replies_for, watched
from mcp_conformance.scenarios.subscriptions import (
    subscribed_change,
    subscriptions,
    trigger_notifications,
    unrequested_notifications,
)
from mcp_conformance.scenarios.traffic import exercise_everything
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.settings import Sample
from mcp_conformance.verdicts import Blocked

SUBSCRIBE, UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"


# Subscribing (handshake revisions)


@scenario
def subscribe_replies(server: Server) -> tuple[tuple[Reply, Reply | None], ...]:
    """Subscribe to each of the first resources, unsubscribe where that gave a result; return the replies."""
    session = server.shared("subscriptions")
    uris = server.listing("resources/list").identifiers()[:MAX_RESOURCES]
    return tuple(
        (reply, session.request(UNSUBSCRIBE, {"uri": uri}) if reply.value is not None else None)
        for uri, reply in replies_for(session, SUBSCRIBE, uris)
    )


def asks_in_vain(server: Server) -> bool:
    """Return whether the client refused something that the server asked for while it subscribed."""
    subscribe_replies(server)
    lines = server.shared("subscriptions").lines
    return any(line.sent and kind(line.message) is Kind.ERROR for line in lines)


def leaves_requests_unanswered(server: Server) -> bool:
    """Return whether a request to subscribe or unsubscribe was not answered."""
    replies = [reply for pair in subscribe_replies(server) for reply in pair]
    return any(reply.fault is not None for reply in replies if reply is not None)


# Updates in a handshake revision


@dataclass(frozen=True)
class UpdateTrial:
    """A session with two mutating calls: one under subscriptions, and one after unsubscribing.

    ``changed`` and ``changed_again`` are the URIs whose contents the calls changed; ``late_updates`` came
    after the server had agreed to unsubscribe from ``unsubscribed``.
    """

    tool: str
    session: Session
    call: Reply
    changed: list[str] = field(default_factory=list)
    unsubscribed: list[str] = field(default_factory=list)
    changed_again: list[str] = field(default_factory=list)
    late_updates: list[Value] = field(default_factory=list)


def update_trial(server: Server) -> UpdateTrial:
    """Hold the session with two mutating calls, once; skip if it could not be exercised.

    Raises `Blocked` for the first check that meets an unanswered mutating call.
    """
    if server.listing("resources/list").failure:
        skip("resources/list cannot be fetched to its end")
    trial = _update_trial(server)
    if trial.call.fault is not None:
        reason = f"calling {trial.tool} was not answered: {trial.call.fault}"
        blocked = Blocked(reason, trial.call.lines, trial.call.fault.stderr)
        server.reported.raise_once("changing tool", blocked)
    return trial


@scenario
def _update_trial(server: Server) -> UpdateTrial:
    sample = mutating_call(server)
    subscribes = server.declares("resources", "subscribe") and not leaves_requests_unanswered(server)
    with session_of_calls(server, "updates of resources") as session:
        subscribed = _accepted(session, SUBSCRIBE, watched(server, session) if subscribes else ())
        call, changed = _change(session, sample, subscribed)
        if call.fault is not None:
            return UpdateTrial(sample.tool, session, call)
        seconds = session.scaled_timeout(NOTIFICATION_SECONDS)
        session.wait_for(lambda: all(is_updated(session, uri, call) for uri in changed), seconds)
        # What changes again by itself, as a clock does, may not be the tool's.
        later = contents(session, changed)
        lasting = [uri for uri, content in changed.items() if later.get(uri) == content]
        unsubscribed = _accepted(session, UNSUBSCRIBE, subscribed)
        session.drain()
        before = len(session.received.notifications(UPDATED))
        changed_again = _change(session, mutating_call(server), unsubscribed)[1] if unsubscribed else {}
        session.drain()
    late = [Value(message, "", (line,)) for line, message in session.received.notifications(UPDATED)[before:]]
    return UpdateTrial(sample.tool, session, call, lasting, unsubscribed, list(changed_again), late)


def _accepted(session: Session, method: str, uris: Iterable[str]) -> list[str]:
    """Return the URIs for which a request gave a result."""
    return [uri for uri, reply in replies_for(session, method, uris) if reply.value is not None]


def _change(session: Session, sample: Sample, uris: Sequence[str]) -> tuple[Reply, dict[str, Any]]:
    """Make the mutating call; return its reply, and the new contents that were steady before and differ."""
    first, second = contents(session, uris), contents(session, uris)
    call = make(session, sample)
    third: Mapping[str, Any] = contents(session, uris) if call.fault is None else {}
    steady = [uri for uri in second if first.get(uri) == second[uri]]
    return call, {uri: third[uri] for uri in steady if uri in third and third[uri] != second[uri]}


def is_updated(session: Session, uri: str, call: Reply) -> bool:
    """Return whether an update of a resource, or of a part of it, has come since a call."""
    news = session.received.notifications(UPDATED)
    later = [Value(message) for line, message in news if line.at >= call.request.at]
    named = members(later, "params", "uri")
    return any(name.is_a(str) and name.json.startswith(uri.rstrip("/")) for name in named)


# Updates in any revision


def missing_updates(server: Server) -> tuple[Reply, list[str]]:
    """Return the mutating call, and the subscribed resources that it changed without an update.

    Skips the check if it changed none.
    """
    if is_modern(server.revision):
        change, found = subscribed_change(server), subscriptions(server)
        listens = found.acknowledged.values()
        uris = [uri for uri in change.changed_uris if any(one.covers(UPDATED, uri) for one in listens)]
        require_some(uris, skip=f"calling {change.tool} changed nothing that was subscribed to")
        return change.call, [uri for uri in uris if not found.is_announced(change, UPDATED, uri)]
    trial = update_trial(server)
    require_some(trial.changed, skip=f"calling {trial.tool} changed nothing that was subscribed to")
    return trial.call, [uri for uri in trial.changed if not is_updated(trial.session, uri, trial.call)]


def resource_notifications(server: Server, *methods: str) -> list[Value]:
    """Return the messages of these methods that the server sent, after all that may trigger them."""
    exercise_everything(server)
    trigger_notifications(server)
    can_change = server.declares("resources") and not is_modern(server.revision)
    if can_change and not server.listing("resources/list").failure and has_mutating_call(server):
        update_trial(server)
    found = server.received(Kind.NOTIFICATION, Kind.REQUEST)
    return [each for each in found if each.json["method"] in methods]


def unrequested_updates(server: Server) -> list[Value]:
    """Return the updates that came although the client had subscribed to nothing."""
    if is_modern(server.revision):
        return unrequested_notifications(server, UPDATED)
    return [update for session in server.sessions for update in _before_subscribing(session)]


def _before_subscribing(session: Session) -> Iterator[Value]:
    for line in session.lines:
        method = line.message.get("method") if line.sent and isinstance(line.message, dict) else None
        if method == SUBSCRIBE:
            return
        if not line.sent:
            yield from (Value(each, "", (line,)) for each in line.parts() if _is_update(each))


def _is_update(message: Any) -> bool:
    return isinstance(message, dict) and message.get("method") == UPDATED
