"""Validation of schemas and values in the JSON Schema dialects that servers use.

Remote references are never fetched, and ``format`` is an annotation.  Validating a value takes a limited
number of steps, whatever the schema and its patterns.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema_specifications import REGISTRY
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import specification_with

from mcp_conformance.deadline import Deadline, TookTooLong
from mcp_conformance.json_schema.bounded import (
    MAX_STEPS,
    VALUE_KEYWORDS,
    Budget,
    bounded_class,
    spending,
    with_limits,
)
from mcp_conformance.json_schema.ecma import TooCostly, Unreadable
from mcp_conformance.json_schema.formats import CertainFormats
from mcp_conformance.protocol import revisions

DIALECTS = {
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft-07": "http://json-schema.org/draft-07/schema",
    "draft-06": "http://json-schema.org/draft-06/schema",
    "draft-04": "http://json-schema.org/draft-04/schema",
}


MAX_SCHEMA_LENGTH = 1_000_000
"""The most characters of a schema."""
STEPS_PER_PART = 30
"""Steps added to `MAX_STEPS` for each array, object and item of a value."""
TOO_COSTLY = "too costly to judge"
"""The words of a reason that is a limit of this tool."""


class Unjudgeable(Exception):  # noqa: N818
    """A schema or a value that can't be validated; the text says why."""

    is_too_costly = False


class TooLarge(Unjudgeable):
    """A schema or a value that can't be validated within the limits of this tool."""

    is_too_costly = True

    def __init__(self, why: str):
        super().__init__(f"the schema is {TOO_COSTLY}: {why}")


def dialects_of(schema: Any, revision: str) -> list[str]:
    """Return the URIs of the dialects that a schema may be in.

    One if it names its dialect in ``$schema`` or the revision has a default, else all common ones, newest
    first.  Raises `Unjudgeable` for an unknown ``$schema``.
    """
    named = schema.get("$schema") if isinstance(schema, dict) else None
    if isinstance(named, str):
        if named.removesuffix("#") not in DIALECTS.values():
            raise Unjudgeable(f"its $schema {named!r} is not a known dialect")
        return [named.removesuffix("#")]
    return [revisions.DEFAULT_DIALECT] if revisions.names_a_dialect(revision) else list(DIALECTS.values())


def schema_errors(schema: Any, revision: str) -> list[str]:
    """Return the errors of ``schema`` under its meta-schema; none if it is valid in a dialect it may be in.

    Raises `Unjudgeable`.
    """
    return list(_schema_errors(_text_of(schema), revision))


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


def instance_errors(instance: Any, schema: Any, revision: str, part: Any = None) -> list[str]:
    """Return the errors of ``instance`` under ``schema``; none if it is valid in a dialect of the schema.

    It is judged under a ``part`` of the schema if one is given.  Raises `Unjudgeable`, also when the schema
    itself is not valid.
    """
    found: list[str] = []
    checked = _validators_of(_text_of(schema), revision)
    if checked.too_costly:
        raise TooLarge(checked.too_costly)
    for dialect, whole in checked.validators.items():
        try:
            validator = whole if part is None else _for_part(whole, part, dialect)
            errors = _errors(validator, instance)
        except TooLarge as error:
            checked.too_costly = str(error.__cause__) if isinstance(error.__cause__, TooCostly) else ""
            raise
        if not errors:
            return []
        found = found or errors
    return found


def is_valid_in_all(instance: Any, schema: Any, revision: str) -> bool:
    """Return whether a value is valid in every dialect that its schema may be in.  Raises `Unjudgeable`."""
    validators = _validators_of(_text_of(schema), revision).validators.values()
    return all(not _errors(validator, instance) for validator in validators)


def has_certain_formats(instance: Any, schema: Any, revision: str) -> bool:
    """Return whether ``instance`` is valid in all dialects, and each text with a ``format`` surely has it."""
    try:
        validators = _validators_of(_text_of(schema), revision).validators
        checked = [one.evolve(format_checker=CertainFormats()) for one in validators.values()]
        return not any(_errors(one, instance) for one in checked)
    except Unjudgeable:
        return False


def _for_part(whole: Validator, part: Any, dialect: str) -> Validator:
    with validating(Budget()):
        validator: Validator = whole.evolve(schema=with_limits(without_dialect(part, dialect)))
    return validator


