"""Scenarios: something is done to a server once, and several checks judge the same record of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import nullcontext
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from mcp_conformance.target.trail import Trail

Records = dict[Hashable, tuple[Any, Any]]
"""The records of a server: for each scenario with its arguments, these arguments and the record."""


class HasRecords(Protocol):
    """A server that keeps the records of its scenarios."""

    records: Records


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=HasRecords)
STARTED_EARLY: list[Callable[[Any], object]] = []
"""The scenarios that a run of all suites starts before its first check, in the order of their definition."""
STARTED_WITH_FUZZING: list[Callable[[Any], object]] = []
"""The scenarios that a run of all suites starts before its first check that fuzzes."""


def scenario(function: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Run the function once for each server and arguments; later calls return the same record.

    Arguments are distinguished by value, those without a hash by identity.  What the function raises is not
    kept.
    """

    @wraps(function)
    def once(server: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        given = (*args, *kwargs.items())
        key = (function, *map(_key, given))
        trail = getattr(server, "trail", None)
        with trail.using(key) if isinstance(trail, Trail) else nullcontext():
            if key not in server.records:
                server.records[key] = given, function(server, *args, **kwargs)
        record: R = server.records[key][1]
        return record

    return once


def start_early(function: Callable[[S], R]) -> Callable[[S], R]:
    """Start this scenario before the first check of a run of all suites, as it takes its time."""
    STARTED_EARLY.append(function)
    return function


def start_with_fuzzing(function: Callable[[S], R]) -> Callable[[S], R]:
    """Start this scenario before the first check that fuzzes, if all run, so that its waits overlap."""
    STARTED_WITH_FUZZING.append(function)
    return function


def _key(argument: object) -> Hashable:
    try:
        hash(argument)
    except TypeError:
        return id(argument)
    return argument
