"""Listen requests of a modern session, and the notifications and answers that they got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_conformance.client.message_log import scan
from mcp_conformance.client.session import Session
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.jsonrpc import ABSENT, Kind, Line, id_key, is_response, kind
from mcp_conformance.protocol.methods import CANCELLED
from mcp_conformance.protocol.value import Value

LISTEN = "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"
FILTER_MEMBERS = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    UPDATED: "resourceSubscriptions",
}
"""The notifications that a subscription brings, and the member of the filter that requests each."""
FLAGS = {
    "toolsListChanged": ("tools", "listChanged"),
    "promptsListChanged": ("prompts", "listChanged"),
    "resourcesListChanged": ("resources", "listChanged"),
    "resourceSubscriptions": ("resources", "subscribe"),
}
"""The capability for each member of a filter."""


@dataclass(frozen=True)
class Listen:
    """A listen request, with its notifications and answers."""

    session: Session
    request: Line

    @property
    def id(self) -> Any:
        """The id of the request and of the subscription."""
        return self.request.message["id"]

    @property
    def filter(self) -> Mapping[str, Any]:
        """Its filter; empty if that is not an object."""
        found = Value(self.request.message).get("params", "notifications")
        return found.json if found is not None and found.is_a(dict) else {}

    def wants(self, method: str) -> bool:
        """Return whether the filter requests notifications of this method."""
        return self.filter.get(FILTER_MEMBERS[method], False) not in (False, [])

    @property
    def notifications(self) -> list[Value]:
        """The notifications that carry its id, in order."""
        return list(self._notifications())

    def _notifications(self) -> Iterator[Value]:
        own = id_key(self.id)
        return (one for one in notifications_in(self._later) if id_key(tag_of(one)) == own)

    @property
    def _later(self) -> list[Line]:
        return self.session.lines[self.session.lines.index(self.request) :]

    @property
    def acknowledgment(self) -> Value | None:
        """The notification that acknowledges it, None if there is none."""
        return next((one for one in self._notifications() if one.json["method"] == ACKNOWLEDGED), None)

    @property
    def agreed(self) -> Mapping[str, Any]:
        """The filter that the server acknowledged."""
        found = self.acknowledgment
        agreed = found.get("params", "notifications") if found is not None else None
        return agreed.json if agreed is not None and agreed.is_a(dict) else {}

    def covers(self, method: str, uri: str = "") -> bool:
        """Return whether the filter requests this, and the server acknowledged that."""
        agreed = self.agreed.get(FILTER_MEMBERS[method]) if self.wants(method) else None
        return uri in agreed if isinstance(agreed, list) else agreed is True

    def is_notified(self, method: str, uri: str, since: Line) -> bool:
        """Return whether a notification of a change came after a line was sent."""
        return any(each.lines[0].at >= since.at for each in self.changes(method, uri))

    def changes(self, method: str, uri: str = "") -> list[Value]:
        """Return its notifications of a method, those of a resource or a part of it if ``uri`` is given."""
        return [each for each in self.notifications if each.json["method"] == method and names(each, uri)]

    @property
    def answers(self) -> list[Value]:
        """The results and errors that answer it."""
        own = id_key(self.id)
        return [
            Value(message, "", (self.request, line))
            for line in self._later
            for message in line.parts()
            if not line.sent and is_response(message) and id_key(message.get("id", ABSENT)) == own
        ]

    @property
    def is_answered(self) -> bool:
        """Whether it is acknowledged or answered."""
        return self.acknowledgment is not None or bool(self.answers)

    @property
    def ends(self) -> list[Value]:
        """The messages by which the server ended it: cancellations and answers."""
        own = id_key(self.id)
        cancelled = [one for one in notifications_in(self._later) if one.json["method"] == CANCELLED]
        return [one for one in cancelled if id_key(cancelled_id(one)) == own] + self.answers


@scan
def listens_in(session: Session) -> list[Listen]:
    """Return the listen requests of a session."""
    requests = (line for line in session.lines if line.sent and kind(line.message) is Kind.REQUEST)
    return [Listen(session, line) for line in requests if line.message["method"] == LISTEN]


@dataclass(frozen=True)
class ChangeNotification:
    """A change notification, or an acknowledgment, and the listen requests sent before it."""

    message: Value
    listens: tuple[Listen, ...]

    @property
    def listen(self) -> Listen | None:
        """The listen request whose id it carries, None if there is none."""
        tag = id_key(tag_of(self.message))
        return next((one for one in self.listens if id_key(one.id) == tag), None)

    @property
    def is_requested(self) -> bool:
        """Whether any listen request requests it; each requests an acknowledgment."""
        return any(self.is_requested_by(one) for one in self.listens)

    @property
    def is_misdirected(self) -> bool:
        """Whether it carries the id of a listen request that does not request it."""
        return self.listen is not None and not self.is_requested_by(self.listen)

    def is_requested_by(self, listen: Listen) -> bool:
        """Return whether a listen request requests it."""
        method = self.message.json["method"]
        return method == ACKNOWLEDGED or listen.wants(method)


@scan
def change_notifications(session: Session, methods: tuple[str, ...]) -> Iterator[ChangeNotification]:
    """Yield the notifications of a session by these methods."""
    listens = listens_in(session)
    for one in notifications_in(session.lines) if session.lines else ():
        if one.json["method"] in methods:
            line = one.lines[0]
            yield ChangeNotification(one, tuple(each for each in listens if each.request.at <= line.at))


def notifications_in(lines: Sequence[Line]) -> Iterator[Value]:
    """Yield the notifications of the server in these lines."""
    for line in lines:
        for message in line.parts() if not line.sent else ():
            if kind(message) is Kind.NOTIFICATION:
                yield Value(message, "", (line,))


def tag_of(notification: Value) -> Any:
    """Return the subscription id that a notification carries, `ABSENT` if it carries none."""
    found = notification.get("params", "_meta", revisions.SUBSCRIPTION_ID)
    return ABSENT if found is None else found.json


def cancelled_id(notification: Value) -> Any:
    """Return the request id that a cancellation names, `ABSENT` if it names none."""
    found = notification.get("params", "requestId")
    return ABSENT if found is None else found.json


def names(update: Value, uri: str) -> bool:
    """Return whether an update names a resource, or a part of it; true if ``uri`` is empty."""
    found = update.get("params", "uri")
    return not uri or (found is not None and found.is_a(str) and found.json.startswith(uri.rstrip("/")))
