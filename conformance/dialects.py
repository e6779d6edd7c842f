"""JSON Schema as servers use it: which dialect a schema is in, and what it says of a value.

Nothing here fetches a remote reference, and ``format`` is an annotation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from jsonschema import validators
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema_specifications import REGISTRY
from referencing.exceptions import Unresolvable

from conformance import revisions

DIALECTS = {
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft-07": "http://json-schema.org/draft-07/schema",
    "draft-06": "http://json-schema.org/draft-06/schema",
    "draft-04": "http://json-schema.org/draft-04/schema",
}


class Unjudgeable(Exception):  # noqa: N818
    """Whether a schema is valid, or a value conforms, cannot be told; the text says why."""


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
    found: list[str] = []
    for dialect in dialects_of(schema, revision):
        errors = _errors(_meta_validator(dialect), schema)
        if not errors:
            return []
        found = found or errors
    return found


def instance_errors(instance: Any, schema: Any, revision: str) -> list[str]:
    """What makes ``instance`` violate ``schema``; empty if it conforms in a dialect the schema may be in.

    Raises `Unjudgeable`, also when the schema itself is broken.
    """
    found: list[str] = []
    for validator in _sound_validators(schema, revision):
        errors = _errors(validator, instance)
        if not errors:
            return []
        found = found or errors
    return found


def _sound_validators(schema: Any, revision: str) -> tuple[Validator, ...]:
    """A validator for each dialect the schema may be in and is valid in.  Raises `Unjudgeable`."""
    try:
        return _validators(json.dumps(schema), revision)
    except RecursionError as error:
        raise Unjudgeable("the schema is nested too deeply") from error


@lru_cache(maxsize=1024)
def _validators(text: str, revision: str) -> tuple[Validator, ...]:
    schema = json.loads(text)
    possible = dialects_of(schema, revision)
    sound = [dialect for dialect in possible if not _errors(_meta_validator(dialect), schema)]
    if not sound:
        raise Unjudgeable("the schema itself is not valid")
    return tuple(_validator_class(dialect)(schema, registry=REGISTRY) for dialect in sound)


def _errors(validator: Validator, instance: Any) -> list[str]:
    try:
        return [_describe(error) for error in _some(validator.iter_errors(instance))]
    except Unresolvable as error:
        raise Unjudgeable(f"the reference {error.ref!r} cannot be resolved") from error
    except re.error as error:
        raise Unjudgeable(f"a pattern is not readable here: {error}") from error
    except RecursionError as error:
        raise Unjudgeable("the schema or the value is nested too deeply") from error


def _some(errors: Iterator[ValidationError]) -> Iterator[ValidationError]:
    for _, error in zip(range(5), errors, strict=False):
        yield error


def _describe(error: ValidationError) -> str:
    where = error.json_path.removeprefix("$").removeprefix(".")
    message = error.message if len(error.message) <= 200 else f"violates {error.validator}"
    return f"{where}: {message}" if where else message


@cache
def _validator_class(dialect: str) -> Any:
    return validators.validator_for({"$schema": dialect})


@cache
def _meta_validator(dialect: str) -> Validator:
    cls = _validator_class(dialect)
    validator: Validator = cls(cls.META_SCHEMA, registry=REGISTRY)
    return validator
