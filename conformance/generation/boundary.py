"""The edges of a schema, one by one: bounds, lengths, listed values, branches, optional members."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from conformance.generation.choices import PlainSource, pool
from conformance.generation.conjunction import Conjunction
from conformance.generation.errors import Rejected
from conformance.generation.generator import Generator
from conformance.generation.items import Items
from conformance.generation.members import Members
from conformance.generation.scalars import Texts, matching
from conformance.generation.shape import Shape
from conformance.generation.walker import Walk

MAX_DEPTH = 8
"""The deepest place in a value where edges are searched."""

MAX_VISITS = 3
"""The number of places in which the boundaries of the same constraints are searched."""

MAX_EDGES = 5000
"""The most edges examined for one schema."""

MAX_STEPS = 3_000_000
"""The most validation steps to prove all edges."""

MAX_LENGTH = 1000
"""The most items or members of an edge, and its most characters in thousands."""

Case = tuple[str, Any]
"""The edge in a few words, and a value at it."""


class Edges:
    """The edges of one schema's values."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._space = generator.space
        self._source = PlainSource()
        self._visits: Counter[Conjunction] = Counter()

    def all(self) -> Iterator[Case]:
        """Yield every edge once, each proven valid; equal values once."""
        seen = set()
        self._generator.validator.refill(MAX_STEPS)
        for what, value in islice(self.of(self._generator.root, ()), MAX_EDGES):
            text = json.dumps(value, sort_keys=True)
            if text not in seen and self._generator.validator.is_valid(value):
                seen.add(text)
                yield what, value

    def of(self, conjunction: Conjunction, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        """Yield the edges of what constraints allow; ``above`` are those of the values around it."""
        self._visits[conjunction] += 1
        if conjunction in above or len(above) > MAX_DEPTH or self._visits[conjunction] > MAX_VISITS:
            with suppress(Rejected):
                yield "the plainest value", self._plain(conjunction)
            return
        for shape in conjunction.covering():
            with suppress(Rejected):
                yield from self._of_shape(shape, (*above, conjunction))

    def _plain(self, conjunction: Conjunction) -> Any:
        return Walk(self._space, self._source).value(conjunction)

    def _of_shape(self, shape: Shape, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        if shape.values is not None:
            yield from ((f"the listed value {_short(value)}", value) for value in shape.values)
            return
        yield from ((f"the example {_short(value)}", value) for value in shape.named)
        for name in shape.types:
            with suppress(Rejected):
                yield from self._of_type(shape, name, above)

    def _of_type(self, shape: Shape, name: str, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        match name:
            case "null":
                yield "null", None
            case "boolean":
                yield from (("false", False), ("true", True))
            case "string":
                yield from self._texts(shape.texts)
            case "array":
                yield from self._arrays(shape.items, above)
            case "object":
                yield from self._objects(shape.members, above)
            case _:
                numbers = [*shape.numbers.edges(), shape.numbers.draw(self._source), 0, -1]
                yield from ((f"the number {number}", number) for number in numbers)

    def _texts(self, texts: Texts) -> Iterator[Case]:
        yield "a text", texts.draw(self._source)
        if texts.patterns:
            found = pool(matching(texts.patterns[0], texts.low, texts.high if texts.bounded else None))
            for text in sorted(filter(texts.meets, found), key=len)[:: max(1, len(found) - 1)]:
                yield f"a text of {len(text)} characters", text
        elif not texts.formats:
            for length in _text_lengths(texts):
                yield f"a text of {length} characters", texts.of_length(self._source, length, length)

    def _arrays(self, items: Items, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        base = self._array(items)
        yield f"an array of {len(base)} items", base
        for length in _lengths(items):
            with suppress(Rejected):
                yield f"an array of {length} items", self._array(items, length)
        for index in range(items.prefix + 1):
            if index < items.high:
                yield from self._at_index(items, index, above)

    def _array(self, items: Items, least: int = 0) -> list[Any]:
        return Walk(self._space, self._source).array(items, least=least)

    def _at_index(self, items: Items, index: int, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        with suppress(Rejected):
            base = self._array(items, index + 1)
            for what, value in self.of(self._space.of(items.at(index)), above):
                yield f"[{index}]: {what}", [*base[:index], value, *base[index + 1 :]]

    def _objects(self, members: Members, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        base = self._object(members)
        yield "only the required members", base
        yield "all members", self._object(members, *self._fitting(members))
        for name in members.declared:
            if name in base or name in members.optional:
                yield from self._at_name(members, name, above)
        yield from self._undeclared(members, above)

    def _fitting(self, members: Members) -> list[str]:
        """Return as many of the optional members as can be present together."""
        room = min(members.high, MAX_LENGTH) - len(members.required)
        names: list[str] = []
        for name in members.optional:
            if len({*names, *members.with_dependents(name)} - {*members.required}) <= room:
                names = list(dict.fromkeys([*names, *members.with_dependents(name)]))
        return names

    def _object(self, members: Members, *present: str) -> dict[str, Any]:
        return Walk(self._space, self._source).object(members, present=present)

    def _at_name(self, members: Members, name: str, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        with suppress(Rejected):
            base = self._object(members, name)
            yield f"with {name!r}", base
            for what, value in self.of(self._space.of(members.at(name)), above):
                yield f"{name}: {what}", {**base, name: value}

    def _undeclared(self, members: Members, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        if not members.is_map:
            return
        walk = Walk(self._space, self._source)
        for name in walk.undeclared_names(members):
            yield from self._at_name(members, name, above)


def _lengths(items: Items) -> list[int]:
    """Return the lengths at both ends of the allowed range, and 1."""
    ends = [] if items.high > MAX_LENGTH else [int(items.high) - 1, int(items.high)]
    return [length for length in (1, items.low + 1, *ends) if items.low <= length <= items.high]


def _text_lengths(texts: Texts) -> list[int]:
    """Return the lengths at both ends of the allowed range, and next to them."""
    highest = [texts.high - 1, texts.high] if texts.bounded and texts.high <= MAX_LENGTH * 1000 else []
    lengths = [texts.low, texts.low + 1, *highest]
    return [length for length in lengths if texts.low <= length <= texts.high]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
