"""The inbox of a session: bytes from the transport become lines, answers wait until they are taken."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from mcp_conformance.client.message_log import one_message, received, weight
from mcp_conformance.protocol.jsonrpc import ABSENT, IdKey, Line, id_key, is_response
from mcp_conformance.transport.interface import HEAD, Content, NoAnswer, Overlong

BYTES_IN_MEMORY = 8
"""How many bytes of memory a message may take for each byte that a line may have."""
TOO_LONG = "a line longer than this tool reads (--max-line)"
TOO_MUCH = "a line with more values than this tool reads (--max-line)"
UNREAD = (TOO_LONG, TOO_MUCH)
"""The faults of a line that was not read."""
ANSWER_HEAD = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"\w*")\s*,\s*"(?:result|error)"'
)
"""The beginning of an answer that has its id first."""

UTF_16_MARK = b"\xff\xfe"
NO_ID = (id_key(None), id_key(ABSENT))
"""The keys of answers that name no request."""


class Inbox:
    """The answers that came, by the id of their request, until they are taken.

    ``size`` is the number of bytes that came.  ``unread`` says why a line was not read, empty if all were.
    """

    def __init__(self, max_line: int) -> None:
        self.size = 0
        self.unread = ""
        self._max_line = max_line
        self._answers: dict[IdKey, tuple[Line, Mapping[str, Any]]] = {}
        self._taken: set[IdKey] = set()
        self._requested: set[IdKey] = set()
        self._abandoned: set[IdKey] = set()
        self._unrequested: list[Line] = []
        self._unread_answers: dict[IdKey, str] = {}
        self._overlong_answer: IdKey | None = None
        self._unanswered: dict[IdKey, NoAnswer] = {}

    def line_from(self, data: Content, at: float) -> Line | None:
        """Return the line that came, cut to its head if it is too long; None for its later parts.

        None too for the knowledge that a request gets no answer, which is kept.
        """
        if isinstance(data, NoAnswer):
            self._unanswered[id_key(data.id)] = data
            return None
        if isinstance(data, Overlong):
            return self._overlong(data, at)
        assert isinstance(data, bytes | Line)
        raw = data if isinstance(data, bytes) else data.raw
        self.size += len(raw)
        if weight(raw) <= BYTES_IN_MEMORY * self._max_line:
            line = received(data, at)
            if line.fault and (key := _answer_key(line.raw)) is not None:
                self._unread_answers[key] = line.fault
            return line
        self.unread = f"a line with more values than {self._max_line} bytes may have"
        line = Line(sent=False, raw=raw[:HEAD], at=at, fault=TOO_MUCH)
        if (key := _answer_key(line.raw)) is not None:
            self._unread_answers[key] = TOO_MUCH
        return line

    def _overlong(self, part: Overlong, at: float) -> Line | None:
        self.size += part.size
        if part.is_last and self._overlong_answer is not None:
            self._unread_answers[self._overlong_answer] = TOO_LONG
        if not part.head:
            return None
        self._overlong_answer = _answer_key(part.head)
        self.unread = f"a line of more than {self._max_line} bytes"
        return Line(sent=False, raw=part.head, at=at, fault=TOO_LONG)

    def expect(self, message: Any) -> None:
        """Note that the client sends this; a server may take it, or its parts, for requests."""
        for part in message if isinstance(message, list) else [message]:
            if isinstance(part, dict) and "id" in part and not is_response(part):
                self._requested.add(id_key(part["id"]))

    def add(self, line: Line, message: Mapping[str, Any]) -> None:
        """Keep an answer, unless one with the same id waits already."""
        key = id_key(message.get("id", ABSENT))
        self._answers.setdefault(key, (line, one_message(line, message)))
        if key not in self._requested and key not in self._abandoned and key not in NO_ID:
            self._unrequested.append(line)

    def abandon(self, key: IdKey) -> None:
        """Note that nobody waits for the answer to a request any more."""
        self._requested.discard(key)
        self._abandoned.add(key)

    def wrong_ids(self, since: float) -> list[Line]:
        """Return the answers since then with an id of no request, if there are as many as open requests."""
        wrong = [line for line in self._unrequested if line.at >= since]
        are_open = len(self._requested - self._taken - self._answers.keys()) if wrong else 0
        return wrong if 0 < are_open <= len(wrong) else []

    def has(self, key: IdKey) -> bool:
        """Return whether an answer was read and not yet taken."""
        return key in self._answers

    def has_any(self, keys: Iterable[IdKey]) -> bool:
        """Return whether one of these answers came, read or not."""
        found = (self._answers, self._unread_answers, self._unanswered)
        return any(key in some for key in keys for some in found)

    def take(self, keys: Iterable[IdKey]) -> tuple[Line, Mapping[str, Any]] | None:
        """Remove and return the first of these answers; None if none of them is there."""
        for key in filter(self._answers.__contains__, keys):
            self._taken.add(key)
            return self._answers.pop(key)
        return None

    def take_unread(self, key: IdKey) -> str:
        """Remove an answer that was not read, and return why it was not; empty if there is none."""
        if key in self._unread_answers:
            self._taken.add(key)
        return self._unread_answers.pop(key, "")

    def is_unanswered(self, key: IdKey) -> bool:
        """Return whether it is known that a request gets no answer."""
        return key in self._unanswered

    def is_refused(self, key: IdKey) -> bool:
        """Return whether an HTTP status of a client's error came instead of an answer."""
        status = self._unanswered[key].status if key in self._unanswered else None
        return status is not None and 400 <= status < 500

    def take_unanswered(self, key: IdKey) -> NoAnswer | None:
        """Return why a request gets no answer, and forget the request; None if it may get one."""
        if key in self._unanswered:
            self.abandon(key)
        return self._unanswered.get(key)

    def strays(self) -> tuple[Any, ...]:
        """Return the ids of the answers that belong to no request, or to one answered before."""
        open_requests = (self._requested | self._abandoned) - self._taken
        return tuple(
            message.get("id") for key, (_, message) in self._answers.items() if key not in open_requests
        )

    def drop_older(self, keys: Iterable[IdKey], at: float) -> None:
        """Drop those of these answers that came before a moment."""
        for key in keys:
            if key in self._answers and self._answers[key][0].at < at:
                del self._answers[key]

    def drop_answers(self) -> None:
        """Drop the answers that were not taken."""
        self._answers.clear()

    def clear(self) -> None:
        """Drop the answers, and forget which were taken."""
        self._answers.clear()
        self._taken.clear()
        self._requested.clear()
        self._abandoned.clear()
        self._unrequested.clear()


def _answer_key(head: bytes) -> IdKey | None:
    """Return the key of the answer that begins like this, in UTF-16 too; None if it does not name its id."""
    found = ANSWER_HEAD.match(head[:HEAD].replace(b"\0", b"").removeprefix(UTF_16_MARK))
    return None if found is None else id_key(json.loads(found[1]))
