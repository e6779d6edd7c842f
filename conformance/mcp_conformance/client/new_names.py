"""What a server names otherwise in each process, such as the ids that it makes, in a replay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from mcp_conformance.protocol.jsonrpc import Line, encode

MIN_LENGTH = 3
"""Not measured: shorter texts also stand where they name nothing."""
WORD = re.compile(r"[^\s\"'`,;:()<>\[\]{}]+")
SIGN = rb"[\w-]"
"""A byte that may belong to a name: a name ends where none follows."""


class NewNames:
    """The names that things have in a replay, by those that they had in the transcript.

    ``sent`` are all lines of the client.  A text counts as a name if the server answered with it, now has
    another one in its place, and the client sends it later but did not before.
    """

    def __init__(self, sent: Sequence[Line]):
        self._sent = [line.raw for line in sent]
        self._done = 0
        self._names: dict[bytes, bytes] = {}

    def of(self, lines: Sequence[Line]) -> list[Line]:
        """Return the next lines of the client with the names of now."""
        self._done += len(lines)
        return [self._renamed(line) for line in lines]

    def learn(self, then: Line, now: Line) -> Line:
        """Learn names from an answer, and return the one of then with the names of now."""
        for old, new in _pairs(then.message, now.message):
            name, other = _inside(old), _inside(new)
            if name not in self._names and self._is_sent_later(name):
                self._names[name] = other
        return self._renamed(then)

    def _is_sent_later(self, name: bytes) -> bool:
        has = _whole(name).search
        return any(map(has, self._sent[self._done :])) and not any(map(has, self._sent[: self._done]))

    def _renamed(self, line: Line) -> Line:
        raw = line.raw
        for name, other in self._names.items():
            raw = _whole(name).sub(other.replace(b"\\", rb"\\"), raw)
        if raw == line.raw:
            return line
        return replace(Line.received(raw, line.at, line.carried_by), sent=line.sent)


def _whole(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?<!%s)%s(?!%s)" % (SIGN, re.escape(name), SIGN))


def _inside(name: str) -> bytes:
    """Return a text as it stands in a line, without its quotes."""
    return encode(name)[1:-1]


def _pairs(then: Any, now: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts that differ at one place of two answers; of a sentence, its words."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in then.keys() & now.keys():
            yield from _pairs(then[key], now[key])
    elif isinstance(then, list) and isinstance(now, list):
        for one, other in zip(then, now, strict=False):
            yield from _pairs(one, other)
    elif isinstance(then, str) and isinstance(now, str) and then != now:
        yield from _pairs_of_texts(then, now)


def _pairs_of_texts(then: str, now: str) -> Iterator[tuple[str, str]]:
    values = _read(then), _read(now)
    if None not in values:
        yield from _pairs(*values)
        return
    words = WORD.findall(then), WORD.findall(now)
    if len(words[0]) == len(words[1]):
        for one, other in zip(*words, strict=True):
            if one != other and len(one) >= MIN_LENGTH:
                yield one.strip("."), other.strip(".")


def _read(text: str) -> Any:
    """Return the object or the array in a text; None if there is none."""
    try:
        value = json.loads(text) if text[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None
    return value
