"""What differs between the answers of two times to a request, without what varies anyway.

Nothing is configured: what differs among the recorded answers to the same request, or among several replays,
varies, and so do times of the clock and durations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import chain, pairwise
from typing import Any

from mcp_conformance.client.new_names import NAMED_BY
from mcp_conformance.protocol.jsonrpc import ABSENT
from mcp_conformance.protocol.revisions import SERVER_INFO
from mcp_conformance.protocol.text import shorten
from mcp_conformance.tap.times import is_duration, is_time, without_times
from mcp_conformance.transport.credentials import HIDDEN

TOKEN = re.compile(r"[\w.:/+=-]*\w|\s+|.", re.DOTALL)
IGNORED = frozenset({"result.serverInfo.version", f"result._meta.{SERVER_INFO}.version"})
"""The version of the server: sessions are replayed to see that a new one does the same."""
GAP = ""
"""What stands among the tokens of texts where they differ."""
MAX_BY_WORD = 5000
"""Longer texts are compared by lines, as words take the square of their number in time."""
MAX_SHOWN = 120
"""How many characters of a value a difference shows."""


@dataclass(frozen=True)
class Answer:
    """The ``content`` of an answer, its member ``result`` or ``error`` in an object.

    It came at ``clock``, in seconds since 1970 (0 if that is not known), ``took`` seconds after its request.
    """

    content: Mapping[str, Any]
    clock: float = 0.0
    took: float = 0.0


@dataclass(frozen=True)
class Difference:
    """A value that is another one ``now`` than ``then``, at a ``path``; `ABSENT` if there is none."""

    path: str
    then: Any
    now: Any

    def __str__(self) -> str:
        if self.now is ABSENT:
            return f"{self.path} is gone: {_shown(self.then)}"
        if self.then is ABSENT:
            return f"{self.path} is new: {_shown(self.now)}"
        then, now = _shown_texts(self.then, self.now)
        return f"{self.path} was {then}, is {now}"


@dataclass
class Comparison:
    """The comparison of recorded answers with those of replays; ``varies`` are the paths of what varies.

    In a path ``[*]`` stands for any place of an array.
    """

    varies: set[str] = field(default_factory=set)

    def differences(self, thens: Sequence[Answer], nows: Sequence[Answer]) -> list[Difference]:
        """Return what differs between all answers of then and all of now; the first of each is shown."""
        return list(_Reading(self.varies, thens, nows).at("", [dict(one.content) for one in (*thens, *nows)]))


def is_same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; true is no 1."""
    return _canonical(one) == _canonical(other)


