"""What has changed between two JSON Schemas: what allows less than before, and what allows more.

Only what can be told for sure is said to narrow or to widen; all else that differs is `OTHERWISE`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

Schema: TypeAlias = Any
"""A JSON Schema as a server sent it: an object or a boolean, or in a wrong server anything."""


class Effect(StrEnum):
    """What a change does to the values that are allowed; one that ``replaces`` narrows and widens."""

    NARROWS = "narrows"
    WIDENS = "widens"
    REPLACES = "replaces"
    OTHERWISE = "otherwise"
    NONE = "none"


@dataclass(frozen=True)
class Change:
    """One change: where in the value, what it is, and its effect."""

    place: str
    text: str
    effect: Effect

    def __str__(self) -> str:
        return f"{self.place or 'the value'} {self.text}"


ANY = ("array", "boolean", "integer", "null", "number", "object", "string")
WORDS = ("title", "description", "default", "examples", "deprecated")
ASIDE = {*WORDS, "$schema", "$id", "$comment", "$defs", "definitions", "$anchor", "readOnly", "writeOnly"}
"""Keywords that forbid nothing."""
LOWEST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
HIGHEST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
ALONE = ("pattern", "multipleOf", "not", "propertyNames", "contains", "uniqueItems", "dependentRequired")
"""Keywords that allow less when they come and more when they go; a change of them may do anything."""
READ = {
    *("type", "enum", "const", "required", "properties", "additionalProperties", "items", "anyOf", "oneOf"),
    *("$ref", *LOWEST, *HIGHEST, *ALONE),
}
DEEPEST = 40
OTHERWISE = "is described otherwise"


def changes(old: Schema, new: Schema) -> list[Change]:
    """What has changed from one schema to the other."""
    return list(dict.fromkeys(_Comparison(old, new).between(old, new, "", 0)))


@dataclass(frozen=True)
class _Comparison:
    """A comparison of two whole schemas: their references are looked up, each pair of them once."""

    old: Schema
    new: Schema
    followed: set[tuple[str, str]] = field(default_factory=set)

    def between(self, old: Schema, new: Schema, place: str, depth: int) -> Iterator[Change]:
        """The changes at a place, so many steps down."""
        pair = (_reference(old), _reference(new))
        if pair in self.followed:
            return
        if all(pair):
            self.followed.add(pair)
        before, after = _object(_resolved(old, self.old)), _object(_resolved(new, self.new))
        if before is None or after is None or "$ref" in before or "$ref" in after or depth > DEEPEST:
            if old != new:
                yield Change(place, OTHERWISE, Effect.OTHERWISE)
            return
        if any(before.get(word) != after.get(word) for word in WORDS):
            yield Change(place, "is described in other words", Effect.NONE)
        if _is_choice(before) or _is_choice(after):
            yield from self._choices(before, after, place, depth + 1)
            return
        for compared in (_types, _values, _bounds, _others):
            yield from compared(before, after, place)
        yield from self._members(before, after, place, depth + 1)
        yield from self._rest(before, after, place, depth + 1)

    def _choices(self, old: dict[str, Any], new: dict[str, Any], place: str, depth: int) -> Iterator[Change]:
        """The changes where one of several schemas has to hold, which may be one alone."""
        before, after = _choices(old), _choices(new)
        if before is None or after is None:
            if _without(old, ASIDE) != _without(new, ASIDE):
                yield Change(place, OTHERWISE, Effect.OTHERWISE)
            return
        there, there_now = ({_form(one): one for one in choices} for choices in (before, after))
        for form in there.keys() & there_now.keys():
            yield from self.between(there[form], there_now[form], place, depth)
        gone = [one for form, one in there.items() if form not in there_now]
        come = [one for form, one in there_now.items() if form not in there]
        if len(gone) == len(come) == 1:
            yield from self.between(gone[0], come[0], place, depth)
        elif gone and come:
            yield Change(place, OTHERWISE, Effect.OTHERWISE)
        elif gone:
            yield Change(place, f"may be no {_named(gone)} any more", Effect.NARROWS)
        elif come:
            yield Change(place, f"may be {_named(come)} too", Effect.WIDENS)

    def _members(self, old: dict[str, Any], new: dict[str, Any], place: str, depth: int) -> Iterator[Change]:
        """The changes of an object's members."""
        before, after = _mapping(old, "properties"), _mapping(new, "properties")
        for name in [name for name in before if name in after]:
            yield from self.between(before[name], after[name], _below(place, name), depth)
        for name in [name for name in before if name not in after]:
            effect = Effect.NARROWS if _is_closed(new) else Effect.NONE
            yield Change(_below(place, name), "is gone", effect)
        for name in [name for name in after if name not in before]:
            effect = Effect.WIDENS if _is_closed(old) else Effect.NONE
            yield Change(_below(place, name), "is new", effect)
        needed, needed_now = _names(old, "required"), _names(new, "required")
        for name in sorted(needed_now - needed):
            yield Change(_below(place, name), "is required now", Effect.NARROWS)
        for name in sorted(needed - needed_now):
            yield Change(_below(place, name), "is not required any more", Effect.WIDENS)

    def _rest(self, old: dict[str, Any], new: dict[str, Any], place: str, depth: int) -> Iterator[Change]:
        """The changes of an array's items, and of an object's members without a name."""
        for keyword, what in (("items", f"{place}[]"), ("additionalProperties", f"{place}.*".lstrip("."))):
            before, after = old.get(keyword, True), new.get(keyword, True)
            if before is after and isinstance(before, bool):
                continue
            if keyword == "additionalProperties" and after is False:
                yield Change(place, "may have no other members any more", Effect.NARROWS)
            elif keyword == "additionalProperties" and before is False:
                yield Change(place, "may have other members", Effect.WIDENS)
            else:
                yield from self.between(before, after, what, depth)


