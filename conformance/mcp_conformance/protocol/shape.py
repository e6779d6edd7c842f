"""Whether what was read from a file has the types that the code behind expects: others may have made it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict


def misfit(value: object, kind: Any, place: str) -> str:
    """Return the place of the first part of a value that is not of its kind; empty if all of it is.

    The kinds are those of files: a dataclass, a `TypedDict` for an object with these members and others, a
    list or a tuple of one kind, a mapping, a scalar, one of several kinds, or `Any`.
    """
    return next(_misfits(value, kind, place), "")


def _misfits(value: object, kind: Any, place: str) -> Iterator[str]:
    origin, parts = get_origin(kind) or kind, get_args(kind)
    each: Iterable[tuple[object, Any, str]] = ()
    if isinstance(kind, UnionType):
        is_wrong = all(misfit(value, one, place) for one in parts)
    elif isinstance(value, float | int) and not isinstance(value, bool):
        is_wrong = kind not in (Any, float, type(value))
    else:
        is_table = is_typeddict(kind)
        is_wrong = kind is not Any and not isinstance(value, dict if is_table else origin)
        if not is_wrong:
            each = _parts(value, kind, parts, place)
    if is_wrong:
        yield place
    for one in each:
        yield from _misfits(*one)


def _parts(value: object, kind: Any, parts: tuple[Any, ...], place: str) -> Iterator[tuple[object, Any, str]]:
    """Yield each part of a value, with its kind and its place."""
    if is_typeddict(kind) and isinstance(value, dict):
        for name, of in _hints(kind):
            if name in value or name in kind.__required_keys__:
                yield value.get(name), of, f"{place}.{name}"
    elif is_dataclass(value) and not isinstance(value, type):
        for name, of in _members(type(value)):
            yield getattr(value, name), of, f"{place}.{name}"
    elif isinstance(value, Mapping) and parts:
        for number, pair in enumerate(value.items()):
            yield from ((one, of, f"{place}[{number}]") for one, of in zip(pair, parts, strict=True))
    elif isinstance(value, list | tuple) and parts:
        for number, one in enumerate(value):
            yield one, parts[0], f"{place}[{number}]"


@cache
def _members(kind: Any) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple((one.name, hints[one.name]) for one in fields(kind))


@cache
def _hints(kind: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(get_type_hints(kind).items())
