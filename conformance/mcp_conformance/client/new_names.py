"""What a server names otherwise in each process, such as the ids that it makes, in a replay."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_conformance.protocol.jsonrpc import Line, encode

MIN_LENGTH = 3
"""Not measured: shorter texts also stand where they name nothing."""
WORD = re.compile(r"[^\s\"'`,;:()<>\[\]{}]+")
NAMED_BY = ("name", "uri", "uriTemplate")
"""The members by which an item of a list is the same one at another place."""
OFFERED = {"tools", "prompts", "resourceTemplates"}
"""The members with what a server offers, which its authors have named and not the server."""
CONTENTS = ("params", "result", "error")
"""The members of a message in which numbers may name something."""
SIGN = rb"[\w-]"
"""A byte that may belong to a name: a name ends where none follows."""


class NewNames:
    """The names that things have in a replay, by those that they had in the transcript.

    ``sent`` are all lines of the client.  A text counts as a name if the server answered with it, now has
    another one in its place and it nowhere, and the client sends it later but did not before.  So does a
    whole number, if the client sends it in a member whose name is the server's or ends with it: ``id`` and
    ``note_id``.
    """

    def __init__(self, sent: Sequence[Line]):
        self._sent = list(sent)
        self._done = 0
        self._names: dict[bytes, bytes] = {}
        self._numbers: dict[tuple[str, int], int] = {}
        self._places: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for at, line in enumerate(self._sent):
            for part in line.parts():
                for member, number in _numbers(part.get("params") if isinstance(part, dict) else None):
                    self._places[number].append((member, at))

    def of(self, lines: Sequence[Line]) -> list[Line]:
        """Return the next lines of the client with the names of now."""
        self._done += len(lines)
        return [self.named(line) for line in lines]

    def learn(self, then: Line, now: Line) -> Line:
        """Learn names from an answer, and return the one of then with the names of now."""
        for member, old, new in _pairs("", then.message, now.message):
            if isinstance(old, str):
                name, other = _inside(old), _inside(new)
                is_new = name not in self._names and not _whole(name).search(now.raw)
                if is_new and self._is_sent_later(name):
                    self._names[name] = other
            elif (member, old) not in self._numbers and self._is_number_sent_later(member, old):
                self._numbers[member, old] = new
        return self.named(then)

    def _is_sent_later(self, name: bytes) -> bool:
        has = _whole(name).search
        later, before = self._sent[self._done :], self._sent[: self._done]
        return any(has(line.raw) for line in later) and not any(has(line.raw) for line in before)

    def _is_number_sent_later(self, member: str, number: int) -> bool:
        places = [at for name, at in self._places.get(number, ()) if _is_like(member, name)]
        return bool(places) and min(places) >= self._done

    def named(self, line: Line) -> Line:
        """Return a line with the names of now."""
        return _with_names(line, self._names, self._numbers)

    def recalled(self, line: Line) -> Line:
        """Return a line of now with the names of then."""
        names = {new: old for old, new in self._names.items()}
        return _with_names(line, names, {(member, new): old for (member, old), new in self._numbers.items()})


def _with_names(line: Line, names: Mapping[bytes, bytes], numbers: Mapping[tuple[str, int], int]) -> Line:
    raw = line.raw
    for name, other in names.items():
        raw = _whole(name).sub(other.replace(b"\\", rb"\\"), raw)
    new = line if raw == line.raw else replace(Line.received(raw, line.at, line.carried_by), sent=line.sent)
    if not numbers or not isinstance(new.message, dict):
        return new
    contents = {name: new.message[name] for name in CONTENTS if name in new.message}
    message = {**new.message, **_renumbered(contents, numbers)}
    return new if message == new.message else replace(new, raw=encode(message), message=message)


def _renumbered(value: Any, numbers: Mapping[tuple[str, int], int], member: str = "") -> Any:
    """Return a JSON value with other numbers in members of these names."""
    if isinstance(value, dict):
        return {name: _renumbered(one, numbers, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_renumbered(one, numbers, member) for one in value]
    if type(value) is int:
        return next(
            (new for (name, old), new in numbers.items() if old == value and _is_like(name, member)), value
        )
    return value


def _numbers(value: Any, member: str = "") -> Iterator[tuple[str, int]]:
    """Yield the whole numbers in a JSON value, each with the name of its member."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _numbers(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from _numbers(one, member)
    elif type(value) is int:
        yield member, value


def _is_like(name: str, other: str) -> bool:
    """Return whether the name of a member is another one, or its end."""
    plain, longer = (re.sub(r"[_-]", "", one).lower() for one in (name, other))
    return bool(plain) and longer.endswith(plain)


def _whole(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?<!%s)%s(?!%s)" % (SIGN, re.escape(name), SIGN))


def _inside(name: str) -> bytes:
    """Return a text as it stands in a line, without its quotes."""
    return encode(name)[1:-1]


def _pairs(member: str, then: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the texts and whole numbers that differ at one place of two answers; of a sentence, its words.

    Each has the name of its member.
    """
    if isinstance(then, dict) and isinstance(now, dict):
        for key in (then.keys() & now.keys()) - OFFERED:
            yield from _pairs(key, then[key], now[key])
    elif isinstance(then, list) and isinstance(now, list):
        for one, other in _items(then, now):
            yield from _pairs(member, one, other)
    elif isinstance(then, str) and isinstance(now, str) and then != now:
        yield from _pairs_of_texts(member, then, now)
    elif type(then) is int and type(now) is int and then != now:
        yield member, then, now


def _items(then: list[Any], now: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the items of two arrays that belong together: those of the same name, else of the same place."""
    for member in NAMED_BY:
        old, new = (
            {one[member]: one for one in items if isinstance(one, dict) and isinstance(one.get(member), str)}
            for items in (then, now)
        )
        if len(old) == len(then) and len(new) == len(now) and old.keys() & new.keys():
            yield from ((old[name], new[name]) for name in old.keys() & new.keys())
            return
    if len(then) == len(now):
        yield from zip(then, now, strict=True)


def _pairs_of_texts(member: str, then: str, now: str) -> Iterator[tuple[str, Any, Any]]:
    values = _read(then), _read(now)
    if None not in values:
        yield from _pairs(member, *values)
        return
    words = WORD.findall(then), WORD.findall(now)
    if len(words[0]) == len(words[1]):
        for one, other in zip(*words, strict=True):
            if one != other and len(one) >= MIN_LENGTH:
                yield member, one.strip("."), other.strip(".")


def _read(text: str) -> Any:
    """Return the object or the array in a text; None if there is none."""
    try:
        value = json.loads(text) if text[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None
    return value
