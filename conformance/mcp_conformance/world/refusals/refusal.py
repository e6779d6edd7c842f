"""One refusal: its sentences without noise, the JSON in it, and which arguments a sentence speaks of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from mcp_conformance.world.members import ITEM, Member, members_of, words_of
from mcp_conformance.world.refusals.issues import Issue, issue_of, issues_in_lines

MAX_REFUSAL = 4000
"""The most characters of a refusal that are read; the longest of 20 servers had 2,100."""
MAX_LEAVES = 200
"""The most values of the arguments that are compared with a text."""
MAX_LINE = 1000
"""The most characters of a line that are read: minified data is not a sentence."""
MAX_TIED = 3
"""A sentence that fits more members as well speaks of none."""
MAX_PAYLOADS = 3
MAX_ISSUES = 40
"""The most issues of a validator that are read; ten members that are wrong make one each."""
NOISE = re.compile(
    r"\s+at\b.{0,300}?:\d+\)?$|\s*File \".{1,300}\", line \d+|Traceback \(most recent|\s*goroutine \d+"
    r"|\s*\^+\s*$|\s*For further information visit|\s*Stack: "
    r"|\s*[\[(]?\d{4}-\d\d-\d\d[T ][\d:.,]+\S*\s+\W?(?:DEBUG|INFO|WARN)"
)
"""Lines of tracebacks and of logs."""
WRAPPER = re.compile(
    r"(?:MCP error -?\d+: |Error (?:executing|calling) tool '?[\w.-]+'?:\s*|Error executing command: "
    r"|Error processing request: |Invalid arguments for (?:tool )?'?[\w.-]+'?:\s*"
    r"|Input validation error: |MCP tool error: |failed to deserialize parameters: |Tool execution failed: )+"
)
"""What SDKs write before a refusal; it names the tool, and no member."""
OF_GO = re.compile(r"\bvalidating (?:root|/properties/)")
"""A line of Go's jsonschema, which has a reader of its own."""
NOISY_KEYS = frozenset({"stack", "trace", "traceback", "input", "stacktrace", "documentation_url", "help"})
COLOUR = re.compile(r"\x1b\[[\d;]*m")
SENTENCE = re.compile(r"(?<=[.!?;])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)\s+(?=[A-Z`'\"(])")
QUOTED = re.compile(
    r"(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w)){1,300})'(?!\w)|\"([^\"\n]{1,300})\"|`([^`\n]{1,300})`"
    r"|\u2018([^\u2019\n]{1,300})\u2019|\u201c([^\u201d\n]{1,300})\u201d"
)
"""A quoted text; an apostrophe inside a word does not end it."""
MIN_BARE = 3
"""Shorter names of members count only where they are quoted or followed by a colon: ``at``, ``by``.
Shorter values count only where they are quoted."""
ENDING = re.compile(r"\.[A-Za-z]\w{1,4}$")
MIN_PREFIX = 4
"""As many letters make the beginning of a word stand for it: ``repo`` for ``repository``."""


def any_of(*patterns: str) -> re.Pattern[str]:
    """Return a pattern, whatever the case, for what one of these patterns finds."""
    return re.compile("|".join(patterns), re.IGNORECASE)


def quoted_in(text: str) -> list[str]:
    """Return the quoted texts in a text, in their order."""
    return [next(group for group in found.groups() if group) for found in QUOTED.finditer(text)]


@dataclass(frozen=True)
class Sentence:
    """A sentence, and the members that it speaks of, as `Refusal.members` names them: mostly one or none."""

    text: str
    members: tuple[str, ...]

    @property
    def quoted(self) -> list[str]:
        """The quoted texts in it."""
        return quoted_in(self.text)


