"""Values that should break each keyword of a shape; the schema's validator proves them later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from mcp_conformance.generation.choices import PlainSource
from mcp_conformance.generation.conjunction import Space
from mcp_conformance.generation.constraints import Constraints
from mcp_conformance.generation.errors import Rejected
from mcp_conformance.generation.keywords import is_of
from mcp_conformance.generation.references import Part
from mcp_conformance.generation.regex_strings import is_disputed
from mcp_conformance.generation.seeded_choices import seeded
from mcp_conformance.generation.shape import Shape
from mcp_conformance.generation.special import MAX_SAFE_INTEGER
from mcp_conformance.generation.walker import Walk, plainly

# After a hundred the last is repeated: making each costs a walk.
MAX_DIFFERENT_ITEMS = 100
"""The most items made one by one for an array that is too long."""

UNEXPECTED = "unexpected_member"
# An item takes two steps or more, of the 50,000 that a value may take to be proven (`bounded.MAX_STEPS`).
MAX_ITEMS = 10_001
"""The most items of an array that has too many."""
# A keyword that allows more is not broken by anything that can be sent.
MAX_LENGTH = 2**20
"""The most characters of a text that is too long."""
# A second, at a millisecond for each.
MAX_WALKS = 1000
"""The most walks for items that all differ."""


@dataclass(frozen=True)
class KeywordViolation:
    """A value that should violate one keyword of one part; the other fields are those of `Invalid`."""

    value: Any
    part: Part | None
    keyword: str
    kind: str
    detail: str = ""
    coercible: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """A key that similar violations share."""
        return self.part, self.keyword, self.detail, self.coercible


def of(space: Space, shape: Shape) -> Iterator[KeywordViolation]:
    """Yield values that each break one keyword of the shape, several for some keywords."""
    breaker = _Breaker(space, shape)
    for part in shape.parts:
        for keyword in part.keywords:
            if keyword in BREAKERS:
                with suppress(Rejected):
                    yield from BREAKERS[keyword](breaker, part, part.keywords[keyword])


HARD: tuple[Any, ...] = ({"unexpected": {}}, [[]], "not of this type", -7.25, False, None)
"""A value of each type that no server converts to another type."""

CERTAIN = HARD[:-2]
"""Those that no server takes for a number or for an absent value."""

SOFT: dict[str, tuple[Any, ...]] = {
    "integer": ("5", "5.0", None),
    "number": ("1.5", None),
    "boolean": ("true", "yes", None),
    "string": (5, None),
    "array": ("[]", "a", {}),
    "object": ("{}", []),
    "null": ("null", ""),
}
"""Values that a lenient server may convert to each type."""

ANYTHING: tuple[Any, ...] = (*HARD, "", {}, [], 7, True, "x", -1, 0, 1.5, [1], [None, None], {"x": 1})


class _Breaker:
    """One method for each keyword, which yields values that break it."""

    def __init__(self, space: Space, shape: Shape) -> None:
        self._space = space
        self._shape = shape

    def _plain(self, name: str) -> Any:
        """Make a valid value of a type; raises `Rejected` if none is found."""
        if self._shape.values is not None:
            fitting = [value for value in self._shape.values if is_of(value, name)]
            if not fitting:
                raise Rejected(f"no listed value is of type {name}")
            return fitting[0]
        if name not in self._shape.types and not (name == "number" and "integer" in self._shape.types):
            raise Rejected(f"a value of type {name} is not allowed")
        return plainly(self._space, lambda walk: walk.of_type(self._shape, name))

    def _object(self, *present: str) -> dict[str, Any]:
        if "object" not in self._shape.types:
            raise Rejected("an object is not allowed")
        return plainly(self._space, lambda walk: walk.object(self._shape.members, present=present))

    def _array(self, least: int = 0) -> list[Any]:
        if "array" not in self._shape.types:
            raise Rejected("an array is not allowed")
        return plainly(self._space, lambda walk: walk.array(self._shape.items, least=least))

    # Any value

    def break_type(self, part: Part, types: Any) -> Iterator[KeywordViolation]:
        names = types if isinstance(types, list) else [types]
        for value in HARD:
            if not any(is_of(value, name) for name in names) and not self._is_ambiguous(value, names):
                yield KeywordViolation(value, part, "type", "type")
        for name in names:
            for value in SOFT.get(name, ()):
                if not any(is_of(value, one) for one in names):
                    yield KeywordViolation(value, part, "type", "type", coercible=True)

    @staticmethod
    def _is_ambiguous(value: Any, names: list[str]) -> bool:
        """Return whether a value is null, or a boolean for a number: many servers accept these."""
        return value is None or (isinstance(value, bool) and bool({"integer", "number"} & {*names}))

    def break_enum(self, part: Part, listed: list[Any], keyword: str = "enum") -> Iterator[KeywordViolation]:
        for value in listed:
            if isinstance(value, str):
                yield KeywordViolation(value + "-unlisted", part, keyword, "enum")
                yield KeywordViolation(value.swapcase(), part, keyword, "enum", coercible=True)
            elif isinstance(value, int | float) and not isinstance(value, bool):
                yield KeywordViolation(value + 1, part, keyword, "enum")
                yield KeywordViolation(
                    max(one for one in listed if is_of(one, "number")) + 1, part, keyword, "enum"
                )
        for value in ANYTHING:
            if not any(value == one for one in listed):
                yield KeywordViolation(value, part, keyword, "enum")

    def break_const(self, part: Part, value: Any) -> Iterator[KeywordViolation]:
        yield from self.break_enum(part, [value], "const")

    def break_not(self, part: Part, schema: Any) -> Iterator[KeywordViolation]:
        forbidden = self._space.document.below(part, schema)
        for value in self._values_of(forbidden):
            yield KeywordViolation(value, part, "not", "combination")
            if isinstance(value, dict):
                with suppress(Rejected):
                    yield KeywordViolation({**value, **self._object()}, part, "not", "combination")
        for value in ANYTHING:
            yield KeywordViolation(value, part, "not", "combination")

    def _values_of(self, *parts: Part) -> Iterator[Any]:
        for shape in self._space.of(Constraints(parts)).covering():
            for name in shape.types if shape.values is None else ():
                with suppress(Rejected):
                    yield plainly(self._space, partial(Walk.of_type, shape=shape, name=name))
            yield from shape.values or ()

    def break_any_of(self, part: Part, _schemas: Any) -> Iterator[KeywordViolation]:
        for value in ANYTHING:
            yield KeywordViolation(value, part, "anyOf", "combination")

    def break_one_of(self, part: Part, schemas: list[Any]) -> Iterator[KeywordViolation]:
        branches = [self._space.document.below(part, schema) for schema in schemas[:4]]
        for index, first in enumerate(branches):
            for second in branches[index + 1 :]:
                others = tuple(one for one in self._shape.parts if "oneOf" not in one.keywords)
                for value in self._values_of(*dict.fromkeys((first, second, *others))):
                    yield KeywordViolation(value, part, "oneOf", "combination")
        for value in ANYTHING:
            yield KeywordViolation(value, part, "oneOf", "combination")

    # Numbers

    def break_minimum(self, part: Part, bound: float) -> Iterator[KeywordViolation]:
        for value in (bound - 1, bound - 0.5, bound * 2 - 1):
            yield from self._number(value, part, "minimum")

    def break_exclusive_minimum(self, part: Part, bound: float) -> Iterator[KeywordViolation]:
        for value in (bound, bound - 1):
            yield from self._number(value, part, "exclusiveMinimum")

    def break_maximum(self, part: Part, bound: float) -> Iterator[KeywordViolation]:
        for value in (bound + 1, bound + 0.5, bound * 2 + 1):
            yield from self._number(value, part, "maximum")

    def break_exclusive_maximum(self, part: Part, bound: float) -> Iterator[KeywordViolation]:
        for value in (bound, bound + 1):
            yield from self._number(value, part, "exclusiveMaximum")

    def _number(self, value: float, part: Part, keyword: str) -> Iterator[KeywordViolation]:
        whole = float(value).is_integer()
        if abs(value) <= MAX_SAFE_INTEGER and (whole or "integer" not in self._shape.allowed):
            yield KeywordViolation(int(value) if whole else value, part, keyword, "bound")

    def break_multiple_of(self, part: Part, step: float) -> Iterator[KeywordViolation]:
        base = self._plain("number")
        for value in (base + 1, base + step / 2, base + step / 3, 1, 7, 0.5):
            yield from self._number(value, part, "multipleOf")

    # Strings

    def break_min_length(self, part: Part, length: float) -> Iterator[KeywordViolation]:
        if 1 <= length < MAX_LENGTH:
            with suppress(Rejected):
                yield KeywordViolation(self._plain("string")[: int(length) - 1], part, "minLength", "length")
            yield KeywordViolation("x" * (int(length) - 1), part, "minLength", "length")
        if length >= 1:
            yield KeywordViolation("", part, "minLength", "length")

    def break_max_length(self, part: Part, length: float) -> Iterator[KeywordViolation]:
        if length < MAX_LENGTH:
            with suppress(Rejected):
                text, wanted = self._plain("string") or "x", int(length) + 1
                longer = (text * (wanted // len(text) + 1))[:wanted]
                yield KeywordViolation(longer, part, "maxLength", "length")
            yield KeywordViolation("x" * (int(length) + 1), part, "maxLength", "length")

    def break_pattern(self, part: Part, pattern: str) -> Iterator[KeywordViolation]:
        texts = ["!", "x", "0", "", " ", "~~~", "A b", "-"]
        with suppress(Rejected):
            text = self._plain("string")
            texts = [text + "!", "!" + text, text[:-1], text[1:], text.swapcase(), "!" * len(text), *texts]
        for text in texts:
            if not is_disputed(pattern, text):
                yield KeywordViolation(text, part, "pattern", "pattern")

    # Arrays

    def break_min_items(self, part: Part, length: float) -> Iterator[KeywordViolation]:
        if length >= 1:
            yield KeywordViolation(self._array()[: int(length) - 1], part, "minItems", "items")
            yield KeywordViolation([], part, "minItems", "items")

    def break_max_items(self, part: Part, length: float) -> Iterator[KeywordViolation]:
        if length < MAX_ITEMS:
            full = self._array(int(min(length, self._shape.items.high, MAX_DIFFERENT_ITEMS)))
            more = self._further_items(full, int(length) + 1 - len(full))
            yield KeywordViolation([*full, *more], part, "maxItems", "items")
            yield KeywordViolation([*full, *[None] * len(more)], part, "maxItems", "items")

    def _further_items(self, items: list[Any], count: int) -> list[Any]:
        """Make further items for an array, different ones as far as any are found."""
        if not self._shape.items.unique:
            return (items[-1:] or [self._item()]) * count
        walk = Walk(self._space, seeded(0))
        found: list[Any] = []
        for _ in range(min(count * 5, MAX_WALKS)):
            with suppress(Rejected):
                value = walk.value(self._space.of(self._shape.items.at(len(items) + len(found))))
                if value not in items and value not in found:
                    found.append(value)
            if len(found) == count:
                return found
        again = found or items[-1:] or [None]
        return (again * (count // len(again) + 1))[:count]

    def _item(self) -> Any:
        with suppress(Rejected):
            return plainly(self._space, lambda walk: walk.value(self._space.of(self._shape.items.at(0))))
        return None

    def break_unique_items(self, part: Part, unique: Any) -> Iterator[KeywordViolation]:
        if unique:
            full = self._array(1)
            yield KeywordViolation([full[-1]] * max(2, len(full)), part, "uniqueItems", "unique")
            yield KeywordViolation([*full, full[-1]], part, "uniqueItems", "unique")
            yield KeywordViolation([full[0], *full], part, "uniqueItems", "unique")

    def break_contains(self, part: Part, schema: Any) -> Iterator[KeywordViolation]:
        contained = self._space.document.below(part, schema)
        length = min(self._shape.items.low, MAX_LENGTH)
        yield from (
            KeywordViolation([value] * length, part, "contains", "items") for value in ({}, *ANYTHING)
        )
        for keyword in ("maxContains", "contains"):
            for value in self._values_of(contained):
                most = min(part.keywords.get("maxContains", 0), MAX_LENGTH)
                yield KeywordViolation([value] * max(length, int(most) + 1), part, keyword, "items")
        yield KeywordViolation([], part, "contains", "items")

    def break_min_contains(self, part: Part, least: float) -> Iterator[KeywordViolation]:
        contained = self._space.document.below(part, part.keywords.get("contains", True))
        least = min(least, MAX_LENGTH)
        for value in self._values_of(contained):
            yield KeywordViolation([value] * (int(least) - 1), part, "minContains", "items")
            yield KeywordViolation([value] * (int(least) - 1), part, "contains", "items")

    def break_items(self, part: Part, schema: Any) -> Iterator[KeywordViolation]:
        if schema is False:
            before = len(part.keywords.get("prefixItems", ()))
            full = self._array(min(before, int(self._shape.items.high)))
            keyword = "items" if self._space.document.draft == 2020 else "additionalItems"
            for value in (None, 1, "x"):
                yield KeywordViolation([*full, value], part, keyword, "additional")
                yield KeywordViolation([*full, value], part, "items", "additional")

    def break_unevaluated_items(self, part: Part, _schema: Any) -> Iterator[KeywordViolation]:
        for length in range(int(min(self._shape.items.high, self._shape.items.prefix)) + 1):
            with suppress(Rejected):
                full = self._array(length)
                for value in ANYTHING:
                    yield KeywordViolation([*full, value], part, "unevaluatedItems", "additional")

    # Objects

    def break_required(self, part: Part, names: list[str]) -> Iterator[KeywordViolation]:
        full = self._object()
        for name in names:
            rest = {key: content for key, content in full.items() if key != name}
            member = self._space.of(self._shape.members.at(name)).shape
            has_default = any("default" in keywords for keywords in member.schemas)
            yield KeywordViolation(rest, part, "required", "missing", name, coercible=has_default)

    def break_dependent_required(
        self, part: Part, dependents: dict[str, list[str]]
    ) -> Iterator[KeywordViolation]:
        keyword = "dependentRequired" if "dependencies" not in part.schema else "dependencies"
        for name, others in dependents.items():
            with suppress(Rejected):
                full = self._object(name)
                for other in others:
                    rest = {key: content for key, content in full.items() if key != other}
                    yield KeywordViolation(rest, part, keyword, "missing", other)

    def break_additional_properties(self, part: Part, schema: Any) -> Iterator[KeywordViolation]:
        yield from self._unexpected(part, "additionalProperties", schema)

    def break_unevaluated_properties(self, part: Part, schema: Any) -> Iterator[KeywordViolation]:
        yield from self._unexpected(part, "unevaluatedProperties", schema)

    def _unexpected(self, part: Part, keyword: str, schema: Any) -> Iterator[KeywordViolation]:
        full = self._object()
        values = ("x",) if schema is False else ANYTHING if keyword == "unevaluatedProperties" else ()
        for value in values:
            yield KeywordViolation({**full, UNEXPECTED: value}, part, keyword, "additional", UNEXPECTED)

    def break_property_names(self, part: Part, schema: Any) -> Iterator[KeywordViolation]:
        full = self._object()
        conjunction = self._space.of(
            Constraints((self._space.document.below(part, schema), self._space.text))
        )
        for shape in conjunction.covering():
            for violation in of(self._space, shape):
                if isinstance(violation.value, str):
                    value = self._member(violation.value)
                    named = {**full, violation.value: value}
                    yield KeywordViolation(named, part, violation.keyword, "name", violation.value)

    def _member(self, name: str) -> Any:
        with suppress(Rejected):
            return plainly(self._space, lambda walk: walk.value(self._space.of(self._shape.members.at(name))))
        return None

    def break_min_properties(self, part: Part, count: float) -> Iterator[KeywordViolation]:
        full = self._object()
        members = list(full.items())
        for order in (members, members[::-1]):
            yield KeywordViolation(dict(order[: int(count) - 1]), part, "minProperties", "members")

    def break_max_properties(self, part: Part, count: float) -> Iterator[KeywordViolation]:
        members = self._shape.members
        full = self._object()
        names = [name for name in members.declared if members.can_have(name)]
        names += Walk(self._space, PlainSource()).undeclared_names(members)
        names += [f"{UNEXPECTED}{index}" for index in range(min(int(count), 1000) + 1)]
        for name in names:
            if len(full) > count:
                break
            full.setdefault(name, self._member(name))
        yield KeywordViolation(full, part, "maxProperties", "members")


BREAKERS: dict[str, Callable[[_Breaker, Part, Any], Iterator[KeywordViolation]]] = {
    "type": _Breaker.break_type,
    "enum": _Breaker.break_enum,
    "const": _Breaker.break_const,
    "not": _Breaker.break_not,
    "anyOf": _Breaker.break_any_of,
    "oneOf": _Breaker.break_one_of,
    "minimum": _Breaker.break_minimum,
    "exclusiveMinimum": _Breaker.break_exclusive_minimum,
    "maximum": _Breaker.break_maximum,
    "exclusiveMaximum": _Breaker.break_exclusive_maximum,
    "multipleOf": _Breaker.break_multiple_of,
    "minLength": _Breaker.break_min_length,
    "maxLength": _Breaker.break_max_length,
    "pattern": _Breaker.break_pattern,
    "minItems": _Breaker.break_min_items,
    "maxItems": _Breaker.break_max_items,
    "uniqueItems": _Breaker.break_unique_items,
    "contains": _Breaker.break_contains,
    "minContains": _Breaker.break_min_contains,
    "items": _Breaker.break_items,
    "unevaluatedItems": _Breaker.break_unevaluated_items,
    "required": _Breaker.break_required,
    "dependentRequired": _Breaker.break_dependent_required,
    "additionalProperties": _Breaker.break_additional_properties,
    "unevaluatedProperties": _Breaker.break_unevaluated_properties,
    "propertyNames": _Breaker.break_property_names,
    "minProperties": _Breaker.break_min_properties,
    "maxProperties": _Breaker.break_max_properties,
}
"""The method that breaks each keyword."""
