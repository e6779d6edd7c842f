"""Kinds: what tools do to things, as their behaviour shows."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.state.links import Count, Doing, Effect, Link, Thing
from mcp_conformance.world.members import words_of
from mcp_conformance.world.ownership import is_deleting
from mcp_conformance.world.things import VERBS, things_of

DELETING = frozenset({"delete", "destroy", "erase", "purge", "drop", "remove", "unlink", "wipe"})
"""Words in the names of tools after which a thing is gone for good: others archive it."""


READING = frozenset(
    {
        *(
            "get",
            "list",
            "read",
            "show",
            "find",
            "search",
            "describe",
            "view",
            "fetch",
            "query",
            "lookup",
            "ls",
        ),
        *("open", "count", "stat", "info", "tree", "directory", "export", "status", "summary", "inspect"),
    }
)
"""Words in the names of tools that are looked into first; whether they show something is seen."""
WRITING = VERBS & {"create", "add", "new", "make", "set", "put", "insert", "write", "delete", "remove"}
WRITING |= VERBS & {"update", "edit", "rename", "move", "copy", "clear", "import"}


class Kind(StrEnum):
    """What a tool does, by what lists and reads show before and after it."""

    CREATES = "creates"
    READS = "reads"
    CHANGES = "changes"
    DELETES = "deletes"
    COUNTS = "counts"


def kinds_of(things: Iterable[Thing], counts: Iterable[Count] = ()) -> dict[str, set[Kind]]:
    """Return what each tool does, by its name; a tool that was seen to do nothing is left out."""
    found: dict[str, set[Kind]] = {}
    for thing in things:
        found.setdefault(thing.maker.name, set()).add(Kind.CREATES if thing.lasts else Kind.CHANGES)
        for link in thing.links:
            found.setdefault(link.tool, set()).add(Kind.READS)
        for effect in thing.effects:
            if effect.doing is not Doing.TAKES:
                found.setdefault(effect.tool, set()).add(Kind(effect.doing.value))
    for one in counts:
        found.setdefault(one.tool, set()).add(Kind.COUNTS)
    return found


def is_deletion(effect: Effect) -> bool:
    """Return whether a tool deletes a thing for good, by its name too."""
    return effect.doing is Doing.DELETES and bool(set(words_of(effect.tool)) & DELETING)


def is_list_of(link: Link) -> bool:
    """Return whether a link lists what there is of what its maker makes, by the names too: no log does."""
    return link.is_list and bool(link.shows) and bool(things_of(link.tool) & things_of(link.maker))


def may_read(tool: Tool) -> bool:
    """Return whether a tool is looked into for what others make: it says that it reads, or is named so."""
    words = set(words_of(tool.name))
    return tool.read_only or bool(words & READING and not words & WRITING and not is_deleting(tool))