@dataclass
class _Validators:
    """A validator for each dialect that a schema may be in and is valid in.

    ``too_costly`` is the reason once a value took too many steps: no other value is tried.
    """

    validators: Mapping[str, Validator]
    too_costly: str = ""


def _text_of(schema: Any) -> str:
    """Return a schema as JSON text.  Raises `Unjudgeable` for one that is too long or too deep."""
    try:
        text = json.dumps(schema)
    except RecursionError as error:
        raise TooLarge("it is nested too deeply") from error
    except ValueError as error:
        raise Unjudgeable(f"the schema cannot be written as JSON: {error}") from error
    if len(text) > MAX_SCHEMA_LENGTH:
        raise TooLarge(f"it has {len(text)} characters")
    return text


@lru_cache(maxsize=256)
def _validators_of(text: str, revision: str) -> _Validators:
    schema = json.loads(text)
    possible = dialects_of(schema, revision)
    dialects = [dialect for dialect in possible if not _errors(_meta_validator(dialect), schema)]
    if not dialects:
        raise Unjudgeable("the schema itself is not valid")
    return _Validators({dialect: validator_of(schema, dialect) for dialect in dialects})


def validator_of(schema: Any, dialect: str) -> Validator:
    """Return a validator with limits; raise `Unjudgeable` for a schema that needs too many steps."""
    with validating(Budget()):
        limited = with_limits(without_dialect(schema, dialect))
    validator: Validator = bounded_class(dialect)(limited, registry=REGISTRY)
    return validator


def without_dialect(schema: Any, dialect: str) -> Any:
    """Return a copy without ``$schema``, at which jsonschema would switch to a validator without limits.

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
        name: content if name in VALUE_KEYWORDS else without_dialect(content, dialect)
        for name, content in schema.items()
        if name != "$schema" or not isinstance(content, str)
    }


MAX_ERRORS = 5


def _errors(validator: Validator, instance: Any) -> list[str]:
    with validating(Budget(MAX_STEPS + STEPS_PER_PART * _size(instance))):
        found = [error for error, _ in zip(validator.iter_errors(instance), range(MAX_ERRORS), strict=False)]
        if any(isinstance(one.instance, float) and not math.isfinite(one.instance) for one in found):
            raise ArithmeticError("one is infinite")
        return list(map(_describe, found))


def _size(value: Any) -> int:
    """Return the number of arrays, objects and items that a value consists of."""
    level, size = [value], 0
    while level:
        size += len(level)
        inside = (
            one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)
        )
        level = [one for some in inside for one in some]
    return size


@contextmanager
def validating(budget: Budget) -> Iterator[None]:
    """Validate within a budget.  Raises `Unjudgeable` in place of a validator's exceptions."""
    try:
        with spending(budget), Deadline():
            yield
    except (TooCostly, TookTooLong) as error:
        raise TooLarge(str(error)) from error
    except Unresolvable as error:
        raise Unjudgeable(f"the reference {error.ref!r} cannot be resolved") from error
    except Unreadable as error:
        raise Unjudgeable(f"a pattern is not ECMA-262, or not supported: {error}") from error
    except RecursionError as error:
        raise TooLarge("it, or the value, is nested too deeply or without end") from error
    except (ArithmeticError, ValueError) as error:
        raise Unjudgeable(f"its numbers are out of range: {error}") from error
    except (AttributeError, LookupError, TypeError) as error:  # a reference that is not one to a schema
        raise Unjudgeable(f"it is not supported ({type(error).__name__}: {error})") from error


def _describe(error: ValidationError) -> str:
    where = error.json_path.removeprefix("$").removeprefix(".")
    message = error.message if len(error.message) <= 200 else f"violates {error.validator}"
    return f"{where}: {message}" if where else message


@cache
def _meta_validator(dialect: str) -> Validator:
    cls = bounded_class(dialect)
    schema = without_dialect(cls.META_SCHEMA, dialect)
    validator: Validator = cls(schema, registry=_meta_schemas(dialect))
    return validator


@cache
def _meta_schemas(dialect: str) -> Any:
    """Return the meta-schema of a dialect and its parts, changed so that they too have limits."""
    known = ((uri, REGISTRY.contents(uri)) for uri in REGISTRY)
    own = ((uri, one) for uri, one in known if one.get("$schema", "").removesuffix("#") == dialect)
    make = specification_with(dialect).create_resource
    return Registry().with_resources((uri, make(without_dialect(one, dialect))) for uri, one in own).crawl()