def _types(old: dict[str, Any], new: dict[str, Any], place: str) -> Iterator[Change]:
    before, after = _allowed(old), _allowed(new)
    if before != after:
        effect = Effect.WIDENS if before < after else Effect.NARROWS if after < before else Effect.REPLACES
        yield Change(place, f"is {_typed(new)} now, not {_typed(old)}", effect)


def _values(old: dict[str, Any], new: dict[str, Any], place: str) -> Iterator[Change]:
    """The changes of ``enum`` and ``const``."""
    before, after = _listed(old), _listed(new)
    if before is None or after is None:
        if after is not None:
            yield Change(place, f"may only be {_or(after)}", Effect.NARROWS)
        elif before is not None:
            yield Change(place, "may be other values too", Effect.WIDENS)
        return
    if gone := before - after:
        yield Change(place, f"may not be {_or(gone)} any more", Effect.NARROWS)
    if come := after - before:
        yield Change(place, f"may be {_or(come)} too", Effect.WIDENS)


def _bounds(old: dict[str, Any], new: dict[str, Any], place: str) -> Iterator[Change]:
    for keyword in (*LOWEST, *HIGHEST):
        before, after = old.get(keyword), new.get(keyword)
        if before == after:
            continue
        if not (_is_bound(before) and _is_bound(after)):
            yield Change(place, f"has another `{keyword}`", Effect.OTHERWISE)
        elif after is None:
            yield Change(place, f"has no `{keyword}` {before} any more", Effect.WIDENS)
        elif before is None:
            yield Change(place, f"has a `{keyword}` now, {after}", Effect.NARROWS)
        else:
            narrows = (after > before) == (keyword in LOWEST)
            effect = Effect.NARROWS if narrows else Effect.WIDENS
            yield Change(place, f"has the `{keyword}` {after}, not {before}", effect)


