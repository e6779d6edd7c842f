"""Hints: the values that a clue of a refusal suggests for the member that it speaks of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcp_conformance.world.clue import Clue
from mcp_conformance.world.folder import Folder
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.made_up import another, in_form
from mcp_conformance.world.ownership import Ownership

RANK = 3
"""A refusal is about this member of this tool: only what worked elsewhere is better."""
PLAIN_OF_TYPE = {"integer": 1, "number": 1.5, "boolean": True, "string": "example"}


def hinted(clue: Clue, sent: Any, tool: str, ownership: Ownership, folder: Folder | None) -> Iterator[Known]:
    """Yield the values that a clue suggests in place of the one ``sent``, the likeliest first.

    Paths are found in the furnished ``folder``, if there is one.
    """
    origin, keys = Origin("a refusal of", tool), (clue.member,) if clue.member else ()
    for value in clue.values:
        yield Known(value, keys, origin, ownership.owner_of(value, clue.owner), RANK)
    for value in _made_for(clue, sent, ownership, folder):
        if value is not None and value != sent:
            yield Known(value, keys, origin, ownership.owner_of_new(value, Owner.FOUND), RANK)
    if clue.inside:
        yield Known(clue.inside, (*keys, "path"), origin, ownership.owner_of(clue.inside), RANK)


def _made_for(clue: Clue, sent: Any, ownership: Ownership, folder: Folder | None) -> Iterator[Any]:
    """Yield values of our own that do what a clue asks for."""
    if clue.is_taken:
        yield another(sent, ownership.text)
    if folder is not None and isinstance(sent, str):
        yield from _paths(clue, sent, ownership.text, folder)
    elif clue.ending:
        yield f"{ownership.text}{clue.ending}"
    if clue.low is not None or clue.high is not None:
        yield from _numbers(clue.low, clue.high)
    if clue.type in PLAIN_OF_TYPE:
        yield PLAIN_OF_TYPE[clue.type]
    if clue.pattern:
        yield in_form(clue.pattern)


def _paths(clue: Clue, sent: str, text: str, folder: Folder) -> Iterator[str]:
    """Yield paths in our folder: an existing one, then one for a new file."""
    if clue.ending:
        found = folder.by_ending(clue.ending)
        if found is not None:
            yield str(found)
        yield str(folder.root / f"{text}{clue.ending}")
    elif clue.is_absolute:
        yield str(folder.like(sent, must_exist=True))
        yield str(folder.like(sent, must_exist=False))


def _numbers(low: float | None, high: float | None) -> Iterator[float]:
    """Yield the number nearest to 1 within bounds, whole if it can be, then the bounds."""
    least, most = -float("inf") if low is None else low, float("inf") if high is None else high
    for number in (min(max(1, least), most), least, most):
        if abs(number) != float("inf"):
            yield int(number) if float(number).is_integer() else number
