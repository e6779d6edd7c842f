"""Whether what was read from a file has the types of our own values: a file may have been made by others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints


def misfit(value: object, kind: Any, place: str = "") -> str:
    """Return the place of the first part of a value that is not of its kind; empty if all of it is.

    The kinds are those of a report: a dataclass, a tuple of one kind, a mapping, a scalar, or `Any`.
    """
    if kind is Any:
        return ""
    if isinstance(value, float | int) and not isinstance(value, bool):
        return "" if kind is float or kind is type(value) else place
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if not isinstance(value, origin):
        return place
    if is_dataclass(value) and not isinstance(value, type):
        each = [(getattr(value, name), of, f"{place}.{name}") for name, of in _members(type(value))]
    elif isinstance(value, Mapping) and parts:
        pairs = [zip(pair, parts, strict=True) for pair in value.items()]
        each = [(one, of, f"{place}[{number}]") for number, pair in enumerate(pairs) for one, of in pair]
    elif isinstance(value, tuple):
        each = [(one, parts[0], f"{place}[{number}]") for number, one in enumerate(value)]
    else:
        return ""
    return next(filter(None, (misfit(*one) for one in each)), "")


@cache
def _members(kind: type[Any]) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple((one.name, hints[one.name]) for one in fields(kind))
