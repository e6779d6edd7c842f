"""How deep a value must at least be to conform to a part: what lets recursion end."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from conformance.generation.references import Document, Part

ENDLESS = 99
"""The height of what no finite value conforms to."""


@dataclass(frozen=True)
class Links:
    """The parts a part's height depends on: same value, one of each group, or one level below."""

    together: tuple[Part, ...]
    groups: tuple[tuple[Part, ...], ...]
    below: tuple[Part, ...]

    def all(self) -> Iterable[Part]:
        """Every part linked to."""
        yield from self.together
        yield from self.below
        for group in self.groups:
            yield from group


class Heights:
    """The least heights of a document's parts: a lower bound, exact enough to steer by."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._heights: dict[Part, int] = {}

    def of(self, part: Part) -> int:
        """The least height of a value that conforms to ``part``; `ENDLESS` if there is none."""
        if part not in self._heights:
            self._solve(part)
        return self._heights[part]

    def _solve(self, start: Part) -> None:
        links: dict[Part, Links] = {}
        todo = [start]
        while todo:
            part = todo.pop()
            if part not in links and part not in self._heights:
                links[part] = self._links(part)
                todo += links[part].all()
        self._heights.update(dict.fromkeys(links, ENDLESS))
        changed = True
        while changed:
            changed = False
            for part, linked in links.items():
                height = self._estimate(part, linked)
                if height < self._heights[part]:
                    self._heights[part] = height
                    changed = True

    def _estimate(self, part: Part, linked: Links) -> int:
        if part.never:
            return ENDLESS
        least = max((self._heights[one] for one in linked.together), default=0)
        for group in linked.groups:
            least = max(least, min((self._heights[one] for one in group), default=ENDLESS))
        deepest = max((self._heights[one] + 1 for one in linked.below), default=0)
        return min(ENDLESS, max(least, deepest))

    def _links(self, part: Part) -> Links:
        said = part.keywords
        together = (*self._document.referenced(part), *self._below(part, said.get("allOf", ())))
        groups = tuple(self._below(part, said[word]) for word in ("anyOf", "oneOf") if word in said)
        return Links(together, groups, self._needed(part))

    def _needed(self, part: Part) -> tuple[Part, ...]:
        said = part.keywords
        if said.get("type") in ("object", ["object"]):
            members = said.get("properties", {})
            return self._below(part, [members[name] for name in said.get("required", ()) if name in members])
        if said.get("type") in ("array", ["array"]):
            least = math.ceil(said.get("minItems", 0))
            items = said.get("prefixItems", [])[:least]
            if len(items) < least and "items" in said:
                items = [*items, said["items"]]
            return self._below(part, items)
        return ()

    def _below(self, part: Part, schemas: Iterable[object]) -> tuple[Part, ...]:
        return tuple(self._document.below(part, schema) for schema in schemas)
