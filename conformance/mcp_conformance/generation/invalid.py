"""Invalid values of a schema, each with the one keyword that it violates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

from hypothesis import strategies as st
from jsonschema.exceptions import ValidationError

from mcp_conformance.generation import violations
from mcp_conformance.generation.boundary import MAX_DEPTH, alternately
from mcp_conformance.generation.choices import PlainSource, Source
from mcp_conformance.generation.conjunction import Conjunction
from mcp_conformance.generation.errors import NoExample, Rejected, until_limits
from mcp_conformance.generation.generator import Generator
from mcp_conformance.generation.items import Items
from mcp_conformance.generation.members import Members
from mcp_conformance.generation.shape import Shape
from mcp_conformance.generation.violations import KeywordViolation
from mcp_conformance.generation.walker import Walk, plainly
from mcp_conformance.json_schema.validation import Unjudgeable, instance_errors

# More than for edges: each place of a keyword has its own validation in a handler that is written by hand.
MAX_VISITS = 12
"""The number of places in which the same constraints are violated."""

# Of 278 real tools one has 547 violations, the median 25; several candidates may be alike, or prove valid.
MAX_CANDIDATES = 10_000
"""The most candidates examined for one schema."""

# As for edges.
MAX_STEPS = 100_000
"""The most validation steps to prove all candidates."""

MAX_IN_LATER_ITEM = 3
"""The most violations that come in another item of an array too, not in its first one only."""

# The second differs in its other members, in case that the first is refused for another reason.
MAX_ALIKE = 2
"""The number of values kept for the same keyword, place and kind."""


@dataclass(frozen=True)
class Invalid:
    """Invalid arguments, and the keyword they violate.

    ``pointer`` is the JSON pointer to the place in ``arguments``, ``keyword`` the one violated there and
    ``location`` the JSON pointer to it in the schema, references followed.  ``kind`` is one of ``missing``,
    ``type``, ``enum``, ``bound``, ``length``, ``pattern``, ``additional``, ``name``, ``members``, ``items``,
    ``unique`` and ``combination``, or ``arguments`` if they are not an object; ``detail`` is the member's
    name where it is about one.  ``coercible`` is true if a lenient server may repair the value ("5" for
    5, a missing member with a default).
    """

    arguments: Any
    pointer: str
    keyword: str
    location: str
    kind: str
    detail: str = ""
    coercible: bool = False


Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Candidate:
    """A value that should be invalid for one reason at one place inside it."""

    value: Any
    place: Place
    violation: KeywordViolation


class Violator:
    """The invalid values of one schema."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._visits: Counter[Conjunction] = Counter()

    @cached_property
    def entries(self) -> list[Invalid]:
        """The values of `all`."""
        return list(self.all())

    def all(self) -> Iterator[Invalid]:
        """Yield values that together violate each keyword location at least once, each proven invalid."""
        self._visits.clear()
        with suppress(NoExample):  # after a value that was judged, one that is too costly ends nothing
            self._generator.example()
        self._generator.require()
        self._generator.validator.refill(MAX_STEPS)
        kept: Counter[tuple[object, ...]] = Counter()
        for candidate in until_limits(islice(self._of(self._generator.root, ()), MAX_CANDIDATES)):
            key = (*candidate.violation.key, candidate.place)
            if kept[key] < MAX_ALIKE:
                try:
                    proven = self.prove(candidate)
                except NoExample:
                    if not self._generator.validator.may_go_on:
                        return
                    continue
                if proven is not None:
                    kept[key] += 1
                    yield proven

    def prove(self, candidate: Candidate) -> Invalid | None:
        """Return the candidate if it is invalid for its reason, at its place and nowhere else."""
        validator = self._generator.validator
        if not validator.is_invalid(candidate.value):
            return None
        errors = validator.errors(candidate.value)
        if any(tuple(error.absolute_path) != candidate.place[: len(error.absolute_path)] for error in errors):
            return None
        violation = candidate.violation
        for error in _with_context(errors):
            if error.validator == violation.keyword and tuple(error.absolute_path) == candidate.place:
                return Invalid(
                    candidate.value,
                    pointer_to(candidate.place),
                    violation.keyword,
                    pointer_to(tuple(error.absolute_schema_path)),
                    violation.kind if isinstance(candidate.value, dict) else "arguments",
                    violation.detail,
                    violation.coercible,
                )
        return None

    def _of(self, conjunction: Conjunction, above: tuple[Conjunction, ...]) -> Iterator[Candidate]:
        self._visits[conjunction] += 1
        if conjunction in above or len(above) > MAX_DEPTH or self._visits[conjunction] > MAX_VISITS:
            return
        for shape in conjunction.covering():
            yield from self._of_shape(shape, (*above, conjunction))

    def _of_shape(self, shape: Shape, above: tuple[Conjunction, ...]) -> Iterator[Candidate]:
        for violation in violations.of(self._generator.space, shape):
            yield Candidate(violation.value, (), violation)
        if "object" in shape.types and shape.values is None:
            yield from self._in_members(shape.members, above)
        if "array" in shape.types and shape.values is None:
            yield from self._in_items(shape.items, above)

    def _in_members(self, members: Members, above: tuple[Conjunction, ...]) -> Iterator[Candidate]:
        undeclared = Walk(self._generator.space, PlainSource()).undeclared_names(members)
        names = (*members.required, *members.optional, *undeclared)
        yield from alternately(self._in_member(members, name, above) for name in names)

    def _in_member(self, members: Members, name: str, above: tuple[Conjunction, ...]) -> Iterator[Candidate]:
        space = self._generator.space
        with suppress(Rejected):
            base = plainly(space, lambda walk: walk.object(members, present=[name]))
            for inside in self._of(space.of(members.at(name)), above):
                yield Candidate({**base, name: inside.value}, (name, *inside.place), inside.violation)

    def _in_items(self, items: Items, above: tuple[Conjunction, ...]) -> Iterator[Candidate]:
        clear: list[Candidate] = []
        for index in range(items.prefix + 1):
            clear.clear()
            with suppress(Rejected):
                base = self._array_with(items, index)
                for inside in self._of(self._generator.space.of(items.at(index)), above):
                    clear += [] if inside.violation.coercible else [inside]
                    yield _in_item(base, index, inside)
        with suppress(Rejected):  # some servers validate the first item only
            longer = self._array_with(items, items.prefix + 1) if clear else []
            for inside in clear[:MAX_IN_LATER_ITEM]:
                yield _in_item(longer, items.prefix + 1, inside)

    def _array_with(self, items: Items, index: int) -> list[Any]:
        if index >= items.high:
            raise Rejected(f"item {index} is impossible")
        return plainly(self._generator.space, lambda walk: walk.array(items, least=index + 1))

    @cached_property
    def clear(self) -> list[Invalid]:
        """The entries that are objects and that no lenient server can repair."""
        return [one for one in self.entries if not one.coercible and isinstance(one.arguments, dict)]

    def drawn(self, source: Source, entries: list[Invalid]) -> Invalid:
        """Choose one of ``entries``, mostly varied and placed in another valid value."""
        entry = entries[source.index(len(entries))]
        if not source.boolean():
            return entry
        with suppress(Rejected, NoExample):
            value = self._generator.walk(source, 1)
            varied = self._varied(source, entry)
            return self.grafted(varied, value) or self.grafted(entry, value) or entry
        return entry

    def _varied(self, source: Source, entry: Invalid) -> Invalid:
        """Return ``entry`` with another value that should violate the same keyword."""
        place = _place_in(entry.arguments, entry.pointer)
        other = _other(source, _at(entry.arguments, place), entry)
        return replace(entry, arguments=_put(entry.arguments, place, other))

    def grafted(self, entry: Invalid, value: Any) -> Invalid | None:
        """Move the violation of ``entry`` to another valid value; None if it isn't the same there."""
        place = _place_in(entry.arguments, entry.pointer)
        try:
            changed = _changed(value, place, entry)
        except (KeyError, IndexError, TypeError):
            return None
        violation = KeywordViolation(None, None, entry.keyword, entry.kind, entry.detail, entry.coercible)
        return self.prove(Candidate(changed, place, violation))


