"""The nearest call: of the calls of a tool that all failed, the one that came nearest to success."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import astuple, dataclass
from typing import Any, Self

from mcp_conformance.client.tool_call import Call
from mcp_conformance.world.fitting import wants_path
from mcp_conformance.world.members import members_of
from mcp_conformance.world.refusals import clues
from mcp_conformance.world.wording import MARK, kind_of_refusal, said
from mcp_conformance.world.worked import values_at
from mcp_conformance.world.world import World

MAX_KEPT = 2000
"""How many characters of the answer are kept, and of the arguments at most: others are no example."""


@dataclass(frozen=True)
class Nearest:
    """The call that came nearest to success.

    A result comes nearer than a tool error, and that nearer than a protocol error; of two alike, the one with
    more paths of this run and values that worked for other tools, then the one with a newer refusal:
    ``rank``.  ``arguments`` are a JSON text, ``answer`` is what the call got, and ``lacks`` says what seems
    to be missing, as far as the answer says so.
    """

    rank: tuple[int, ...]
    arguments: str
    answer: str
    lacks: str

    @property
    def has_arguments(self) -> bool:
        """Whether there are arguments, which a user may give otherwise."""
        return self.arguments != "{}"

    @property
    def order(self) -> tuple[bool, tuple[int, ...]]:
        """What is the greater, the more it helps a user to see this call."""
        return self.has_arguments, self.rank

    def as_data(self) -> list[Any]:
        """Return it as an xdist worker can send it."""
        return list(astuple(self))

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> Self:
        """Return what `as_data` wrote."""
        rank, *texts = data
        return cls(tuple(rank), *texts)


def rank_of(call: Call, world: World, kinds: dict[str, int]) -> tuple[int, ...]:
    """Return how near a failed call came; ``kinds`` are the refusals of the tool so far, which it adds to."""
    members = members_of(call.tool.input_schema)
    pairs = [(one, value) for one in members for value in values_at(call.arguments, one.path)]
    trusted = sum(
        (wants_path(member) and world.ownership.ours.is_made(value))
        or bool(world.worked.times(member, value))
        for member, value in pairs
        if isinstance(value, str | int | float)
    )
    # A value of ours and a number say the same of it.
    said_so = kind_of_refusal(call.reply, call.arguments).replace(MARK, "0")
    kind = kinds.setdefault(said_so, len(kinds))
    return int(not call.failed), int(call.reply.error is None), trusted, kind


def nearest_of(call: Call, rank: tuple[int, ...], world: World) -> Nearest | None:
    """Return what is kept of a failed call; None if it got no answer, or its arguments are too long.

    The folder of the run has its placeholder.
    """
    shown = world.folder.shown if world.folder is not None else copy
    arguments = json.dumps(shown(call.arguments), ensure_ascii=False)
    if call.reply.fault is not None or len(arguments) > MAX_KEPT:
        return None
    text, data = said(call.reply)
    found = clues(text, call.arguments, call.tool.input_schema, data, world.names - {call.tool.name})
    names = {name for one in found for name in one.first}
    members = [name for one in found for name in one.needs if name not in call.arguments]
    missing = [one.member for one in found if one.is_missing]
    endings = [one.ending for one in found if one.ending]
    return Nearest(
        rank, arguments, shown(text)[:MAX_KEPT], "; ".join(_lacks(names, members, missing, endings))
    )


def _lacks(
    tools: Collection[str], members: Sequence[str], missing: Sequence[str], endings: Sequence[str]
) -> Iterator[str]:
    if members:
        yield f"the member `{members[0]}`"
    if endings:
        yield f"a file that ends in {endings[0]}"
    elif missing:
        yield f"what `{missing[0]}` names" if missing[0] else "something that exists"
    if tools:
        yield f"a call of {', '.join(sorted(tools)[:3])} first"
