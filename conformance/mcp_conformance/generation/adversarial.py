"""Arguments that a server must survive, whatever it answers: too deep, too large, not quite JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from mcp_conformance.generation.boundary import FLOOD_SIZE
from mcp_conformance.generation.conjunction import Conjunction
from mcp_conformance.generation.errors import NoExample, within_limits
from mcp_conformance.generation.generator import Generator

ABSENT = None
"""A call without ``arguments``."""

MEBIBYTE = 2**20
LONG_TEXT, LONG_NAME = "a text of 1 MiB", "a name of 1 MiB"
# Beyond serde_json (128 levels), the official Python SDK, which never answers 500, and Python (some 1,000).
DEPTHS = (64, 500, 5000)

# Not measured: a tool of 20 texts gets each of 13 texts in all of them.
MAX_PLACES = 20
"""The members that each value is placed in."""

MAX_MEMBERS = 10 * MAX_PLACES
"""The members that are looked at for places."""

# A megabyte in each of 20 members takes longer to send than all others together.
LARGE, MAX_LARGE_PLACES = 10_000, 3
"""The bytes of a large value, and the members that it is placed in."""

TEXTS = {
    LONG_TEXT: b'"' + b"x" * MEBIBYTE + b'"',
    "a text with NUL": rb'"a\u0000b"',
    "a lone high surrogate": rb'"\ud800"',
    "a lone low surrogate": rb'"\udfff"',
    "surrogates in the wrong order": rb'"\ude00\ud83d"',
    "bidirectional overrides": '"\u202egnp.exe\u2066\u2069"'.encode(),
    "line separators U+2028 and U+2029": '"a\u2028b\u2029c"'.encode(),
    "a byte order mark": '"\ufeffa"'.encode(),
    "a noncharacter": '"\uffff"'.encode(),
    "an astral character": '"\U0001f600"'.encode(),
    "combining characters": ('"e' + "\u0301" * 200 + '"').encode(),
    "control characters": rb'"\u0001\u001b[31m\u007f\r\n\t\b"',
    "template and shell characters": rb'"${7*7} {{7*7}} `id` $(id) ; | & %s %n \\ \u0027"',
}
NUMBERS = {
    "2**53 + 1": b"9007199254740993",
    "2**63": b"9223372036854775808",
    "2**64": b"18446744073709551616",
    "-2**63 - 1": b"-9223372036854775809",
    "1e400": b"1e400",
    "-1e400": b"-1e400",
    "1e-400": b"1e-400",
    "-0.0": b"-0.0",
    "1.0": b"1.0",
    "5,000 digits": b"1" + b"0" * 4999,
    "a fraction of 1,000 digits": b"0." + b"3" * 1000,
}
ORDINARY = frozenset(
    {
        "an astral character",
        "combining characters",
        "control characters",
        "-0.0",
        "1.0",
        f"{FLOOD_SIZE} items",
    }
    | {"line separators U+2028 and U+2029", "a byte order mark", "template and shell characters"}
)
"""The values that every parser reads alike."""

ARGUMENTS = {
    "arguments absent": ABSENT,
    "arguments null": b"null",
    "arguments an array": b"[]",
    "arguments a text": b'"text"',
    "arguments a number": b"0",
    "arguments true": b"true",
}
"""Values in place of the object of arguments."""
READABLE = (
    ORDINARY
    | ARGUMENTS.keys()
    | {
        "a text with NUL",
        "bidirectional overrides",
        "a noncharacter",
        "2**53 + 1",
        "an empty name",
        "the name __proto__",
        "the name constructor",
    }
)
"""The values that no parser refuses, so that a server can answer with the id of the request."""

SLOW_AT_MOST = READABLE | {LONG_TEXT, LONG_NAME, f"{FLOOD_SIZE} members"}
"""The values that a parser refuses only for their size: without an answer, it is the tool that takes long."""

WRONG_TYPES = {"null": b"null", "a number": b"0", "true": b"true", "an array": b"[]", "an object": b"{}"}


def value_name(name: str) -> str:
    """Return the name of a value without the place that it has in the arguments."""
    return name.partition(" as ")[0]


def texts() -> Iterator[tuple[str, bytes]]:
    """Yield values to send in place of a text: (what, its JSON text)."""
    yield from TEXTS.items()
    yield from WRONG_TYPES.items()
    yield "arrays 5000 deep", b"[" * 5000 + b"]" * 5000


def nested(depth: int) -> dict[str, bytes]:
    """Return arrays and objects nested to a depth."""
    return {
        f"arrays {depth} deep": b"[" * depth + b"]" * depth,
        f"objects {depth} deep": b'{"a":' * depth + b"0" + b"}" * depth,
    }


class Hostility:
    """Hostile arguments for one schema."""

    def __init__(self, generator: Generator, spares: Callable[[str], bool] | None = None) -> None:
        self._generator = generator
        self._spares = spares or (lambda _: False)
        self._base = self._example()

    def _example(self) -> dict[str, Any]:
        try:
            value = self._generator.example()
        except NoExample:
            return {}
        return value if isinstance(value, dict) else {}

    def all(self) -> Iterator[tuple[str, bytes | None]]:
        """Yield the name of each hostile value and the arguments' bytes; None for no arguments.

        Each is placed in the first member of its type, then in the others.  Values that are valid and that
        every parser reads are left out: `boundary` has such values.
        """
        places: dict[str, list[str]] = {}
        with suppress(NoExample), within_limits():
            places = self._places()
        yield from ARGUMENTS.items()
        yield from filter(self._is_hostile, self._at_places(places, 0))
        yield from self._members()
        for turn in range(1, MAX_PLACES):
            yield from filter(self._is_hostile, self._at_places(places, turn))

    def _at_places(self, places: dict[str, list[str]], turn: int) -> Iterator[tuple[str, bytes]]:
        """Yield each value as the member of a turn, in the first turn also as an undeclared one."""
        for kind, what, raw in self._values():
            names = places.get(kind, [])
            if turn < len(names) and (not turn or len(raw) < LARGE or turn < MAX_LARGE_PLACES):
                yield f"{what} as member {names[turn]!r}", _with_member(self._base, names[turn], raw)
            elif not turn and not names:
                yield f"{what} as an undeclared member", _with_member(self._base, "hostile", raw)

    @staticmethod
    def _values() -> Iterator[tuple[str, str, bytes]]:
        """Yield the type of each value, its name, and its JSON text."""
        yield from (("string", what, raw) for what, raw in TEXTS.items())
        yield from (("number", what, raw) for what, raw in NUMBERS.items())
        for depth in DEPTHS:
            for (what, raw), kind in zip(nested(depth).items(), ("array", "object"), strict=True):
                yield kind, what, raw
        yield "array", f"{FLOOD_SIZE} items", b"[" + b"0," * (FLOOD_SIZE - 1) + b"0]"

    def _is_hostile(self, named: tuple[str, bytes]) -> bool:
        """Return whether a value is invalid, or read differently by some parsers."""
        what, raw = named
        if value_name(what) not in ORDINARY:
            return True
        try:
            return not self._generator.validator.is_valid(json.loads(raw))
        except NoExample:
            return True

    def _places(self) -> dict[str, list[str]]:
        """Return for each type the names of the members that may have it."""
        found: dict[str, list[str]] = {}
        space = self._generator.space
        for shape in self._generator.root.covering():
            members = shape.members
            for name in islice((*members.required, *members.optional), MAX_MEMBERS):
                for kind in self._types(space.of(members.at(name))):
                    group = "number" if kind == "integer" else kind
                    names = found.setdefault(group, [])
                    if name not in names and not (group == "number" and self._spares(name)):
                        names.append(name)
        return found

    @staticmethod
    def _types(conjunction: Conjunction) -> Iterator[str]:
        for shape in conjunction.covering():
            if shape.values is None:
                yield from shape.types

    def _members(self) -> Iterator[tuple[str, bytes]]:
        flood = b",".join(b'"m%d":0' % index for index in range(FLOOD_SIZE))
        yield f"{FLOOD_SIZE} members", _joined(_inside(self._base), flood)
        for name, content in [*self._base.items(), ("twice", 0)][:1]:
            raw = json.dumps(name).encode() + b":"
            yield "a duplicate member", _joined(_inside(self._base), raw + _raw(content), raw + b"null")
        yield "an empty name", _with_member(self._base, "", b"0")
        yield "the name __proto__", _with_member(self._base, "__proto__", b'{"polluted":true}')
        yield (
            "the name constructor",
            _with_member(self._base, "constructor", b'{"prototype":{"polluted":true}}'),
        )
        yield "a name with a lone surrogate", _joined(_inside(self._base), rb'"\ud800":0')
        yield LONG_NAME, _with_member(self._base, "n" * MEBIBYTE, b"0")


def _raw(value: Any) -> bytes:
    return json.dumps(value).encode()


def _inside(members: dict[str, Any]) -> bytes:
    return _raw(members)[1:-1]


def _joined(*parts: bytes) -> bytes:
    return b"{" + b",".join(part for part in parts if part) + b"}"


def _with_member(base: dict[str, Any], name: str, raw: bytes) -> bytes:
    rest = {key: content for key, content in base.items() if key != name}
    return _joined(_inside(rest), _raw(name) + b":" + raw)
