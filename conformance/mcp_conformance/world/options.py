"""The options for the members of a tool: what each refusal hints at, what fits, and what is made up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from mcp_conformance.client.tool_call import Tool
from mcp_conformance.generation import NoExample, example
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.world.filling import Filling
from mcp_conformance.world.fitting import MAX_FITS, anything_for, fitting, is_file, wants_file, wants_path
from mcp_conformance.world.formats import values_of_name
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.made_up import NEW_FILES, another, statements
from mcp_conformance.world.members import Member, words_of
from mcp_conformance.world.things import PRODUCING, is_name
from mcp_conformance.world.words import KINDS, endings_of
from mcp_conformance.world.worked import Path
from mcp_conformance.world.world import World

RULED = ("enum", "const", "pattern", "format")
CONTENTS = frozenset({"content", "text", "data", "body", "string", "input", "source", *KINDS})
"""The last words of members that take the content of a file, if it is said of which kind."""
MADE_UP = Origin("made up")


class Options:
    """The values that may go into the members of one tool; ``leaves`` are the members that are no objects.

    ``spares`` are values, as JSON texts, of things that a tool that deletes may take.
    """

    def __init__(self, tool: Tool, world: World, filling: Filling, leaves: Mapping[Path, Member]):
        self.tool, self.world, self.filling, self.leaves = tool, world, filling, leaves
        described = tool.definition.get("description")
        self._described = described.json if described is not None and described.is_a(str) else ""
        self._about = f"{tool.name} {self._described}"
        self._verbs = frozenset() if tool.read_only else frozenset(words_of(tool.name))
        self.spares: set[bytes] = set()
        self._originals: dict[str, Any] = {}
        self._found: dict[tuple[Any, ...], list[Known]] = {}

    def of(self, path: Path, hints: Sequence[Known], *, is_needed: bool) -> list[Known]:
        """Return the values for a member, the likeliest first; one that is needed gets one in any case."""
        key = (path, self.world.version, encode([one.value for one in hints]), is_needed)
        if key not in self._found:
            found = _different(self._all(self.leaves[path], hints, is_needed=is_needed))
            self._found[key] = [one for one, _ in zip(found, range(MAX_FITS), strict=False)]
        return self._found[key]

    def anything(self, path: Path) -> list[Known]:
        """Return values for a member that nothing fits by its name."""
        member = self.leaves[path]
        key = (path, self.world.version)
        if key not in self._found:
            known = self.world.store.permitted(self.tool)
            own = [one for one in known if one.value == self.world.ownership.text]
            some = anything_for(member, known, lambda value: self.filling.fits(member, value))
            own = [one for one in own if self.filling.fits(member, one.value)]
            self._found[key] = list(_different([*own, *some]))
        return self._found[key]

    def trust_in(self, path: Path, one: Known) -> int:
        """Return in how many tools a value, or the original of a copy, has worked for a member so named."""
        original = self._originals.get(str(one.value), one.value)
        return self.world.worked.times(self.leaves[path], original)

    def _all(self, member: Member, hints: Sequence[Known], *, is_needed: bool) -> Iterator[Known]:
        hints = [one for one in hints if self.filling.fits(member, one.value)]
        fits = self._as_copies(member, self.world.fits(self.tool, member, self.filling))
        hints = self._as_copies(member, hints)
        found = [*self._spares_for(member), *self.world.store.permitted(self.tool, hints), *fits]
        before = list(self._made_first(member, found))
        yield from self._known(member, before)
        strong = [one for one in found if one.rank or one.owner is not Owner.WORD]
        yield from strong
        yield from self._known(member, values_of_name(member.name) if self._is_free(member) else ())
        if not (strong or before):
            # The plainest value of a member is in each call: an answer that has a 1 does not bar it.
            yield from self._known(member, self._made_last(member, is_needed=is_needed), is_plain=True)
        yield from found

    def _as_copies(self, member: Member, some: Sequence[Known]) -> list[Known]:
        """Return values with a copy in place of each file of ours, if the tool may change it."""
        folder, name = self.world.folder, self.world.copy_name(self.tool)
        if folder is None or self.tool.read_only or not wants_file(member):
            return list(some)
        copied = []
        for one in some:
            copy = folder.copy_of(str(one.value), name)
            if copy:
                self._originals[copy] = one.value
                copied.append(replace(one, value=copy))
            elif not self.world.is_copy_of_another(one.value, self.tool):
                copied.append(one)
        return copied

    def _spares_for(self, member: Member) -> list[Known]:
        """Return the values of things that the tool may delete which fit a member by its name."""
        if not self.spares:
            return []
        known = [one for one in self.world.store.permitted(self.tool) if encode(one.value) in self.spares]
        return fitting(member, known, (), lambda value: self.filling.fits(member, value))

    def _made_first(self, member: Member, found: Sequence[Known]) -> Iterator[Any]:
        """Yield made-up values to try before those that fit."""
        text, folder = self.world.ownership.text, self.world.folder
        wants_one = wants_file(member) and folder is not None
        for ending in endings_of(member, self.tool.name, self._described) if wants_one else ():
            path = folder.by_ending(ending) if folder else None
            copy = folder.copy_of(str(path), self.world.copy_name(self.tool)) if folder and path else ""
            yield copy if copy and not self.tool.read_only else str(path) if path is not None else None
        if self._is_free(member) and set(words_of(member.name)[-1:]) & CONTENTS and folder is not None:
            endings = endings_of(member, self.tool.name, self._described)
            yield from (folder.text(ending, text) for ending in endings)
        about, may_write = f"{self._about} {member.description}", not self.tool.read_only
        yield from statements(member, about, text, may_write=may_write)
        if wants_path(member) and self._verbs & NEW_FILES:
            paths = [one for one in self.leaves.values() if wants_path(one)]
            yield from (
                another(one.value, text) for one in found[:1] if len(paths) == 1 and is_file(one.value)
            )
        if self._is_free(member) and self._verbs & PRODUCING and is_name(member):
            yield text

    def _made_last(self, member: Member, *, is_needed: bool) -> Iterator[Any]:
        """Yield made-up values for a member of which nothing is known."""
        if not self.tool.read_only and self._is_free(member):
            yield self.world.ownership.text
        elif is_needed:
            root = self.tool.input_schema
            kept = {key: root[key] for key in ("$defs", "definitions", "$schema") if key in root}
            schema = {**kept, "type": "object", "properties": {"it": member.schema}, "required": ["it"]}
            with suppress(NoExample):
                yield example(schema, self.filling.revision)["it"]

    def _is_free(self, member: Member) -> bool:
        return "string" in member.types and not any(key in part for part in member.parts for key in RULED)

    def _known(self, member: Member, made: Iterable[Any], *, is_plain: bool = False) -> Iterator[Known]:
        ownership = self.world.ownership
        for value in made:
            if value is not None and self.filling.fits(member, value):
                known = Known(value, (), MADE_UP, ownership.owner_of_new(value, Owner.WORD))
                yield from [known] if is_plain else self.world.store.permitted(self.tool, [known])


def _different(some: Iterable[Known]) -> Iterator[Known]:
    seen: set[bytes] = set()
    for one in some:
        if (key := encode(one.value)) not in seen:
            seen.add(key)
            yield one
