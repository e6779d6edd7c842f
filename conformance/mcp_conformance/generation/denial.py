"""Schemas of the values that do not conform to another schema, as far as keywords can say it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from mcp_conformance.generation.keywords import TYPES

# One denied member suffices to leave a branch; the others only vary it.
MAX_MEMBERS = 20
"""The most members of one schema that are denied."""

OPPOSITES = {
    "minimum": ("number", "exclusiveMaximum", 0),
    "maximum": ("number", "exclusiveMinimum", 0),
    "exclusiveMinimum": ("number", "maximum", 0),
    "exclusiveMaximum": ("number", "minimum", 0),
    "minLength": ("string", "maxLength", -1),
    "maxLength": ("string", "minLength", 1),
    "minItems": ("array", "maxItems", -1),
    "maxItems": ("array", "minItems", 1),
    "minProperties": ("object", "maxProperties", -1),
    "maxProperties": ("object", "minProperties", 1),
}
"""The type that each bound applies to, the opposite bound, and how much that is further."""


def denials(keywords: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield schemas, in 2020-12, of which each allows only values that these keywords forbid.

    Nothing for keywords that no other keyword can deny.
    """
    for word, content in keywords.items():
        if word in OPPOSITES:
            kind, opposite, further = OPPOSITES[word]
            bound = content if not further else math.ceil(content) + further
            if bound >= 0 or not further:
                yield {"type": kind, opposite: bound}
        elif word == "type":
            others = _other_types(content)
            if others:
                yield {"type": others}
        elif word == "properties":
            for name, schema in [*content.items()][:MAX_MEMBERS]:
                yield {"type": "object", "required": [name], "properties": {name: {"not": schema}}}
        elif word == "required":
            for name in content[:MAX_MEMBERS]:
                yield {"type": "object", "properties": {name: False}}
        elif word == "items":
            yield {"type": "array", "contains": {"not": content}}


def _other_types(types: Any) -> list[str]:
    listed = {*types} if isinstance(types, list) else {types}
    if listed & {"integer", "number"}:
        listed |= {"integer", "number"}
    return [name for name in TYPES if name not in listed and name != "integer"]
