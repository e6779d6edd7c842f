"""Uses: at which member of which tool a value stands that another tool has made, or answered with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from mcp_conformance.state.kinds import may_read
from mcp_conformance.state.learning import Learned
from mcp_conformance.state.links import Handle, Source, Thing, Workable
from mcp_conformance.world.members import members_of
from mcp_conformance.world.worked import Path


class UseKind(StrEnum):
    """What a tool does with what another one makes."""

    TAKES = "takes"
    SHOWS = "shows"
    CHANGES = "changes"
    DELETES = "deletes"
    COUNTS = "counts"


@dataclass(frozen=True)
class Use:
    """A tool that does something with what ``maker`` makes.

    What it means stands at ``member`` of its arguments: the value at the ``handle``.  It has neither if it
    needs no name.  That was ``seen`` in so many trials; in none if only its arguments say so.  ``number`` is
    the one that moves, if it counts, and by how much.
    """

    maker: str
    tool: str
    kind: UseKind
    handle: Handle | None = None
    member: Path = ()
    seen: int = 0
    trials: int = 0
    number: str = ""

    @property
    def by(self) -> str:
        """How the thing is named, and the number that moves."""
        return ", ".join(filter(None, (str(self.handle or ""), self.number)))


def uses_of(learned: Learned, tools: Iterable[Workable]) -> Iterator[Use]:
    """Yield the uses of what makers make, by all tools, in the order of the things.

    What a tool makes of another one's thing is left out: that tool changes it.  Then come the tools that
    take what others have answered with, though nothing shows that.
    """
    some, things = list(tools), learned.things
    changing = {one.tool for thing in things for one in thing.effects if one.tool != thing.maker.name}
    seen: set[tuple[str, str]] = set()
    for thing in things:
        if thing.maker.name not in changing or thing.lasts:
            for use in _seen(thing):
                seen.add((use.maker, use.tool))
                yield use
    for count in learned.counts:
        yield Use(count.maker, count.tool, UseKind.COUNTS, None, (), count.seen, count.trials, count.by)
    for maker in some:
        for tool in some if not may_read(maker.tool) else ():
            if tool is not maker and (maker.name, tool.name) not in seen:
                yield from _taken(maker, tool)


def _seen(thing: Thing) -> Iterator[Use]:
    maker = thing.maker.name
    for link in thing.links:
        yield Use(maker, link.tool, UseKind.SHOWS, link.handle, link.member, link.seen, link.trials)
    for one in thing.effects:
        kind = UseKind(one.doing.value)
        yield Use(maker, one.tool, kind, one.handle, one.member, one.seen, one.trials, one.by)


def _taken(maker: Workable, tool: Workable) -> Iterator[Use]:
    """Yield at which members a tool takes what another one has answered with, or was given."""
    for path, known in tool.known.items():
        if known.origin.of != maker.name:
            continue
        sent = [one.path for one in members_of(maker.tool.input_schema) if one.path[-1:] == known.keys[:1]]
        if not known.origin.kind.startswith("arguments"):
            yield Use(maker.name, tool.name, UseKind.TAKES, Handle(Source.ANSWERED, known.keys), path)
        elif sent:
            yield Use(maker.name, tool.name, UseKind.TAKES, Handle(Source.SENT, sent[0]), path)
