"""Compare two JSON Schemas: find changes that allow fewer values, and changes that allow more.

A change narrows or widens only if that is certain; the effect of other changes is `UNCLEAR`.
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
    """The effect of a change on the set of allowed values; one that ``replaces`` narrows and widens."""

    NARROWS = "narrows"
    WIDENS = "widens"
    REPLACES = "replaces"
    UNCLEAR = "unclear"
    NONE = "none"


@dataclass(frozen=True)
class SchemaChange:
    """A change: the place in the value, a description, and the effect.

    ``optional`` is the name of an optional member that is new or gone where undeclared members are allowed.
    """

    place: str
    text: str
    effect: Effect
    optional: str = ""

    def __str__(self) -> str:
        return f"{self.place or 'the value'} {self.text}"


ANY = ("array", "boolean", "integer", "null", "number", "object", "string")
WORDS = ("title", "description", "default", "examples", "deprecated")
ASIDE = {*WORDS, "$schema", "$id", "$comment", "$defs", "definitions", "$anchor", "readOnly", "writeOnly"}
"""Keywords that forbid no value."""
LOWEST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
HIGHEST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
ALONE = ("pattern", "multipleOf", "not", "propertyNames", "contains", "uniqueItems", "dependentRequired")
"""Keywords that narrow if they are added and widen if they are removed; the effect of a change is unclear."""
READ = {
    *("type", "enum", "const", "required", "properties", "additionalProperties", "items", "anyOf", "oneOf"),
    *("$ref", *LOWEST, *HIGHEST, *ALONE),
}
MAX_DEPTH = 40
DIFFERS = "is described differently"


def changes(old: Schema, new: Schema) -> list[SchemaChange]:
    """Return the changes from one schema to the other."""
    return list(dict.fromkeys(_Comparison(old, new).between(old, new, "", 0)))


@dataclass(frozen=True)
class _Comparison:
    """A comparison of two complete schemas, in which each pair of references is followed once."""

    old: Schema
    new: Schema
    followed: set[tuple[str, str]] = field(default_factory=set)

    def between(self, old: Schema, new: Schema, place: str, depth: int) -> Iterator[SchemaChange]:
        """Yield the changes at a place."""
        pair = (_reference(old), _reference(new))
        if pair in self.followed:
            return
        if all(pair):
            self.followed.add(pair)
        before, after = _object(_resolved(old, self.old)), _object(_resolved(new, self.new))
        if before is None or after is None or "$ref" in before or "$ref" in after or depth > MAX_DEPTH:
            if old != new:
                yield SchemaChange(place, DIFFERS, Effect.UNCLEAR)
            return
        if any(before.get(word) != after.get(word) for word in WORDS):
            yield SchemaChange(place, "has other annotations", Effect.NONE)
        if _is_choice(before) or _is_choice(after):
            yield from self._choices(before, after, place, depth + 1)
            return
        for compared in (_types, _values, _bounds, _others):
            yield from compared(before, after, place)
        yield from self._members(before, after, place, depth + 1)
        yield from self._rest(before, after, place, depth + 1)

    def _choices(
        self, old: dict[str, Any], new: dict[str, Any], place: str, depth: int
    ) -> Iterator[SchemaChange]:
        """Yield the changes of alternatives; a schema without ``anyOf`` is the only alternative."""
        before, after = _choices(old), _choices(new)
        if before is None or after is None:
            if _without(old, ASIDE) != _without(new, ASIDE):
                yield SchemaChange(place, DIFFERS, Effect.UNCLEAR)
            return
        by_form, by_form_now = ({_form(one): one for one in choices} for choices in (before, after))
        for form in by_form.keys() & by_form_now.keys():
            yield from self.between(by_form[form], by_form_now[form], place, depth)
        removed = [one for form, one in by_form.items() if form not in by_form_now]
        added = [one for form, one in by_form_now.items() if form not in by_form]
        if len(removed) == len(added) == 1:
            yield from self.between(removed[0], added[0], place, depth)
        elif removed and added:
            yield SchemaChange(place, DIFFERS, Effect.UNCLEAR)
        elif removed:
            yield SchemaChange(place, f"may no longer be {_named(removed)}", Effect.NARROWS)
        elif added:
            yield SchemaChange(place, f"may also be {_named(added)}", Effect.WIDENS)

    def _members(
        self, old: dict[str, Any], new: dict[str, Any], place: str, depth: int
    ) -> Iterator[SchemaChange]:
        """Yield the changes of an object's members."""
        before, after = _mapping(old, "properties"), _mapping(new, "properties")
        for name in [name for name in before if name in after]:
            yield from self.between(before[name], after[name], _below(place, name), depth)
        for name in [name for name in before if name not in after]:
            yield _listed_otherwise(
                place, name, "is gone", Effect.NARROWS if _is_closed(new) else Effect.NONE
            )
        for name in [name for name in after if name not in before]:
            yield _listed_otherwise(place, name, "is new", Effect.WIDENS if _is_closed(old) else Effect.NONE)
        needed, needed_now = _names(old, "required"), _names(new, "required")
        for name in sorted(needed_now - needed):
            yield SchemaChange(_below(place, name), "is required now", Effect.NARROWS)
        for name in sorted(needed - needed_now):
            yield SchemaChange(_below(place, name), "is no longer required", Effect.WIDENS)

    def _rest(
        self, old: dict[str, Any], new: dict[str, Any], place: str, depth: int
    ) -> Iterator[SchemaChange]:
        """Yield the changes of an array's items, and of an object's additional members."""
        for keyword, what in (("items", f"{place}[]"), ("additionalProperties", f"{place}.*".lstrip("."))):
            before, after = old.get(keyword, True), new.get(keyword, True)
            if before is after and isinstance(before, bool):
                continue
            if keyword == "additionalProperties" and after is False:
                yield SchemaChange(place, "may no longer have other members", Effect.NARROWS)
            elif keyword == "additionalProperties" and before is False:
                yield SchemaChange(place, "may have other members", Effect.WIDENS)
            else:
                yield from self.between(before, after, what, depth)