def _in_item(array: list[Any], index: int, inside: Candidate) -> Candidate:
    """Return the array with a candidate in place of one of its items."""
    value = [*array[:index], inside.value, *array[index + 1 :]]
    return Candidate(value, (index, *inside.place), inside.violation)


def _changed(value: Any, place: Place, entry: Invalid) -> Any:
    """Return ``value`` with the violation of ``entry`` at ``place``; raises if it has no such place."""
    if place:
        if isinstance(value, str):
            raise TypeError("a character of a text is not a place")
        inner = _changed(value[place[0]], place[1:], replace(entry, arguments=entry.arguments[place[0]]))
        return _put(value, place[:1], inner)
    if entry.kind == "missing" and isinstance(value, dict) and entry.detail in value:
        return {name: content for name, content in value.items() if name != entry.detail}
    if entry.kind == "additional" and isinstance(value, dict) and entry.detail:
        return {**value, entry.detail: entry.arguments[entry.detail]}
    return entry.arguments


def _at(value: Any, place: Place) -> Any:
    for step in place:
        value = value[step]
    return value


def _put(value: Any, place: Place, content: Any) -> Any:
    """Return ``value`` with other content at a place that it has.  Raises `TypeError` in a text."""
    if not place:
        return content
    if isinstance(value, str):
        raise TypeError("a text has characters, but no places")
    changed = value.copy()
    changed[place[0]] = _put(value[place[0]], place[1:], content)
    return changed


