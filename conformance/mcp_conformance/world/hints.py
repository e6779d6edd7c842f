"""Hints: the values that a clue of a refusal suggests for the member that it speaks of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.world.clue import Clue
from mcp_conformance.world.fitting import is_base64
from mcp_conformance.world.folder import Folder
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.made_up import NEW_FILES, another, in_form
from mcp_conformance.world.members import Member, words_of
from mcp_conformance.world.world import World

RANK = 3
"""A refusal is about this member of this tool: only what worked elsewhere is better."""
PLAIN_OF_TYPE = {"integer": 1, "number": 1.5, "boolean": True, "string": "example"}


def hinted(clue: Clue, sent: Any, member: Member, tool: Tool, world: World) -> Iterator[Known]:
    """Yield the values that a clue suggests for a member in place of the one ``sent``, the likeliest first.

    Paths are found in the furnished folder, if there is one.
    """
    origin, keys, ownership = Origin("a refusal of", tool.name), (member.name,), world.ownership
    for value in clue.values:
        yield Known(value, keys, origin, ownership.owner_of(value, clue.owner), RANK)
    if clue.ending and is_base64(member):
        packed = world.folder.packed(clue.ending) if world.folder is not None else ""
        if packed:
            yield Known(packed, keys, origin, Owner.MADE, RANK)
        return
    for value in _made_for(clue, sent, member, tool, world):
        if value is not None and value != sent:
            yield Known(value, keys, origin, ownership.owner_of_new(value, Owner.FOUND), RANK)
    if clue.inside:
        yield Known(clue.inside, (*keys, "path"), origin, ownership.owner_of(clue.inside), RANK)


def _made_for(clue: Clue, sent: Any, member: Member, tool: Tool, world: World) -> Iterator[Any]:
    """Yield values of our own that do what a clue asks for."""
    text, folder = world.ownership.text, world.folder
    if clue.is_taken:
        yield another(sent, text)
    if folder is not None and isinstance(sent, str):
        yield from _paths(clue, sent, text, folder, is_new=bool(set(words_of(tool.name)) & NEW_FILES))
    elif clue.ending:
        yield f"{text}{clue.ending}"
    if member.types & {"integer", "number"} and (clue.low is not None or clue.high is not None):
        yield from _numbers(clue.low, clue.high)
    if clue.type in PLAIN_OF_TYPE:
        yield PLAIN_OF_TYPE[clue.type]
    if clue.pattern:
        yield in_form(clue.pattern)


def _paths(clue: Clue, sent: str, text: str, folder: Folder, *, is_new: bool) -> Iterator[str]:
    """Yield paths in our folder: an existing one, then one for a new file if a tool may write one."""
    if clue.ending:
        found = folder.by_ending(clue.ending)
        if found is not None:
            yield str(found)
        if is_new:
            yield str(folder.root / f"{text}{clue.ending}")
    elif clue.kind == "directory":
        yield str(folder.root)
    elif clue.is_absolute:
        yield str(folder.like(sent, must_exist=True))
        if is_new:
            yield str(folder.like(sent, must_exist=False))


def _numbers(low: float | None, high: float | None) -> Iterator[float]:
    """Yield the number nearest to 1 within bounds, whole if it can be, then the bounds."""
    least, most = -float("inf") if low is None else low, float("inf") if high is None else high
    for number in (min(max(1, least), most), least, most):
        if abs(number) != float("inf"):
            yield int(number) if float(number).is_integer() else number
