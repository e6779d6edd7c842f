"""The schemas inside a JSON Schema: how they are reached, and where their local references lead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from conformance.protocol.value import Value

SINGLE = {
    *("not", "if", "then", "else", "contains", "propertyNames", "contentSchema"),
    *("additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems"),
}
SEVERAL = {"allOf", "anyOf", "oneOf", "prefixItems"}
NAMED = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
"""The keywords that have one schema, an array of them, or an object of them; ``items`` has one or several."""
IDS, ANCHORS = ("$id", "id"), ("$anchor", "$dynamicAnchor", "$recursiveAnchor")


@dataclass(frozen=True)
class Subschema:
    """A schema inside another, the ``way`` of keywords that leads to it from the root, which has none.

    ``is_apart``: it, or one that it lies in, has a URI of its own, against which its references are resolved.
    """

    value: Value
    way: tuple[str, ...] = ()
    is_apart: bool = False

    @property
    def is_parameter(self) -> bool:
        """Whether it is that of a property which properties alone lead to."""
        return set(self.way) == {"properties"}


def subschemas(schema: Value) -> Iterator[Subschema]:
    """Yield a schema and every object schema inside it, outermost first; do not follow references."""
    waiting = [Subschema(schema)] if schema.is_a(dict) else []
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(reversed(list(_inside(one))))


def _inside(one: Subschema) -> Iterator[Subschema]:
    for keyword in one.value.json:
        found = one.value.get(keyword)
        for schema in _schemas_of(keyword, found) if found is not None else ():
            if schema.is_a(dict):
                yield Subschema(schema, (*one.way, keyword), one.is_apart or _has_uri(schema))


def _schemas_of(keyword: str, found: Value) -> list[Value]:
    if keyword in SINGLE or (keyword == "items" and not found.is_a(list)):
        return [found]
    is_array = found.is_a(list) and (keyword in SEVERAL or keyword == "items")
    return list(found.each()) if is_array or (keyword in NAMED and found.is_a(dict)) else []


def _has_uri(schema: Value) -> bool:
    return any(isinstance(schema.json.get(name), str) for name in IDS)


def dangling(schema: Value) -> list[Value]:
    """Return the local references of a schema that lead nowhere."""
    parts = list(subschemas(schema))
    anchors = {name for part in parts for name in _anchors(part.value.json)}
    found = [part.value.get("$ref") for part in parts if not part.is_apart]
    local = [ref for ref in found if ref is not None and ref.is_a(str) and ref.json.startswith("#")]
    return [ref for ref in local if ref.json[1:] not in anchors and not _points(schema.json, ref.json[1:])]


def _anchors(schema: dict[str, Any]) -> Iterator[str]:
    yield from (schema[name] for name in ANCHORS if isinstance(schema.get(name), str))
    yield from (schema[name][1:] for name in IDS if str(schema.get(name)).startswith("#"))


def _points(schema: Any, pointer: str) -> bool:
    """Return whether a JSON pointer, written as the fragment of a URI, leads to something."""
    if pointer and not pointer.startswith("/"):
        return False
    node = schema
    for step in unquote(pointer).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and name in node:
            node = node[name]
        elif isinstance(node, list) and name.isdecimal() and len(name) < 10 and int(name) < len(node):
            node = node[int(name)]
        else:
            return False
    return True
