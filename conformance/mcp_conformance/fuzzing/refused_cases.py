"""Cases that were refused while others were in flight, and which of them may have met an exception."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from contextlib import suppress
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.session import Session
from mcp_conformance.client.thrown import thrown_in
from mcp_conformance.fuzzing.oracles import Case
from mcp_conformance.protocol.tracebacks import exceptions_in
from mcp_conformance.world.wording import kind_of_refusal

# Not measured: 24 KB of chained tracebacks, of the 64 KB of stderr that a process keeps.
REFUSALS_BETWEEN_LOOKS = 8
"""After how many refusals stderr is read."""


class RefusedCases:
    """The refused cases of a target, and the exceptions on stderr, which several in flight may have met.

    One case of each kind of refusal is sent again, alone, if its words are those of an exception, or stderr
    shows any.  While stderr shows some that are neither in ``found`` nor ``known``, more are: at most
    ``most`` in all.
    """

    def __init__(self, found: Container[str], known: Container[str], most: int):
        self._found, self._known, self._left = found, known, most
        self._kinds: set[str] = set()
        self._first: list[tuple[Case, bool]] = []
        self._others: list[tuple[Case, bool]] = []
        self._exceptions: set[str] = set()
        self._logs_exceptions = False
        self._since: tuple[Session, float] | None = None
        self._unread = 0

    def note(self, session: Session, case: Case, reply: Reply, *, is_likely: bool) -> None:
        """Keep a case that was refused; if ``is_likely``, in the words of an exception."""
        kind = kind_of_refusal(reply, _value(case))
        (self._others if kind in self._kinds else self._first).append((case, is_likely))
        self._kinds.add(kind)
        if self._since is None or self._since[0] is not session:
            self._since = session, reply.request.at
        self._unread += 1
        if self._unread >= REFUSALS_BETWEEN_LOOKS:
            self._read()

    def unsure(self) -> list[Case]:
        """Return the cases that may have met an exception: all, if any has."""
        if self._since is not None and not self._since[0].closed:
            self._since[0].drain()
            self._read()
        self._since = None
        cases = [*self._first, *self._others]
        is_open = self._logs_exceptions or any(is_likely for _, is_likely in cases)
        return [case for case, _ in cases if is_open]

    def suspects(self) -> Iterator[Case]:
        """Yield those to send alone, and drop all; each is judged before the next is asked for."""
        first, others = (sorted(some, key=_length) for some in (self._first, self._others))
        self._first, self._others = [], []
        for case, is_likely in first:
            if self._left > 0 and (is_likely or self._logs_exceptions):
                self._left -= 1
                yield case
        for case, _ in others:
            if self._left <= 0 or all(kind in self._found for kind in self._exceptions):
                return
            self._left -= 1
            yield case

    def _read(self) -> None:
        assert self._since is not None
        session, at = self._since
        self._since, self._unread = (session, session.process.age), 0
        log = session.process.stderr_since(at)
        self._logs_exceptions |= bool(exceptions_in(log))
        kinds = {one.kind for one in thrown_in(log)}
        self._exceptions |= {kind for kind in kinds if kind not in self._known}


def _length(one: tuple[Case, bool]) -> int:
    return len(one[0].text)


def _value(case: Case) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(case.text)
    return None
