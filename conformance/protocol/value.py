"""A JSON value the server sent that knows where it stood: its path, and the lines that prove it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from conformance.protocol.jsonrpc import Line, show

SHOWN = 160


@dataclass(frozen=True, slots=True)
class Value:
    """A JSON value with its ``path`` in the message and the ``lines`` (request and answer) it came in.

    Members are reached with `get`, items with `each`; both keep track of the path, so that a finding can
    say ``result.tools[3].title`` without the check having to.
    """

    json: Any
    path: str = ""
    lines: tuple[Line, ...] = ()

    def get(self, *names: str) -> Value | None:
        """The member reached through ``names``, or None when one of them is absent (null is a value)."""
        value = self
        for name in names:
            if not isinstance(value.json, dict) or name not in value.json:
                return None
            path = f"{value.path}.{name}" if value.path else name
            value = Value(value.json[name], path, value.lines)
        return value

    def each(self) -> Iterator[Value]:
        """The items of an array or the members of an object; nothing for any other value."""
        if isinstance(self.json, list):
            for index, item in enumerate(self.json):
                yield Value(item, f"{self.path}[{index}]", self.lines)
        elif isinstance(self.json, dict):
            for name, item in self.json.items():
                yield Value(item, f"{self.path}.{name}", self.lines)

    def walk(self) -> Iterator[Value]:
        """This value and every value inside it, outermost first."""
        waiting = [self]
        while waiting:
            value = waiting.pop()
            yield value
            waiting.extend(reversed(list(value.each())))

    def is_a(self, *types: type) -> bool:
        """Whether the value has one of the JSON types; a boolean is no number."""
        if isinstance(self.json, bool):
            return bool in types
        return isinstance(self.json, types)

    def __repr__(self) -> str:
        """Short, since pytest writes down what it finds in the frames of an exception."""
        return f"<Value {self}>"

    def __str__(self) -> str:
        return f"{self.path or 'message'} = {show(self.json, SHOWN)}"


def members(values: Iterator[Value] | list[Value], *names: str) -> list[Value]:
    """The member ``names`` of each value that has it."""
    found = (value.get(*names) for value in values)
    return [value for value in found if value is not None]
