"""Places: what an answer shows, by where it stands."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_conformance.protocol.jsonrpc import ABSENT
from mcp_conformance.protocol.text import without_times
from mcp_conformance.world.records import parsed
from mcp_conformance.world.success import NUMBER

Place = tuple[str, ...]
"""Names of members, `EACH` for the items of a list, and the label of a line such as ``Title: a``."""
EACH = "*"
MAX_DEPTH = 12
"""Not measured: an answer that is nested deeper is compared as a whole."""
MAX_LEAVES = 20_000
"""Not measured: the values of an answer that are looked at; a list of a thousand things has fewer."""
LABEL = re.compile(r"\s*([A-Za-z][\w ]{1,24}):\s")


def structure_of(result: Any) -> Any:
    """Return what a result shows as one value: texts in it that are JSON are read, others are their lines.

    The structured content counts if there is some, else the content.  None if there is no result.
    """
    if result is ABSENT:
        return None
    if not isinstance(result, Mapping):
        return result
    if structured := result.get("structuredContent"):
        return _opened(structured)
    content = result.get("content")
    blocks = (
        [_of_block(one) for one in content if isinstance(one, Mapping)] if isinstance(content, list) else []
    )
    return blocks[0] if len(blocks) == 1 else blocks


def _of_block(block: Mapping[str, Any]) -> Any:
    inner = block.get("resource")
    if isinstance(inner, Mapping):
        return _opened({key: inner[key] for key in ("uri", "text") if key in inner})
    names = ("text", "uri", "name", "data")
    shown = {key: block[key] for key in names if isinstance(block.get(key), str)}
    return _opened(shown["text"] if set(shown) == {"text"} else shown)


def _opened(value: Any, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        return _as_text(value)
    if isinstance(value, Mapping):
        return {str(key): _opened(one, depth + 1) for key, one in value.items()}
    if isinstance(value, list):
        return [_opened(one, depth + 1) for one in value]
    if isinstance(value, str):
        inner = parsed(value)
        if isinstance(inner, dict | list):
            return _opened(inner, depth + 1)
        lines = value.splitlines()
        return lines if len(lines) > 1 else value
    return value


def _as_text(value: Any) -> str:
    """Return a value as text; what is nested too deeply for that shows nothing."""
    try:
        return json.dumps(value, sort_keys=True)
    except RecursionError:
        return ""


def leaves(structure: Any) -> Iterator[tuple[Place, Any]]:
    """Yield the values in a structure that are no lists and objects, with their places."""
    waiting: list[tuple[Place, Any]] = [((), structure)]
    for _ in range(MAX_LEAVES):
        if not waiting:
            return
        place, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [((*place, key), one) for key, one in reversed(list(value.items()))]
        elif isinstance(value, list):
            waiting += [((*place, EACH), one) for one in reversed(value)]
        else:
            label = LABEL.match(value) if isinstance(value, str) else None
            yield (place if label is None else (*place, label[1])), value


def text_of(structure: Any) -> str:
    """Return all that a structure shows, names of members included, as one text in lower case."""
    return json.dumps(structure, ensure_ascii=False, sort_keys=True).lower()


def rows_with(structure: Any, text: str) -> list[tuple[Place, list[Any]]]:
    """Return each list, by its place, with those of its items that show a text."""
    found = []
    waiting: list[tuple[Place, Any]] = [((), structure)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [((*place, key), one) for key, one in value.items() if isinstance(one, Mapping | list)]
        elif isinstance(value, list):
            found.append((place, [one for one in value if text in text_of(one)]))
            waiting += [((*place, EACH), one) for one in value if isinstance(one, Mapping | list)]
    return found


def lengths(structure: Any) -> Counter[Place]:
    """Return how many items the lists of a structure have, by place."""
    counted: Counter[Place] = Counter()
    waiting: list[tuple[Place, Any]] = [((), structure)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [((*place, key), one) for key, one in value.items()]
        elif isinstance(value, list):
            counted[place] += len(value)
            waiting += [((*place, EACH), one) for one in value]
    return counted


def alike(value: Any) -> str:
    """Return a value as a text in which numbers, ids and dates are all the same."""
    return NUMBER.sub("0", text_of(value))


@dataclass(frozen=True)
class Difference:
    """What two answers show differently at a place: the values that are ``gone``, and those that are new."""

    place: Place
    gone: tuple[str, ...]
    new: tuple[str, ...]

    def __str__(self) -> str:
        where = ".".join(self.place) or "the answer"
        return (
            f"{where}: {', '.join(self.gone) or 'nothing'} before, {', '.join(self.new) or 'nothing'} after"
        )


def differences(before: Any, after: Any) -> Iterator[Difference]:
    """Yield what two structures show differently, whatever the order of items; times do not count."""
    one, other = _counted(before), _counted(after)
    for place in dict.fromkeys((*one, *other)):
        gone, new = one.get(place, Counter()), other.get(place, Counter())
        if gone != new:
            yield Difference(place, tuple((gone - new).elements()), tuple((new - gone).elements()))


def _counted(structure: Any) -> dict[Place, Counter[str]]:
    counted: dict[Place, Counter[str]] = {}
    for place, value in leaves(structure):
        text = json.dumps(value, ensure_ascii=False)
        counted.setdefault(place, Counter())[without_times(text) if isinstance(value, str) else text] += 1
    return counted
