"""The attempts to call one tool: which arguments to try next, by what its refusals have said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.world.filling import Filling, put
from mcp_conformance.world.known import Known
from mcp_conformance.world.made_up import rows_after
from mcp_conformance.world.members import ITEM, members_of, words_of
from mcp_conformance.world.options import Options
from mcp_conformance.world.ownership import is_deleting
from mcp_conformance.world.refused import Refused
from mcp_conformance.world.success import is_empty
from mcp_conformance.world.things import PRODUCING
from mcp_conformance.world.worked import Path, Working, values_at
from mcp_conformance.world.world import World

MAX_DEPTH = 3
"""How many of the best values of all members are tried together, beside changes of one member at a time."""
MAX_SIBLINGS = 3
"""How many calls of tools for the same thing are imitated: `set_note` for `delete_note`."""
MIN_DISTINCT = 2
"""Texts of so many characters are not given to two members at once: a refusal that quotes one blames both."""
SCALARS = frozenset({"string", "integer", "number", "boolean"})

Choice = dict[Path, Known]


@dataclass(frozen=True)
class Attempt:
    """Arguments to try; ``known`` are the known values in them, by path."""

    arguments: dict[str, Any]
    known: Mapping[Path, Known]


class Attempts:
    """The attempts to call one tool.

    ``refused`` is what its refusals have said, ``spares`` are the calls that made what it may delete.
    """

    def __init__(self, tool: Tool, revision: str, world: World):
        self.tool, self.world = tool, world
        self.members = members_of(tool.input_schema)
        self._leaves = {one.path: one for one in self.members if not one.types or one.types & SCALARS}
        self.refused = Refused(tool, world, self.members, self._leaves)
        self._filling = Filling(tool.input_schema, revision)
        self._options = Options(tool, world, self._filling, self._leaves)
        self.spares: list[Working] = []
        self._tried: dict[bytes, tuple[bytes, ...]] = {}
        self._missed: set[bytes] = set()
        self._retried: set[bytes] = set()

    def add_spare(self, spare: Working, values: set[bytes]) -> None:
        """Add a thing that the tool may delete: how it was made, and the values that came with it."""
        self.spares.append(spare)
        self._options.spares |= values

    def next(self) -> Attempt | None:
        """Return the likeliest arguments that were not tried; None if there are none."""
        refused = self.refused
        for base, choice in self._choices():
            values = {path: one.value for path, one in choice.items()}
            written = [[list(path), values[path]] for path in sorted(values)]
            changes = [sorted(map(list, refused.dropped)), sorted(map(list, refused.counts))]
            key = encode([self._filling.bases.index(base), written, changes])
            if key not in self._tried:
                self._tried[key] = ()
                made = self._filling.filled(base, values, refused.dropped, refused.counts)
                made = None if made is None else self._held(made, choice)
                if made is not None and encode(made) not in self._tried:
                    self._tried[encode(made)] = (key,)
                    self.world.make_copies(made)
                    sent = {path: one for path, one in choice.items() if one.value in values_at(made, path)}
                    return Attempt(made, sent)
        return None

    def _held(self, made: dict[str, Any], choice: Choice) -> dict[str, Any] | None:
        """Return arguments as the tool may get them; None if the schema does not allow these."""
        self.world.jail.note(self.tool, (one.value for one in choice.values()))
        return self.world.jail.arguments(self.tool, made)

    def storing(self, attempt: Attempt) -> Iterator[Attempt]:
        """Yield what stores a row in the table that a statement has made, and then what reads it.

        Nothing for a tool that only makes tables, by its name.
        """
        if set(words_of(self.tool.name)) & PRODUCING:
            return
        for path, made in attempt.known.items():
            for statement, origin in rows_after(made.value, self.world.ownership.text, self.tool.name):
                arguments = deepcopy(attempt.arguments)
                put(arguments, path, statement)
                if self._filling.allows(arguments):
                    known = replace(made, value=statement, origin=origin or made.origin)
                    yield Attempt(arguments, {**attempt.known, path: known})

    def skip(self, arguments: Mapping[str, Any]) -> None:
        """Note that a call had these arguments already."""
        self._tried[encode(arguments)] = ()

    def learn(self, call: Call, known: Mapping[Path, Known]) -> None:
        """Learn from a call that did not work; an empty result says that something is missing."""
        is_empty_result = not call.failed and is_empty(call.reply.result)
        self.refused.misses |= is_empty_result
        if self.refused.learn(call.arguments, known, call.reply) or is_empty_result:
            self._missed.add(encode(call.arguments))

    def try_again(self) -> None:
        """Let arguments be tried once more with which something did not exist: it may exist now."""
        if self._missed:
            for made in self._missed - self._retried:
                for key in (made, *self._tried.get(made, ())):
                    self._tried.pop(key, None)
            self._retried |= self._missed
            self._missed.clear()
            self.refused.forget()

    @property
    def options(self) -> bytes:
        """What may go into the members by now, as a text that changes when there is something new."""
        found = {path: [*self._of(path), *self._options.anything(path)] for path in self._plain_paths}
        return encode([[list(path), [one.value for one in some]] for path, some in found.items()])

    @property
    def is_stuck(self) -> bool:
        """Whether nothing is known of any member, and the refusals do not change."""
        is_blind = not any(map(self._of, self._plain_paths)) and not self.refused.misses
        return is_blind and self.refused.is_repetitive

    @property
    def _plain_paths(self) -> list[Path]:
        return [path for base in self._filling.bases[:1] for path in self._paths_in(base)]

    # Choices

    def _choices(self) -> Iterator[tuple[dict[str, Any], Choice]]:
        """Yield plain arguments and the known values to put into them, the likeliest first."""
        if not self._filling.bases:
            return
        first, *others = self._filling.bases
        best, like = self._best(first), list(self._like_siblings(first))
        # What takes the place of a refused value is tried next: without an end, where there are many.
        is_like_first = bool(self.spares) or self.refused.misses
        yield from ((first, one) for one in ([*like, best] if is_like_first else [best, *like]))
        settled, there = self.refused.settled, self._paths_in(first)
        open_paths = [path for path in self.refused.blamed if path in there and path not in settled]
        further = [path for path in there if path not in settled] if self.refused.misses else []
        added = ({**best, path: one} for path, one in self._optional(best))
        ways = (self._changes(best, open_paths), added, self._changes(best, further))
        yield from ((first, one) for row in zip_longest(*ways) for one in row if one is not None)
        yield from ((base, self._best(base)) for base in others)
        yield from ((first, one) for one in self._further_changes(best, open_paths, first))
        for depth in range(1, MAX_DEPTH):
            options = {path: found for path in self._paths_in(first) if (found := self._of(path))}
            yield first, {path: found[min(depth, len(found) - 1)] for path, found in options.items()}

    def _optional(self, best: Choice) -> Iterator[tuple[Path, Known]]:
        """Yield a value for each member that is not needed, as far as any fits."""
        for path in self._leaves:
            if path not in best and path[1:] in ((), (ITEM,)) and path not in self.refused.dropped:
                yield from ((path, one) for one in self._of(path)[:1])

    def _changes(self, best: Choice, paths: list[Path]) -> Iterator[Choice]:
        """Yield the best choice with another value for one member, of each member in turn."""
        rows = zip_longest(*([(path, one) for one in self._of(path)] for path in dict.fromkeys(paths)))
        yield from ({**best, path: one} for row in rows for path, one in filter(None, row))

    def _further_changes(self, best: Choice, blamed: list[Path], base: Mapping[str, Any]) -> Iterator[Choice]:
        """Yield changes of members that no refusal blames: those that worked elsewhere come last."""
        paths = [path for path in self._paths_in(base) if path not in self.refused.settled]
        trust = {path: self._options.trust_in(path, one) for path, one in best.items()}
        trusted = sorted((path for path in paths if trust.get(path)), key=lambda path: trust[path])
        doubted = [path for path in paths if not trust.get(path)]
        yield from self._changes(best, doubted)
        bare = doubted if self.refused.misses else [path for path in doubted if path not in best]
        for path in dict.fromkeys([*blamed, *bare]):
            if path in self._leaves:
                yield from ({**best, path: one} for one in self._options.anything(path))
        yield from self._changes(best, trusted)

    def _best(self, base: Mapping[str, Any]) -> Choice:
        """Return the best value of each member; two members do not share a text if there is another."""
        best: Choice = {}
        for path in self._paths_in(base):
            found = self._of(path)
            used = {one.value for one in best.values() if isinstance(one.value, str)}
            free = [one for one in found if one.value not in used or len(str(one.value)) < MIN_DISTINCT]
            if found:
                best[path] = (free or found)[0]
        return best

    def _like_siblings(self, base: Mapping[str, Any]) -> Iterator[Choice]:
        """Yield the best choice with the values together that worked for another tool for the same thing.

        What takes things away gets those that were made for it, or else what another tool made in a copy of
        a file that only that one has.
        """
        best, paths = self._best(base), self._paths_in(base)
        named = [one for name in self.refused.first for one in self.world.worked[name][:1]]
        siblings = [*named, *self.world.siblings_of(self.tool, self.refused.wanted)]
        takes_away = is_deleting(self.tool)
        for working in [*self.spares, *([] if takes_away and self.spares else siblings)][:MAX_SIBLINGS]:
            is_spare = working in self.spares
            like = self.world.values_in(working, [self._leaves[path] for path in paths], newest=is_spare)
            is_apart = any(self.world.is_copy_of_another(one.value, self.tool) for one in like.values())
            is_ours = not takes_away or is_apart or is_spare
            if like and is_ours and len(self.world.store.permitted(self.tool, like.values())) == len(like):
                yield {**best, **like}

    def _paths_in(self, base: Mapping[str, Any]) -> list[Path]:
        """Return the members to put values into: those of the plain arguments, and those that are needed."""
        dropped, needed = self.refused.dropped, self.refused.needed
        return [
            path for path in self._leaves if path not in dropped and (path in needed or values_at(base, path))
        ]

    def _of(self, path: Path) -> list[Known]:
        """Return the values for a member, those that were refused last."""
        refused = self.refused
        found = self._options.of(path, refused.hints.get(path, []), is_needed=path in refused.needed)
        before = refused.refused.get(path, ())
        return sorted(found, key=lambda one: encode(one.value) in before)
