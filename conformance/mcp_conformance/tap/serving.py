"""A recorded session played by a server: each request gets the answer that it got then."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from mcp_conformance.protocol.jsonrpc import IdKey, Kind, Line, id_key, is_response, kind, show
from mcp_conformance.protocol.methods import FEATURES
from mcp_conformance.tap.conversation import part

NOT_RECORDED, NO_SUCH_METHOD = -32000, -32601
MAX_SHOWN = 300
BY_METHOD = frozenset({"initialize", "server/discover", "logging/setLevel", "subscriptions/listen"})
"""The requests whose parameters say who the client is: any of them has the answer of any other."""
PROGRESS = "notifications/progress"


@dataclass
class Exchange:
    """A recorded ``request`` or notification of a client, its ``answer``, and what the server said about it.

    That is what came ``before`` the answer, and ``after`` it while the client asked nothing else.  A request
    of the server, such as one for sampling, is among it: what follows waits for the client's answer.
    """

    request: dict[str, Any]
    before: list[dict[str, Any]] = field(default_factory=list)
    answer: dict[str, Any] | None = None
    after: list[dict[str, Any]] = field(default_factory=list)

    @property
    def method(self) -> str:
        """The method of the request."""
        return str(self.request["method"])

    @property
    def key(self) -> str:
        """The request without what differs each time: its id and its ``_meta``."""
        params = self.request.get("params")
        members = params.items() if isinstance(params, dict) else ()
        kept = {name: one for name, one in members if name != "_meta"}
        return json.dumps([self.method, {} if self.method in BY_METHOD else kept], sort_keys=True)


def exchanges(lines: Iterable[Line]) -> list[Exchange]:
    """Return the answered requests and the notifications of the client in a session, in their order."""
    open_: dict[IdKey, Exchange] = {}
    found: list[Exchange] = []
    for line in lines:
        for message in line.parts():
            if line.sent and kind(message) in (Kind.REQUEST, Kind.NOTIFICATION):
                found.append(Exchange(message))
                if kind(message) is Kind.REQUEST:
                    open_[id_key(message["id"])] = found[-1]
            elif not line.sent and is_response(message) and id_key(message.get("id")) in open_:
                open_.pop(id_key(message["id"])).answer = message
            elif not line.sent and kind(message) in (Kind.NOTIFICATION, Kind.REQUEST):
                _put(message, open_, found)
    return [one for one in found if one.answer is not None or "id" not in one.request]


def _put(message: dict[str, Any], open_: dict[IdKey, Exchange], found: list[Exchange]) -> None:
    """Add what the server said to the request it belongs to: by its progress token, else the last one."""
    token = part(message, "params", "progressToken") if message["method"] == PROGRESS else None
    waiting = list(open_.values())
    named = [one for one in waiting if token is not None and _token(one.request) == token]
    for one in (named or waiting)[-1:]:
        one.before.append(message)
    for one in found[-1:] if not waiting else ():
        one.after.append(message)


def _token(request: dict[str, Any]) -> Any:
    return part(request, "params", "_meta", "progressToken")


class Player:
    """Answers requests as recorded; what was asked several times gets its answers one by one, then the last.

    ``said`` yields what is sent for a message of a client, a message at a time.
    """

    def __init__(self, recorded: Sequence[Exchange]):
        self._recorded = recorded
        self._answers: dict[str, list[Exchange]] = {}
        for one in recorded:
            self._answers.setdefault(one.key, []).append(one)
        self._ids = 0

    @property
    def methods(self) -> frozenset[str]:
        """The methods that were recorded."""
        return frozenset(one.method for one in self._recorded)

    def said(self, message: Any) -> Iterator[dict[str, Any]]:
        """Yield what the server says to a message."""
        if kind(message) not in (Kind.REQUEST, Kind.NOTIFICATION):
            return
        asked = Exchange(message)
        if (found := self._next(asked.key)) is not None:
            yield from self._played(found, message)
        elif kind(message) is Kind.NOTIFICATION:
            return
        elif asked.method == "ping":
            yield {"jsonrpc": "2.0", "id": message["id"], "result": {}}
        else:
            yield {"jsonrpc": "2.0", "id": message["id"], "error": self._missing(asked)}

    def _next(self, key: str) -> Exchange | None:
        waiting = self._answers.get(key)
        if not waiting:
            return None
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    def _played(self, found: Exchange, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        token, recorded = _token(request), _token(found.request)
        for message in (*found.before, found.answer, *found.after):
            if message is None:
                continue
            if message is found.answer:
                yield {**message, "id": request["id"]}
            elif message["method"] == PROGRESS:
                if token and part(message, "params", "progressToken") == recorded:
                    yield {**message, "params": {**message["params"], "progressToken": token}}
            elif kind(message) is Kind.REQUEST:
                self._ids += 1
                yield {**message, "id": f"served-{self._ids}"}
            else:
                yield message

    def _missing(self, asked: Exchange) -> dict[str, Any]:
        """Return the error for a request that was not recorded: it shows the nearest one that was."""
        alike = [one for one in self._recorded if one.method == asked.method]
        if not alike:
            known = ", ".join(sorted(self.methods))
            return {"code": NO_SUCH_METHOD, "message": f"no {asked.method} was recorded; recorded: {known}"}
        nearest = max(alike, key=lambda one: SequenceMatcher(None, one.key, asked.key).ratio())
        params = nearest.request.get("params")
        text = f"no such {asked.method} was recorded; the nearest: {show(params, MAX_SHOWN)}"
        return {"code": NOT_RECORDED, "message": text, "data": {"nearest": params}}


def awaits_answer(message: dict[str, Any]) -> bool:
    """Return whether what follows a message of a server waits for the client's answer to it."""
    return kind(message) is Kind.REQUEST and message["method"] in FEATURES
