"""Subscriptions of a modern server: listen requests of all kinds, and the change notifications it sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from mcp_conformance.client.refusals import NO_SUCH_URI
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.subscriptions import (
    FILTER_MEMBERS,
    FLAGS,
    LISTEN,
    UPDATED,
    ChangeNotification,
    Listen,
    change_notifications,
    names,
    notifications_in,
    tag_of,
)
from mcp_conformance.expect import expect_none, skip
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, Line, id_key, kind
from mcp_conformance.protocol.methods import CANCELLED
from mcp_conformance.protocol.value import Value
from mcp_conformance.scenarios.changing_call import (
    has_mutating_call,
    make,
    mutating_call,
    require_mutating_call,
)
from mcp_conformance.scenarios.list_changes import (
    NOTIFICATION_SECONDS,
    ObservedChange,
    announced_change,
    attempt_unsubscribed_change,
    change_in,
    require_answered,
    unsubscribed_change,
)
from mcp_conformance.scenarios.log_messages import logging_requests, with_log_level
from mcp_conformance.scenarios.server_snapshot import MAX_RESOURCES, ServerSnapshot, snapshot, watched
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.verdicts import Blocked

INVALID_FILTERS: Mapping[str, Mapping[str, Any]] = {
    "absent": {},
    "words": {"notifications": {"toolsListChanged": "yes"}},
    "one-uri": {"notifications": {"resourceSubscriptions": NO_SUCH_URI}},
}
"""Params of listen requests that the server must reject."""
MAX_REPORTING_CALLS = 3
CLOSING_SECONDS = 5.0


class SubscriptionCase(StrEnum):
    """The listen requests of the scenario, beside one for each member of a filter, named by that member."""

    DECLARED = "first"
    """Subscribes to all that is declared."""
    CANCELLED = "second"
    """The same; cancelled after the first change."""
    ALL = "every"
    """Subscribes to all that a filter can name, declared or not."""
    EMPTY = "nothing"
    """Has an empty filter."""
    UNCHANGED = "still"
    """Subscribes to resources that the mutating call does not change."""
    EARLY = "hasty"
    """Like the first; sent immediately before the second mutating call."""


IDS: Mapping[str, Any] = {SubscriptionCase.DECLARED: 0, SubscriptionCase.CANCELLED: "1000022"}
"""Ids that are easily mistaken: for a missing one, and for a number (which no other request has)."""


@dataclass(frozen=True)
class Subscriptions:
    """A session with listen requests of all kinds, and two mutating calls.

    ``listens``: by `SubscriptionCase` or member of a filter.  After ``change``, `SubscriptionCase.CANCELLED`
    was cancelled by the line ``cancellation``, which the server had read at ``cancellation_read_at``; then
    came ``second_change``.  The client closed stdin at ``closed_at``, unless the server had ``died``.
    """

    session: Session
    listens: Mapping[str, Listen]
    change: ObservedChange | None
    second_change: ObservedChange | None
    cancellation: Line | None
    cancellation_read_at: float
    closed_at: float
    died: bool
    invalid: Mapping[str, tuple[Listen, Reply]]

    @property
    def acknowledged(self) -> Mapping[str, Listen]:
        """The listen requests that the server acknowledged."""
        return {name: one for name, one in self.listens.items() if one.acknowledgment is not None}

    def is_announced(self, change: ObservedChange, method: str, uri: str = "") -> bool:
        """Return whether any earlier subscription was notified of a change, even in a wrong form."""
        found = [one for one in notifications_in(self.session.lines) if one.json["method"] == method]
        later = [one for one in found if names(one, uri) and one.lines[0].at >= change.call.request.at]
        return any(not self._is_for_early_request(one) for one in later)

    def _is_for_early_request(self, notification: Value) -> bool:
        early = self.listens.get(SubscriptionCase.EARLY)
        return early is not None and id_key(tag_of(notification)) == id_key(early.id)

    def rejection(self, name: str) -> Value | None:
        """Return the error that rejected a listen request, None if it was not rejected."""
        one = self.listens[name]
        answers = [answer for answer in one.answers if answer.lines[-1].at < self.closed_at]
        errors = [answer for answer in answers if kind(answer.json) is Kind.ERROR]
        return errors[0] if errors and one.acknowledgment is None else None


def subscriptions(server: Server) -> Subscriptions:
    """Return the session with listen requests of all kinds.

    Raises `Blocked` for the first check that meets a server that did not survive it.
    """
    found = _subscriptions(server)
    if found.died:
        lines, stderr = found.session.lines[-6:], found.session.process.stderr
        reason = "the server ended while subscriptions were open"
        server.reported.raise_once("listening", Blocked(reason, lines, stderr, "subscriptions.supported"))
    return found


def subscribed_change(server: Server) -> ObservedChange:
    """Return the first change under a subscription; skip if nothing changed, or no subscription was open."""
    require_mutating_call(server)
    change = subscriptions(server).change
    if change is None:
        skip("no listen request was acknowledged")
    if not require_answered(server, change).notifications:
        skip(f"calling {change.tool} changed no list and no resource that was read: {change.call}")
    return change


def declared_members(server: Server) -> list[str]:
    """Return the members of a filter whose capability the server declares."""
    return [member for member, path in FLAGS.items() if server.declares(*path)]


@scenario
def _subscriptions(server: Server) -> Subscriptions:
    can_change, reporting = has_mutating_call(server), _reporting_calls(server)
    unchanged = attempt_unsubscribed_change(server).unchanged_uris if can_change else []
    change = second = cancellation = None
    read_at = 0.0
    with server.fresh("subscriptions") as session:
        before = _state_to_change(server, session) if can_change else ServerSnapshot({}, {})
        filters = _filters(server, list(before.contents), unchanged)
        listens = {name: _listen(session, name, filter) for name, filter in filters.items()}
        _await_responses(session, listens.values())
        is_subscribed = any(one.acknowledgment is not None for one in listens.values())
        if can_change and is_subscribed:
            change = change_in(server, session, mutating_call(server), before)
            _await_notifications(session, listens.values(), change)
            change = _lasting(server, session, change)
        for params in reporting if is_subscribed else ():
            session.request("tools/call", params)
        if change and change.notifications:
            cancellation = _cancel(session, listens[SubscriptionCase.CANCELLED])
            read_at = session.process.age
            filter = listens[SubscriptionCase.DECLARED].filter
            listens[SubscriptionCase.EARLY] = _listen(session, SubscriptionCase.EARLY, filter)
            second = change_in(server, session, mutating_call(server), change.after)
            others = (one for name, one in listens.items() if name != SubscriptionCase.CANCELLED)
            _await_notifications(session, list(others), second)
        invalid = _send_invalid(session) if is_subscribed else {}
        closed_at, died = session.process.age, session.closed
        session.finish(session.scaled_timeout(CLOSING_SECONDS))
    return Subscriptions(session, listens, change, second, cancellation, read_at, closed_at, died, invalid)


def _state_to_change(server: Server, session: Session) -> ServerSnapshot:
    """Return what a new process shows; before a call that was found, it gets what the call may need."""
    if server.settings.mutating_call is None:
        server.sessions.prepare(session)
        make(session, mutating_call(server))
    return snapshot(server, session, watched(server, session))


def _lasting(server: Server, session: Session, change: ObservedChange) -> ObservedChange:
    """Return a change without what changed again by itself, as a clock does: that may not be the tool's."""
    before, after = change.before, change.after
    later = snapshot(server, session, change.changed_uris)
    changed_again = [uri for uri in change.changed_uris if later.contents.get(uri) != after.contents[uri]]
    contents = {**after.contents, **{uri: before.contents[uri] for uri in changed_again}}
    return replace(change, after=replace(after, contents=contents))


