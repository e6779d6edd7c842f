"""The keywords of every dialect, translated to those of 2020-12."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcp_conformance.json_schema.validation import DIALECTS

NEWEST = 2020
DRAFTS = {
    DIALECTS["2020-12"]: NEWEST,
    DIALECTS["2019-09"]: 2019,
    DIALECTS["draft-07"]: 7,
    DIALECTS["draft-06"]: 6,
    DIALECTS["draft-04"]: 4,
}
SINCE = {
    "const": 6,
    "contains": 6,
    "propertyNames": 6,
    "if": 7,
    "then": 7,
    "else": 7,
    "dependentRequired": 2019,
    "dependentSchemas": 2019,
    "unevaluatedItems": 2019,
    "unevaluatedProperties": 2019,
    "minContains": 2019,
    "maxContains": 2019,
    "$anchor": 2019,
    "prefixItems": NEWEST,
    "$dynamicRef": NEWEST,
    "$dynamicAnchor": NEWEST,
}
"""The draft that introduced each keyword, for keywords newer than draft 4."""

UNTIL = {"id": 4, "dependencies": 7, "additionalItems": 2019, "$recursiveRef": 2019, "$recursiveAnchor": 2019}
"""The last draft of each keyword that was removed."""

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
OF_TYPE = {
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "array": frozenset(
        {"items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems", "unevaluatedItems"}
    ),
    "object": frozenset(
        {"properties", "required", "patternProperties", "additionalProperties", "propertyNames"}
        | {"minProperties", "maxProperties", "unevaluatedProperties", "dependentRequired", "dependentSchemas"}
    ),
}
"""The keywords that apply to one type of value only."""


def in_2020_12(schema: dict[str, Any], draft: int) -> dict[str, Any]:
    """Translate ``schema`` from the given draft to the keywords of 2020-12; its subschemas stay."""
    if draft <= 7 and isinstance(schema.get("$ref"), str):
        return {"$ref": schema["$ref"]}
    keywords = {keyword: content for keyword, content in schema.items() if is_known(keyword, draft)}
    if draft == 4:
        _number_exclusive_bounds(keywords)
    if draft < NEWEST:
        _name_prefix_items(keywords)
    for name, content in keywords.pop("dependencies", {}).items():
        kind = "dependentRequired" if isinstance(content, list) else "dependentSchemas"
        keywords[kind] = {**keywords.get(kind, {}), name: content}
    return keywords


def is_known(keyword: str, draft: int) -> bool:
    """Return whether ``keyword`` has a meaning in a draft; true also for words that have one in no draft."""
    return SINCE.get(keyword, 0) <= draft <= UNTIL.get(keyword, NEWEST)


def _number_exclusive_bounds(keywords: dict[str, Any]) -> None:
    for inclusive, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if keywords.pop(exclusive, False) and inclusive in keywords:
            keywords[exclusive] = keywords.pop(inclusive)


def _name_prefix_items(keywords: dict[str, Any]) -> None:
    rest = keywords.pop("additionalItems", None)
    if isinstance(keywords.get("items"), list):
        keywords["prefixItems"] = keywords.pop("items")
        if rest is not None:
            keywords["items"] = rest


def names_in(schema: Any) -> Iterator[str]:
    """Yield every name anywhere in ``schema``, keyword or not."""
    if isinstance(schema, dict):
        for name, content in schema.items():
            yield name
            yield from names_in(content)
    elif isinstance(schema, list):
        for content in schema:
            yield from names_in(content)


SIMPLE = frozenset(
    {"type", "enum", "const", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"}
)
SIMPLE_ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "format", "$schema", "$comment"}
)
"""Keywords whose values are valid by construction, whatever else of them is in the same schema."""


def is_simple(schema: Any) -> bool:
    """Return whether a schema has only keywords that hold by construction, in all dialects."""
    if not isinstance(schema, dict):
        return schema is True
    for word, content in schema.items():
        if word == "properties":
            simple = isinstance(content, dict) and all(map(is_simple, content.values()))
        elif word in ("items", "additionalProperties"):
            simple = isinstance(content, bool) or is_simple(content)
        elif word == "anyOf":
            simple = isinstance(content, list) and all(map(is_simple, content))
        else:
            simple = word in SIMPLE or word in SIMPLE_ANNOTATIONS or word == "required"
        if not simple:
            return False
    return True


def is_of(value: Any, name: str) -> bool:
    """Return whether a value is of a JSON Schema type."""
    match name:
        case "integer":
            return isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "null":
            return value is None
    types = {"boolean": bool, "string": str, "array": list, "object": dict}
    return isinstance(value, types.get(name, ()))