def _listed_otherwise(place: str, name: str, text: str, effect: Effect) -> SchemaChange:
    return SchemaChange(_below(place, name), text, effect, name if effect is Effect.NONE else "")


def _types(old: dict[str, Any], new: dict[str, Any], place: str) -> Iterator[SchemaChange]:
    before, after = _allowed(old), _allowed(new)
    if before != after:
        effect = Effect.WIDENS if before < after else Effect.NARROWS if after < before else Effect.REPLACES
        yield SchemaChange(place, f"is {_typed(new)} now, not {_typed(old)}", effect)


def _values(old: dict[str, Any], new: dict[str, Any], place: str) -> Iterator[SchemaChange]:
    """Yield the changes of ``enum`` and ``const``."""
    before, after = _listed(old), _listed(new)
    if before is None or after is None:
        if after is not None:
            yield SchemaChange(place, f"may only be {_or(after)}", Effect.NARROWS)
        elif before is not None:
            yield SchemaChange(place, "may also be other values", Effect.WIDENS)
        return
    if removed := before - after:
        yield SchemaChange(place, f"may no longer be {_or(removed)}", Effect.NARROWS)
    if added := after - before:
        yield SchemaChange(place, f"may also be {_or(added)}", Effect.WIDENS)


def _bounds(old: dict[str, Any], new: dict[str, Any], place: str) -> Iterator[SchemaChange]:
    for keyword in (*LOWEST, *HIGHEST):
        before, after = old.get(keyword), new.get(keyword)
        if before == after:
            continue
        if not (_is_bound(before) and _is_bound(after)):
            yield SchemaChange(place, f"has another `{keyword}`", Effect.UNCLEAR)
        elif after is None:
            yield SchemaChange(place, f"no longer has the `{keyword}` {before}", Effect.WIDENS)
        elif before is None:
            yield SchemaChange(place, f"has a `{keyword}` now, {after}", Effect.NARROWS)
        else:
            narrows = (after > before) == (keyword in LOWEST)
            effect = Effect.NARROWS if narrows else Effect.WIDENS
            yield SchemaChange(place, f"has the `{keyword}` {after}, not {before}", effect)