def _filters(server: Server, read: Sequence[str], unchanged: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the filters of the listen requests: for the resources that were read, or the first ones."""
    listed = server.listing("resources/list").identifiers() if server.declares("resources") else []
    uris = list(read) or listed[:MAX_RESOURCES] or [NO_SUCH_URI]
    all_members = {member: uris if member == FILTER_MEMBERS[UPDATED] else True for member in FLAGS}
    declared = {member: all_members[member] for member in declared_members(server)}
    off = {member: False for member in declared if member != FILTER_MEMBERS[UPDATED]}
    filters: dict[str, dict[str, Any]] = {
        SubscriptionCase.DECLARED: declared,
        SubscriptionCase.CANCELLED: declared,
        SubscriptionCase.ALL: all_members,
        SubscriptionCase.EMPTY: {},
        **{member: {**off, member: wanted} for member, wanted in declared.items()},
    }
    if unchanged and FILTER_MEMBERS[UPDATED] in declared:
        filters[SubscriptionCase.UNCHANGED] = {FILTER_MEMBERS[UPDATED]: list(unchanged)}
    return filters


def _listen(session: Session, name: str, filter: Mapping[str, Any]) -> Listen:
    params = {"notifications": dict(filter)}
    if name == SubscriptionCase.ALL:
        params = with_log_level(params, "debug")
    return Listen(session, session.send(LISTEN, params, id=IDS.get(name, ABSENT)))


def _await_responses(session: Session, listens: Iterable[Listen]) -> None:
    session.wait_for(lambda: all(one.is_answered for one in listens), session.timeout)
    session.drain()


def _await_notifications(session: Session, listens: Iterable[Listen], change: ObservedChange) -> None:
    """Wait until each subscription was notified of a change, and the server has nothing left to do."""

    def is_everything_announced() -> bool:
        due = [(one, news) for one in listens for news in change.notifications if one.covers(*news)]
        return all(one.is_notified(*news, change.call.request) for one, news in due)

    session.wait_for(is_everything_announced, session.scaled_timeout(NOTIFICATION_SECONDS))
    session.drain()


def _cancel(session: Session, listen: Listen) -> Line:
    line = session.notify(CANCELLED, {"requestId": listen.id, "reason": "Nobody listens any more."})
    session.drain()
    return line


def _send_invalid(session: Session) -> dict[str, tuple[Listen, Reply]]:
    listens = {
        name: Listen(session, session.send(LISTEN, params)) for name, params in INVALID_FILTERS.items()
    }
    _await_responses(session, listens.values())
    return {name: (one, session.await_reply(one.request, 0.0)) for name, one in listens.items()}


def _reporting_calls(server: Server) -> list[dict[str, Any]]:
    """Return the params of calls of quick tools that report progress or log, as they can be made again."""
    requests = logging_requests(server) if server.declares("logging") else []
    logging = {one.params["name"] for one in requests if one.method == "tools/call"}
    calls = [call for call in server.quick_calls() if call.progress or call.tool.name in logging]
    params = [
        {
            "name": call.tool.name,
            "arguments": call.arguments,
            "_meta": {"progressToken": f"listening-{number}"},
        }
        for number, call in enumerate(calls[:MAX_REPORTING_CALLS])
    ]
    return [with_log_level(each, "debug") for each in params]


def sent_notifications(server: Server, *methods: str) -> list[ChangeNotification]:
    """Return the notifications of these methods a modern server has sent, after changes were triggered."""
    if has_mutating_call(server):
        unsubscribed_change(server)
    subscriptions(server)
    return [one for session in server.sessions for one in change_notifications(session, methods)]


def unrequested_notifications(server: Server, *methods: str) -> list[Value]:
    """Return the notifications of these methods that no subscription, or not their own, requested."""
    sent = sent_notifications(server, *methods)
    return [one.message for one in sent if not one.is_requested or one.is_misdirected]


def requested_notifications(server: Server, *methods: str) -> list[ChangeNotification]:
    """Return the notifications of these methods that some subscription requested."""
    return [one for one in sent_notifications(server, *methods) if one.is_requested]


def expect_subscription_ids(notifications: Iterable[ChangeNotification]) -> None:
    """Expect that each notification carries the id of a listen request, with the same type."""
    stray = [one.message for one in notifications if one.listen is None]
    expected = (
        f"in params._meta a {revisions.SUBSCRIPTION_ID} that is the id of a listen request, of its type"
    )
    expect_none(stray, expected)


def trigger_notifications(server: Server) -> None:
    """Make the server send notifications of changed lists, if the user names a mutating call."""
    if revisions.is_modern(server.revision):
        sent_notifications(server)
    elif server.settings.mutating_call is not None:
        announced_change(server)


def list_change_notified(server: Server, feature: str) -> tuple[Reply, bool]:
    """Return the call that changed the list of a feature, and whether the server announced the change.

    In a modern revision a subscription is open.  Skips the check if the list did not change.
    """
    method = f"notifications/{feature}/list_changed"
    if revisions.is_modern(server.revision):
        change, found = subscribed_change(server), subscriptions(server)
        if not any(one.covers(method) for one in found.acknowledged.values()):
            skip(f"no {FILTER_MEMBERS[method]} was acknowledged")
        is_announced = found.is_announced(change, method)
    else:
        change, announced = announced_change(server)
        is_announced = method in announced
    if feature not in require_answered(server, change).features:
        skip(f"calling {change.tool} did not change the list of {feature}: {change.call}")
    return change.call, is_announced
