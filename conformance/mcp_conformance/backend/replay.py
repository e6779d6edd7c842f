"""A recorded API: it answers each request with what the nearest recorded one was answered."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote

from mcp_conformance.backend.cleaning import STAND_IN
from mcp_conformance.backend.contact import shape
from mcp_conformance.backend.exchange import JSON, Answered, Asked, Exchange
from mcp_conformance.backend.har import FORM
from mcp_conformance.transport.credentials import HIDDEN

NOT_RECORDED = 404
MAX_MEMBERS = 1000
"""How many members of a body are compared.  Not measured: most have less than 20."""
MAX_OTHER = 1
"""In how many parts a path may differ that reads otherwise: the one that is an argument of the call."""
PREFIX = re.compile(r"(?:v\d.{0,4}|api|rest|)")
"""A part of a path that says nothing of what is asked for; the one before the first ``/`` is empty."""
Members = dict[str, str]


@dataclass(frozen=True)
class _Parts:
    """A request in parts: those of the path, and the members of the query and of the body, by their names."""

    path: tuple[str, ...]
    shape: str
    members: Members

    @classmethod
    def of(cls, asked: Asked) -> _Parts:
        path, _, query = asked.target.partition("?")
        members = {f"?{name}": text for name, text in parse_qsl(query, keep_blank_values=True)}
        return cls(
            tuple(map(unquote, path.split("/"))),
            shape(path),
            members | _members(asked.body, asked.header("content-type")),
        )


class Replayer:
    """An API that answers from recorded exchanges, with 404 if none is like what is asked.

    Nearest is a request with the same method, host, path, query and body.  Others have the same method and
    host, and a path with other values: first those whose query and body have members of the same names, then
    those with the most values in common, then those that were answered with a success, then the last one.
    """

    is_empty = False

    def __init__(self, exchanges: Sequence[Exchange], source: str):
        self._source = source
        self._by_host: dict[tuple[str, str], list[tuple[_Parts, Answered]]] = defaultdict(list)
        for one in exchanges:
            self._by_host[one.asked.method, one.asked.origin].append(
                (_Parts.of(one.asked), _cleaned(one.answered))
            )
        self._found = lru_cache(maxsize=1000)(self._search)

    def describe(self) -> str:
        """Return what it is."""
        return f"every host is this tool, which answers from {self._source}; nothing leaves this machine"

    def knows(self, asked: Asked) -> bool:
        """Return whether there is an answer."""
        return self._found(asked) is not None

    def answer(self, asked: Asked) -> Answered:
        """Return the answer to the nearest request."""
        if (found := self._found(asked)) is not None:
            return found
        path = shape(asked.target)
        message = f"Nothing like {asked.method} {asked.origin}{path} is recorded in {self._source}."
        body = json.dumps({"error": {"code": "not_recorded", "message": message}}).encode()
        return Answered(NOT_RECORDED, (("content-type", JSON),), body)

    def _search(self, asked: Asked) -> Answered | None:
        parts = _Parts.of(asked)
        ranked = [
            (rank, number, answered)
            for number, (recorded, answered) in enumerate(self._by_host.get((asked.method, asked.origin), ()))
            if (rank := nearness(parts, recorded, is_success=answered.is_success)) is not None
        ]
        return max(ranked, key=lambda one: one[:2])[2] if ranked else None


def nearness(asked: _Parts, recorded: _Parts, *, is_success: bool) -> tuple[int, ...] | None:
    """Return how near a recorded request is, larger if it is nearer; None if it is another one.

    A path is another one if it has more parts or fewer, or if it reads otherwise and most of its parts do.
    """
    if len(asked.path) != len(recorded.path):
        return None
    same = [one for one, other in zip(asked.path, recorded.path, strict=True) if _is_same(one, other)]
    others = len(asked.path) - len(same)
    telling = sum(PREFIX.fullmatch(one) is None for one in same)
    if asked.shape != recorded.shape and (others > MAX_OTHER or telling < others):
        return None
    common = asked.members.keys() & recorded.members.keys()
    unlike = len(asked.members.keys() ^ recorded.members.keys())
    equal = sum(_is_same(asked.members[name], recorded.members[name]) for name in common)
    is_exact = not others and not unlike and equal == len(common)
    return int(is_exact), -others, int(not unlike), -unlike, equal, int(is_success)


def _is_same(asked: str, recorded: str) -> bool:
    """Return whether a value is the recorded one, or may be: what was removed may have been any."""
    return recorded in (asked, HIDDEN) or STAND_IN.fullmatch(recorded) is not None


def _members(body: bytes, kind: str) -> Members:
    """Return the members of a body by their paths; the body itself if it has none."""
    text = body.decode("utf-8", "replace")
    if kind.startswith(FORM):
        return dict(parse_qsl(text, keep_blank_values=True))
    try:
        waiting: list[tuple[str, Any]] = [("", json.loads(text))] if text else []
    except (ValueError, RecursionError):
        return {"": text}
    found: Members = {}
    while waiting and len(found) < MAX_MEMBERS:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += ((f"{name}.{each}", one) for each, one in value.items())
        elif isinstance(value, list):
            waiting += ((f"{name}[]", one) for one in value)
        else:
            found[name] = str(value)
    return found


def _cleaned(answered: Answered) -> Answered:
    """Return an answer without the headers of which nothing is left."""
    return Answered(
        answered.status,
        tuple((name, text) for name, text in answered.headers if text != HIDDEN),
        answered.body,
    )
