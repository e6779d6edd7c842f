"""What the refusals of one tool have said so far: hints for members, and which of them are at fault."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from mcp_conformance.client.reply import Reply
from mcp_conformance.client.tool_call import Tool
from mcp_conformance.protocol.jsonrpc import ABSENT, encode
from mcp_conformance.world.clue import Clue
from mcp_conformance.world.fitting import is_base64, wants_file, wants_path
from mcp_conformance.world.hints import hinted
from mcp_conformance.world.known import Known
from mcp_conformance.world.members import ITEM, Member, words_of
from mcp_conformance.world.refusals import clues
from mcp_conformance.world.refusals.existence import things_wanted
from mcp_conformance.world.refusals.needs import ANOTHER_VALUE
from mcp_conformance.world.wording import kind_of_refusal, said
from mcp_conformance.world.worked import Path, values_at
from mcp_conformance.world.world import World

MAX_SAME, MAX_MISSES = 4, 6
"""How many refusals in a row may say the same; how many may say that something does not exist."""
ALTERNATIVES = "one of several members"
"""The reader whose clues name members of which only one is wanted."""


class Refused:
    """What the refusals of one tool have said.

    By path of a member, ``hints`` are values, the newest last, and ``refused`` values that were refused;
    ``needed`` are members to add, ``dropped`` to leave out, ``counts`` how many items an array needs.  The
    last refusal speaks of the members ``blamed``; in those that are ``settled`` another value brings back an
    earlier refusal.  ``same`` counts the refusals in a row that said nothing new, and ``misses`` says that
    something does not exist, which another tool may make: ``wanted`` are the words for it, and ``first`` the
    tools that refusals name.
    """

    def __init__(self, tool: Tool, world: World, members: Iterable[Member], leaves: Mapping[Path, Member]):
        self.hints: dict[Path, list[Known]] = defaultdict(list)
        self.refused: dict[Path, set[bytes]] = defaultdict(set)
        self.needed: dict[Path, None] = {}
        self.dropped: dict[Path, None] = {}
        self.counts: dict[Path, int] = {}
        self.blamed: list[Path] = []
        self.settled: set[Path] = set()
        self.same = 0
        self.misses = False
        self.wanted: frozenset[str] = frozenset()
        self.first: dict[str, None] = {}
        self._tool, self._world, self._leaves = tool, world, leaves
        self._arrays = {one.path for one in members if "array" in one.types}
        self._kinds: set[str] = set()
        self._last: dict[Path, Known] = {}
        self._turns: Counter[tuple[str, ...]] = Counter()

    @property
    def is_repetitive(self) -> bool:
        """Whether so many refusals in a row said the same that other tools should have their turn.

        Of things that do not exist there are many.
        """
        return self.same >= (MAX_MISSES if self.misses else MAX_SAME)

    def forget(self) -> None:
        """Forget which values were refused: what they name may exist now."""
        self.refused.clear()
        self.settled.clear()

    def learn(self, arguments: Mapping[str, Any], known: Mapping[Path, Known], reply: Reply) -> bool:
        """Read a refusal of arguments that have these known values; return whether something is missing."""
        text, data = said(reply)
        kind = kind_of_refusal(reply, arguments)
        self.same = self.same + 1 if kind in self._kinds else 0
        self._kinds.add(kind)
        read = clues(text, arguments, self._tool.input_schema, data, self._world.names - {self._tool.name})
        named = [path for one in read for path in self._paths_of(one.member)]
        mentioned = self._mentioned(text)
        quoted = self._quoted(text, arguments, {*named, *mentioned})
        missing = [path for one in read if one.is_missing for path in self._paths_of(one.member)]
        missing = [path for path in quoted[:1] if path in missing]
        self._choose_one([one for one in read if one.reader == ALTERNATIVES])
        for clue in (one for one in read if one.reader != ALTERNATIVES):
            self._take(clue, missing if clue.values and missing else self._meant(clue, quoted), arguments)
        is_miss = any(one.is_missing or one.first for one in read)
        self.misses |= is_miss
        self.first.update(dict.fromkeys(name for one in read for name in one.first))
        self.wanted = frozenset(words_of(things_wanted(text))) or self.wanted
        changes = [one.member for one in read if one.reader == ANOTHER_VALUE]
        to_change = [path for name in changes for path in self._paths_of(name)]
        self.blamed = list(dict.fromkeys([*to_change, *quoted, *named, *mentioned]))
        # A value is not at fault if a member is missing or one too many beside it.
        is_other = any(one.needs or one.without for one in read)
        self._settle([] if is_other else (to_change or quoted or named)[:1], arguments, known)
        return is_miss

    def _meant(self, clue: Clue, quoted: list[Path]) -> list[Path]:
        """Return the members that a clue speaks of: by a name, but by a quoted value if both differ.

        "Path 'a.txt' is not an image" means ``image_path`` if that has the value.
        """
        named = self._paths_of(clue.member)
        if clue.ending or clue.inside or clue.is_absolute or clue.kind:
            wanted = wants_file if clue.ending else wants_path
            paths = [path for path, one in self._leaves.items() if wanted(one)]
            packed = [path for path, one in self._leaves.items() if clue.ending and is_base64(one)]
            named = [*([path for path in named if path in paths] or paths), *packed]
        is_same = not quoted or not named or set(named) & set(quoted) or clue.needs or clue.without
        return (named or quoted[:1]) if is_same else quoted[:1]

    def _settle(self, blamed: list[Path], arguments: Mapping[str, Any], known: Mapping[Path, Known]) -> None:
        """Note that a value was refused; if it alone differs from the last time, that one was better."""
        changed = [path for path, one in known.items() if self._last.get(path, one) != one]
        for path in blamed:
            if self.same and changed == [path]:
                self.settled.add(path)
            self.refused[path].update(map(encode, values_at(arguments, path)))
        if not self.same:
            self._last = dict(known)

    def _choose_one(self, alternatives: list[Clue]) -> None:
        """Add one of several members, each time another one."""
        names = tuple(one.member for one in alternatives)
        if names:
            chosen = names[self._turns[names] % len(names)]
            self._turns[names] += 1
            for name in names:
                for path in self._paths_of(name):
                    self.needed.pop(path, None)
            self.needed.update(dict.fromkeys(self._paths_of(chosen)))

    def _take(self, clue: Clue, paths: list[Path], arguments: Mapping[str, Any]) -> None:
        for name in clue.needs:
            for path in self._paths_of(name):
                self.dropped.pop(path, None)
                self.needed[path] = None
        for name in clue.without:
            for path in self._paths_of(name):
                self.needed.pop(path, None)
                self.dropped[path] = None
        for path in paths:
            if path[-1] == ITEM and path[:-1] in self._arrays and clue.low is not None:
                self.counts[path[:-1]] = int(clue.low)
            sent = next(iter(values_at(arguments, path)), ABSENT)
            found = list(hinted(clue, sent, self._leaves[path], self._tool, self._world))
            self._world.store.learn(found, self._tool, arguments)
            self._hint(path, found)

    def _hint(self, path: Path, found: list[Known]) -> None:
        values = [one.value for one in found]
        older = [one for one in self.hints[path] if one.value not in values]
        self.hints[path] = [*found, *older]

    def _paths_of(self, name: str) -> list[Path]:
        """Return the leaves that a refusal means by a name, such as ``range`` or ``outer.inner``."""
        steps = tuple(step for step in re.split(r"[.\[\]/]+", name) if step and not step.isdigit())
        if not steps:
            return []
        names = {path: tuple(step for step in path if step != ITEM) for path in self._leaves}
        exact = [path for path, own in names.items() if own[-len(steps) :] == steps]
        inner = [path for path, own in names.items() if own[: len(steps)] == steps]
        return (
            exact
            or inner
            or [path for path, own in names.items() if words_of(own[-1]) == words_of(steps[-1])]
        )

    def _quoted(self, text: str, arguments: Mapping[str, Any], named: set[Path]) -> list[Path]:
        """Return the members whose values a text repeats, in its order, a longer text first.

        Of two members with the same value, the one that is named comes first.
        """
        found = []
        for path in self._leaves:
            for value in values_at(arguments, path):
                word = value if isinstance(value, str) else encode(value).decode()
                if _repeats(text, word):
                    place = (text.find(word), -len(word))
                    found.append((place, path not in named, self._has_worked(path, value), path))
        return [path for *_, path in sorted(found)]

    def _has_worked(self, path: Path, value: Any) -> bool:
        """Return whether a value worked elsewhere: of two members with it, the other one is at fault."""
        return value in self._world.worked.values_for(self._leaves[path])

    def _mentioned(self, text: str) -> list[Path]:
        return [
            path for path, one in self._leaves.items() if len(one.name) > 1 and _has_alone(text, one.name)
        ]


def _repeats(text: str, word: str) -> bool:
    """Return whether a text repeats a value: a single character counts in quotes only."""
    if len(word) > 1:
        return _has_alone(text, word)
    return bool(word) and any(f"{quote}{word}{quote}" in text for quote in "'\"`")


def _has_alone(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
