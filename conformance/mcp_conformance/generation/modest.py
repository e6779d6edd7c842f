"""Modest numbers for the members that say how much a tool does: threads, limits, sizes, timeouts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from mcp_conformance.generation.errors import NoExample
from mcp_conformance.generation.generator import generator_of
from mcp_conformance.generation.known import KEYWORD

# A hundred threads or seconds are still tried; ten thousand stop the machine of a tool that does what it is
# told.
MODEST = 100
"""The largest number for such a member."""
AMOUNTS = frozenset(
    {
        *("batch", "concurrency", "count", "delay", "depth", "duration", "iteration", "job", "limit", "wait"),
        *("parallelism", "repeat", "retries", "retry", "size", "sleep", "thread", "timeout", "worker"),
    }
)
"""Words in the names of such members; most may have a plural s."""
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""The keywords whose values are schemas by name."""
DATA = ("const", "default", "enum", "examples", KEYWORD)
BOUNDS = ("minimum", "exclusiveMinimum", "multipleOf")


def is_amount(name: str) -> bool:
    """Return whether the name of a member says that it sets how much a tool does."""
    words = (word.lower() for word in WORD.findall(name))
    return any({word, word.removesuffix("s")} & AMOUNTS for word in words)


def modest(schema: Any, revision: str, examples: Iterable[Any] = ()) -> Any:
    """Return an input schema that allows a part of what ``schema`` does: no large numbers for such members.

    A schema that would forbid one of the ``examples``, or everything, stays as it is; so does one that is
    nested too deeply.
    """
    try:
        generator_of(schema, revision, objects=True).example()
        smaller = _modest(schema)
        generator = generator_of(smaller, revision, objects=True)
        generator.example()
        is_enough = all(map(generator.validator.is_valid, examples))
    except NoExample:
        return schema
    return smaller if is_enough else schema


def _modest(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_modest(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: value if key in DATA else _modest_keyword(key, value) for key, value in schema.items()}
    if isinstance(members := found.get("properties"), dict):
        found["properties"] = {
            name: _bounded(each) if is_amount(name) else each for name, each in members.items()
        }
    return found


def _modest_keyword(key: str, value: Any) -> Any:
    if key in NAMED and isinstance(value, dict):
        return {name: _modest(each) for name, each in value.items()}
    return _modest(value)


def _bounded(schema: Any) -> Any:
    """Return the schema of a member with a maximum, unless it has a smaller one or its values are listed."""
    if not isinstance(schema, dict) or not {"const", "enum"}.isdisjoint(schema):
        return schema
    if any(_is_over(schema.get(bound)) for bound in BOUNDS):
        return schema
    highest = schema.get("maximum")
    return schema if isinstance(highest, int | float) and highest <= MODEST else schema | {"maximum": MODEST}


def _is_over(number: Any) -> bool:
    return isinstance(number, int | float) and number >= MODEST
