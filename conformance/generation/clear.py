"""A few invalid arguments, for checks that can spare only a call or two."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from conformance.dialects import Unjudgeable, instance_errors
from conformance.generation.generator import Generator
from conformance.generation.invalid import Invalid

NEW = re.compile(r".*?/(dependentRequired|prefixItems)(?=/|$)")
"""A place in a schema, as far as the first keyword that draft 7 lacks."""


def clear(entries: Iterable[Invalid], arguments: dict[str, Any], generator: Generator) -> list[Invalid]:
    """Valid ``arguments`` with a required member left out, and with an object for a scalar.

    ``entries`` are what there is to choose from.  Each is proven invalid; there may be none.
    """
    found: dict[str, Invalid] = {}
    for one in entries:
        if one.kind not in found and not one.coercible:
            changed = _changed(arguments, one, generator)
            if changed is not None and generator.oracle.is_invalid(changed):
                found[one.kind] = replace(one, arguments=changed)
    return list(found.values())


def _changed(arguments: dict[str, Any], one: Invalid, generator: Generator) -> dict[str, Any] | None:
    """``arguments`` with what is wrong in ``one``; None if it is not one of the two kinds."""
    if one.keyword == "required" and not one.pointer:
        return {name: content for name, content in arguments.items() if name != one.detail}
    if one.kind != "type" or one.pointer.count("/") != 1:
        return None
    name = one.pointer[1:].replace("~1", "/").replace("~0", "~")
    content = one.arguments[name]
    types = generator.root.shape.members.at(name).shape.allowed
    is_clear = isinstance(content, dict) and not {"array", "object"} & {*types}
    return {**arguments, name: content} if is_clear else None


def since_2020_12(entries: Iterable[Invalid], schema: Any, revision: str) -> list[Invalid]:
    """For each ``dependentRequired`` and ``prefixItems`` the first of ``entries`` that it alone forbids."""
    found: dict[str, Invalid] = {}
    old = _without_what_is_new(schema)
    for one in entries:
        place = NEW.match(one.location)
        if place and place[0] not in found and not one.coercible and _is_valid(one.arguments, old, revision):
            found[place[0]] = one
    return list(found.values())


def _without_what_is_new(schema: Any) -> Any:
    """A schema without the two keywords; ``items`` goes with ``prefixItems``, which it means the rest of."""
    if isinstance(schema, list):
        return [_without_what_is_new(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    new = {"prefixItems", "items"} if isinstance(schema.get("prefixItems"), list) else set()
    new |= {"dependentRequired"} if _are_dependents(schema.get("dependentRequired")) else set()
    return {name: _without_what_is_new(content) for name, content in schema.items() if name not in new}


def _are_dependents(content: Any) -> bool:
    return isinstance(content, dict) and all(isinstance(names, list) for names in content.values())


def _is_valid(arguments: Any, schema: Any, revision: str) -> bool:
    try:
        return not instance_errors(arguments, schema, revision)
    except Unjudgeable:
        return False
