"""What of a conversation a check brings about: by itself, and by the scenarios and the fetches that it uses.

A check may judge what others have exchanged.  It finds that again only if they run too.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from mcp_conformance.client.session import Session
from mcp_conformance.protocol.jsonrpc import Line, id_key, is_response
from mcp_conformance.transport.interface import Clock

CHECK = "the check"
Span = tuple[float, float]


class Trail:
    """When the parts of a run were done, and which parts each of them uses.

    A part is a scenario, or what is fetched once in a run.  Moments are those of the ``clock``.
    """

    def __init__(self, clock: Clock):
        self._clock = clock
        self._spans: dict[Hashable, list[Span]] = defaultdict(list)
        self._uses: dict[Hashable, set[Hashable]] = defaultdict(set)
        self._under_way: list[Hashable] = []
        self._first, self._begun = math.inf, -math.inf

    def begin_check(self) -> None:
        """Note that a check begins."""
        self._begun = self._clock.monotonic()
        self._first = min(self._first, self._begun)
        self._uses[CHECK] = set()
        self._under_way = [CHECK]

    def note_use(self, part: Hashable) -> None:
        """Note that a part is used, though it may be done already."""
        if self._under_way:
            self._uses[self._under_way[-1]].add(part)

    @contextmanager
    def using(self, part: Hashable) -> Iterator[None]:
        """Note that a part is used, and how long it is under way."""
        self.note_use(part)
        self._under_way.append(part)
        begun = self._clock.monotonic()
        try:
            yield
        finally:
            self._under_way.pop()
            self._spans[part].append((begun, self._clock.monotonic()))

    def brings_about(self, lines: Iterable[Line], sessions: Iterable[Session]) -> bool:
        """Return whether the check under way alone would bring about these lines of sessions.

        Lines of no session are its own.  Where a session has ended or is silent, all that it was sent counts.
        """
        used = self._used()
        spans = [span for part in used for span in self._spans[part]]
        others = [span for part, some in self._spans.items() if part not in used for span in some]
        moments = [moment for line in lines for session in sessions for moment in _moments(line, session)]
        return all(self._is_own(one, spans, others) for one in moments)

    def _is_own(self, moment: float, spans: list[Span], others: list[Span]) -> bool:
        if moment >= self._begun or _is_in(moment, spans):
            return True
        return moment < self._first and not _is_in(moment, others)

    def _used(self) -> set[Hashable]:
        used, waiting = set[Hashable](), [*self._uses[CHECK]]
        while waiting:
            part = waiting.pop()
            if part not in used:
                used.add(part)
                waiting += self._uses[part]
        return used


def _is_in(moment: float, spans: list[Span]) -> bool:
    return any(begin <= moment <= end for begin, end in spans)


def _moments(line: Line, session: Session) -> Iterator[float]:
    """Yield when the line was sent that brought a line about, if that is one of the session."""
    place = next((number for number, one in enumerate(session.lines) if one is line), None)
    if place is None:
        return
    started, before = session.process.started, [one for one in session.lines[: place + 1] if one.sent]
    cause = _cause(line, before)
    yield started + (cause.at if cause is not None else 0.0)
    if session.closed or session.is_silent:
        yield from (started + one.at for one in before)


def _cause(line: Line, before: Sequence[Line]) -> Line | None:
    """Return the last of the lines sent before that has the id of a response, else the last of all."""
    if is_response(line.message):
        key = id_key(line.message.get("id"))
        for one in reversed(before):
            if isinstance(one.message, dict) and "id" in one.message and id_key(one.message["id"]) == key:
                return one
    return before[-1] if before else None


class HasSessions(Protocol):
    """A part of a server whose sessions have the trail."""

    @property
    def trail(self) -> Trail:
        """The trail of the run."""


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=HasSessions)


def traced(function: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Note each use of a method that fetches something once in a run."""

    @wraps(function)
    def noted(part: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with part.trail.using(function.__qualname__):
            return function(part, *args, **kwargs)

    return noted
