"""A JSON value with its path in the message and the lines that prove it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mcp_conformance.protocol.jsonrpc import Line, show

MAX_SHOWN = 160


@dataclass(frozen=True, slots=True)
class Value:
    """A JSON value with its ``path`` in the message and the ``lines`` (request and answer) it came in.

    `get` returns a member, `each` yields the items; both extend the path, so that a finding names
    ``result.tools[3].title`` without help of the check.
    """

    json: Any
    path: str = ""
    lines: tuple[Line, ...] = ()

    def get(self, *names: str) -> Value | None:
        """Return the member at the path ``names``, or None if it is absent (null is a value)."""
        json = self.json
        for name in names:
            if not isinstance(json, dict) or name not in json:
                return None
            json = json[name]
        return Value(json, ".".join((self.path, *names) if self.path else names), self.lines)

    def each(self) -> Iterator[Value]:
        """Yield the items of an array or the members of an object; nothing for any other value."""
        if isinstance(self.json, list):
            for index, item in enumerate(self.json):
                yield Value(item, f"{self.path}[{index}]", self.lines)
        elif isinstance(self.json, dict):
            for name, item in self.json.items():
                yield Value(item, f"{self.path}.{name}", self.lines)

    def walk(self) -> Iterator[Value]:
        """Yield this value and every value inside it, outermost first."""
        waiting = [self]
        while waiting:
            value = waiting.pop()
            yield value
            waiting.extend(reversed(list(value.each())))

    def is_a(self, *types: type) -> bool:
        """Return whether the value has one of these types; a boolean is not a number."""
        if isinstance(self.json, bool):
            return bool in types
        return isinstance(self.json, types)

    def __repr__(self) -> str:
        """Return a short text, as pytest prints the values in a traceback."""
        return f"<Value {self}>"

    def __str__(self) -> str:
        return f"{self.path or 'message'} = {show(self.json, MAX_SHOWN)}"


def members(values: Iterator[Value] | list[Value], *names: str) -> list[Value]:
    """Return the member at the path ``names`` of each value that has it."""
    found = (value.get(*names) for value in values)
    return [value for value in found if value is not None]
