"""Arguments for a tool, made from its input schema."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from conformance.dialects import Unjudgeable, instance_errors, schema_errors

MAX_DEPTH = 12
FORMATS = {
    "date": "2025-01-02",
    "date-time": "2025-01-02T03:04:05Z",
    "time": "03:04:05Z",
    "duration": "PT1S",
    "email": "someone@example.org",
    "hostname": "example.org",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "uri": "https://example.org/",
    "uri-reference": "example",
    "url": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


class NoExample(Exception):  # noqa: N818
    """No valid value could be made for a schema; the text says for which part of it."""


def example(schema: Any, revision: str) -> dict[str, Any]:
    """One small object that is valid under ``schema``, the same each time.

    Prefers the schema's own ``const``, ``examples``, ``default`` and ``enum``; leaves optional members out.
    Raises `NoExample` when none is found.
    """
    try:
        errors = schema_errors(schema, revision)
        value = None if errors else _build(schema, schema, 0)
        errors = errors or instance_errors(value, schema, revision)
    except Unjudgeable as error:
        raise NoExample(str(error)) from error
    if errors or not isinstance(value, dict):
        raise NoExample(errors[0] if errors else "its schema is not for an object")
    return value


@dataclass(frozen=True)
class Wrong:
    """Invalid arguments, and in a few words what is wrong with them."""

    what: str
    arguments: dict[str, Any]


def clearly_wrong(schema: Any, arguments: dict[str, Any], revision: str) -> list[Wrong]:
    """Changes to valid ``arguments`` that no leniency repairs: one missing, one an object for a scalar.

    Each is proven invalid; there may be none, as for a tool without parameters.
    """
    properties = schema.get("properties", {})
    wrongs = []
    for name in schema.get("required", [])[:1]:
        rest = {key: content for key, content in arguments.items() if key != name}
        if "default" not in (properties.get(name) or {}):
            wrongs.append(Wrong(f"{name!r} is required and missing", rest))
    for name, part in properties.items():
        if isinstance(part, dict) and part.get("type") in ("string", "integer", "number", "boolean"):
            what = f"{name!r} is an object, not of type {part['type']}"
            wrongs.append(Wrong(what, {**arguments, name: {"conformance": {}}}))
            break
    return [wrong for wrong in wrongs if _is_invalid(wrong.arguments, schema, revision)]


def wrong_in_2020_12(schema: Any, arguments: dict[str, Any], revision: str) -> list[Wrong]:
    """Changes to valid ``arguments`` that only ``dependentRequired`` or ``prefixItems`` forbids."""
    wrongs = [*_without_dependents(schema, arguments), *_with_wrong_first_item(schema, arguments)]
    old = _without_what_is_new(schema)
    return [
        wrong
        for wrong in wrongs
        if _is_invalid(wrong.arguments, schema, revision) and not _is_invalid(wrong.arguments, old, revision)
    ]


def _without_what_is_new(schema: Any) -> Any:
    """A schema without the two keywords; ``items`` goes with ``prefixItems``, which it means the rest of."""
    parts = {
        name: {key: part[key] for key in part if key not in ("prefixItems", "items")}
        if isinstance(part, dict) and "prefixItems" in part
        else part
        for name, part in (schema.get("properties") or {}).items()
    }
    kept = {key: schema[key] for key in schema if key != "dependentRequired"}
    return {**kept, "properties": parts} if parts else kept


def _without_dependents(schema: Any, arguments: dict[str, Any]) -> Iterator[Wrong]:
    for name, others in (schema.get("dependentRequired") or {}).items():
        with suppress(NoExample):
            made = {**arguments, name: _build(schema.get("properties", {}).get(name, True), schema, 1)}
            rest = {key: content for key, content in made.items() if key not in others}
            yield Wrong(f"{name!r} is given without {', '.join(map(repr, others))}", rest)


def _with_wrong_first_item(schema: Any, arguments: dict[str, Any]) -> Iterator[Wrong]:
    for name, part in (schema.get("properties") or {}).items():
        if isinstance(part, dict) and part.get("prefixItems"):
            yield Wrong(
                f"the first item of {name!r} is an object", {**arguments, name: [{"conformance": {}}]}
            )


def _is_invalid(arguments: dict[str, Any], schema: Any, revision: str) -> bool:
    try:
        return bool(instance_errors(arguments, schema, revision))
    except Unjudgeable:
        return False


def _build(schema: Any, root: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise NoExample("its schema goes too deep")
    if not isinstance(schema, dict):
        return "example"
    schema = _flatten(schema, root, depth)
    if "const" in schema:
        return schema["const"]
    for keyword in ("examples", "enum"):
        if isinstance(schema.get(keyword), list) and schema[keyword]:
            return schema[keyword][0]
    if "default" in schema and schema["default"] is not None:
        return schema["default"]
    return _of_type(schema, root, depth)


def _flatten(schema: dict[str, Any], root: Any, depth: int) -> dict[str, Any]:
    """One schema that says what ``schema``, what it refers to and the first of its branches say."""
    flat = dict(schema)
    parts = [_resolve(flat.pop("$ref"), root)] if "$ref" in flat else []
    parts += flat.pop("allOf", [])
    for keyword in ("anyOf", "oneOf"):
        branches = flat.pop(keyword, None)
        if isinstance(branches, list):
            parts += [branch for branch in branches if branch != {"type": "null"}][:1]
    for part in parts:
        if isinstance(part, dict):
            if depth > MAX_DEPTH:
                raise NoExample("its references go too deep")
            flat = _merge(flat, _flatten(part, root, depth + 1))
    return flat


def _merge(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    merged = {**other, **one}
    for keyword in ("properties", "$defs", "definitions"):
        if keyword in one and keyword in other:
            merged[keyword] = {**other[keyword], **one[keyword]}
    if "required" in one and "required" in other:
        merged["required"] = list(dict.fromkeys([*one["required"], *other["required"]]))
    return merged


def _resolve(reference: Any, root: Any) -> Any:
    if not isinstance(reference, str) or not reference.startswith("#"):
        raise NoExample(f"its reference {reference!r} leads outside the schema")
    target = root
    for step in reference.removeprefix("#").removeprefix("/").split("/") if reference != "#" else ():
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(target, dict) or name not in target:
            raise NoExample(f"its reference {reference!r} leads nowhere")
        target = target[name]
    return target


def _of_type(schema: dict[str, Any], root: Any, depth: int) -> Any:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if kind == "object" or (kind is None and "properties" in schema):
        return _object(schema, root, depth)
    if kind == "array":
        return _array(schema, root, depth)
    if kind in ("integer", "number"):
        return _number(schema, integer=kind == "integer")
    if kind == "boolean":
        return False
    return None if kind == "null" else _string(schema)


def _object(schema: dict[str, Any], root: Any, depth: int) -> dict[str, Any]:
    properties = schema.get("properties", {})
    names = [name for name in schema.get("required", []) if isinstance(name, str)]
    spare = [name for name in properties if name not in names]
    names += spare[: max(0, schema.get("minProperties", 0) - len(names))]
    return {name: _build(properties.get(name, True), root, depth + 1) for name in names}


def _array(schema: dict[str, Any], root: Any, depth: int) -> list[Any]:
    fixed = schema.get("prefixItems", [])[: schema.get("maxItems")]
    items = [_build(part, root, depth + 1) for part in fixed]
    while len(items) < schema.get("minItems", 0):
        items.append(_build(schema.get("items", True), root, depth + 1))
    return items


def _number(schema: dict[str, Any], *, integer: bool) -> float:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    for value in (
        1,
        low,
        high,
        _between(low, high),
        (low or 0) + 1,
        (high or 0) - 1,
        schema.get("multipleOf"),
        0,
    ):
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = int(value) if integer or float(value).is_integer() else value
            if not _number_errors(number, schema):
                return number
    raise NoExample("no number was found for it")


def _between(low: Any, high: Any) -> float | None:
    return None if low is None or high is None else (low + high) / 2


def _number_errors(number: float, schema: dict[str, Any]) -> bool:
    bounds = {key: schema[key] for key in schema if "imum" in key or key == "multipleOf"}
    try:
        return bool(instance_errors(number, bounds, "2024-11-05"))
    except Unjudgeable:
        return True


def _string(schema: dict[str, Any]) -> str:
    text = FORMATS.get(str(schema.get("format")), "example")
    text = text.ljust(schema.get("minLength", 0), "x")
    return text[: schema.get("maxLength", len(text))]
