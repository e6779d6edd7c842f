"""The world of a run: what is known of the server's values, and the arguments that worked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any

from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.world.answers import values_of
from mcp_conformance.world.filling import Filling, put
from mcp_conformance.world.fitting import MAX_FITS, fitting
from mcp_conformance.world.folder import Folder
from mcp_conformance.world.kept import Kept
from mcp_conformance.world.known import Known, KnownValues, Origin, Owner, is_worth_knowing
from mcp_conformance.world.members import Member, members_of, words_of
from mcp_conformance.world.ownership import Ownership
from mcp_conformance.world.worked import Path, Worked, Working, values_at

MADE_UP = ("arguments of", "made up")
"""The kinds of origins of values that nobody knew before a call had them."""


class World:
    """What a run knows of a server: values, arguments that worked, and what is whose.

    All values for a tool come from `values_for`, which is where the rule of ownership is kept.  ``folder`` is
    the furnished one, if the server works in one; ``kept`` has what earlier runs learned.  ``given_up`` are
    the names of tools that were explored in vain.
    """

    def __init__(self, ownership: Ownership, folder: Folder | None = None, kept: Kept | None = None):
        self.ownership, self.folder, self._kept = ownership, folder, kept
        self.worked = Worked()
        self.given_up: set[str] = set()
        self._spares: set[bytes] = set()
        self._values = KnownValues()
        self._members: dict[str, list[Member]] = {}
        self._fits: dict[tuple[Any, ...], list[Known]] = {}

    @property
    def version(self) -> tuple[int, int]:
        """A value that changes when something is learned."""
        return len(self._values), len(self.worked)

    def add(self, some: Iterable[Known]) -> None:
        """Add known values; what this run made is recognised among them."""
        for one in some:
            self._values.add(self._owned(one))

    def _members_of(self, tool: Tool) -> list[Member]:
        if tool.name not in self._members:
            self._members[tool.name] = members_of(tool.input_schema)
        return self._members[tool.name]

    def _owned(self, one: Known) -> Known:
        return replace(one, owner=self.ownership.owner_of(one.value, one.owner))

    def values_for(self, tool: Tool) -> list[Known]:
        """Return the known values that a tool may get."""
        return self.permitted(tool, self._values)

    def permitted(self, tool: Tool, some: Iterable[Known]) -> list[Known]:
        """Return those of some values that a tool may get; a value that was found stays so."""
        kept = ((self._values.get(one.value), one) for one in some)
        return [one for known, one in kept if self.ownership.permits(tool, known or one)]

    def fits(self, tool: Tool, member: Member, filling: Filling) -> list[Known]:
        """Return the values that fit a member of a tool's arguments, the likeliest first."""
        key = (tool.name, member.path, self.version)
        if key not in self._fits:
            worked = self.worked.values_for(member)
            known = self.values_for(tool)
            self._fits[key] = fitting(member, known, worked, lambda value: filling.fits(member, value))
        return self._fits[key]

    def spare_of(self, working: Working) -> Working | None:
        """Return arguments that make another thing of our own than these made; None if they made none."""
        text = self.ownership.text
        made = {
            path: replace(one, value=one.value.replace(text, f"{text}b"))
            for path, one in working.known.items()
            if one.origin.kind in MADE_UP and isinstance(one.value, str) and text in one.value
        }
        if not made:
            return None
        arguments = deepcopy(dict(working.arguments))
        for path, one in made.items():
            put(arguments, path, one.value)
        return replace(working, arguments=arguments, known={**working.known, **made})

    def learn_spare(self, call: Call, known: Mapping[Path, Known]) -> None:
        """Learn from a call that made a spare thing, which may be deleted."""
        before = {encode(one.value) for one in self._values}
        self.learn_success(call, known)
        self._spares |= {encode(one.value) for one in self._values} - before

    def spares_first(self, some: Iterable[Known]) -> list[Known]:
        """Return values in their order, those of spare things first."""
        return sorted(some, key=lambda one: encode(one.value) not in self._spares)

    def working(self, tool: Tool, revision: str) -> list[Mapping[str, Any]]:
        """Return the arguments with which a tool worked, the best first, that it allows in a revision."""
        filling = Filling(tool.input_schema, revision)
        return [one.arguments for one in self.worked[tool.name] if filling.allows(one.arguments)]

    @contextmanager
    def shared(self, tools: Sequence[Tool]) -> Iterator[None]:
        """Explore these tools while no other process explores them; keep what was learned."""
        if self._kept is None:
            yield
            return
        with self._kept.turn():
            self.recall(tools)
            yield
            for tool in tools:
                if works := self.worked[tool.name]:
                    self._kept.put(tool, works[0])
                elif tool.name in self.given_up:
                    self._kept.put(tool, None)
            self._kept.write()

    def recall(self, tools: Iterable[Tool]) -> None:
        """Learn what an earlier run has kept of tools; a tool gets only what it may get in this one."""
        if self._kept is None:
            return
        for tool in tools:
            if self.worked[tool.name]:
                continue
            if self._kept.is_futile(tool):
                self.given_up.add(tool.name)
            working = self._kept.working(tool)
            values = list(working.known.values()) if working is not None else []
            if working is not None and len(self.permitted(tool, values)) == len(values):
                self.add(values)
                self.worked.add(working, self._members_of(tool))

    def origins(self, tool: Tool, arguments: Any) -> tuple[str, ...]:
        """Return where the known values in arguments come from, each origin once; none if all are made up."""
        found: dict[str, None] = {}
        for member in self._members_of(tool):
            for value in values_at(arguments, member.path):
                known = self._values.get(value) if is_worth_knowing(value) else None
                if known is not None and known.origin.kind not in MADE_UP and _speaks(member, known):
                    found[str(known.origin)] = None
        return tuple(found)

    def known_of(self, tool: Tool, revision: str) -> tuple[dict[Path, list[Any]], list[Path]]:
        """Return known values for the members of a tool that worked with some, and the members it needs.

        A tool that only reads gets others that fit too; one that may write stays with those that worked.
        """
        filling = Filling(tool.input_schema, revision)
        values: dict[Path, list[Any]] = {}
        needed: dict[Path, None] = {}
        for working in self.worked[tool.name]:
            needed.update(dict.fromkeys(working.needed))
            for path, known in working.known.items():
                if known.origin.kind not in MADE_UP:
                    values.setdefault(path, []).append(known.value)
        if tool.read_only:
            for member in self._members_of(tool):
                if member.path in values:
                    fits = self.fits(tool, member, filling)
                    values[member.path] = [*values[member.path], *(one.value for one in fits)][:MAX_FITS]
        return values, list(needed)

    def learn_success(
        self, call: Call, known: Mapping[Path, Known], needed: Iterable[Path] = (), *, is_best: bool = False
    ) -> None:
        """Keep arguments that worked, their values and those of the answer."""
        tool = call.tool
        members = self._members_of(tool)
        working = Working(tool.name, call.arguments, known, tuple(needed))
        self.worked.add(working, members, is_best=is_best)
        for member in members:
            for value in values_at(call.arguments, member.path):
                used = known.get(member.path)
                owner = used.owner if used is not None else Owner.MADE
                origin = used.origin if used is not None else Origin("arguments of", tool.name)
                self.add([Known(value, member.names, origin, owner, 4)])
        ours = self.ownership.ours
        self._values.add_all(
            values_of(call.reply.result, tool.name, call.arguments, ours=ours, creates=not tool.read_only)
        )


def _speaks(member: Member, known: Known) -> bool:
    """Return whether a value is known rather than equal by chance, as small numbers are."""
    if isinstance(known.value, str) and len(known.value) > 2:
        return True
    return any(words_of(key) == words_of(member.name) for key in known.keys)
