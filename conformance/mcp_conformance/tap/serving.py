"""Recorded sessions played by a server: each request gets the answer that it got then."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any

from mcp_conformance.protocol.jsonrpc import ABSENT, IdKey, Kind, id_key, kind, show
from mcp_conformance.protocol.methods import CANCELLED
from mcp_conformance.protocol.revisions import SUBSCRIPTION_ID
from mcp_conformance.tap.conversation import items, part
from mcp_conformance.tap.exchanges import LISTEN, PROGRESS, Exchange, Said, subscription_of
from mcp_conformance.tap.matching import distance, params_of

NOT_RECORDED, NO_SUCH_METHOD = -32000, -32601
MAX_SHOWN = 300
PROGRESS_SECONDS = 0.02
"""Seconds after progress.  Without them TypeScript SDK 1.32 and 2.4 read it with the result, and drop it."""
Spoil = Callable[[Said, str], Iterable[Said]]


def as_recorded(said: Said, method: str) -> Iterable[Said]:
    """Return a message alone."""
    del method
    return (said,)


@dataclass
class _Track:
    """A session that is played: its exchanges, and the places of those that were.

    ``names`` has ids of now by those of then: of the client's subscriptions and of the server's requests.
    """

    exchanges: Sequence[Exchange]
    played: set[int] = field(default_factory=set)
    follows: int = 0
    names: dict[IdKey, Any] = field(default_factory=dict)

    @cached_property
    def _writes(self) -> frozenset[int]:
        """The places of calls of tools that do not say that they only read."""
        tools = [tool for one in self.exchanges for tool in items(part(one.answer, "result"), "tools")]
        reads = {tool.get("name") for tool in tools if part(tool, "annotations", "readOnlyHint") is True}
        calls = [(at, one) for at, one in enumerate(self.exchanges) if one.method == "tools/call"]
        return frozenset(at for at, one in calls if part(one.request, "params", "name") not in reads)

    def forget(self, subscription: Any) -> None:
        """Forget a subscription that the client has ended."""
        self.names = {then: now for then, now in self.names.items() if now != subscription}

    def fitting(self, asked: Exchange) -> tuple[int, list[int]] | None:
        """Return how far the nearest exchanges are from a request, and their places; None if none fits."""
        found = [
            (apart, at)
            for at, one in enumerate(self.exchanges)
            if (apart := distance(one, asked)) is not None
        ]
        nearest = min(found, default=None)
        return nearest and (nearest[0], [at for apart, at in found if apart == nearest[0]])

    def next(self, places: Sequence[int]) -> int:
        """Return which of several exchanges is due: none before one that was played.

        After the last of them, the last one with an answer comes again.

        Of those that are left it is the one that fits best what was played so far: before it in the session
        the fewest calls are that were not played, and after it the fewest that were.  Only calls of tools
        that may write count.
        """
        last = max((at for at in places if at in self.played), default=-1)
        if last == places[-1]:
            return max((at for at in places if self.exchanges[at].answer), default=last)
        best, cost, least, those = last, 0, len(self.exchanges) + 1, set(places)
        for at in range(last + 1, places[-1] + 1):
            if at not in those:
                cost += 0 if at not in self._writes else -1 if at in self.played else 1
            elif cost < least:
                best, least = at, cost
        return best


class Player:
    """Plays sessions to one client; `said` yields what is sent for a message of it, a message at a time.

    All sessions follow what the client asks.  An answer is taken from the one with the request that differs
    least, then from the one that had most of the requests so far, then from the first.  ``spoil`` gets each
    message with the method of the request, and yields what is sent.
    """

    def __init__(self, sessions: Sequence[Sequence[Exchange]], spoil: Spoil = as_recorded):
        self._tracks = [_Track(one) for one in sessions]
        self._spoil = spoil
        self._ids = 0

    def said(self, message: Any) -> Iterator[Said]:
        """Yield what the server says to a message; an answer is what has no ``method``."""
        if kind(message) not in (Kind.REQUEST, Kind.NOTIFICATION):
            return
        asked = Exchange(message, time.time())
        if asked.method == CANCELLED:
            for track in self._tracks:
                track.forget(part(message, "params", "requestId"))
        for said in self._answered(asked):
            yield from self._spoil(said, asked.method)

    def _answered(self, asked: Exchange) -> Iterator[Said]:
        message, found = asked.request, self._next(asked)
        if found is not None:
            yield from self._played(*found, asked)
        elif kind(message) is Kind.REQUEST:
            known = {"result": {}} if asked.method == "ping" else {"error": self._missing(asked)}
            yield Said({"jsonrpc": "2.0", "id": message["id"], **known})

    def has_played(self, message: Any) -> bool:
        """Return whether all recorded requests like this one were played."""
        fitting = [(track, track.fitting(Exchange(message))) for track in self._tracks]
        return all(track.played.issuperset(found[1]) for track, found in fitting if found)

    def _next(self, asked: Exchange) -> tuple[_Track, Exchange] | None:
        """Return the exchange that is played, and its session: the other ones go on beside it."""
        found = [(track, fits) for track in self._tracks if (fits := track.fitting(asked)) is not None]
        if not found:
            return None
        chosen, _ = min(found, key=lambda one: (one[1][0], -one[0].follows))
        due = {id(track): track.next(fits[1]) for track, fits in found}
        for track, _ in found:
            track.played.add(due[id(track)])
            track.follows += 1
        return chosen, chosen.exchanges[due[id(chosen)]]

    def _played(self, track: _Track, found: Exchange, asked: Exchange) -> Iterator[Said]:
        if asked.method == LISTEN:
            track.names[id_key(found.request["id"])] = asked.request["id"]
        for said in found.before:
            for one in self._now(track, found, asked, said):
                yield one
                if one.message.get("method") == PROGRESS:
                    time.sleep(PROGRESS_SECONDS)
        if found.answer is not None:
            yield Said({**found.answer, "id": asked.request["id"]})
        for said in found.after:
            yield from self._now(track, found, asked, replace(said, is_aside=True))

    def _now(self, track: _Track, found: Exchange, asked: Exchange, said: Said) -> Iterator[Said]:
        """Yield what the server says, with the names of now; nothing if the client has not asked for it."""
        message, params = said.message, said.message.get("params") or {}
        subscription = subscription_of(message)
        if kind(message) is Kind.REQUEST:
            self._ids += 1
            track.names[id_key(message["id"])] = f"served-{self._ids}"
            yield replace(said, message={**message, "id": f"served-{self._ids}"})
        elif message["method"] == PROGRESS:
            if asked.token is not ABSENT and part(params, "progressToken") == found.token:
                yield replace(said, message={**message, "params": {**params, "progressToken": asked.token}})
        elif message["method"] == CANCELLED:
            now = track.names.get(id_key(part(params, "requestId")))
            if now is not None:
                yield replace(said, message={**message, "params": {**params, "requestId": now}})
        elif subscription:
            now = track.names.get(id_key(subscription))
            if now is not None:
                meta = {**params["_meta"], SUBSCRIPTION_ID: now}
                yield replace(said, message={**message, "params": {**params, "_meta": meta}})
        else:
            yield said

    def _missing(self, asked: Exchange) -> dict[str, Any]:
        """Return the error for a request that was not recorded: it shows the nearest one that was."""
        recorded = [one for track in self._tracks for one in track.exchanges]
        alike = [one for one in recorded if one.method == asked.method]
        if not alike:
            known = ", ".join(sorted({one.method for one in recorded}))
            return {"code": NO_SUCH_METHOD, "message": f"no {asked.method} was recorded; recorded: {known}"}
        wanted = _text(asked)
        nearest = max(alike, key=lambda one: SequenceMatcher(None, _text(one), wanted).ratio())
        params = nearest.request.get("params")
        text = f"no such {asked.method} was recorded; the nearest: {show(params, MAX_SHOWN)}"
        return {"code": NOT_RECORDED, "message": text, "data": {"nearest": params}}


def _text(one: Exchange) -> str:
    return json.dumps(params_of(one), sort_keys=True)
