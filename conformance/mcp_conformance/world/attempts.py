"""The attempts to call one tool: which arguments to try next, by what its refusals have said."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.tool_call import Call, Tool
from mcp_conformance.generation import NoExample, example
from mcp_conformance.protocol.jsonrpc import ABSENT, encode
from mcp_conformance.world.clue import Clue
from mcp_conformance.world.filling import Filling
from mcp_conformance.world.fitting import MAX_FITS, anything_for, is_file, wants_path
from mcp_conformance.world.hints import hinted
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.made_up import another, statements
from mcp_conformance.world.members import Member, members_of, words_of
from mcp_conformance.world.ownership import is_deleting
from mcp_conformance.world.refusals import clues
from mcp_conformance.world.wording import kind_of_refusal, said
from mcp_conformance.world.worked import Path, values_at
from mcp_conformance.world.world import World

MAX_SAME = 4
"""How many refusals in a row may say the same before other tools have their turn."""
MAX_DEPTH = 3
"""How many of the best values of all members are tried together, beside changes of one member at a time."""
SCALARS = frozenset({"string", "integer", "number", "boolean"})
NEW_FILES = frozenset({"create", "write", "save", "export", "download", "new", "make"})
"""Words in the names of tools that write a file: they get a new one first, so that they spoil no other."""
PRODUCING = frozenset(
    {"create", "add", "new", "make", "init", "open", "start", "insert", "put", "register", "connect", "begin"}
)
"""Words in the names of tools that make something, which gets a name of our own."""
NAMES = frozenset({"name", "title", "label", "slug"})
RULED = ("enum", "const", "pattern", "format")
MADE_UP = Origin("made up")


@dataclass(frozen=True)
class Attempt:
    """Arguments to try; ``known`` are the known values in them, by path."""

    arguments: dict[str, Any]
    known: Mapping[Path, Known]


@dataclass
class Refusals:
    """What the refusals of a tool have said so far.

    ``hints`` are values by path, ``needed`` and ``dropped`` the paths to add and to leave out; ``blamed`` are
    those that the last refusal speaks of, ``refused`` the values that were refused by path, ``settled`` the
    paths where another value brings back an earlier refusal.  ``kinds`` are those seen, ``same`` counts the
    refusals in a row that said nothing new, ``misses`` says that something does not exist.
    """

    hints: dict[Path, list[Known]] = field(default_factory=lambda: defaultdict(list))
    needed: dict[Path, None] = field(default_factory=dict)
    dropped: dict[Path, None] = field(default_factory=dict)
    blamed: list[Path] = field(default_factory=list)
    refused: dict[Path, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    settled: set[Path] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)
    same: int = 0
    misses: bool = False


class Attempts:
    """The attempts to call one tool."""

    def __init__(self, tool: Tool, revision: str, world: World):
        self.tool, self.world = tool, world
        self.members = members_of(tool.input_schema)
        self.refusals = Refusals()
        self.calls: list[Call] = []
        self.filling = Filling(tool.input_schema, revision)
        self._leaves = {one.path: one for one in self.members if not one.types or one.types & SCALARS}
        self._tried: set[bytes] = set()
        self._last: dict[Path, Known] = {}
        self._options: dict[tuple[Any, ...], list[Known]] = {}

    # What to try

    def next(self) -> Attempt | None:
        """Return the likeliest arguments that were not tried; None if there are none."""
        for base, choice in self._choices():
            values = {path: one.value for path, one in choice.items()}
            written = [[list(path), values[path]] for path in sorted(values)]
            key = encode([self.filling.bases.index(base), written, sorted(map(list, self.refusals.dropped))])
            if key not in self._tried:
                self._tried.add(key)
                made = self.filling.filled(base, values, self.refusals.dropped)
                if made is not None and encode(made) not in self._tried:
                    self._tried.add(encode(made))
                    return Attempt(made, choice)
        return None

    def skip(self, arguments: Mapping[str, Any]) -> None:
        """Note that a call had these arguments already."""
        self._tried.add(encode(arguments))

    @property
    def options(self) -> bytes:
        """What may go into the members by now, as a text that changes when there is something new."""
        paths = [path for base in self.filling.bases[:1] for path in self._paths_in(base)]
        found = {path: [*self._options_of(path), *self._anything(path)] for path in paths}
        return encode([[list(path), [one.value for one in some]] for path, some in found.items()])

    @property
    def is_stuck(self) -> bool:
        """Whether nothing is known of any member, and the refusals do not change."""
        paths = [path for base in self.filling.bases[:1] for path in self._paths_in(base)]
        is_blind = not any(map(self._options_of, paths)) and not self.refusals.misses
        return is_blind and self.refusals.same >= MAX_SAME

    def try_again(self) -> None:
        """Let arguments be tried again that were refused: what they name may exist now."""
        if self.refusals.misses:
            self._tried.clear()
            self.refusals.refused.clear()
            self.refusals.settled.clear()

    def _choices(self) -> Iterator[tuple[dict[str, Any], dict[Path, Known]]]:
        """Yield plain arguments and the known values to put into them, the likeliest first."""
        bases = self.filling.bases
        if not bases:
            return
        first, *others = bases
        options = {path: found for path in self._paths_in(first) if (found := self._sorted_options(path))}
        best = {path: found[0] for path, found in options.items()}
        yield first, best
        settled = self.refusals.settled
        blamed = [path for path in self.refusals.blamed if path not in settled]
        for path in blamed:
            yield from ((first, {**best, path: one}) for one in options.get(path, ()))
        for base in others:
            yield base, self._best(base)
        bare = [path for path in self._paths_in(first) if path not in options]
        missing = list(options) if self.refusals.misses else []
        for path in dict.fromkeys([*blamed, *bare, *missing]):
            yield from ((first, {**best, path: one}) for one in self._anything(path))
        for path, found in options.items():
            if path not in settled:
                yield from ((first, {**best, path: one}) for one in found)
        for depth in range(1, MAX_DEPTH):
            yield first, {path: found[min(depth, len(found) - 1)] for path, found in options.items()}

    def _best(self, base: Mapping[str, Any]) -> dict[Path, Known]:
        options = {path: self._sorted_options(path) for path in self._paths_in(base)}
        return {path: found[0] for path, found in options.items() if found}

    def _paths_in(self, base: Mapping[str, Any]) -> list[Path]:
        """Return the members to put values into: those of the plain arguments, and those that are needed."""
        dropped, needed = self.refusals.dropped, self.refusals.needed
        return [
            path for path in self._leaves if path not in dropped and (path in needed or values_at(base, path))
        ]

    def _sorted_options(self, path: Path) -> list[Known]:
        """Return the values for a member, those that were refused last."""
        refused = self.refusals.refused.get(path, ())
        return sorted(self._options_of(path), key=lambda one: encode(one.value) in refused)

    def _options_of(self, path: Path) -> list[Known]:
        hints = self.refusals.hints.get(path, [])
        key = (path, self.world.version, len(hints), path in self.refusals.needed)
        if key not in self._options:
            self._options[key] = list(self._found_options(self._leaves[path], hints))[:MAX_FITS]
        return self._options[key]

    def _found_options(self, member: Member, hints: list[Known]) -> Iterator[Known]:
        fits = self.world.fits(self.tool, member, self.filling)
        hints = [one for one in reversed(hints) if self.filling.fits(member, one.value)]
        found = [*self.world.permitted(self.tool, hints), *fits]
        if is_deleting(self.tool):
            found = self.world.spares_first(found)
        made = self._made_up(member, found)
        seen: set[bytes] = set()
        for one in [*made[0], *found, *made[1]]:
            if (key := encode(one.value)) not in seen:
                seen.add(key)
                yield one

    def _made_up(self, member: Member, found: list[Known]) -> tuple[list[Known], list[Known]]:
        """Return the made-up values for a member to try before the found ones, and those after them."""
        text = self.world.ownership.text
        about = f"{self.tool.name} {self.tool.definition.json.get('description', '')} {member.description}"
        before: list[Any] = list(statements(member, about, text))
        after: list[Any] = []
        paths = [one for one in self._leaves.values() if wants_path(one)]
        words = set(words_of(self.tool.name)) if not self.tool.read_only else set()
        if wants_path(member) and len(paths) == 1 and words & NEW_FILES:
            before += [another(one.value, text) for one in found[:1] if is_file(one.value)]
        is_free = "string" in member.types and not any(key in part for part in member.parts for key in RULED)
        if is_free and words & PRODUCING and set(words_of(member.name)[-1:]) & NAMES:
            before.append(text)
        if not found and not before and not self.tool.read_only and is_free:
            after.append(text)
        if not (found or before or after) and member.path in self.refusals.needed:
            after += self._plain(member)
        return tuple(  # type: ignore[return-value]
            [
                Known(one, (), MADE_UP, Owner.MADE)
                for one in some
                if one is not None and self.filling.fits(member, one)
            ]
            for some in (before, after)
        )

    def _plain(self, member: Member) -> list[Any]:
        root = self.tool.input_schema
        kept = {key: root[key] for key in ("$defs", "definitions", "$schema") if key in root}
        schema = {**kept, "type": "object", "properties": {"it": member.schema}, "required": ["it"]}
        with suppress(NoExample):
            return [example(schema, self.filling.revision)["it"]]
        return []

    def _anything(self, path: Path) -> list[Known]:
        member = self._leaves[path]
        known = self.world.values_for(self.tool)
        return anything_for(member, known, lambda value: self.filling.fits(member, value))

    # What a refusal says

    def learn(self, attempt: Attempt, reply: Reply) -> None:
        """Read a refusal: hints for members, members to add and to drop, and which of them it speaks of."""
        text, data = said(reply)
        arguments = attempt.arguments
        kind = kind_of_refusal(reply, arguments)
        self.refusals.same = 0 if kind not in self.refusals.kinds else self.refusals.same + 1
        self.refusals.kinds.add(kind)
        read = clues(text, arguments, self.tool.input_schema, data)
        quoted = self._quoted(text, arguments)
        named = [path for one in read for path in self._paths_of(one.member)]
        for clue in read:
            self._take(clue, self._paths_of(clue.member) or quoted[:1] or self._meant(clue), arguments)
        self.refusals.blamed = list(dict.fromkeys([*named, *quoted, *self._mentioned(text)]))
        self.refusals.misses |= any(one.is_missing for one in read)
        changed = [path for path, one in attempt.known.items() if self._last.get(path, one) != one]
        for path in (named or quoted)[:1]:
            if self.refusals.same and changed == [path]:
                self.refusals.settled.add(path)
            for value in values_at(arguments, path):
                self.refusals.refused[path].add(encode(value))
        if not self.refusals.same:
            self._last = dict(attempt.known)

    def _take(self, clue: Clue, paths: list[Path], arguments: Mapping[str, Any]) -> None:
        for name in clue.needs:
            self.refusals.needed.update(dict.fromkeys(self._paths_of(name)))
        for name in clue.without:
            self.refusals.dropped.update(dict.fromkeys(self._paths_of(name)))
        for path in paths:
            sent = next(iter(values_at(arguments, path)), ABSENT)
            found = list(hinted(clue, sent, self.tool.name, self.world.ownership, self.world.folder))
            known = self.refusals.hints[path]
            self.world.add(found)
            for one in reversed(found):
                if all(other.value != one.value for other in known):
                    known.append(one)

    def _paths_of(self, name: str) -> list[Path]:
        """Return the leaves that a refusal means by a name, such as ``range`` or ``outer.inner``."""
        if not name:
            return []
        steps = tuple(step for step in re.split(r"[.\[\]/]+", name) if step and not step.isdigit())
        exact = [path for path in self._leaves if tuple(s for s in path if s != "*")[-len(steps) :] == steps]
        wanted = words_of(steps[-1]) if steps else ()
        return exact or [path for path, one in self._leaves.items() if words_of(one.name) == wanted]

    def _meant(self, clue: Clue) -> list[Path]:
        """Return the members that a clue is about which names none: one of paths is about the paths."""
        if not (clue.ending or clue.inside or clue.is_absolute):
            return []
        return [path for path, one in self._leaves.items() if wants_path(one)]

    def _quoted(self, text: str, arguments: Mapping[str, Any]) -> list[Path]:
        """Return the members whose values a text repeats, the longest value first."""
        found = []
        for path in self._leaves:
            for value in values_at(arguments, path):
                word = value if isinstance(value, str) else encode(value).decode()
                if len(word) > 1 and _has_alone(text, word):
                    found.append((-len(word), path))
        return [path for _, path in sorted(found)]

    def _mentioned(self, text: str) -> list[Path]:
        return [
            path for path, one in self._leaves.items() if len(one.name) > 1 and _has_alone(text, one.name)
        ]


def _has_alone(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
