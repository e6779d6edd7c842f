"""One refusal: its text without noise, and which argument a sentence of it speaks of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mcp_conformance.world.members import ITEM, Member, members_of, words_of

MAX_REFUSAL = 4000
"""The most characters of a refusal that are read; the longest of the servers seen had 2,100."""
MAX_LEAVES = 200
"""The most values of the arguments that are compared with a text."""
MAX_LINE = 1000
"""The most characters of a line that are read: minified data is not a sentence."""
NOISE = re.compile(
    r"\s+at\b.*[(:]\S*:\d+|\s*File \".*\", line \d+|Traceback \(most recent|\s*goroutine \d+|\s+\^+\s*$"
    r"|\s*For further information visit|\s*[\[(]?\d{4}-\d\d-\d\d[T ][\d:.,]+\S*\s+\W?(?:DEBUG|INFO|WARN)",
)
"""Lines of tracebacks and of logs."""
COLOUR = re.compile(r"\x1b\[[\d;]*m")
SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[A-Z`'\"(])")
QUOTED = re.compile(
    r"'((?:[^'\n]|(?<=\w)'(?=\w)){1,300})'(?!\w)|\"([^\"\n]{1,300})\"|`([^`\n]{1,300})`"
    r"|\u2018([^\u2019\n]{1,300})\u2019|\u201c([^\u201d\n]{1,300})\u201d"
)
"""A quoted text; an apostrophe inside a word does not end it."""
MIN_BARE_NAME = 3
"""Shorter names of members count only where they are quoted or followed by a colon: ``at``, ``by``."""
MIN_PREFIX = 4
"""As many letters make the beginning of a word stand for it: ``repo`` for ``repository``."""


def quoted_in(text: str) -> list[str]:
    """Return the quoted texts in a text, in their order."""
    return [next(group for group in found.groups() if group) for found in QUOTED.finditer(text)]


@dataclass(frozen=True)
class Refusal:
    """A refusal of a call with these arguments; ``data`` is that of a JSON-RPC error, None without one."""

    text: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    schema: Any = None
    data: Any = None

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines of the text, without tracebacks, logs and colours; the first `MAX_REFUSAL` characters."""
        lines = COLOUR.sub("", self.text[:MAX_REFUSAL]).splitlines()
        return tuple(line[:MAX_LINE].rstrip() for line in lines if line.strip() and not NOISE.match(line))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of the lines."""
        return tuple(one.strip() for line in self.lines for one in SENTENCE.split(line))

    @cached_property
    def members(self) -> dict[str, Member]:
        """The members of the schema by their names, ``outer.inner``; items have the name of their array."""
        found: dict[str, Member] = {}
        for one in members_of(self.schema):
            found.setdefault(dotted(one.path), one)
        return found

    @cached_property
    def sent(self) -> tuple[tuple[str, Any], ...]:
        """The values of the arguments that are neither object nor array, each with the name of its member."""
        return tuple(_leaves(self.arguments, (), MAX_LEAVES))

    def is_ours(self, value: Any) -> bool:
        """Return whether a value repeats what the call sent, whole or as a part of a longer text."""
        if not isinstance(value, str):
            return any(value == sent and type(value) is type(sent) for _, sent in self.sent)
        return value in self.members or any(
            value in (sent if isinstance(sent, str) else json.dumps(sent)) for _, sent in self.sent
        )

    def named(self, name: str) -> str:
        """Return the member that a name means: ``outer.inner``, a JSON pointer, or with ``[0]`` for items.

        Return the name itself, dotted, if the schema has no such member, and the only member whose last
        name it is if there is one.
        """
        steps = [step for step in re.split(r"[./\[\]]+", name.strip("$./ ")) if step and not step.isdigit()]
        for begin in range(len(steps)):
            whole = ".".join(steps[begin:])
            if whole in self.members:
                return whole
        last = [known for known, one in self.members.items() if steps and one.name == steps[-1]]
        return last[0] if len(last) == 1 else ".".join(steps)

    def member(self, sentence: str) -> str:
        """Return the member that a sentence speaks of, by its name and by a quoted value; empty for none."""
        if len(self.members) == 1:
            return next(iter(self.members))
        quoted = set(quoted_in(sentence))
        scores = {name: self._score(name, one, sentence, quoted) for name, one in self.members.items()}
        best = max(scores, key=lambda name: scores[name], default="")
        return best if scores.get(best, 0) >= 2 else ""

    def _score(self, name: str, member: Member, sentence: str, quoted: set[str]) -> float:
        values = [str(value) for sent, value in self.sent if sent == name and value != ""]
        score = 3.0 if any(value in quoted for value in values) else 0.0
        return score + name_score(member.name, sentence, quoted)


def name_score(name: str, sentence: str, quoted: set[str]) -> float:
    """Return how surely a sentence names a member: 5 quoted, 4 bare, 2 all its words, less for some."""
    if name in quoted:
        return 5.0
    bare = rf"(?<![\w.]){re.escape(name)}(?!\w)"
    if re.search(bare if len(name) >= MIN_BARE_NAME else bare + r"\s*[:=]", sentence, re.IGNORECASE):
        return 4.0
    unquoted = QUOTED.sub(" ", sentence)
    wanted, there = words_of(name), words_of(unquoted)
    hits = [word for word in wanted if any(_is_like(word, other) for other in there)]
    if len(hits) == len(wanted) and wanted:
        return 2.0
    return len(hits) / (len(wanted) or 1)


def dotted(path: tuple[str, ...]) -> str:
    """Return the name of a member as a clue has it: its names, without the steps to items."""
    return ".".join(step for step in path if step != ITEM)


def _is_like(word: str, other: str) -> bool:
    return word == other or (len(word) >= MIN_PREFIX and other.startswith(word))


def _leaves(value: Any, path: tuple[str, ...], limit: int) -> Iterator[tuple[str, Any]]:
    waiting: list[tuple[Any, tuple[str, ...]]] = [(value, path)]
    while waiting and limit > 0:
        one, path = waiting.pop(0)
        if isinstance(one, Mapping):
            waiting.extend((inner, (*path, str(name))) for name, inner in one.items())
        elif isinstance(one, list):
            waiting.extend((inner, path) for inner in one[:20])
        else:
            limit -= 1
            yield dotted(path), one
