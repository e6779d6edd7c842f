"""The edges of a schema, one by one: bounds, lengths, listed values, branches, optional members."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import Any, TypeVar

from mcp_conformance.generation.choices import DEEP, PlainSource, pool
from mcp_conformance.generation.conjunction import Conjunction
from mcp_conformance.generation.covering import MAX_ROWS, rows
from mcp_conformance.generation.errors import NoExample, Rejected, until_limits
from mcp_conformance.generation.formats import edges_of
from mcp_conformance.generation.generator import Generator
from mcp_conformance.generation.items import Items
from mcp_conformance.generation.members import Members
from mcp_conformance.generation.scalars import Texts, matching
from mcp_conformance.generation.seeded_choices import seeded
from mcp_conformance.generation.shape import Shape
from mcp_conformance.generation.special import fitted, is_readable
from mcp_conformance.generation.walker import Walk, plainly

# Values of 278 real tools have at most 8 levels; a schema that contains itself ends there.
MAX_DEPTH = 8
"""The deepest place in a value where edges are searched."""

# The same part is rarely handled in another way in a fourth place, and each place multiplies the edges below
# it.
MAX_VISITS = 3
"""The number of places in which the boundaries of the same constraints are searched."""

# Of 278 real tools one has 772 edges, the median 93.
MAX_EDGES = 5000
"""The most edges examined for one schema."""

# Not measured: with less, large schemas have fewer edges; with more, their check takes longer.
MAX_STEPS = 100_000
"""The most validation steps to prove all edges."""

# A schema may allow 10**9 items: that is no edge that anybody can send.
MAX_LENGTH = 1000
"""The most items or members of an edge, and its most characters in thousands."""

# Beyond 128, the limit of many a parameter list, and enough to make a quadratic loop slow.
MANY_ITEMS, FLOOD_SIZE = 130, 10_000
"""The items of long arrays, if no keyword sets a limit."""

MAX_SMALL = 100
"""The most characters of the JSON text of an item of a long array."""

# Beyond 4,096 characters, a usual buffer, and beyond 65,535, a usual column, pipe and line.
LONG_TEXTS = (70_000, 5000)
"""The characters of long texts, if no keyword sets a limit."""

TEXTS = {
    "spaces": " ",
    "line ends": "a\r\nb\n",
    "syntax": "../%s{'\"<&\\",
    "an astral character": "\U0001f600",
    "combining characters": "\u1e9b\u0323e" + "\u0301" * 200,
    "control characters": "\t\x01\x1b[31m\x7f",
    "line separators and a byte order mark": "a\u2028b\u2029\ufeffc",
    "template and shell characters": "${7*7} {{7*7}} `id` $(id) ; | & %s %n",
}
"""Contents of texts that handlers often get wrong."""

# Not measured: as many as a quick run takes edges of a tool; they come last and are the first to be left out.
MAX_PAIRS = 60
"""The number of values in which several members are at an edge."""

MAX_LISTED, MAX_EDGES_TOGETHER, MAX_SHORT = 8, 3, 40
"""How many listed values and other edges of a member come together with others, and their characters."""
FIRST_TOGETHER: tuple[Any, ...] = (0, "", [], TEXTS["syntax"], "1969-12-31T12:00:00.5Z", "1969-12-31")
"""The edges that come together before others: an empty text, one that breaks syntax, a moment before 1970."""
EDGES_SEEN = 12
"""From how many edges of a member those that come together are taken; the first texts are about lengths."""
LONG_TOGETHER, MAX_LONG = 12_000, 2
"""The characters of texts that are long beside listed values, and how many of these values for each text."""

Case = tuple[str, Any]
"""The edge in a few words, and a value at it."""


class DeepSource(PlainSource):
    """The plainest choices that make a deep value: all members, and one item in each array."""

    def begin(self) -> int:
        """Choose a deep value."""
        return DEEP

    def takes(self) -> bool:
        """Choose true."""
        return True

    def more(self, count: int) -> bool:
        """Choose one item."""
        return count < 1


class Edges:
    """The edges of one schema's values."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._space = generator.space
        self._source = PlainSource()
        self._visits: Counter[Conjunction] = Counter()
        self._bases: dict[Members, dict[str, Any]] = {}

    def all(self) -> Iterator[Case]:
        """Yield every edge once, each proven valid; equal values once."""
        seen = set()
        validator = self._generator.validator
        validator.refill(MAX_STEPS)
        cases = chain(self._deep(), self.of(self._generator.root, ()), self._pairs())
        for what, value in until_limits(islice(cases, MAX_EDGES)):
            text = json.dumps(value, sort_keys=True)
            try:
                if text not in seen and validator.is_valid(value):
                    yield what, value
            except NoExample:
                if not validator.may_go_on:
                    return
            seen.add(text)

    def _deep(self) -> Iterator[Case]:
        """Yield a deep value, if references can make one."""
        if self._generator.root.has_references:
            with suppress(Rejected):
                yield "a deep value", Walk(self._space, DeepSource()).value(self._generator.root)

    def _pairs(self) -> Iterator[Case]:
        """Yield values with several edges at once."""
        source = seeded(0, only_edges=True)
        for _ in range(MAX_PAIRS):
            with suppress(Rejected):
                yield "several edges", Walk(self._space, source).value(self._generator.root)

    def together(self) -> Iterator[dict[str, Any]]:
        """Yield objects in which edges of a few members come together, each proven valid.

        A member has its listed values, both flags, zero and its bounds, or an empty text or list.
        """
        yield from until_limits(self._together())

    def _together(self) -> Iterator[dict[str, Any]]:
        validator = self._generator.validator
        validator.refill(MAX_STEPS)
        shape = next((one for one in self._generator.root.covering() if "object" in one.types), None)
        if shape is None or shape.values is not None:
            return
        members = shape.members
        named = [name for name in members.declared if name in members.required or name in members.optional]
        domains = self._domains(members, named)
        for row in islice(chain(self._long(members, domains), rows(domains, members.optional)), MAX_ROWS):
            # Members may exclude each other: then one of them is left out.
            for left_out in ("", *(name for name in row if name in members.optional)):
                kept = {name: one for name, one in row.items() if name != left_out}
                with suppress(NoExample, Rejected):
                    value = self._beside(members, kept)
                    if validator.is_valid(value):
                        yield value
                        break

    def _long(self, members: Members, domains: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
        """Yield rows with a long text beside a listed value: not the first, which others have beside them."""
        texts = (name for name in domains if self._is_unlimited(members, name))
        listed = {
            name: values[1 : 1 + MAX_LONG] for name, values in domains.items() if self._lists(members, name)
        }
        for text in texts:
            for name, values in islice(listed.items(), 1):
                yield from ({text: "x" * LONG_TOGETHER, name: one} for one in values)

    def _is_unlimited(self, members: Members, name: str) -> bool:
        """Return whether a member may be any text of any length."""
        shapes = self._space.of(members.at(name)).covering()
        texts = (one.texts for one in shapes if "string" in one.types and one.values is None)
        return any(not (one.bounded or one.patterns or one.formats) for one in texts)

    def _lists(self, members: Members, name: str) -> bool:
        return any(one.values is not None for one in self._space.of(members.at(name)).covering())

    def _beside(self, members: Members, row: dict[str, Any]) -> dict[str, Any]:
        """Return an object with these members, and the plainest values of the others that are required."""
        base = self._object(members, *(name for name in row if name in members.optional))
        return {name: one for name, one in base.items() if name in members.required} | row

    def _domains(self, members: Members, names: Iterable[str]) -> dict[str, list[Any]]:
        """Return the edges of members that come together: of flags and lists first, of texts last."""
        found = {name: self._few(members, name) for name in names}
        return dict(sorted(found.items(), key=lambda one: ("" in one[1], len(one[1]))))

    def _few(self, members: Members, name: str) -> list[Any]:
        """Return a few edges of a member, each listed value among them; a long text is no such edge."""
        constraints = self._space.of(members.at(name))
        listed = [one for shape in constraints.covering() for one in shape.values or ()]
        edges = listed or [value for _, value in islice(self.of(constraints, ()), EDGES_SEEN)]
        short = {
            json.dumps(one): one for one in edges if len(json.dumps(one)) <= MAX_SHORT and is_readable(one)
        }
        first = [text for text in map(json.dumps, FIRST_TOGETHER) if text in short]
        texts = list(dict.fromkeys((*first, *short)))
        return [short[text] for text in texts[: MAX_LISTED if listed else MAX_EDGES_TOGETHER]]

    def of(self, conjunction: Conjunction, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        """Yield the edges of what constraints allow; ``above`` are those of the values around it."""
        self._visits[conjunction] += 1
        if conjunction in above or len(above) > MAX_DEPTH or self._visits[conjunction] > MAX_VISITS:
            with suppress(Rejected):
                yield "the plainest value", plainly(self._space, lambda walk: walk.value(conjunction))
            return
        yield from alternately(self._safely(shape, (*above, conjunction)) for shape in conjunction.covering())
        # The last: the plainest arguments have the first, and seeded ones the others.
        yield from ((f"the known value {_short(value)}", value) for value in conjunction.known)

    def _safely(self, shape: Shape, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        with suppress(Rejected):
            yield from self._of_shape(shape, above)

    def _of_shape(self, shape: Shape, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        if shape.values is not None:
            yield from ((f"the listed value {_short(value)}", value) for value in shape.values)
            return
        yield from ((f"the example {_short(value)}", value) for value in shape.named)
        yield from alternately(self._of_type_safely(shape, name, above) for name in shape.types)

    def _of_type_safely(self, shape: Shape, name: str, above: tuple[Conjunction, ...]) -> Iterator[Case]:
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
                numbers = [*shape.numbers.edges(), shape.numbers.draw(self._source), *shape.numbers.special()]
                yield from ((f"the number {number}", number) for number in numbers)

    def _texts(self, texts: Texts) -> Iterator[Case]:
        yield "a text", texts.draw(self._source)
        if texts.patterns:
            found = pool(matching(texts.patterns[0], texts.low, texts.high if texts.bounded else None))
            for text in sorted(filter(texts.meets, found), key=len)[:: max(1, len(found) - 1)]:
                yield f"a text of {len(text)} characters", text
            return
        listed = [text for name in texts.formats for text in edges_of(name) if texts.meets(text)]
        yield from ((f"the text {_short(text)}", text) for text in listed)
        if listed or texts.formats:
            return
        for length in _text_lengths(texts):
            yield f"a text of {length} characters", texts.of_length(self._source, length, length)
        for what, text in TEXTS.items():
            yield what, fitted(text, texts.low, texts.high if texts.bounded else None)
        if not texts.bounded:
            for length in LONG_TEXTS:
                yield f"a text of {length} characters", "x" * max(length, texts.low)

    def _arrays(self, items: Items, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        base = self._array(items)
        yield f"an array of {len(base)} items", base
        for length in _lengths(items):
            with suppress(Rejected):
                yield f"an array of {length} items", self._array(items, length)
        yield from self._long_arrays(items, base)
        for index in range(items.prefix + 1):
            if index < items.high:
                yield from self._at_index(items, index, above)

    def _long_arrays(self, items: Items, base: list[Any]) -> Iterator[Case]:
        """Yield long arrays if no keyword sets a limit and the items are small."""
        if items.high > MAX_LENGTH:
            size = len(json.dumps(base or self._array(items, 1)))
            for length, most in ((MANY_ITEMS, MAX_SMALL), (FLOOD_SIZE, MAX_SMALL // 5)):
                if size <= most and items.low <= length <= items.high and not items.unique:
                    yield f"an array of {length} items", self._array(items, length)

    def _array(self, items: Items, least: int = 0) -> list[Any]:
        return plainly(self._space, lambda walk: walk.array(items, least=least))

    def _at_index(self, items: Items, index: int, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        with suppress(Rejected):
            base = self._array(items, index + 1)
            for what, value in self.of(self._space.of(items.at(index)), above):
                yield f"[{index}]: {what}", [*base[:index], value, *base[index + 1 :]]

    def _objects(self, members: Members, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        base = self._base(members)
        yield "only the required members", base
        yield "all members", self._object(members, *self._fitting(members))
        named = [name for name in members.declared if name in base or name in members.optional]
        yield from alternately(
            (*(self._at_name(members, name, above) for name in named), self._undeclared(members, above))
        )

    def _fitting(self, members: Members) -> list[str]:
        """Return as many of the optional members as can be present together."""
        room = min(members.high, MAX_LENGTH) - len(members.required)
        names: list[str] = []
        for name in members.optional:
            if len({*names, *members.with_dependents(name)} - {*members.required}) <= room:
                names = list(dict.fromkeys([*names, *members.with_dependents(name)]))
        return names

    def _base(self, members: Members) -> dict[str, Any]:
        """Return the object with only the required members, made once."""
        if members not in self._bases:
            self._bases[members] = self._object(members)
        return self._bases[members]

    def _object(self, members: Members, *present: str) -> dict[str, Any]:
        return plainly(self._space, lambda walk: walk.object(members, present=present))

    def _at_name(self, members: Members, name: str, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        with suppress(Rejected):
            base = self._base(members) if name in members.required else self._object(members, name)
            yield f"with {name!r}", base
            for what, value in self.of(self._space.of(members.at(name)), above):
                yield f"{name}: {what}", {**base, name: value}

    def _undeclared(self, members: Members, above: tuple[Conjunction, ...]) -> Iterator[Case]:
        if not members.is_map:
            return
        walk = Walk(self._space, self._source)
        for name in walk.undeclared_names(members):
            yield from self._at_name(members, name, above)


One = TypeVar("One")


def alternately(several: Iterable[Iterator[One]]) -> Iterator[One]:
    """Yield the first of each iterator, then the second of each, and so on."""
    waiting = deque(several)
    while waiting:
        one = waiting.popleft()
        for case in one:
            yield case
            waiting.append(one)
            break


def _lengths(items: Items) -> list[int]:
    """Return the lengths at both ends of the allowed range, and 1."""
    ends = [] if items.high > MAX_LENGTH else [int(items.high) - 1, int(items.high)]
    return [length for length in (1, items.low + 1, 2, *ends) if items.low <= length <= items.high]


def _text_lengths(texts: Texts) -> list[int]:
    """Return the lengths at both ends of the allowed range, and next to them."""
    highest = [texts.high - 1, texts.high] if texts.bounded and texts.high <= MAX_LENGTH * 1000 else []
    lengths = [texts.low, *reversed(highest), texts.low + 1]
    return [length for length in lengths if texts.low <= length <= texts.high]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
