"""JSON Schema as servers use it: which dialect a schema is in, and what it says of a value.

Nothing here fetches a remote reference, and ``format`` is an annotation.  Judging a value takes a limited
number of steps, whatever the schema, and no pattern of a schema runs for ever.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from jsonschema import validators
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema_specifications import REGISTRY
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import specification_with

from conformance.json_schema.regex import CHEAP, Effort, TooCostly, compiled, search
from conformance.protocol import revisions
from conformance.protocol.jsonrpc import show

DIALECTS = {
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft-07": "http://json-schema.org/draft-07/schema",
    "draft-06": "http://json-schema.org/draft-06/schema",
    "draft-04": "http://json-schema.org/draft-04/schema",
}


LONGEST_SCHEMA = 1_000_000
"""How many characters a schema has, at most, that is judged by."""
STEPS, STEPS_EACH = 50_000, 30
"""How many keywords are looked at, at most, to judge one value, and how many more for each part of it."""
TOO_COSTLY = "too costly to judge"
"""What is said where a limit of ours was met."""


class Unjudgeable(Exception):  # noqa: N818
    """Whether a schema is valid, or a value conforms, cannot be decided; the text says why."""

    is_too_costly = False


class TooLarge(Unjudgeable):
    """It cannot be decided within the limits of this module."""

    is_too_costly = True

    def __init__(self, why: str):
        super().__init__(f"the schema is {TOO_COSTLY}: {why}")


def dialects_of(schema: Any, revision: str) -> list[str]:
    """The URIs of the dialects a schema may be read in.

    One if it names its dialect in ``$schema`` or the revision has a default, else all common ones, newest
    first.  Raises `Unjudgeable` for a ``$schema`` nobody here knows.
    """
    named = schema.get("$schema") if isinstance(schema, dict) else None
    if isinstance(named, str):
        if named.removesuffix("#") not in DIALECTS.values():
            raise Unjudgeable(f"its $schema {named!r} is no dialect known here")
        return [named.removesuffix("#")]
    return [revisions.DEFAULT_DIALECT] if revisions.names_a_dialect(revision) else list(DIALECTS.values())


def schema_errors(schema: Any, revision: str) -> list[str]:
    """What makes ``schema`` invalid under its meta-schema; empty if it is valid in a dialect it may be in.

    Raises `Unjudgeable`.
    """
    return list(_schema_errors(_written(schema), revision))


@lru_cache(maxsize=256)
def _schema_errors(text: str, revision: str) -> tuple[str, ...]:
    try:
        schema = json.loads(text)
    except RecursionError as error:
        raise TooLarge("it is nested too deeply") from error
    found: list[str] = []
    for dialect in dialects_of(schema, revision):
        errors = _errors(_meta_validator(dialect), schema)
        if not errors:
            return ()
        found = found or errors
    return tuple(found)


def instance_errors(instance: Any, schema: Any, revision: str) -> list[str]:
    """What makes ``instance`` violate ``schema``; empty if it conforms in a dialect the schema may be in.

    Raises `Unjudgeable`, also when the schema itself is broken.
    """
    found: list[str] = []
    sound = _sound(schema, revision)
    if sound.costly:
        raise TooLarge(sound.costly)
    for validator in sound.validators:
        try:
            errors = _errors(validator, instance)
        except TooLarge as error:
            sound.costly = str(error.__cause__) if isinstance(error.__cause__, TooCostly) else ""
            raise
        if not errors:
            return []
        found = found or errors
    return found


@dataclass
class Purse:
    """How many keywords may be looked at yet."""

    left: int = STEPS


class _Paying:
    """Who pays for the keywords that are looked at."""

    purse = Purse()


@dataclass
class _Sound:
    """A validator for each dialect that a schema may be in and is valid in; why they are no use, if so."""

    validators: tuple[Validator, ...]
    costly: str = ""


def _sound(schema: Any, revision: str) -> _Sound:
    """The validators of a schema.  Raises `Unjudgeable`."""
    return _made(_written(schema), revision)


def _written(schema: Any) -> str:
    """A schema as text.  Raises `Unjudgeable` for one that is too long or too deep."""
    try:
        text = json.dumps(schema)
    except RecursionError as error:
        raise TooLarge("it is nested too deeply") from error
    except ValueError as error:
        raise Unjudgeable(f"the schema cannot be written as JSON: {error}") from error
    if len(text) > LONGEST_SCHEMA:
        raise TooLarge(f"it has {len(text)} characters")
    return text


@lru_cache(maxsize=256)
def _made(text: str, revision: str) -> _Sound:
    schema = json.loads(text)
    possible = dialects_of(schema, revision)
    sound = [dialect for dialect in possible if not _errors(_meta_validator(dialect), schema)]
    if not sound:
        raise Unjudgeable("the schema itself is not valid")
    return _Sound(tuple(validator_of(schema, dialect) for dialect in sound))


def validator_of(schema: Any, dialect: str) -> Validator:
    """A validator that judges within limits; raises `Unjudgeable` where there can be none."""
    _expect_tame_names(schema)
    validator: Validator = _bounded_class(dialect)(without_dialect(schema, dialect), registry=REGISTRY)
    return validator


def without_dialect(schema: Any, dialect: str) -> Any:
    """A copy without ``$schema``, for which jsonschema would take a validator that knows no limits.

    Raises `Unjudgeable` for a schema in several dialects.
    """
    if isinstance(schema, list):
        return [without_dialect(one, dialect) for one in schema]
    if not isinstance(schema, dict):
        return schema
    named = schema.get("$schema")
    if isinstance(named, str) and named.removesuffix("#") != dialect:
        raise Unjudgeable(f"a part of it is in another dialect, {named!r}")
    return {
        name: content if name in LITERAL else without_dialect(content, dialect)
        for name, content in schema.items()
        if name != "$schema" or not isinstance(content, str)
    }


LITERAL = ("const", "enum", "default", "examples")
"""Keywords whose contents are values, not schemas."""


def _errors(validator: Validator, instance: Any, most: int = 5) -> list[str]:
    with judging(Purse(STEPS + STEPS_EACH * _size(instance))):
        found = [error for error, _ in zip(validator.iter_errors(instance), range(most), strict=False)]
        if any(isinstance(one.instance, float) and not math.isfinite(one.instance) for one in found):
            raise ArithmeticError("one is too great")
        return list(map(_describe, found))


def _size(value: Any) -> int:
    """How many arrays, objects and their items a value consists of."""
    level, size = [value], 0
    while level:
        size += len(level)
        inside = (
            one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)
        )
        level = [one for some in inside for one in some]
    return size


@contextmanager
def judging(purse: Purse) -> Iterator[None]:
    """Judge at the cost of a purse.  Raises `Unjudgeable`."""
    before, _Paying.purse = _Paying.purse, purse
    try:
        yield
    except TooCostly as error:
        raise TooLarge(str(error)) from error
    except Unresolvable as error:
        raise Unjudgeable(f"the reference {error.ref!r} cannot be resolved") from error
    except re.error as error:
        raise Unjudgeable(f"a pattern is not readable here: {error}") from error
    except RecursionError as error:
        raise TooLarge("it, or the value, is nested too deeply or without end") from error
    except (ArithmeticError, ValueError) as error:
        raise Unjudgeable(f"its numbers are none to reckon with: {error}") from error
    except (
        AttributeError,
        LookupError,
        TypeError,
    ) as error:  # a reference that is none, or leads to no schema
        raise Unjudgeable(f"it is not readable here ({type(error).__name__}: {error})") from error
    finally:
        _Paying.purse = before


def _describe(error: ValidationError) -> str:
    where = error.json_path.removeprefix("$").removeprefix(".")
    message = error.message if len(error.message) <= 200 else f"violates {error.validator}"
    return f"{where}: {message}" if where else message


@cache
def _validator_class(dialect: str) -> Any:
    return validators.validator_for({"$schema": dialect})


@cache
def _meta_validator(dialect: str) -> Validator:
    cls = _bounded_class(dialect)
    schema = without_dialect(cls.META_SCHEMA, dialect)
    validator: Validator = cls(schema, registry=_meta_schemas(dialect))
    return validator


@cache
def _meta_schemas(dialect: str) -> Any:
    """The meta-schema of a dialect and its parts, so written that they too are judged by within limits."""
    known = ((uri, REGISTRY.contents(uri)) for uri in REGISTRY)
    own = ((uri, one) for uri, one in known if one.get("$schema", "").removesuffix("#") == dialect)
    make = specification_with(dialect).create_resource
    return Registry().with_resources((uri, make(without_dialect(one, dialect))) for uri, one in own).crawl()


# Limits ------------------------------------------------------------------------------------------

Keyword = Callable[[Validator, Any, Any, Any], Iterator[ValidationError] | None]


@cache
def _bounded_class(dialect: str) -> Any:
    usual = _validator_class(dialect)
    own = {name: keyword for name, keyword in OWN.items() if name in usual.VALIDATORS}
    keywords = {**usual.VALIDATORS, **own}
    for name in REFERENCES & keywords.keys():
        keywords[name] = _without_end(keywords[name])
    for name in UNEVALUATED & keywords.keys():
        keywords[name] = _after_the_others(keywords[name])
    return validators.extend(  # type: ignore[no-untyped-call]
        usual, {name: _counted(keyword) for name, keyword in keywords.items()}
    )


def _counted(keyword: Keyword) -> Keyword:
    def counted(
        validator: Validator, value: Any, instance: Any, schema: Any
    ) -> Iterator[ValidationError] | None:
        _pay(1 + len(value) // ITEMS_PER_STEP if isinstance(value, list | dict) else 1)
        return keyword(validator, value, instance, schema)

    return counted


ITEMS_PER_STEP, MATCHING_PER_STEP = 16, 8
"""How much of a long keyword is looked at, and how far a pattern is followed, for the cost of one keyword."""


def _pay(steps: int) -> None:
    _Paying.purse.left -= steps
    if _Paying.purse.left < 0:
        raise TooCostly("one value takes too many steps")


def _matches(pattern: str, text: str) -> bool:
    before = Effort.steps
    found = search(pattern, text)
    _pay((Effort.steps - before) // MATCHING_PER_STEP)
    return found


REFERENCES = {"$ref", "$dynamicRef", "$recursiveRef"}
ROOM = 250
"""How many calls there must be room for on the stack where a reference is followed."""


def _without_end(keyword: Keyword) -> Keyword:
    """A reference that is followed unless it leads back to where it stands, for the same value."""
    under_way: set[tuple[int, int]] = set()

    def followed(validator: Validator, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        place = (id(schema), id(instance))
        if place in under_way or _is_stack_full():
            raise RecursionError
        under_way.add(place)
        try:
            yield from keyword(validator, value, instance, schema) or ()
        finally:
            under_way.discard(place)

    return followed


def _is_stack_full() -> bool:
    try:
        sys._getframe(sys.getrecursionlimit() - ROOM)  # noqa: SLF001
    except ValueError:
        return False
    return True


def _pattern(validator: Validator, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not _matches(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Any, instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    if validator.is_type(instance, "object"):
        for pattern, schema in patterns.items():
            for name, value in instance.items():
                if _matches(pattern, name):
                    yield from validator.descend(value, schema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, wanted: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    patterns, declared = schema.get("patternProperties", {}), schema.get("properties", {})
    more = [name for name in instance if name not in declared]
    more = [name for name in more if not any(_matches(pattern, name) for pattern in patterns)]
    if validator.is_type(wanted, "object"):
        for name in more:
            yield from validator.descend(instance[name], wanted, path=name)
    elif not wanted and more:
        names = ", ".join(map(repr, sorted(more)))
        if patterns:
            verb, known = "does" if len(more) == 1 else "do", ", ".join(map(repr, sorted(patterns)))
            yield ValidationError(f"{names} {verb} not match any of the regexes: {known}")
        else:
            were = "was" if len(more) == 1 else "were"
            yield ValidationError(f"Additional properties are not allowed ({names} {were} unexpected)")


def _unique_items(
    validator: Validator, wanted: Any, instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    if wanted and validator.is_type(instance, "array") and len({*map(_frozen, instance)}) < len(instance):
        yield ValidationError(f"{instance!r} has non-unique elements")


def _frozen(value: Any) -> Any:
    """A value that can be looked up: equal for equal JSON, where true is not 1 but 1.0 is."""
    if isinstance(value, list):
        return ("array", *map(_frozen, value))
    if isinstance(value, dict):
        return frozenset((name, _frozen(content)) for name, content in value.items())
    return (bool, value) if isinstance(value, bool) else value


def _enum(_validator: Validator, listed: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if id(listed) not in _LISTS:
        if len(_LISTS) >= MOST_LISTS:
            _LISTS.clear()
        _LISTS[id(listed)] = listed, frozenset(map(_frozen, listed))
    if _frozen(instance) not in _LISTS[id(listed)][1]:
        yield ValidationError(f"{instance!r} is not one of {listed!r}")


MOST_LISTS = 1000
_LISTS: dict[int, tuple[Any, frozenset[Any]]] = {}
"""The lists of ``enum`` that were looked into, each with its values."""

OWN: dict[str, Keyword] = {
    "enum": _enum,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
"""Keywords that jsonschema judges without limits."""
UNEVALUATED = {"unevaluatedItems", "unevaluatedProperties"}
"""Keywords for which jsonschema goes through all others once more, in a way of its own and without limits."""
LONGEST_NAME = 200


def _after_the_others(keyword: Keyword) -> Keyword:
    """A keyword that is judged when the other ones have shown how many steps that takes."""

    def judged(
        validator: Validator, value: Any, instance: Any, schema: Any
    ) -> Iterator[ValidationError] | None:
        if validator.is_type(instance, "object") and any(len(name) > LONGEST_NAME for name in instance):
            raise TooCostly("the name of a member is too long")
        others = {name: content for name, content in schema.items() if name not in UNEVALUATED}
        for _ in validator.evolve(schema=others).iter_errors(instance):
            pass
        return keyword(validator, value, instance, schema)

    return judged


def _expect_tame_names(schema: Any) -> None:
    """Raise `TooLarge` for patterns of names that jsonschema would try in its own way, for too long."""
    parts = list(_parts(schema))
    if any(not UNEVALUATED.isdisjoint(part) for part in parts):
        for pattern in {one for part in parts for one in _names_of(part)}:
            try:
                cost = compiled(pattern).cost(LONGEST_NAME)
            except (TooCostly, re.error, OverflowError):
                cost = CHEAP + 1
            if cost > CHEAP:
                raise TooLarge(f"the pattern {show(pattern, 60)} beside unevaluatedProperties")


def _names_of(part: dict[str, Any]) -> Iterator[str]:
    patterns = part.get("patternProperties")
    return iter(patterns if isinstance(patterns, dict) else ())


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object in a schema."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