class _Reading:
    """The reading of several answers side by side, those of then first, each with its clock."""

    def __init__(self, varies: set[str], thens: Sequence[Answer], nows: Sequence[Answer]):
        self._varies, self._answers, self._split = varies, (*thens, *nows), len(thens)

    def at(self, path: str, values: Sequence[Any]) -> Iterator[Difference]:
        """Yield the differences of the values at a path, one of each answer."""
        then, now = values[0], values[self._split]
        if self._is_met(values) or self._is_known(path):
            return
        if all(isinstance(one, dict) for one in values):
            yield from self._members(path, values, data=_is_data(path))
        elif all(isinstance(one, list) for one in values):
            yield from self._items(path, values)
        elif all(isinstance(one, str) for one in values):
            yield from self._texts(path, values)
        elif all(map(is_time, values, self._clocks)) or self._are_durations(path, values):
            return
        elif self._is_varying(values):
            self._learn(path)
        else:
            yield Difference(path, then, now)

    @property
    def _clocks(self) -> list[float]:
        return [one.clock for one in self._answers]

    def _are_durations(self, path: str, values: Sequence[Any]) -> bool:
        name = path.rpartition(".")[2]
        return all(is_duration(name, one, by.took) for one, by in zip(values, self._answers, strict=True))

    def _is_met(self, values: Sequence[Any]) -> bool:
        """Return whether a value of then came again."""
        texts = list(map(_canonical, values))
        return not set(texts[: self._split]).isdisjoint(texts[self._split :])

    def _is_varying(self, values: Sequence[Any]) -> bool:
        """Return whether the values of then, or those of now, differ among themselves."""
        texts = list(map(_canonical, values))
        return len(set(texts[: self._split])) > 1 or len(set(texts[self._split :])) > 1

    def _is_known(self, path: str) -> bool:
        if path in IGNORED or path in self._varies:
            return True
        return any(_matches(one, path) for one in self._varies if "[*]" in one)

    def _learn(self, path: str) -> None:
        self._varies.add(path)

    # Objects and arrays

    def _members(self, path: str, values: Sequence[Mapping[str, Any]], *, data: bool) -> Iterator[Difference]:
        """Yield the differences of objects; if the names of data vary, none of then needs to be there now."""
        names = dict.fromkeys(chain.from_iterable(values))
        present = {name: [name in one for one in values] for name in names}
        varying = {name for name, found in present.items() if self._is_varying(found)}
        for name, found in present.items():
            inner = f"{path}.{name}" if path else name
            if all(found):
                yield from self.at(inner, [one[name] for one in values])
            elif name in varying:
                self._learn(inner)
            elif not (data and varying) and not self._is_known(inner):
                yield Difference(inner, values[0].get(name, ABSENT), values[self._split].get(name, ABSENT))

    def _items(self, path: str, values: Sequence[list[Any]]) -> Iterator[Difference]:
        if (named := _named_items(values)) is not None:
            yield from self._named(path, named)
            return
        if len({len(one) for one in values}) > 1 and self._is_varying([len(one) for one in values]):
            self._learn(path)
            return
        orders = [sorted(map(_canonical, one)) for one in values]
        if self._is_varying(values) and not self._is_varying(orders):
            if orders[0] != orders[self._split]:
                yield self._changed(path, values)
            return
        if len(values[0]) != len(values[self._split]):
            yield self._changed(path, values)
            return
        if _is_data(path):
            self._generalise(path, values)
        for index, items in enumerate(zip(*values, strict=True)):
            yield from self.at(f"{path}[{index}]", items)

    def _named(self, path: str, named: Sequence[Mapping[str, Any]]) -> Iterator[Difference]:
        names = dict.fromkeys(chain.from_iterable(named))
        present = {name: [name in one for one in named] for name in names}
        for name, found in present.items():
            inner = f"{path}[{name}]"
            if all(found):
                yield from self.at(inner, [one[name] for one in named])
            elif self._is_varying(found):
                self._learn(inner)
            elif not self._is_known(inner):
                yield Difference(inner, named[0].get(name, ABSENT), named[self._split].get(name, ABSENT))

    def _changed(self, path: str, values: Sequence[list[Any]]) -> Difference:
        """Return the first item that is gone from an array, or new in it."""
        then, now = values[0], values[self._split]
        found = SequenceMatcher(None, list(map(_canonical, then)), list(map(_canonical, now)), autojunk=False)
        _, start, end, new_start, new_end = next(one for one in found.get_opcodes() if one[0] != "equal")
        if end > start and new_end > new_start:
            return Difference(f"{path}[{start}]", then[start], now[new_start])
        if end > start:
            return Difference(f"{path}[{start}]", then[start], ABSENT)
        return Difference(f"{path}[{new_start}]", ABSENT, now[new_start])

    def _generalise(self, path: str, values: Sequence[list[Any]]) -> None:
        """Learn what varies in some item of an array of data: that varies in all of its items."""
        groups = (values[: self._split], self._answers), (values[self._split :], self._answers[self._split :])
        for lists, answers in groups:
            for (one, by), (other, other_by) in pairwise(zip(lists, answers, strict=False)):
                reading = _Reading(set(), [by], [other_by])
                for items in zip(one, other, strict=True):
                    self._varies.update(found.path for found in reading.at(f"{path}[*]", items))

    # Texts

    def _texts(self, path: str, values: Sequence[str]) -> Iterator[Difference]:
        if None not in (read := list(map(_json_in, values))):
            yield from self.at(path, read)
            return
        plain = [without_times(one, by.clock, by.took) for one, by in zip(values, self._answers, strict=True)]
        groups = plain[: self._split], plain[self._split :]
        if self._is_met(plain) or any(_fits(then, now) for then in groups[0] for now in groups[1]):
            return
        if self._is_varying(plain):
            patterns = [_stable(group) for group in groups]
            if not any(map(_has_word, chain(*patterns))):
                self._learn(path)
                return
            if any(
                _follows(text, pattern)
                for pattern, others in zip(patterns, reversed(groups), strict=True)
                if len(pattern) > 1
                for text in others
            ):
                return
        yield Difference(path, values[0], values[self._split])


