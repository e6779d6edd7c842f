"""Violations: what a scene shows that does not hold, and what it was inferred from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_conformance.client.tool_call import Call
from mcp_conformance.protocol.text import named, shorten
from mcp_conformance.state.links import Effect, Link

MAX_ANSWER = 200


@dataclass(frozen=True, eq=False)
class Violation:
    """Something that does not hold of a tool: what was expected and what came.

    ``inferred`` are the links that make it one; ``calls`` is the shortest sequence that shows it.  One that
    is not ``certain`` is only suspected: the scene has no control.  ``transcripts`` are the files with the
    conversation.
    """

    tool: str
    expected: str
    got: str
    inferred: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    certain: bool = True
    transcripts: tuple[Path, ...] = ()


def violation(
    tool: str, expected: str, got: str, inferred: Iterable[Link | Effect], calls: Iterable[Any]
) -> Violation:
    """Return a violation; its calls are given as such, or as what has one, and each counts once."""
    found = (one if isinstance(one, Call) else one.call for one in calls if one is not None)
    unique = {id(one): one for one in found}
    return Violation(tool, expected, got, tuple(map(str, inferred)), tuple(unique.values()))


def quoted(tool: str) -> str:
    """Return the name of a tool as findings write it."""
    return f"`{named(tool, 40)}`"


def answer(call: Call) -> str:
    """Return what a call was answered, shortened."""
    return shorten(str(call.reply), MAX_ANSWER)