@dataclass(frozen=True)
class Refusal:
    """A refusal of a call with these arguments; ``data`` is that of a JSON-RPC error, None without one."""

    text: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    schema: Any = None
    data: Any = None

    @cached_property
    def payloads(self) -> tuple[Any, ...]:
        """The objects and arrays that the text has in JSON, and the data of the error."""
        return (*(value for value, _, _ in _json_in(self.text)), *((self.data,) if self.data else ()))

    @cached_property
    def issues(self) -> tuple[Issue, ...]:
        """What validators say of single members, in JSON and in lines."""
        objects = (issue_of(one) for payload in self.payloads for one in _objects(payload))
        listed = islice((one for one in objects if one is not None), MAX_ISSUES)
        return (*listed, *issues_in_lines(self._lines, self.members)[0])

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines of the text and the texts in its JSON, without tracebacks, logs, colours and issues."""
        return tuple(issues_in_lines(self._lines, self.members)[1])

    @cached_property
    def _lines(self) -> tuple[str, ...]:
        text = COLOUR.sub("", self.text[:MAX_REFUSAL])
        for _, begin, end in reversed(list(_json_in(text))):
            text = f"{text[:begin].rstrip()}\n{text[end:]}"
        texts = [one for payload in self.payloads for one in _texts(payload)]
        lines = [line for one in (text, *texts) for line in one[:MAX_REFUSAL].splitlines()]
        return tuple(_joined([line[:MAX_LINE].rstrip() for line in lines if line.strip()]))

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences; one that names no member speaks of that of the sentence before it."""
        found = [Sentence(one.message, (self.named(one.path),)) for one in self.issues if one.message]
        for line in (one for one in self.lines if not OF_GO.search(one)):
            before: tuple[str, ...] = ()
            for text in SENTENCE.split(line):
                before = self.about(text) or before
                found.append(Sentence(text.strip(), before))
        return tuple(found)

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
        return tuple(_leaves(self.arguments))

    def is_ours(self, value: str) -> bool:
        """Return whether a text repeats what the call sent, a part or the resolved path of it, or a name."""
        path = value.replace("\\", "/")
        texts = [form for _, sent in self.sent for form in forms_of(sent) if form]
        return self.is_name(value) or any(value in one or path.endswith(f"/{one}") for one in texts)

    def is_name(self, value: Any) -> bool:
        """Return whether a value is the name of a member of the arguments."""
        names = {one.name for one in self.members.values()}
        return value in self.members or value in names or value in self.arguments

    def was_sent(self, value: Any, members: tuple[str, ...]) -> bool:
        """Return whether the call sent this value for one of these members, or for any if there are none."""
        return any(
            value == sent and type(value) is type(sent)
            for name, sent in self.sent
            if not members or name in members
        )

    def named(self, name: str) -> str:
        """Return the member that a name means: ``outer.inner``, a JSON pointer, or with ``[0]`` for items.

        Return the name itself, dotted, if the schema has no such member, and the only member whose last
        name it is if there is one.
        """
        steps = [one for one in re.split(r"[./\[\]'\"]+", name.strip("$./ ")) if one and not one.isdigit()]
        for begin in range(len(steps)):
            whole = ".".join(steps[begin:])
            if whole in self.members:
                return whole
        last = [known for known, one in self.members.items() if steps and one.name == steps[-1]]
        return last[0] if len(last) == 1 else ".".join(steps)

    def about(self, text: str) -> tuple[str, ...]:
        """Return the members that a text speaks of: by their names, and by values that the call sent."""
        if len(self.members) == 1:
            return tuple(self.members)
        quoted = quoted_in(text)
        scores = {name: self._score(name, one, text, quoted) for name, one in self.members.items()}
        best = max(scores.values(), default=0.0)
        tied = tuple(name for name, score in scores.items() if score == best)
        return tied if best >= 2 and len(tied) <= MAX_TIED else ()

    def _score(self, name: str, member: Member, text: str, quoted: list[str]) -> float:
        forms = [form for sent, value in self.sent if sent == name for form in forms_of(value)]
        values = [value_score(form, text, quoted) for form in forms]
        return max(values, default=0.0) + name_score(member.name, text, quoted)


def forms_of(sent: Any) -> set[str]:
    """Return a value that was sent as a text may repeat it: as it is, and as Python and JSON write it."""
    if not isinstance(sent, str):
        return {str(sent), json.dumps(sent)}
    return {sent, repr(sent)[1:-1], json.dumps(sent)[1:-1], json.dumps(sent, ensure_ascii=False)[1:-1]}