def _canonical(value: Any) -> str:
    return repr(value) if value is ABSENT else json.dumps(value, sort_keys=True)


def _is_data(path: str) -> bool:
    """Return whether a path leads into a server's own data, not into what the protocol has."""
    return bool(
        re.match(r"result\.(structuredContent\b|content\[\d+\]\.text\b|contents\[\d+\]\.text\b)", path)
    )


def _matches(pattern: str, path: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\[\*\]", r"\[[^\]]*\]"), path) is not None


def _named_items(values: Sequence[list[Any]]) -> list[dict[str, Any]] | None:
    """Return the items of arrays by the names they have all, each once; None if they have none."""
    for member in NAMED_BY:
        found = [
            {one[member]: one for one in items if isinstance(one, dict) and isinstance(one.get(member), str)}
            for items in values
        ]
        if any(values) and all(len(one) == len(items) for one, items in zip(found, values, strict=True)):
            return found
    return None


def _json_in(text: str) -> Any:
    """Return the object or the array in a text; None if there is none."""
    try:
        return json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None


def _fits(then: str, now: str) -> bool:
    """Return whether a text is a recorded one from which credentials were left out."""
    return HIDDEN in then and _follows(now, then.split(HIDDEN))


def _stable(texts: Sequence[str]) -> list[str]:
    """Return the parts that several texts have all, in their order: something varies between two of them.

    A part in the middle without a word says nothing, and is left out.
    """
    find = TOKEN.findall if max(map(len, texts)) <= MAX_BY_WORD else _lines
    kept = find(texts[0])
    for text in texts[1:]:
        others, ends, common = find(text), (0, 0), []
        for start, at, size in SequenceMatcher(None, kept, others, autojunk=False).get_matching_blocks():
            common += [GAP] if (start, at) != ends else []
            common += kept[start : start + size]
            ends = start + size, at + size
        kept = common
    first, *middle = "".join(one or "\0" for one in kept).split("\0")
    return [first, *(part for part in middle[:-1] if _has_word(part)), *middle[-1:]]


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _has_word(text: str) -> bool:
    return any(map(str.isalnum, text))


def _follows(text: str, parts: Sequence[str]) -> bool:
    """Return whether a text begins with the first part, ends with the last, and has the others in between."""
    if not text.startswith(parts[0]) or not text.endswith(parts[-1]):
        return False
    at = len(parts[0])
    for part in parts[1:-1]:
        if (found := text.find(part, at)) < 0:
            return False
        at = found + len(part)
    return len(text) - len(parts[-1]) >= at


def _shown(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), MAX_SHOWN)


def _shown_texts(then: Any, now: Any) -> list[str]:
    """Return two values as they are shown: of long ones the places where they differ."""
    texts = [json.dumps(one, ensure_ascii=False) for one in (then, now)]
    same = next((at for at, pair in enumerate(zip(*texts, strict=False)) if len(set(pair)) > 1), 0)
    start = max(0, same - MAX_SHOWN // 3) if max(map(len, texts)) > MAX_SHOWN else 0
    return [f"{'...' if start else ''}{shorten(one[start:], MAX_SHOWN)}" for one in texts]
