"""The values that constraints allow, type by type, once their choices are made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from mcp_conformance.generation.applied import AppliedParts, RuleContext
from mcp_conformance.generation.constraints import Constraints
from mcp_conformance.generation.items import Items
from mcp_conformance.generation.keywords import OF_TYPE, TYPES, is_of
from mcp_conformance.generation.known import is_writable
from mcp_conformance.generation.members import Members
from mcp_conformance.generation.references import Part
from mcp_conformance.generation.scalars import Numbers, Texts

CHECKED = frozenset({"not", "oneOf", "maxContains", "uniqueItems", "if"})
"""Keywords that a value made by the rules may still violate."""


OF_LISTS = frozenset({"enum", "type", "title", "description", "default", "examples"})
"""Keywords beside which a listed value needs no proof but that of its type."""
OF_CHOICES = OF_LISTS - {"enum"} | {"anyOf"}
"""Keywords beside which a value of a branch needs no proof but that of its type."""


class Shape(AppliedParts):
    """The rules for a value, type by type."""

    def __init__(self, context: RuleContext, constraints: Constraints, *, settled: bool) -> None:
        super().__init__(context, constraints, settled=settled)
        self._checked = [part for part in self.parts if not CHECKED.isdisjoint(part.keywords)]
        further = constraints.fails or constraints.present or constraints.absent
        self._is_ruled = not self._checked and not further

    @cached_property
    def allowed(self) -> list[str]:
        """The types that ``type`` allows and ``not`` doesn't forbid."""
        types = set(TYPES)
        for keywords in self.schemas:
            if "type" in keywords:
                types &= _with_integer(_listed(keywords["type"]))
        for part in self.constraints.fails:
            if set(part.keywords) == {"type"}:
                types -= _with_integer(_listed(part.keywords["type"]))
        if "number" in types:
            types.discard("integer")
        return [name for name in TYPES if name in types]

    @cached_property
    def types(self) -> list[str]:
        """The types a value may have, without those no value of which is possible; the named ones first."""
        types = [name for name in self.allowed if self._obstacle(name) is None]
        first = [name for name in dict.fromkeys(self._meant(types)) if name in types and name != "null"]
        others = [name for name in types if name not in first]
        return [*first, *sorted(others, key="null".__eq__)]

    def _meant(self, types: list[str]) -> list[str]:
        """Return the types in the order of ``type``, or else those that the schema's keywords apply to."""
        named = [name for keywords in self.schemas for name in _listed(keywords.get("type", []))]
        if named:
            return named
        if (self.constraints.present or self.constraints.absent) and "object" in types:
            return ["object"]
        words = {word for keywords in self.schemas for word in keywords}
        return [*(name for name in types if OF_TYPE.get(name, frozenset()) & words), "string"]

    @cached_property
    def contradiction(self) -> str | None:
        """Why no value can meet the constraints, if that is certain."""
        if any(part.never for part in self.parts):
            return "the schema false allows nothing"
        if any(part.schema in (True, {}) or part in self.parts for part in self.constraints.fails):
            return "its not forbids what it demands"
        if self.values is not None:
            return None if self.values else "none of its enum or const values meets its other keywords"
        if not self.allowed:
            return "its types exclude each other"
        return None if self.types else self._obstacle(self.allowed[-1])

    def _obstacle(self, name: str) -> str | None:
        rules = self.rules(name)
        return None if rules is None else rules.contradiction

    def rules(self, name: str) -> Numbers | Texts | Items | Members | None:
        """Return the rules for values of one type; None for ``null`` and ``boolean``."""
        match name:
            case "integer" | "number":
                return self.numbers
            case "string":
                return self.texts
            case "array":
                return self.items
            case "object":
                return self.members
        return None

    @cached_property
    def numbers(self) -> Numbers:
        """The rules for a number."""
        return Numbers(self.schemas, integer="integer" in self.allowed)

    @cached_property
    def texts(self) -> Texts:
        """The rules for a string."""
        return Texts(self.schemas)

    @cached_property
    def items(self) -> Items:
        """The rules for an array."""
        return Items(self)

    @cached_property
    def members(self) -> Members:
        """The rules for an object."""
        return Members(self)

    @cached_property
    def values(self) -> list[Any] | None:
        """The listed values that meet the constraints, the named ones first; None if none are listed."""
        lists = [part for part in self.parts if _lists_values(part.keywords)]
        if not lists:
            return None
        shortest = min(lists, key=lambda part: len(_values_of(part.keywords)))
        proven = [part for part in self.parts if self._is_proven_by(part, shortest)]
        listed = [
            value
            for value in _values_of(shortest.keywords)
            if is_writable(value) and self.accepts(value, proven)
        ]
        first = [value for value in self._candidates if _among(value, listed)]
        others = [value for value in listed if not _among(value, first)]
        return sorted([*first, *others], key=lambda value: value is None)

    def _is_proven_by(self, part: Part, lists: Part) -> bool:
        """Return whether each value that ``lists`` names conforms to ``part`` if it does to ``lists``."""
        if part is lists:
            return part.keywords.keys() <= OF_LISTS
        return part.keywords.keys() <= OF_CHOICES and lists in self.context.branches.of(part).reach

    def in_order(self, start: int, count: int) -> Iterator[Any]:
        """Yield up to ``count`` different values of the plainest type, in an order that starts anywhere."""
        if self.values is not None:
            size = len(self.values)
            yield from (self.values[(start + index) % size] for index in range(size))
        elif self.types[:1] in (["integer"], ["number"]):
            yield from self.numbers.in_order(start, count)
        elif self.types[:1] == ["string"] and not self.texts.formats:
            texts = (str(start + index).rjust(self.texts.low, "0") for index in range(count))
            yield from (text for text in texts if self.texts.meets(text))

    @cached_property
    def named(self) -> list[Any]:
        """The values of ``examples`` and ``default`` that meet the constraints, null left out."""
        return [one for one in self._candidates if one is not None and self.accepts(one)]

    @cached_property
    def _candidates(self) -> list[Any]:
        found: list[Any] = []
        for keywords in self.schemas:
            candidates = keywords.get("examples", [])
            candidates = [*candidates] if isinstance(candidates, list) else []
            candidates += [keywords["default"]] if "default" in keywords else []
            found += [one for one in candidates if not _among(one, found) and is_writable(one)]
        return found

    @property
    def is_null(self) -> bool:
        """Whether null is the only possible value."""
        return self.values == [None] if self.values is not None else self.allowed == ["null"]

    def accepts(self, value: Any, proven: Sequence[Part] = ()) -> bool:
        """Return whether a value meets all constraints, as far as the parts show without the whole schema.

        It is known to conform to the parts ``proven`` if it does to the others, but for its type.
        """
        validator, known = self.context.validator, [*proven, *self._checked]
        if not any(is_of(value, name) for name in self.allowed):
            return False
        return self.is_allowed(value) and all(
            validator.conforms(part, value) for part in self.parts if part not in known
        )

    def is_allowed(self, value: Any) -> bool:
        """Return whether a value made by the rules also meets the keywords that no rule covers."""
        if self._is_ruled:
            return True
        validator = self.context.validator
        fails = self.constraints.fails
        if any(validator.is_able(part) and validator.conforms(part, value) for part in fails):
            return False
        if isinstance(value, dict) and not self._has_members(value):
            return False
        return all(validator.conforms(part, value) for part in self._checked)

    def _has_members(self, value: dict[str, Any]) -> bool:
        return self.constraints.present <= value.keys() and self.constraints.absent.isdisjoint(value)


def _lists_values(keywords: dict[str, Any]) -> bool:
    return "enum" in keywords or "const" in keywords


def _values_of(keywords: dict[str, Any]) -> list[Any]:
    listed: list[Any] = keywords["enum"] if "enum" in keywords else [keywords["const"]]
    return listed


def _listed(types: Any) -> list[str]:
    return types if isinstance(types, list) else [types]


def _with_integer(types: Iterable[str]) -> set[str]:
    return {*types, "integer"} if "number" in types else {*types}


def is_same(value: Any, other: Any) -> bool:
    """Return whether values are equal and of the same type: 1 is neither 1.0 nor true."""
    return type(value) is type(other) and bool(value == other)


def _among(value: Any, others: list[Any]) -> bool:
    return any(is_same(value, other) for other in others)