def value_score(value: str, text: str, quoted: list[str]) -> float:
    """Return how surely a text has a value that was sent.

    6 quoted, 5 the end of a quoted path, 4 at the beginning, 3 bare, 2 the ending of a file's name alone.
    """
    if not value:
        return 0.0
    if value in quoted:
        return 6.0
    if any(one.replace("\\", "/").endswith(f"/{value}") for one in quoted):
        return 5.0
    if text.startswith((f"{value} is not ", f"'{value}' is not ")):
        return 4.0
    is_bare = len(value) >= MIN_BARE and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text)
    if is_bare:
        return 3.0
    ending = ENDING.search(value)
    return 2.0 if ending and re.search(rf"{re.escape(ending[0])}\b", text) else 0.0


def name_score(name: str, text: str, quoted: list[str]) -> float:
    """Return how surely a text names a member: 5 quoted, 4 bare, 2 all its words, less for some of them."""
    if name in quoted:
        return 5.0
    bare = rf"(?<![\w.]){re.escape(name)}(?!\w)"
    if re.search(bare if len(name) >= MIN_BARE else bare + r"\s*[:=]", text, re.IGNORECASE):
        return 4.0
    wanted, there = words_of(name), words_of(QUOTED.sub(" ", text))
    hits = [word for word in wanted if any(_is_like(word, other) for other in there)]
    if len(hits) == len(wanted) and wanted:
        return 2.0
    return len(hits) / (len(wanted) or 1)


def dotted(path: tuple[str, ...]) -> str:
    """Return the name of a member as a clue has it: its names, without the steps to items."""
    return ".".join(step for step in path if step != ITEM)


def _is_like(word: str, other: str) -> bool:
    return word == other or (len(word) >= MIN_PREFIX and other.startswith(word))


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    waiting: list[tuple[Any, tuple[str, ...]]] = [(value, ())]
    found = 0
    while waiting and found < MAX_LEAVES:
        one, path = waiting.pop(0)
        if isinstance(one, Mapping):
            waiting.extend((inner, (*path, str(name))) for name, inner in one.items())
        elif isinstance(one, list):
            waiting.extend((inner, path) for inner in one[:MAX_LEAVES])
        else:
            found += 1
            yield dotted(path), one


def _json_in(text: str) -> Iterator[tuple[Any, int, int]]:
    """Yield the objects and arrays in a text, each with where it begins and ends."""
    decoder, at, tried = json.JSONDecoder(), 0, 0
    while tried < MAX_PAYLOADS and (found := re.search(r"\{\s*\"|\[\s*\{", text[at:])):
        begin, tried = at + found.start(), tried + 1
        try:
            value, at = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            at = begin + 1
        else:
            yield value, begin, at


def _objects(value: Any, depth: int = 6) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in a value, outer ones first."""
    if depth and isinstance(value, Mapping):
        yield value
    for one in (value.values() if isinstance(value, Mapping) else value) if depth and _is_open(value) else ():
        yield from _objects(one, depth - 1)


def _texts(value: Any, depth: int = 6) -> Iterator[str]:
    """Yield the texts in a value that may be sentences; those of issues have their own reader."""
    if isinstance(value, str) and " " in value:
        yield value
    if not depth or not _is_open(value) or (isinstance(value, Mapping) and issue_of(value)):
        return
    inner = value.items() if isinstance(value, Mapping) else enumerate(value[:MAX_LEAVES])
    for key, one in inner:
        if str(key).lower() not in NOISY_KEYS:
            yield from _texts(one, depth - 1)


def _is_open(value: Any) -> bool:
    return isinstance(value, Mapping | list)


def _joined(lines: list[str]) -> list[str]:
    """Return lines without noise; one that ends with a colon has the next one in it, if that is the last."""
    kept = [WRAPPER.sub("", line) for line in lines if not NOISE.match(line)]
    kept = [line for line in kept if line.strip()]
    if len(kept) > 1 and kept[-2].endswith(":"):
        return [*kept[:-2], f"{kept[-2]} {kept[-1].strip()}"]
    return kept
