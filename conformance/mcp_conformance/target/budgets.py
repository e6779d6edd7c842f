"""Budgets: what is measured in a run, and the limits that the user sets on it (``--budget``)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mcp_conformance.client.reply import Reply
from mcp_conformance.protocol.jsonrpc import compact_size
from mcp_conformance.protocol.text import did_you_mean, named
from mcp_conformance.target.surface import Surface

UNITS = {"count": {"": 1.0}, "size": {"MB": 1e6, "kB": 1e3, "B": 1.0}, "time": {"s": 1.0, "ms": 0.001}}
"""The units of each kind of figure, the largest first; figures are kept in bytes and seconds."""
FIGURES = {
    "start": "time",
    "tools.count": "count",
    "tools.bytes": "size",
    "call.p95": "time",
    "result.bytes": "size",
}
"""The figures that are measured, and their kinds."""
EXAMPLES = {"count": "40", "size": "20kB", "time": "500ms"}
LIMIT = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)", re.ASCII)
PERCENTILE = 0.95


class BadBudget(ValueError):  # noqa: N818  (an error of the user, in one line)
    """A text that sets no budget, and why."""


@dataclass(frozen=True)
class CallCost:
    """One answered call with valid arguments: the seconds that it took, and the bytes of its result."""

    seconds: float
    size: int

    @classmethod
    def of(cls, reply: Reply) -> CallCost:
        """Return what an answered call cost."""
        return cls(reply.seconds, compact_size(reply.value.json if reply.value is not None else None))


def read_budgets(texts: Iterable[str]) -> dict[str, float]:
    """Return the limit of each figure, in bytes and seconds; of several the last.  Raises `BadBudget`."""
    return dict(_budget(text.strip()) for text in texts)


def _budget(text: str) -> tuple[str, float]:
    name, _, limit = (part.strip() for part in text.partition("="))
    if name not in FIGURES:
        raise BadBudget(f"no figure {named(name)!r} is measured{_near(name, FIGURES)}")
    units = UNITS[FIGURES[name]]
    found = LIMIT.fullmatch(limit)
    if found is None:
        raise BadBudget(
            f"{name} takes a limit such as {name}={EXAMPLES[FIGURES[name]]}, not {named(limit)!r}"
        )
    if found[2] not in units:
        wanted = f"its unit is {' or '.join(units)}" if "" not in units else "it has no unit"
        raise BadBudget(f"{name}: {wanted}, not {named(found[2])!r}{_near_unit(found[2], units)}")
    return name, float(found[1]) * units[found[2]]


def _near(name: str, known: Iterable[str]) -> str:
    return did_you_mean(name, known) or f"; these are: {', '.join(known)}"


def _near_unit(unit: str, units: Iterable[str]) -> str:
    near = next((one for one in units if unit and one.lower() == unit.lower()), "")
    return f"; did you mean {near}?" if near else ""


def written(name: str, amount: float) -> str:
    """Return an amount of a figure with its unit: ``1.2 kB``, ``812 ms``."""
    units = UNITS[FIGURES[name]]
    unit = next((one for one, worth in units.items() if amount >= worth), list(units)[-1])
    return f"{amount / units[unit]:.4g} {unit}".strip()


def measured(surface: Surface, costs: Sequence[CallCost]) -> Mapping[str, float]:
    """Return the figures of a revision, in bytes and seconds, without those that could not be measured."""
    found: dict[str, float] = {}
    if surface.start_seconds is not None:
        found["start"] = surface.start_seconds
    if surface.declares("tools") and not surface.failures:
        found["tools.count"] = float(len(surface.tools) + surface.left_out)
        found["tools.bytes"] = float(surface.tools_bytes)
    if costs:
        seconds = sorted(one.seconds for one in costs)
        found["call.p95"] = seconds[math.ceil(PERCENTILE * len(seconds)) - 1]
        found["result.bytes"] = float(max(one.size for one in costs))
    return found
