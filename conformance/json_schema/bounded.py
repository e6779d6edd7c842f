"""Validators that take a limited number of steps for a value, whatever the schema.

They are jsonschema's, except for the keywords that jsonschema evaluates without limits.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from jsonschema import validators
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator

from conformance.json_schema.regex import MAX_PYTHON_STEPS, Effort, TooCostly, compiled, search
from conformance.protocol.jsonrpc import show

MAX_STEPS = 50_000
"""The most keywords evaluated to validate one small value."""
ITEMS_PER_STEP, MATCH_STEPS_PER_STEP = 16, 8
"""The items of a keyword's list, and the steps of a pattern, that cost as much as one keyword."""
MIN_STACK_ROOM = 250
"""The calls for which the stack must have room where a reference is followed."""
MAX_NAME_LENGTH = 200
"""The longest name of a member beside ``unevaluatedProperties``."""
MAX_ENUMS = 1000


@dataclass
class Budget:
    """The number of steps that may still be taken."""

    left: int = MAX_STEPS


class _Current:
    """The budget that pays for the steps now taken."""

    budget = Budget()


@contextmanager
def spending(budget: Budget) -> Iterator[None]:
    """Let this budget pay for all validation inside the block."""
    before, _Current.budget = _Current.budget, budget
    try:
        yield
    finally:
        _Current.budget = before


Keyword = Callable[[Validator, Any, Any, Any], Iterator[ValidationError] | None]


@cache
def bounded_class(dialect: str) -> Any:
    """Return the class of validators for a dialect, by its URI; they raise `TooCostly`."""
    usual = validators.validator_for({"$schema": dialect})
    own = {name: keyword for name, keyword in OWN_KEYWORDS.items() if name in usual.VALIDATORS}
    keywords = {**usual.VALIDATORS, **own}
    for name in REFERENCES & keywords.keys():
        keywords[name] = _ending(keywords[name])
    for name in UNEVALUATED & keywords.keys():
        keywords[name] = _after_others(keywords[name])
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


def _pay(steps: int) -> None:
    _Current.budget.left -= steps
    if _Current.budget.left < 0:
        raise TooCostly("one value takes too many steps")


def _matches(pattern: str, text: str) -> bool:
    before = Effort.steps
    found = search(pattern, text)
    _pay((Effort.steps - before) // MATCH_STEPS_PER_STEP)
    return found


REFERENCES = {"$ref", "$dynamicRef", "$recursiveRef"}


def _ending(keyword: Keyword) -> Keyword:
    """Return a reference keyword that raises `RecursionError` where it leads back to itself for one value."""
    followed_now: set[tuple[int, int]] = set()

    def followed(validator: Validator, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        place = (id(schema), id(instance))
        if place in followed_now or _is_stack_full():
            raise RecursionError
        followed_now.add(place)
        try:
            yield from keyword(validator, value, instance, schema) or ()
        finally:
            followed_now.discard(place)

    return followed


def _is_stack_full() -> bool:
    try:
        sys._getframe(sys.getrecursionlimit() - MIN_STACK_ROOM)  # noqa: SLF001
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
    """Return a hashable value that is equal for equal JSON: 1 is equal to 1.0, but not to true."""
    if isinstance(value, list):
        return ("array", *map(_frozen, value))
    if isinstance(value, dict):
        return frozenset((name, _frozen(content)) for name, content in value.items())
    return (bool, value) if isinstance(value, bool) else value


def _enum(_validator: Validator, listed: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if id(listed) not in _ENUMS:
        if len(_ENUMS) >= MAX_ENUMS:
            _ENUMS.clear()
        _ENUMS[id(listed)] = listed, frozenset(map(_frozen, listed))
    if _frozen(instance) not in _ENUMS[id(listed)][1]:
        yield ValidationError(f"{instance!r} is not one of {listed!r}")


_ENUMS: dict[int, tuple[Any, frozenset[Any]]] = {}
"""Lists of ``enum`` by identity, each with the set of its values."""

OWN_KEYWORDS: dict[str, Keyword] = {
    "enum": _enum,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
"""Keywords that jsonschema evaluates without limits."""
UNEVALUATED = {"unevaluatedItems", "unevaluatedProperties"}
"""Keywords for which jsonschema evaluates all others once more, without limits."""


def _after_others(keyword: Keyword) -> Keyword:
    """Return a keyword that is evaluated only after the others, which pay for the steps they take."""

    def judged(
        validator: Validator, value: Any, instance: Any, schema: Any
    ) -> Iterator[ValidationError] | None:
        if validator.is_type(instance, "object") and any(len(name) > MAX_NAME_LENGTH for name in instance):
            raise TooCostly("the name of a member is too long")
        others = {name: content for name, content in schema.items() if name not in UNEVALUATED}
        for _ in validator.evolve(schema=others).iter_errors(instance):
            pass
        return keyword(validator, value, instance, schema)

    return judged


def check_name_patterns(schema: Any) -> None:
    """Raise `TooCostly` for patterns of names that ``unevaluatedProperties`` would match for too long."""
    parts = list(_parts(schema))
    if any(not UNEVALUATED.isdisjoint(part) for part in parts):
        for pattern in {one for part in parts for one in _names_of(part)}:
            try:
                cost = compiled(pattern).cost(MAX_NAME_LENGTH)
            except (TooCostly, re.error, OverflowError):
                cost = MAX_PYTHON_STEPS + 1
            if cost > MAX_PYTHON_STEPS:
                raise TooCostly(f"the pattern {show(pattern, 60)} beside unevaluatedProperties")


def _names_of(part: dict[str, Any]) -> Iterator[str]:
    patterns = part.get("patternProperties")
    return iter(patterns if isinstance(patterns, dict) else ())


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a schema."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
