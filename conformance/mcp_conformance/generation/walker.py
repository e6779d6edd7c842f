"""A walk over a schema, which makes one value from the choices of a source."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from typing import Any, TypeVar

from mcp_conformance.generation.choices import MAX_USUAL_ITEMS, USUAL_DEPTH, PlainSource, Source
from mcp_conformance.generation.conjunction import Conjunction, Space
from mcp_conformance.generation.errors import Rejected
from mcp_conformance.generation.items import MAX_CONTAINED, Items
from mcp_conformance.generation.members import Members
from mcp_conformance.generation.references import Part
from mcp_conformance.generation.scalars import Numbers, Texts, matching
from mcp_conformance.generation.seeded_choices import seeded
from mcp_conformance.generation.shape import Shape

# Not measured: values of real tools have 64 characters in the median, 12,000 in one of a hundred; with more,
# schemas that contain themselves make them larger still.
SIMPLE_VALUES = 60
"""The number of values after which a walk takes only the shortest way."""

# A schema whose parts multiply would fill the memory; an array of more items repeats one.
MAX_VALUES = 2000
"""The most values of one walk."""

# A tenth of the megabyte that every reader should accept, so that validation stays quick.
MAX_SIZE = 100_000
"""The most characters and items of one walk."""

MAX_DIFFERENT_ITEMS = 100
"""The number of items made one by one; further items repeat the last, also after `SIMPLE_VALUES`."""

# One more than fits into a byte with a sign, as `boundary.MANY_ITEMS`.
MAX_FURTHER_ITEMS = 128
"""The most items of an array beyond its least number, unless ``maxItems`` sets a lower limit."""

# Not measured: with fewer, a keyword whose plainest value is impossible has no edge.
OTHER_WALKS = 8
"""The most walks with other choices where the plainest ones make no value."""

# Each level above tries as often again: at the usual depth, that is 3**5 walks of the deepest part.
VALUE_ATTEMPTS = 3
"""The number of tries for a value or a name before the walk fails."""


class Walk:
    """The construction of one value: its source of choices, and the values made so far."""

    def __init__(self, space: Space, source: Source) -> None:
        self._space = space
        self._source = source
        self._depth = source.begin()
        self._is_deep = self._depth > USUAL_DEPTH
        self._made = 0
        self._size = 0
        self._before: dict[Hashable, Any] = {}

    def value(self, conjunction: Conjunction, depth: int = 0) -> Any:
        """Make a value that meets constraints, as far as the rules show; raises `Rejected`."""
        self._made += 1
        if self._made > MAX_VALUES:
            self._space.waste(self._made, "the value has grown too large")
            raise Rejected("the value has grown too large")
        if conjunction.known:
            chosen = self._source.known(len(conjunction.known))
            if chosen is not None:
                return conjunction.known[chosen]
        shape = self._settle(conjunction, depth)
        for _ in range(VALUE_ATTEMPTS):
            value = self._of(shape, depth)
            if shape.is_allowed(value):
                return value
        raise Rejected("no value was found that its not, oneOf, if, maxContains and uniqueItems allow")

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > MAX_SIZE:
            raise Rejected(f"a value would have more than {MAX_SIZE} characters and items")

    def _is_short(self, depth: int) -> bool:
        return depth >= self._depth or self._made > SIMPLE_VALUES

    def _settle(self, conjunction: Conjunction, depth: int) -> Shape:
        while conjunction.open:
            ways = [way for _, way in conjunction.ways]
            if not ways:
                raise Rejected(f"none of the branches of its {conjunction.open[0].keyword} is possible")
            if self._is_short(depth):
                least = min(way.least_depth for way in ways)
                ways = [way for way in ways if way.least_depth == least]
            elif self._is_deep:
                ways = [way for way in ways if way.has_references] or ways
            conjunction = ways[self._source.index(len(ways))]
        if conjunction.contradiction is not None:
            raise Rejected(conjunction.contradiction)
        return conjunction.shape

    def _of(self, shape: Shape, depth: int) -> Any:
        if shape.values:
            return shape.values[self._source.index(len(shape.values))]
        if shape.named:
            chosen = self._source.familiar(len(shape.named))
            if chosen is not None:
                return shape.named[chosen]
        types = shape.types if shape.values is None else []
        if self._is_short(depth):
            types = [name for name in types if name not in ("array", "object")] or types
        if not types:  # a schema with too many combinations was not judged before
            raise Rejected("none of its types and values is possible")
        return self.of_type(shape, types[self._source.index(len(types))], depth)

    def of_type(self, shape: Shape, name: str, depth: int = 0) -> Any:
        """Make a value of one of the types that a shape allows."""
        match name:
            case "null":
                return None
            case "boolean":
                return self._source.boolean()
            case "string":
                self._grow(shape.texts.low)
                return self._scalar(shape.texts)
            case "array":
                return self.array(shape.items, depth)
            case "object":
                return self.object(shape.members, depth)
        return self._scalar(shape.numbers)

    def _scalar(self, rules: Numbers | Texts) -> Any:
        """Draw a number or a text, or repeat the one before if the rules allow it.

        It is drawn in any case, so that shrinking can choose one without the other.
        """
        value = rules.draw(self._source)
        before = self._before.get(rules.kind)
        if before is not None and self._source.repeats() and rules.allows(before):
            return before
        self._before[rules.kind] = value
        return value

    def array(self, items: Items, depth: int = 0, least: int = 0) -> list[Any]:
        """Make an array that meets the rules, with ``least`` items or more."""
        if len(items.contained) > MAX_CONTAINED:
            raise Rejected(f"an array would contain more than {MAX_CONTAINED} items of a kind")
        least = max(least, items.low, len(items.contained))
        self._grow(least)
        slots = self._slots(items, least)
        made: list[Any] = []
        last = 0
        while len(made) < least or (len(made) < items.high and self._goes_on(items, len(made), depth)):
            contained = slots.get(len(made))
            may_repeat = contained is None and len(made) > items.prefix and not items.unique
            if may_repeat and (len(made) >= items.prefix + MAX_DIFFERENT_ITEMS or self._made > SIMPLE_VALUES):
                self._grow(last)
                made.append(made[-1])
            else:
                before = self._size
                made.append(self._item(items, made, contained, depth))
                last = self._size - before
        return made

    def _goes_on(self, items: Items, length: int, depth: int) -> bool:
        longest = max(items.prefix, items.low + MAX_FURTHER_ITEMS)
        is_long = length - items.low > MAX_USUAL_ITEMS and not items.unique
        is_over = depth >= self._depth or (self._made > SIMPLE_VALUES and not is_long)
        return length < longest and not is_over and self._source.more(length - items.low)

    def _slots(self, items: Items, length: int) -> dict[int, Part]:
        """Choose the items that serve a ``contains``: the last ones where possible."""
        slots: dict[int, Part] = {}
        for part in items.contained:
            free = [index for index in reversed(range(length)) if index not in slots]
            fitting = [index for index in free if items.is_possible(index, part)]
            if not fitting:
                raise Rejected("no index is possible for an item that it must contain")
            slots[fitting[0]] = part
        return slots

    def _item(self, items: Items, others: list[Any], contained: Part | None, depth: int) -> Any:
        conjunction = self._space.of(items.at(len(others), contained))
        for _ in range(VALUE_ATTEMPTS * 3 if items.unique else 1):
            value = self.value(conjunction, depth + 1)
            if not items.unique or value not in others:
                return value
        return self._different(conjunction, others)

    def _different(self, conjunction: Conjunction, others: list[Any]) -> Any:
        """Return a known value, or the first from one chosen at random, that is not among ``others``."""
        for value in conjunction.known:
            if value not in others:
                return value
        shape = conjunction.shape
        start = len(others) + self._source.index(MAX_FURTHER_ITEMS)
        for value in shape.in_order(start, 2 * len(others) + 2):
            if value not in others and shape.is_allowed(value):
                return value
        raise Rejected("its items cannot all be different")

    def object(self, members: Members, depth: int = 0, present: Iterable[str] = ()) -> dict[str, Any]:
        """Make an object that meets the rules, with the members that must be ``present``."""
        least = max(members.low, len(members.required))
        if self._made + least > MAX_VALUES:
            reason = f"an object would have {least} members"
            self._space.waste(self._made + len(members.required), reason)
            raise Rejected(reason)
        made: dict[str, Any] = {}
        needed = {*members.required, *members.with_dependents(*present)}
        for name in members.declared:
            if name in needed or self._takes(members, name, made, needed, depth):
                self._add(members, name, made, depth)
        for name in (*members.required, *sorted(needed)):
            self._add(members, name, made, depth)
        self._fill(members, made, depth)
        return made

    def _takes(self, members: Members, name: str, made: dict[str, Any], needed: set[str], depth: int) -> bool:
        if name not in members.optional or self._is_short(depth):
            return False
        if members.limit is not None:
            full = len(made.keys() | needed | set(members.with_dependents(name))) > members.limit
            return not full and self._source.takes()
        return self._source.takes()

    def _add(self, members: Members, name: str, made: dict[str, Any], depth: int) -> None:
        for one in members.with_dependents(name) if members.dependents else (name,):
            if one not in made:
                made[one] = self.value(self._space.of(members.at(one)), depth + 1)

    def _fill(self, members: Members, made: dict[str, Any], depth: int) -> None:
        """Add members until there are enough, and perhaps undeclared ones."""
        for name in members.optional:
            if len(made) >= members.low:
                break
            self._add(members, name, made, depth)
        while len(made) < members.low or self._adds_more(members, len(made), depth):
            new = self._new_name(members, made, depth)
            if new is not None:
                self._add(members, new, made, depth)
            elif len(made) < members.low:
                raise Rejected(f"no name was found for one of {members.low} members")
            else:
                return

    def _adds_more(self, members: Members, length: int, depth: int) -> bool:
        if length >= min(members.high, max(members.low, len(members.declared)) + 3) or self._is_short(depth):
            return False
        if members.is_map:
            return (members.is_open or bool(members.patterns)) and self._source.boolean()
        return members.is_open and self._source.index(12) == 11

    def _new_name(self, members: Members, made: dict[str, Any], depth: int) -> str | None:
        """Make a name for one more member; None if none was found."""
        for attempt in range(VALUE_ATTEMPTS * 2):
            name: str = self._name(members, depth)
            if name in made:
                name += str(len(made) + attempt)
            if name not in made and name not in members.declared and members.can_have(name):
                return name
        return None

    def undeclared_names(self, members: Members) -> list[str]:
        """Make undeclared names: one for each pattern, one that matches none."""
        found = []
        for pattern in members.patterns:
            with suppress(Rejected):
                found.append(self._source.drawn(matching(pattern, 0, None)))
        with suppress(Rejected):
            found.append(self._name(members, 0) if members.names else "undeclared")
        return [
            name for name in dict.fromkeys(found) if name not in members.declared and members.can_have(name)
        ]

    def _name(self, members: Members, depth: int) -> str:
        if members.names is not None:
            name = self.value(self._space.of(members.names), depth + 1)
            if not isinstance(name, str):
                raise Rejected("a name is not a text")
            return name
        ways = len(members.patterns) + members.is_open
        chosen = self._source.index(ways) if ways else 0
        if chosen < len(members.patterns):
            return self._source.drawn(matching(members.patterns[chosen], 0, None))
        return self._source.text(0, 6)


Made = TypeVar("Made")


def plainly(space: Space, make: Callable[[Walk], Made]) -> Made:
    """Return what ``make`` makes of the plainest choices; of others, the same each time, if these fail.

    Raises `Rejected` if all fail.
    """
    try:
        return make(Walk(space, PlainSource()))
    except Rejected as error:
        failure = error
    for number in range(OTHER_WALKS):
        with suppress(Rejected):
            return make(Walk(space, seeded(number, only_known=True)))
    raise failure
