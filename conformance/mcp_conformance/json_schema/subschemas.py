"""The schemas inside a JSON Schema: how they are reached, and where their local references lead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard
from urllib.parse import unquote

from mcp_conformance.protocol.jsonrpc import ABSENT
from mcp_conformance.protocol.value import Value

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
    """Return the local references of a schema that lead to no schema."""
    found = _Targets(schema)
    return [ref for _, ref in found.references if not isinstance(found.of(ref.json), dict | bool)]


def circular(schema: Value) -> list[Value]:
    """Return the local references that lead back to themselves through nothing but references and ``allOf``.

    Validation against such a schema never ends (JSON Schema Core 2020-12, section 9.4.1).
    """
    found = _Targets(schema)
    return [ref for holder, ref in found.references if found.leads_back_to(holder)]


class _Targets:
    """The local references of a schema, each with the part that holds it, and what they lead to."""

    def __init__(self, schema: Value):
        parts = list(subschemas(schema))
        self._root = schema.json
        self._anchors = {name: part.value.json for part in parts for name in _anchors(part.value.json)}
        own = [part.value for part in parts if not part.is_apart]
        found = [(part.json, ref) for part in own if (ref := part.get("$ref")) is not None]
        self.references = [(holder, ref) for holder, ref in found if _is_local(ref.json)]

    def of(self, reference: str) -> Any:
        """Return what a reference leads to, `ABSENT` if nothing."""
        name = reference[1:]
        return self._anchors[name] if name in self._anchors else pointed(self._root, name)

    def leads_back_to(self, part: dict[str, Any]) -> bool:
        """Return whether applying a part applies the same part again, to the same value."""
        waiting, seen = self._applied(part), set[int]()
        while waiting:
            one = waiting.pop()
            if one is part:
                return True
            if id(one) not in seen:
                seen.add(id(one))
                waiting += self._applied(one)
        return False

    def _applied(self, part: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the parts that must hold for a value wherever this part must."""
        reference, all_of = part.get("$ref"), part.get("allOf")
        found = [self.of(reference)] if _is_local(reference) else []
        found += all_of if isinstance(all_of, list) else []
        return [one for one in found if isinstance(one, dict)]


def _is_local(reference: Any) -> TypeGuard[str]:
    return isinstance(reference, str) and reference.startswith("#")


def _anchors(schema: dict[str, Any]) -> Iterator[str]:
    yield from (schema[name] for name in ANCHORS if isinstance(schema.get(name), str))
    yield from (schema[name][1:] for name in IDS if str(schema.get(name)).startswith("#"))


def pointed(schema: Any, pointer: str) -> Any:
    """Return what a JSON pointer, written as the fragment of a URI, leads to; `ABSENT` if nothing."""
    if pointer and not pointer.startswith("/"):
        return ABSENT
    node = schema
    for step in unquote(pointer).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and name in node:
            node = node[name]
        elif isinstance(node, list) and name.isdecimal() and len(name) < 10 and int(name) < len(node):
            node = node[int(name)]
        else:
            return ABSENT
    return node
