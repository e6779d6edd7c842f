"""Links: which tool shows, changes and takes away what another one has made, and in how many trials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.protocol.text import named
from mcp_conformance.state.numbers import Spot
from mcp_conformance.state.tokens import Form, Token
from mcp_conformance.world.answers import values_of
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.ours import Ours
from mcp_conformance.world.worked import Path, values_at

TRIALS = 3
"""How often something is seen, with fresh values, before it is concluded."""


class Source(StrEnum):
    """Where a value stands by which other tools name what a call has made."""

    SENT = "its arguments"
    ANSWERED = "its answer"


@dataclass(frozen=True)
class Handle:
    """The place of a value that names what a call has made: a member of arguments, or keys in an answer."""

    source: Source
    path: Path

    def __str__(self) -> str:
        names = [one for one in self.path if one != "*"]
        name = names[-1] if self.source is Source.SENT else names[0]
        return f"`{named(name, 40)}` in {self.source}"


@dataclass(frozen=True, eq=False)
class Workable:
    """A tool, and arguments with which it works; ``known`` are the known values in them, by path."""

    tool: Tool
    arguments: Mapping[str, Any]
    known: Mapping[Path, Known] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.tool.name


@dataclass(frozen=True, eq=False)
class Maker:
    """A tool that makes a thing at each call: at these ``paths`` of its arguments it gets tokens."""

    workable: Workable
    paths: tuple[Path, ...]

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.workable.name


@dataclass(frozen=True, eq=False)
class Made:
    """What a call of a maker has made: the tokens that it got, by path, and the call."""

    maker: Maker
    tokens: Mapping[Path, Token]
    call: Call

    def handles(self, ours: Ours) -> Iterator[tuple[Handle, Known]]:
        """Yield the values that may name it: those that this run has sent, and those in the answer."""
        origin = Origin("arguments of", self.maker.name)
        for path, token in self.tokens.items():
            names = tuple(step for step in reversed(path) if step != "*")
            yield Handle(Source.SENT, path), Known(token.value, names, origin, Owner.MADE, 4)
        seen = set()
        found = values_of(
            self.call.reply.result, self.maker.name, self.call.arguments, ours=ours, creates=True
        )
        for one in found:
            if one.keys not in seen and not isinstance(one.value, bool | float):
                seen.add(one.keys)
                yield Handle(Source.ANSWERED, one.keys), one

    def value(self, handle: Handle, ours: Ours) -> Any:
        """Return the value at a handle; None if this answer has none."""
        if handle.source is Source.SENT:
            return next(iter(values_at(self.call.arguments, handle.path)), None)
        return next((one.value for each, one in self.handles(ours) if each == handle), None)


@dataclass(frozen=True, eq=False)
class Link:
    """A tool that shows what another one has made, if it is there.

    It is called with ``reader``'s arguments; at ``member`` they have the value at the ``handle``, if it needs
    one.  It shows the tokens at the paths ``shows`` of the maker's arguments, in these forms; one that shows
    none succeeds with what was made, and with nothing else.  It was ``seen`` so often in so many trials.
    """

    maker: str
    reader: Workable
    handle: Handle | None = None
    member: Path = ()
    shows: Mapping[Path, Form] = field(default_factory=dict)
    seen: int = 0
    trials: int = 0

    @property
    def tool(self) -> str:
        """The name of the tool that reads."""
        return self.reader.name

    @property
    def is_list(self) -> bool:
        """Whether it shows all that there is, and needs no name of it."""
        return self.handle is None

    def __str__(self) -> str:
        by = f" (found by {self.handle})" if self.handle is not None else ""
        times = f"seen in {self.seen} of {self.trials}"
        return f"`{named(self.maker, 40)}` makes what `{named(self.tool, 40)}` reads{by}: {times}"


@dataclass(frozen=True, eq=False)
class Count:
    """A tool that shows, at a ``spot``, a number that moves by the same ``step`` with each call of a maker.

    It is called with ``reader``'s arguments.
    """

    maker: str
    reader: Workable
    spot: Spot
    step: float
    seen: int = 0
    trials: int = 0

    @property
    def tool(self) -> str:
        """The name of the tool that reads."""
        return self.reader.name

    @property
    def by(self) -> str:
        """The number and how it moves."""
        return f"{self.spot} {self.step:+g}"

    def __str__(self) -> str:
        what = f"`{named(self.tool, 40)}` counts what `{named(self.maker, 40)}` makes"
        return f"{what} ({self.by}): seen in {self.seen} of {self.trials}"


class Doing(StrEnum):
    """What a tool does to a thing that another one has made; if it only takes it, nothing shows what."""

    DELETES = "deletes"
    CHANGES = "changes"
    COUNTS = "counts"
    TAKES = "takes"


@dataclass(frozen=True, eq=False)
class Effect:
    """A tool that deletes or changes what another one has made, named at ``member`` by the ``handle``.

    ``links`` are those through which that was seen; at ``paths`` of its arguments it gets tokens, which
    they then show.  One that counts moves a number, which the link shows at a ``spot``, by the same ``step``
    each time; looking at it moves it by ``drift``, as a rule by nothing.
    """

    maker: str
    writer: Workable
    handle: Handle
    member: Path
    doing: Doing
    links: tuple[Link, ...]
    paths: tuple[Path, ...] = ()
    spot: Spot | None = None
    step: float = 0
    drift: float = 0
    seen: int = 0
    trials: int = 0

    @property
    def tool(self) -> str:
        """The name of the tool that writes."""
        return self.writer.name

    @property
    def by(self) -> str:
        """The number that it moves, and how; empty if it moves none."""
        return "" if self.spot is None else f"{self.spot} {self.step:+g}"

    def __str__(self) -> str:
        readers = ", ".join(f"`{named(one.tool, 40)}`" for one in self.links)
        made = "it makes" if self.tool == self.maker else f"`{named(self.maker, 40)}` makes"
        shown = f"as {readers} {'shows' if len(self.links) == 1 else 'show'}"
        how = f" ({self.by})" if self.by else ""
        what = f"`{named(self.tool, 40)}` {self.doing} what {made}, {shown}{how}"
        return f"{what}: seen in {self.seen} of {self.trials}"


@dataclass(frozen=True, eq=False)
class Thing:
    """What a maker makes: the tools that show it, and those that delete and change it.

    It ``lasts`` if it is shown after the maker has made others; else each replaces the one before.
    """

    maker: Maker
    links: tuple[Link, ...]
    effects: tuple[Effect, ...] = ()
    lasts: bool = True

    @property
    def lists(self) -> tuple[Link, ...]:
        """The links of tools that list it."""
        return tuple(one for one in self.links if one.is_list)

    @property
    def reads(self) -> tuple[Link, ...]:
        """The links of tools that need its name."""
        return tuple(one for one in self.links if not one.is_list)

    def doing(self, doing: Doing) -> tuple[Effect, ...]:
        """Return the effects of one kind."""
        return tuple(one for one in self.effects if one.doing is doing)
