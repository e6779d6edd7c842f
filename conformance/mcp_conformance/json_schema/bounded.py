"""Validators that take a limited number of steps for a value, whatever the schema.

They are jsonschema's, except for the keywords that jsonschema evaluates without limits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from jsonschema import validators
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator

from mcp_conformance.json_schema.ecma import TooCostly
from mcp_conformance.json_schema.regex import MAX_PYTHON_STEPS, compiled
from mcp_conformance.protocol.jsonrpc import show

MAX_STEPS = 50_000
"""The most keywords evaluated to validate one small value."""
ITEMS_PER_STEP, MATCH_STEPS_PER_STEP = 16, 8
"""The items of a keyword's list, and the steps of a pattern, that cost as much as one keyword."""
MIN_STACK_ROOM = 250
"""The calls for which the stack must have room where a reference is followed."""
MAX_NAME_LENGTH = 200
"""The longest name of a member beside ``unevaluatedProperties``."""
MAX_PATTERNS_LENGTH, PATTERN_OVERHEAD = 100_000, 100
"""The most characters of all patterns of a schema, and the characters that take as long as a pattern itself.

To read and compile so many takes about a second.  1000 patterns at most: `compiled` keeps them all.
"""
VALUE_KEYWORDS = ("const", "enum", "default", "examples")
"""Keywords whose contents are values, not schemas."""
MAPS = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
"""Keywords whose contents are schemas by names."""
MAX_KEPT = 1000
"""The most lists of which something is kept."""


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
    for name in CHOICES if "const" in keywords else ():
        keywords[name] = _for_branches(keywords[name])
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
    read = compiled(pattern.written if isinstance(pattern, NamePattern) else pattern)
    found, steps = read.searched(text)
    _pay(steps // MATCH_STEPS_PER_STEP)
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
    if _frozen(instance) not in _kept(_ENUMS, listed, lambda: frozenset(map(_frozen, listed))):
        yield ValidationError(f"{instance!r} is not one of {listed!r}")


def _for_branches(keyword: Keyword) -> Keyword:
    """Return a keyword that evaluates only the first of the branches whose ``const`` is another value."""

    def chosen(
        validator: Validator, branches: Any, instance: Any, schema: Any
    ) -> Iterator[ValidationError] | None:
        consts = _kept(_CONSTS, branches, lambda: [_const(one) for one in branches])
        value = _NO_CONST if isinstance(instance, list | dict) else _frozen(instance)
        others = [index for index, const in enumerate(consts) if const not in (_NO_CONST, value)]
        left_out = {*others[1:]}
        fitting = [one for index, one in enumerate(branches) if index not in left_out]
        return keyword(validator, fitting, instance, schema)

    return chosen


def _const(branch: Any) -> Any:
    """Return the ``const`` of a branch, frozen, if it is a scalar; a ``$ref`` hides it in old dialects."""
    const = branch.get("const", []) if isinstance(branch, dict) and "$ref" not in branch else []
    return _NO_CONST if isinstance(const, list | dict) else _frozen(const)


def _kept(known: dict[int, tuple[Any, Any]], listed: Any, made: Callable[[], Any]) -> Any:
    """Return what was made of a list before, or make it."""
    if id(listed) not in known:
        if len(known) >= MAX_KEPT:
            known.clear()
        known[id(listed)] = listed, made()
    return known[id(listed)][1]


_NO_CONST = object()
_ENUMS: dict[int, tuple[Any, Any]] = {}
"""Lists of ``enum`` by identity, each with the set of its values."""
_CONSTS: dict[int, tuple[Any, Any]] = {}
"""Lists of branches by identity, each with the ``const`` of every branch."""

OWN_KEYWORDS: dict[str, Keyword] = {
    "enum": _enum,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
"""Keywords that jsonschema evaluates without limits."""
CHOICES = ("anyOf", "oneOf")
"""Keywords that apply a choice of branches."""
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


class NamePattern(str):
    """A pattern of names, rewritten for Python's `re`, by which jsonschema finds what is unevaluated."""

    __slots__ = ("written",)
    written: str
    """The pattern as the schema has it."""

    def __str__(self) -> str:
        return self.written

    def __repr__(self) -> str:
        return repr(self.written)


def with_limits(schema: Any) -> Any:
    """Return a schema whose patterns jsonschema may match too; raise `TooCostly` or `Unreadable`."""
    parts = list(_parts(schema))
    length = sum(PATTERN_OVERHEAD + len(one) for one in {one for part in parts for one in _patterns_of(part)})
    if length > MAX_PATTERNS_LENGTH:
        raise TooCostly("it has too many, or too long, patterns")
    has_unevaluated = any(not UNEVALUATED.isdisjoint(part) for part in parts)
    return _rewritten(schema) if has_unevaluated else schema


def _rewritten(schema: Any) -> Any:
    """Rewrite the patterns of names."""
    if isinstance(schema, list):
        return [_rewritten(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: _content(name, content) for name, content in schema.items()}


def _content(keyword: str, content: Any) -> Any:
    if keyword in VALUE_KEYWORDS:
        return content
    if keyword in MAPS and isinstance(content, dict):
        rename: Callable[[str], str] = _name_pattern if keyword == "patternProperties" else str
        return {rename(name): _rewritten(schema) for name, schema in content.items()}
    return _rewritten(content)


def _name_pattern(pattern: str) -> NamePattern:
    read = compiled(pattern)
    if read.python is None or read.cost(MAX_NAME_LENGTH) > MAX_PYTHON_STEPS:
        raise TooCostly(f"the pattern {show(pattern, 60)} beside unevaluatedProperties")
    found = NamePattern(read.python.pattern)
    found.written = pattern
    return found


def _patterns_of(part: dict[str, Any]) -> Iterator[str]:
    pattern, names = part.get("pattern"), part.get("patternProperties")
    yield from [pattern] if isinstance(pattern, str) else ()
    yield from names if isinstance(names, dict) else ()


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a schema."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
