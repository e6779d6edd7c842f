"""The nearest call: of the calls of a tool that all failed, the one that came nearest to success."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import astuple, dataclass
from typing import Any, Self

from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.world.filling import put
from mcp_conformance.world.fitting import wants_path
from mcp_conformance.world.members import Member, members_of
from mcp_conformance.world.refusals import clues
from mcp_conformance.world.wording import MARK, kind_of_refusal, said
from mcp_conformance.world.worked import values_at
from mcp_conformance.world.world import World

MAX_KEPT = 2000
"""How many characters of the answer are kept, and of the arguments at most: others are no example."""
ACCOUNT = re.compile(
    r"\bcredentials?\b|\bapi[ _-]?key\b|\b(?:access|auth) token\b|\bauthentication (?:failed|required)\b"
    r"|\bunauthori[sz]ed\b|\bnot logged in\b",
    re.IGNORECASE,
)
AN_ACCOUNT = "an account, or a credential for it"
"""What a call lacks whose answer says so in such words."""


@dataclass(frozen=True)
class Nearest:
    """The call that came nearest to success.

    A result comes nearer than a tool error, and that nearer than a protocol error; of two alike, the one with
    more paths of this run and values that worked for other tools, then the one with a newer refusal:
    ``rank``.  ``arguments`` are a JSON text, ``answer`` is what the call got, and ``lacks`` says what seems
    to be missing, as far as the answer says so.  ``form`` is the JSON text of arguments for the user to fill
    in (`form_of`), empty if there is nothing to fill in.
    """

    rank: tuple[int, ...]
    arguments: str
    answer: str
    lacks: str
    form: str

    @property
    def order(self) -> tuple[bool, tuple[int, ...]]:
        """What is the greater, the more it helps a user to see this call."""
        return bool(self.form), self.rank

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
    lacks = "; ".join([AN_ACCOUNT] if ACCOUNT.search(text) else _lacks(names, members, missing, endings))
    wanted = {**dict.fromkeys(members[:1], ""), **call.arguments}
    form = form_of(wanted, call.tool, lambda one, value: bool(world.worked.times(one, value)))
    written = json.dumps(shown(form), ensure_ascii=False) if form is not None else ""
    return Nearest(rank, arguments, shown(text)[:MAX_KEPT], lacks, written)


def form_of(
    arguments: Mapping[str, Any], tool: Tool, works: Callable[[Member, Any], bool] = lambda *_: False
) -> dict[str, Any] | None:
    """Return arguments with ``<name>`` in place of each value that a user has to give; None if there is none.

    Values that a member lists stay, and those that work: for its like in another call.
    """
    form, has_blanks = deepcopy(dict(arguments)), False
    for member in members_of(tool.input_schema):
        is_listed = any(key in part for part in member.parts for key in ("enum", "const"))
        for value in values_at(arguments, member.path)[:1]:
            is_meant = isinstance(value, str | int | float) and not isinstance(value, bool)
            if is_meant and not is_listed and not works(member, value):
                has_blanks |= put(form, member.path, f"<{member.name}>")
    return form if has_blanks else None


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
