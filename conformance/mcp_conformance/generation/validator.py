"""Validation of a value in every dialect its schema may be in."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from jsonschema.exceptions import ValidationError

from mcp_conformance.generation.errors import NoExample
from mcp_conformance.generation.keywords import DRAFTS, is_known, names_in
from mcp_conformance.json_schema.bounded import MAX_STEPS, Budget
from mcp_conformance.json_schema.ecma import TooCostly
from mcp_conformance.json_schema.formats import CertainFormats
from mcp_conformance.json_schema.validation import (
    Unjudgeable,
    dialects_of,
    schema_errors,
    validating,
    validator_of,
)

MAX_COSTLY = 20
"""The values that may be too costly to judge before no other is judged; one, if none was judged before."""


class SchemaValidator:
    """One schema's validators, made once.

    ``dialect`` is the newest dialect the schema may be in; a value is valid if it is in all of those that
    differ for this schema, and invalid if it is in none.
    """

    def __init__(self, schema: Any, revision: str) -> None:
        dialects = _readable(schema, revision)
        self.dialect = dialects[0]
        self._left = MAX_STEPS
        self._too_costly = ""
        self._costly_left = 1
        self._has_proven = False
        try:
            self.validators = [validator_of(schema, dialect) for dialect in _distinct(schema, dialects)]
        except Unjudgeable as error:
            raise NoExample(str(error), is_too_costly=error.is_too_costly) from error

    def is_valid(self, value: Any) -> bool:
        """Return whether ``value`` is valid in every dialect."""
        with self.validating():
            found = all(validator.is_valid(value) for validator in self.validators)
        if found and not self._has_proven:
            self._has_proven, self._costly_left = True, MAX_COSTLY
        return found

    def keeps_formats(self, value: Any, texts: Collection[str]) -> bool:
        """Return whether a valid ``value`` stays so if a text has its format only for certain.

        These ``texts`` have the format of their place.
        """
        checker = CertainFormats(texts)
        with self.validating():
            return all(one.evolve(format_checker=checker).is_valid(value) for one in self.validators)

    def is_invalid(self, value: Any) -> bool:
        """Return whether ``value`` is invalid in every dialect."""
        with self.validating():
            return not any(validator.is_valid(value) for validator in self.validators)

    def errors(self, value: Any) -> list[ValidationError]:
        """Return the errors of ``value`` in the newest dialect."""
        with self.validating():
            return list(self.validators[0].iter_errors(value))

    @property
    def may_go_on(self) -> bool:
        """Whether further values can be judged: steps are left, and few values were too costly."""
        return self._left > 0 and self._has_proven and not self._too_costly

    def refill(self, steps: int) -> None:
        """Allow so many validation steps from now on."""
        self._left = steps

    @contextmanager
    def validating(self) -> Iterator[None]:
        """Validate one value within the steps left; raise `NoExample`, always once too many did."""
        if self._too_costly:
            raise NoExample(self._too_costly, is_too_costly=True)
        budget = Budget(min(self._left, MAX_STEPS))
        self._left -= budget.left
        try:
            with validating(budget):
                yield
        except Unjudgeable as error:
            self._costly_left -= isinstance(error.__cause__, TooCostly)
            self._too_costly = "" if self._costly_left > 0 else str(error)
            raise NoExample(str(error), is_too_costly=error.is_too_costly) from error
        finally:
            self._left += budget.left


def _readable(schema: Any, revision: str) -> list[str]:
    """Return the dialects in which ``schema`` is well-formed; raises `NoExample` if there is none."""
    if isinstance(schema, bool):
        return dialects_of(schema, revision)[:1]
    if not isinstance(schema, dict):
        raise NoExample("the schema is neither an object nor a boolean")
    found: list[str] = []
    errors: list[str] = []
    try:
        for dialect in dialects_of(schema, revision):
            wrong = schema_errors({"$schema": dialect, **schema}, revision)
            found += [] if wrong else [dialect]
            errors += wrong
    except Unjudgeable as error:
        raise NoExample(str(error), is_too_costly=error.is_too_costly) from error
    if not found:
        raise NoExample(f"the schema itself is not valid: {errors[0]}")
    return found


def _distinct(schema: Any, dialects: list[str]) -> list[str]:
    """Return one of each group of dialects that give all words of ``schema`` the same meaning."""
    words = set(names_in(schema))
    groups: dict[frozenset[str], str] = {}
    for dialect in dialects:
        draft = DRAFTS[dialect]
        known = {word for word in words if is_known(word, draft)}
        if "$ref" in words and draft <= 7:
            known.add("$ref alone")
        groups.setdefault(frozenset(known), dialect)
    return list(groups.values())