def _other(source: Source, value: Any, entry: Invalid) -> Any:
    """Return a value that is likely to violate the same keyword as ``value``."""
    if entry.kind == "type" and not entry.coercible:
        return violations.CERTAIN[source.index(len(violations.CERTAIN))]
    if entry.kind == "bound":
        further = source.integer(0, 10_000)
        return value - further if entry.keyword.lower().endswith("minimum") else value + further
    if entry.kind in ("pattern", "enum") and isinstance(value, str) and not entry.coercible:
        return source.drawn(_PRINTABLE)
    if entry.keyword == "maxLength" and isinstance(value, str):
        return value + "x" * source.integer(0, 1000)
    return value


_PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40)


def _with_context(errors: list[ValidationError]) -> Iterator[ValidationError]:
    for error in errors:
        yield error
        yield from _with_context(list(error.context or ()))


def pointer_to(place: Place) -> str:
    """Return a place as a JSON pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in place)


def _place_in(value: Any, pointer: str) -> Place:
    place: list[str | int] = []
    for written in pointer.split("/")[1:]:
        name = written.replace("~1", "/").replace("~0", "~")
        step: str | int = int(name) if isinstance(value, list) else name
        place.append(step)
        value = value[step]
    return tuple(place)


NEW_KEYWORD = re.compile(r".*?/(dependentRequired|prefixItems)(?=/|$)")
"""A place in a schema, up to the first keyword that draft 7 lacks."""


def clear(entries: Iterable[Invalid], arguments: dict[str, Any], generator: Generator) -> list[Invalid]:
    """Return valid ``arguments`` without a required member, and with an object in place of a scalar.

    ``entries`` are the violations to choose from.  Each result is proven invalid; there may be none.
    """
    found: dict[str, Invalid] = {}
    for one in entries:
        if one.kind not in found and not one.coercible:
            changed = _change_of(arguments, one, generator)
            if changed is not None and generator.validator.is_invalid(changed):
                found[one.kind] = replace(one, arguments=changed)
    return list(found.values())


def _change_of(arguments: dict[str, Any], one: Invalid, generator: Generator) -> dict[str, Any] | None:
    """Return ``arguments`` with the violation of ``one``; None if it is of neither kind."""
    if one.keyword == "required" and not one.pointer:
        return {name: content for name, content in arguments.items() if name != one.detail}
    if one.kind != "type" or one.pointer.count("/") != 1:
        return None
    name = one.pointer[1:].replace("~1", "/").replace("~0", "~")
    content = one.arguments[name]
    types = generator.space.of(generator.root.shape.members.at(name)).shape.allowed
    is_clear = isinstance(content, dict) and not {"array", "object"} & {*types}
    return {**arguments, name: content} if is_clear else None


def since_2020_12(entries: Iterable[Invalid], schema: Any, revision: str) -> list[Invalid]:
    """Return for each ``dependentRequired`` and ``prefixItems`` the first entry that it alone forbids."""
    found: dict[str, Invalid] = {}
    old = _without_new_keywords(schema)
    for one in entries:
        place = NEW_KEYWORD.match(one.location)
        if place and place[0] not in found and not one.coercible and _is_valid(one.arguments, old, revision):
            found[place[0]] = one
    return list(found.values())


def _without_new_keywords(schema: Any) -> Any:
    """Remove the two keywords; ``items`` too if it applies to the items after ``prefixItems``."""
    if isinstance(schema, list):
        return [_without_new_keywords(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    new = {"prefixItems", "items"} if isinstance(schema.get("prefixItems"), list) else set()
    new |= {"dependentRequired"} if _are_dependents(schema.get("dependentRequired")) else set()
    return {name: _without_new_keywords(content) for name, content in schema.items() if name not in new}


def _are_dependents(content: Any) -> bool:
    return isinstance(content, dict) and all(isinstance(names, list) for names in content.values())


def _is_valid(arguments: Any, schema: Any, revision: str) -> bool:
    try:
        return not instance_errors(arguments, schema, revision)
    except Unjudgeable:
        return False
