"""Known values: values that a server knows, each with where it came from and whose it is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from mcp_conformance.protocol.jsonrpc import encode

MAX_TEXT = 300
"""The most characters of a known text: paths and ids are shorter, documents are not arguments."""
# Not measured: exploration tries eight values of a member at most; a list of ten thousand rows teaches no
# more than its first ones, and costs memory and time.
MAX_ALIKE = 12
"""The most values that are kept of one origin under the same key."""


class Owner(StrEnum):
    """Whose a value is."""

    MADE = "made by this run"
    WORD = "a word of the server"
    FOUND = "found"


@dataclass(frozen=True)
class Origin:
    """Where a value came from.

    ``kind`` is for example "the command", "an answer of", "a refusal of"; ``of`` is what it is of: a tool, a
    list, a member.
    """

    kind: str
    of: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.of}".strip()


@dataclass(frozen=True)
class Known:
    """A value that a server knows.

    ``keys`` are the names under which it was seen, the nearest first: a leaf ``number`` of an object in a
    list ``issues`` has ``("number", "issues")``.  ``rank`` says how good the source is:

    - 4: arguments that worked
    - 3: a place made for values: structured content, JSON, a list of resources, completions, the command
    - 2: a value with a label: ``Key: value`` in a text, an example or an option in a schema or a description
    - 1: a value in a sentence or a line of its own, a quoted word of a description, a value in a usual format
    - 0: a word of a text that is about all tools: instructions, descriptions, names
    """

    value: Any
    keys: tuple[str, ...]
    origin: Origin
    owner: Owner
    rank: int = 0


class KnownValues:
    """The known values of a run, each value once, the first seen first.

    A value that was found stays found, whoever names it later; one that this run made stays so.
    """

    def __init__(self) -> None:
        self._by_text: dict[bytes, Known] = {}
        self._alike: dict[tuple[str, Origin], int] = {}

    def __iter__(self) -> Iterator[Known]:
        return iter(list(self._by_text.values()))

    def __len__(self) -> int:
        return len(self._by_text)

    def add(self, one: Known) -> None:
        """Add a value; merge it with what is known of the same value.

        Objects, null, empty texts, long texts and what is no number of JSON are left out.
        """
        if not is_worth_knowing(one.value):
            return
        text = encode(one.value)
        before = self._by_text.get(text)
        if before is None:
            alike = (one.keys[0] if one.keys else "", one.origin)
            self._alike[alike] = self._alike.get(alike, 0) + 1
            if self._alike[alike] <= MAX_ALIKE:
                self._by_text[text] = one
        else:
            self._by_text[text] = _merged(before, one)

    def add_all(self, some: Iterator[Known] | Sequence[Known]) -> None:
        """Add values as `add` does."""
        for one in some:
            self.add(one)

    def get(self, value: Any) -> Known | None:
        """Return what is known of a value; None if nothing is."""
        return self._by_text.get(encode(value))


def is_worth_knowing(value: Any) -> bool:
    """Return whether a value can be an argument that opens something: a short text, a number, a boolean."""
    if isinstance(value, str):
        return 0 < len(value) <= MAX_TEXT
    return isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))


def _merged(before: Known, now: Known) -> Known:
    owner = now.owner if before.owner is Owner.WORD else before.owner
    best = max(before, now, key=lambda one: one.rank)
    keys = tuple(dict.fromkeys((*before.keys, *now.keys)))
    return replace(before, keys=keys, rank=best.rank, origin=best.origin, owner=owner)
