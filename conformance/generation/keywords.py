"""The keywords of every dialect, told in the words of 2020-12."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.json_schema.validation import DIALECTS

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
"""The draft each keyword came with, where it is not as old as draft 4."""

UNTIL = {"id": 4, "dependencies": 7, "additionalItems": 2019, "$recursiveRef": 2019, "$recursiveAnchor": 2019}
"""The last draft each keyword was in, where it is gone."""

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
"""The keywords that speak of one type of value only."""


def in_new_words(schema: dict[str, Any], draft: int) -> dict[str, Any]:
    """What ``schema`` says in the given draft, in the keywords of 2020-12; its subschemas stay."""
    if draft <= 7 and isinstance(schema.get("$ref"), str):
        return {"$ref": schema["$ref"]}
    said = {keyword: content for keyword, content in schema.items() if is_known(keyword, draft)}
    if draft == 4:
        _number_exclusive_bounds(said)
    if draft < NEWEST:
        _name_prefix_items(said)
    for name, content in said.pop("dependencies", {}).items():
        kind = "dependentRequired" if isinstance(content, list) else "dependentSchemas"
        said[kind] = {**said.get(kind, {}), name: content}
    return said


def is_known(keyword: str, draft: int) -> bool:
    """Whether a draft gives ``keyword`` a meaning; true for words that none of them knows."""
    return SINCE.get(keyword, 0) <= draft <= UNTIL.get(keyword, NEWEST)


def _number_exclusive_bounds(said: dict[str, Any]) -> None:
    for inclusive, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if said.pop(exclusive, False) and inclusive in said:
            said[exclusive] = said.pop(inclusive)


def _name_prefix_items(said: dict[str, Any]) -> None:
    rest = said.pop("additionalItems", None)
    if isinstance(said.get("items"), list):
        said["prefixItems"] = said.pop("items")
        if rest is not None:
            said["items"] = rest


def words_in(schema: Any) -> Iterator[str]:
    """Every name that stands anywhere in ``schema``, keyword or not."""
    if isinstance(schema, dict):
        for name, content in schema.items():
            yield name
            yield from words_in(content)
    elif isinstance(schema, list):
        for content in schema:
            yield from words_in(content)
