"""The rules that lines alone show, of either side: each is a function of the conversation and a message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_conformance.protocol.jsonrpc import Line
from mcp_conformance.protocol.revisions import KNOWN
from mcp_conformance.tap.conversation import Conversation

See = Callable[[Conversation, Line, Any], Iterator[str]]
"""Yields what is wrong with a message, before the conversation takes it into account."""
RULES: dict[str, list[Rule]] = {"client": [], "server": []}
"""The rules of each side, in the order of their modules."""


@dataclass(frozen=True)
class Rule:
    """A demand on one side: what it ``says``, and how binding it is in each revision that has it.

    One of a ``whole`` conversation is judged only where `Conversation.is_whole`.
    """

    id: str
    says: str
    levels: Mapping[str, str]
    where: str
    see: See
    whole: bool = False

    def level(self, revision: str) -> str:
        """Return MUST or SHOULD; empty for a revision without the rule.

        Before one is named, the newest that has the rule counts.
        """
        return self.levels.get(revision, "") if revision else list(self.levels.values())[-1]


def rule(  # noqa: PLR0913
    side: str,
    id: str,
    level: str,
    where: str,
    *,
    since: str = KNOWN[0],
    until: str = KNOWN[-1],
    whole: bool = False,
) -> Callable[[See], See]:
    """Add a function to the rules of a side; the first line of its docstring is what the rule says.

    ``where`` is a page of the specification, ``since`` and ``until`` the first and last revision that has it.
    """

    def add(see: See) -> See:
        says = (see.__doc__ or "").partition("\n")[0]
        levels = {revision: level for revision in KNOWN if since <= revision <= until}
        RULES[side].append(Rule(id, says, levels, where, see, whole))
        return see

    return add
