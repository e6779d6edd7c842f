"""The exchanges of a recorded session: what a client asked or announced, and what the server said to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from mcp_conformance.protocol.jsonrpc import IdKey, Kind, Line, encode, id_key, is_response, kind, strict
from mcp_conformance.protocol.methods import CANCELLED
from mcp_conformance.protocol.revisions import SUBSCRIPTION_ID
from mcp_conformance.tap.conversation import part

PROGRESS = "notifications/progress"
Path = tuple[str | int, ...]
LISTEN, ACKNOWLEDGED = "subscriptions/listen", "notifications/subscriptions/acknowledged"


@dataclass
class Said:
    """A message of the server; ``spoiled`` are the bytes that are sent in its place.

    ``is_aside`` says that it did not come on the stream of the request's own response over HTTP: the stream
    of a GET or of a subscription has it.  ``waits`` says that the client had answered it before the server
    said more.
    """

    message: dict[str, Any]
    is_aside: bool = False
    waits: bool = False
    spoiled: bytes | None = None

    @property
    def raw(self) -> bytes:
        """The line that is sent."""
        return encode(self.message) if self.spoiled is None else self.spoiled


@dataclass
class Exchange:
    """A recorded ``request`` or notification of a client, its ``answer``, and what the server said about it.

    That is what came ``before`` the answer, and ``after`` it while the client asked nothing else.
    ``is_cancelled`` says that the client took the request back.  ``clock`` is when it was sent, in seconds
    since 1970, 0 if that is not known; ``varies`` are the paths of parameters whose values differ each time.
    """

    request: dict[str, Any]
    clock: float = 0.0
    before: list[Said] = field(default_factory=list)
    answer: dict[str, Any] | None = None
    after: list[Said] = field(default_factory=list)
    is_cancelled: bool = False
    varies: set[Path] = field(default_factory=set)

    @property
    def method(self) -> str:
        """The method of the request."""
        return str(self.request["method"])

    @property
    def token(self) -> Any:
        """The progress token of the request; `ABSENT` if it has none."""
        return part(self.request, "params", "_meta", "progressToken")

    @property
    def is_complete(self) -> bool:
        """Whether nothing more was to come: a request that nobody answered may have had an answer later."""
        is_request = kind(self.request) is Kind.REQUEST
        return not is_request or self.answer is not None or self.is_cancelled or self.method == LISTEN


def exchanges(lines: Iterable[Line], began: float = 0.0) -> list[Exchange]:
    """Return the complete exchanges of a session, in the order in which they began.

    What a client says of its requests, their progress and that it takes one back, is none.  The session
    ``began`` at this time, in seconds since 1970.
    """
    reading = _Reading(began)
    for line in lines:
        for message in line.parts():
            (reading.client if line.sent else reading.server)(line, _finite(message))
    return [one for one in reading.found if one.is_complete]


def _finite(message: Any) -> Any:
    """Return a message as it can be sent: NaN and infinity become texts."""
    try:
        encode(message)
    except ValueError:
        return strict(message)
    return message


def subscription_of(message: Any) -> Any:
    """Return the id of the subscription that a notification belongs to; `ABSENT` if there is none."""
    return part(message, "params", "_meta", SUBSCRIPTION_ID)


class _Reading:
    """The exchanges ``found`` so far."""

    def __init__(self, began: float) -> None:
        self._began = began
        self.found: list[Exchange] = []
        self._open: dict[IdKey, Exchange] = {}
        self._carried: dict[str, Exchange] = {}
        self._listening: dict[IdKey, Exchange] = {}
        self._last: Said | None = None

    def client(self, line: Line, message: Any) -> None:
        """Take a message of the client."""
        if is_response(message):
            if self._last is not None and self._last.message.get("id") == message.get("id"):
                self._last.waits = True
            return
        if kind(message) not in (Kind.REQUEST, Kind.NOTIFICATION) or message["method"] == PROGRESS:
            return
        if message["method"] == CANCELLED:
            taken_back = self._open.pop(id_key(part(message, "params", "requestId")), None)
            if taken_back is not None:
                taken_back.is_cancelled = True
            return
        self.found.append(one := Exchange(message, self._began and self._began + line.at))
        if one.method == LISTEN:
            self._listening[id_key(message.get("id"))] = one
        if kind(message) is Kind.REQUEST:
            self._open[id_key(message["id"])] = one
            self._carried[_number(line)] = one

    def server(self, line: Line, message: Any) -> None:
        """Take a message of the server."""
        if is_response(message):
            asked = self._open.pop(id_key(message.get("id")), None)
            if asked is not None and not (
                asked.method == LISTEN and "result" in message
            ):  # it ends the stream
                asked.answer = message
        elif kind(message) in (Kind.REQUEST, Kind.NOTIFICATION):
            self._put(Said(message), _number(line))

    def _put(self, said: Said, number: str) -> None:
        """Add what the server said to the exchange in which it came."""
        self._last = said
        waiting = [one for one in self._open.values() if one.method != LISTEN]
        own = self._own(said.message, number, waiting)
        said.is_aside = own is None and bool(number or not waiting or subscription_of(said.message))
        for one in (own,) if own is not None else waiting[-1:]:
            one.before.append(said)
            return
        for one in self.found[-1:]:
            one.after.append(said)

    def _own(self, message: dict[str, Any], number: str, waiting: list[Exchange]) -> Exchange | None:
        """Return the exchange that a message names, or whose response carried it; None if there is none."""
        if message["method"] == ACKNOWLEDGED:
            return self._listening.get(id_key(subscription_of(message)))
        if number:
            found = self._carried.get(number)
            return found if found in waiting else None
        token = part(message, "params", "progressToken") if message["method"] == PROGRESS else None
        return next((one for one in reversed(waiting) if token is not None and one.token == token), None)


def _number(line: Line) -> str:
    """Return the number of the HTTP request whose body or response had a line; empty on stdio."""
    return (line.carried_by.split() or ("", ""))[1]
