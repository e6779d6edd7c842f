"""The mutating call: the server's lists and resources before and after it, without a subscription."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.listing import Listing
from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.subscriptions import FILTER_MEMBERS, UPDATED
from mcp_conformance.client.tool_call import Call
from mcp_conformance.expect import skip
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.scenarios.changing_call import (
    make,
    mutating_call,
    session_of_calls,
    users_mutating_call,
)
from mcp_conformance.scenarios.list_stability import complete_listing, difference, lists_in
from mcp_conformance.scenarios.server_snapshot import ServerSnapshot, snapshot, watched
from mcp_conformance.target.scenario import scenario
from mcp_conformance.target.server import Server
from mcp_conformance.target.sessions import CALLS
from mcp_conformance.target.settings import Sample
from mcp_conformance.verdicts import Blocked, Finding

MAX_NAMES = 5
# Not measured: one announcement may come late, after the call that it belongs to.
LOOKS, MIN_IDLE = 3, 2
"""How many calls are made to see whether an announced list has changed, and how often it must not have."""
IDLE_SECONDS = 0.5
NOTIFICATION_SECONDS = 2.0
STRAY_NOTIFICATION_SECONDS = 0.5


@dataclass(frozen=True)
class ObservedChange:
    """The mutating call, with a snapshot of the server before it and after it."""

    tool: str
    call: Reply
    before: ServerSnapshot
    after: ServerSnapshot

    @property
    def features(self) -> list[str]:
        """The features whose lists have changed."""
        before, after = self.before.names, self.after.names
        return [feature for feature in before if feature in after and before[feature] != after[feature]]

    @property
    def changed_uris(self) -> list[str]:
        """The resources whose contents have changed."""
        return [uri for uri, found in self.before.contents.items() if self._later(uri) != found]

    @property
    def unchanged_uris(self) -> list[str]:
        """The resources whose contents have not changed."""
        return [uri for uri, found in self.before.contents.items() if self._later(uri) == found]

    def _later(self, uri: str) -> Any:
        return self.after.contents.get(uri, self.before.contents[uri])

    @property
    def notifications(self) -> list[tuple[str, str]]:
        """The notifications that are due: methods, each with a URI or an empty string."""
        lists = [(f"notifications/{feature}/list_changed", "") for feature in self.features]
        return lists + [(UPDATED, uri) for uri in self.changed_uris]


@scenario
def lists_after_calls(server: Server) -> tuple[Session, Mapping[str, Listing]]:
    """Return the session in which every tool was called that may be, and its lists; none without calls."""
    if not server.calls():
        return server.session, {}
    session = server.shared(CALLS)
    return session, lists_in(server, session)


@scenario
def lists_without_calls(server: Server) -> Mapping[str, Listing]:
    """Return the lists as a process has them in which no tool was called."""
    with server.fresh("lists without calls") as session:
        return lists_in(server, session)


def require_change_by_calls(server: Server, method: str) -> tuple[Listing, str]:
    """Return a list that calls have changed, and what is new or gone.

    Skips the check if the list did not change, or differs from process to process anyway.
    """
    before, after = server.listing(method), lists_after_calls(server)[1].get(method)
    if after is None or not (before.is_complete and after.is_complete):
        skip(f"{method} was not fetched in full before and after calls")
    changed = difference(before, after)
    if not changed:
        skip(f"no call changed {method}")
    if difference(before, lists_without_calls(server)[method]):
        skip(f"{method} differs from process to process")
    return after, changed


def expect_announced_by_calls(server: Server, feature: str) -> None:
    """Expect that a list that calls have changed is announced, if the server declares that it will be."""
    if revisions.is_modern(server.revision):
        skip("a notification needs a subscription in this revision")
    after, changed = require_change_by_calls(server, f"{feature}/list")
    method, session = f"notifications/{feature}/list_changed", lists_after_calls(server)[0]
    seconds = session.scaled_timeout(NOTIFICATION_SECONDS)
    session.wait_for(lambda: session.received.notifications(method), seconds)
    if not (session.received.notifications(method) or session.lines.dropped):
        names = ", ".join(call.tool.name for call in server.calls()[:MAX_NAMES])
        got = f"nothing, although {after.method} has changed after calls of {names}: {changed}"
        raise Finding(method, got, after.replies[0].lines)


def expect_announced_between_lists(server: Server, feature: str) -> None:
    """Expect that a list that has other items when it is fetched again at once is announced, if declared."""
    if revisions.is_modern(server.revision):
        skip("a notification needs a subscription in this revision")
    method, session = f"notifications/{feature}/list_changed", server.session
    first, second = (complete_listing(session, f"{feature}/list") for _ in range(2))
    changed = difference(first, second)
    if not changed:
        skip(f"{feature}/list has the same items twice")
    seconds = session.scaled_timeout(NOTIFICATION_SECONDS)
    session.wait_for(lambda: session.received.notifications(method), seconds)
    if not session.received.notifications(method):
        lines = (*first.replies[0].lines, *second.replies[0].lines)
        got = f"nothing, although two {feature}/list one after the other differ: {changed}"
        raise Finding(method, got, lines)


def expect_announcements_of_changes(server: Server, feature: str) -> None:
    """Expect that a list that is announced again and again has changed; skip if it was never announced.

    Looks at it before and after some calls: each time that it is announced meanwhile, it should differ.
    """
    method, session = f"notifications/{feature}/list_changed", lists_after_calls(server)[0]
    if revisions.is_modern(server.revision) or not session.received.notifications(method):
        skip(f"no {method} came without a subscription")
    calls = [one for one in server.quick_calls() if not one.failed][:LOOKS]
    idle = [
        line for call in calls if (line := _idle_announcement(server, session, feature, call)) is not None
    ]
    if len(idle) >= MIN_IDLE:
        got = f"{len(session.received.notifications(method))} of them, and {feature}/list is the same"
        expected, rule = f"{method} only after a change", f"{feature}.list-changed.sent"
        raise Finding(expected, got, idle, rule, advisory=True)


def _idle_announcement(server: Server, session: Session, feature: str, call: Call) -> Line | None:
    """Return the announcement of a list that a call did not change; None if none came."""
    method, before = f"notifications/{feature}/list_changed", complete_listing(session, f"{feature}/list")
    seen = len(session.received.notifications(method))
    server.call_again(call, call.params)
    session.wait_for(lambda: session.received.notifications(method)[seen:], IDLE_SECONDS)
    after, came = complete_listing(session, before.method), session.received.notifications(method)[seen:]
    is_same = [one.json for one in before.items] == [one.json for one in after.items]
    return came[0][0] if came and is_same else None


def unsubscribed_change(server: Server) -> ObservedChange:
    """Return a change in a modern session without a subscription.  Raises `Blocked` as `require_answered`."""
    return require_answered(server, attempt_unsubscribed_change(server))


@scenario
def attempt_unsubscribed_change(server: Server) -> ObservedChange:
    """Make the mutating call in a modern session without a subscription; it may go unanswered."""
    sample = mutating_call(server)
    with session_of_calls(server, "a change without a subscription") as session:
        change = change_in(server, session, sample, snapshot(server, session, watched(server, session)))
        session.drain()
        seconds = session.scaled_timeout(STRAY_NOTIFICATION_SECONDS)
        session.wait_for(lambda: any(map(session.received.notifications, FILTER_MEMBERS)), seconds)
        return change


@scenario
def announced_change(server: Server) -> tuple[ObservedChange, tuple[str, ...]]:
    """Make the mutating call in a handshake revision; return it with the list changes it announced."""
    sample = users_mutating_call(server)
    with server.fresh("an announced change") as session:
        change = change_in(server, session, sample, snapshot(server, session, ()))
        declared = [feature for feature in change.features if server.declares(feature, "listChanged")]
        methods = [f"notifications/{feature}/list_changed" for feature in declared]
        seconds = session.scaled_timeout(NOTIFICATION_SECONDS)
        session.wait_for(lambda: all(map(session.received.notifications, methods)), seconds)
        return change, tuple(method for method in methods if session.received.notifications(method))


def require_answered(server: Server, change: ObservedChange) -> ObservedChange:
    """Return the change; raise `Blocked` for the first check that meets an unanswered mutating call."""
    call = change.call
    if call.fault is not None:
        reason = f"calling {change.tool} was not answered: {call.fault}"
        server.reported.raise_once("changing tool", Blocked(reason, call.lines, call.fault.stderr))
    return change


def change_in(server: Server, session: Session, sample: Sample, before: ServerSnapshot) -> ObservedChange:
    """Make the mutating call, and take a snapshot of the same lists and resources after it."""
    call = make(session, sample)
    after = before if call.fault else snapshot(server, session, before.contents)
    return ObservedChange(sample.tool, call, before, after)