def _others(old: dict[str, Any], new: dict[str, Any], place: str) -> Iterator[SchemaChange]:
    """Yield the changes of keywords whose contents are not compared."""
    for keyword in sorted(old.keys() | new.keys()):
        before, after = old.get(keyword), new.get(keyword)
        if before == after or keyword in ASIDE or keyword in READ - set(ALONE):
            continue
        if keyword not in ALONE or (keyword in old and keyword in new):
            yield SchemaChange(place, f"has another `{keyword}`", Effect.UNCLEAR)
        elif keyword in new:
            yield SchemaChange(place, f"has a `{keyword}` now", Effect.NARROWS)
        else:
            yield SchemaChange(place, f"no longer has a `{keyword}`", Effect.WIDENS)


# Reading a schema --------------------------------------------------------------------------------


def _object(schema: Schema) -> dict[str, Any] | None:
    """Return a schema as an object; None if it is neither an object nor a boolean."""
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return schema if isinstance(schema, dict) else None


def _reference(schema: Schema) -> str:
    found = schema.get("$ref") if isinstance(schema, dict) else None
    return found if isinstance(found, str) else ""


def _resolved(schema: Schema, root: Schema) -> Schema:
    """Return the schema that a local reference leads to, with the keywords beside the reference."""
    for _ in range(MAX_DEPTH):
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
    """Return the alternatives of a schema; None if it has other keywords too."""
    if not _is_choice(schema):
        return [dict(schema)]
    keywords = _without(schema, ASIDE)
    choices = next(iter(keywords.values()))
    return choices if len(keywords) == 1 and isinstance(choices, list) else None


def _allowed(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the allowed JSON types; `number` includes `integer`."""
    names = _named_types(schema) or frozenset(ANY)
    return names | {"integer"} if "number" in names else names


def _named_types(schema: Mapping[str, Any]) -> frozenset[str]:
    found = schema.get("type")
    return frozenset({found}) if isinstance(found, str) else _names(schema, "type")


def _typed(schema: Mapping[str, Any]) -> str:
    return _or(_named_types(schema)) or "of any type"


def _listed(schema: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the listed values as JSON text; None if they are not listed."""
    if "const" in schema:
        return frozenset({_json(schema["const"])})
    values = schema.get("enum")
    return frozenset(map(_json, values)) if isinstance(values, list) else None


def _names(schema: Mapping[str, Any], keyword: str) -> frozenset[str]:
    found = schema.get(keyword)
    return frozenset(one for one in found if isinstance(one, str)) if isinstance(found, list) else frozenset()


def _mapping(schema: Mapping[str, Any], keyword: str) -> dict[str, Any]:
    found = schema.get(keyword)
    return found if isinstance(found, dict) else {}


def _is_closed(schema: Mapping[str, Any]) -> bool:
    return schema.get("additionalProperties") is False and "patternProperties" not in schema


def _is_bound(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _form(schema: Schema) -> str:
    """Return a schema as text, without annotations; equal schemas have the same text."""
    return _json(_without(schema, set(WORDS)) if isinstance(schema, dict) else schema)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _below(place: str, name: str) -> str:
    return f"{place}.{name}".lstrip(".")


def _or(names: frozenset[str]) -> str:
    return " or ".join(sorted(names))


def _named(schemas: list[Schema]) -> str:
    """Return the types of schemas, for a sentence."""
    types = [one.get("type") if isinstance(one, dict) else None for one in schemas]
    return " or ".join(str(one) if isinstance(one, str) else "a value of another form" for one in types)
