"""The limits that the user sets for single tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class ToolLimits:
    """What holds for the tools whose names match ``pattern``, in place of what holds for all.

    ``timeout`` is in seconds, ``examples`` how many values the fuzzer draws, ``calls`` how many it sends at
    most.  None leaves what holds for all.
    """

    pattern: str
    timeout: float | None = None
    examples: int | None = None
    calls: int | None = None


NO_LIMITS = ToolLimits("*")


def limits_of(name: str, each: Iterable[ToolLimits]) -> ToolLimits:
    """Return the limits of a tool: those under its own name, else the first whose pattern matches it."""
    matching = [one for one in each if one.pattern == name or fnmatchcase(name, one.pattern)]
    return next((one for one in matching if one.pattern == name), next(iter(matching), NO_LIMITS))