def _others(old: dict[str, Any], new: dict[str, Any], place: str) -> Iterator[Change]:
    """The changes of keywords that are not looked into."""
    for keyword in sorted(old.keys() | new.keys()):
        before, after = old.get(keyword), new.get(keyword)
        if before == after or keyword in ASIDE or keyword in READ - set(ALONE):
            continue
        if keyword not in ALONE or (keyword in old and keyword in new):
            yield Change(place, f"has another `{keyword}`", Effect.OTHERWISE)
        elif keyword in new:
            yield Change(place, f"has a `{keyword}` now", Effect.NARROWS)
        else:
            yield Change(place, f"has no `{keyword}` any more", Effect.WIDENS)


# Reading a schema --------------------------------------------------------------------------------


def _object(schema: Schema) -> dict[str, Any] | None:
    """A schema as an object; None if it is none."""
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return schema if isinstance(schema, dict) else None


def _reference(schema: Schema) -> str:
    found = schema.get("$ref") if isinstance(schema, dict) else None
    return found if isinstance(found, str) else ""


def _resolved(schema: Schema, root: Schema) -> Schema:
    """The schema that a reference into the same document leads to, with what stands beside the reference."""
    for _ in range(DEEPEST):
        pointer = _reference(schema)
        if pointer != "#" and not pointer.startswith("#/"):
            return schema
        found = root
        for step in pointer.lstrip("#").split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        if not isinstance(found, dict):
            return schema
        schema = {**found, **_without(schema, {"$ref"})}
    return schema


def _without(schema: Mapping[str, Any], keywords: set[str]) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name not in keywords}


def _is_choice(schema: Mapping[str, Any]) -> bool:
    return "anyOf" in schema or "oneOf" in schema


def _choices(schema: Mapping[str, Any]) -> list[Schema] | None:
    """The schemas of which one has to hold; None if more has to hold besides."""
    if not _is_choice(schema):
        return [dict(schema)]
    said = _without(schema, ASIDE)
    choices = next(iter(said.values()))
    return choices if len(said) == 1 and isinstance(choices, list) else None


def _allowed(schema: Mapping[str, Any]) -> frozenset[str]:
    """The types of JSON that are allowed; each number may be an integer."""
    names = _told_types(schema) or frozenset(ANY)
    return names | {"integer"} if "number" in names else names


def _told_types(schema: Mapping[str, Any]) -> frozenset[str]:
    told = schema.get("type")
    return frozenset({told}) if isinstance(told, str) else _names(schema, "type")


def _typed(schema: Mapping[str, Any]) -> str:
    return _or(_told_types(schema)) or "of any type"


def _listed(schema: Mapping[str, Any]) -> frozenset[str] | None:
    """The values that are allowed, as JSON; None if they are not listed."""
    if "const" in schema:
        return frozenset({_json(schema["const"])})
    told = schema.get("enum")
    return frozenset(map(_json, told)) if isinstance(told, list) else None


def _names(schema: Mapping[str, Any], keyword: str) -> frozenset[str]:
    told = schema.get(keyword)
    return frozenset(one for one in told if isinstance(one, str)) if isinstance(told, list) else frozenset()


def _mapping(schema: Mapping[str, Any], keyword: str) -> dict[str, Any]:
    told = schema.get(keyword)
    return told if isinstance(told, dict) else {}


def _is_closed(schema: Mapping[str, Any]) -> bool:
    return schema.get("additionalProperties") is False and "patternProperties" not in schema


def _is_bound(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _form(schema: Schema) -> str:
    """A schema as text that is the same for equal ones, without words that forbid nothing."""
    return _json(_without(schema, set(WORDS)) if isinstance(schema, dict) else schema)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _below(place: str, name: str) -> str:
    return f"{place}.{name}".lstrip(".")


def _or(names: frozenset[str]) -> str:
    return " or ".join(sorted(names))


def _named(schemas: list[Schema]) -> str:
    """What schemas are about, in a word each."""
    types = [one.get("type") if isinstance(one, dict) else None for one in schemas]
    return " or ".join(str(one) if isinstance(one, str) else "value of another form" for one in types)
