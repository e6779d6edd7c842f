"""The least depth of a value that conforms to a part: a guide to end recursion."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from mcp_conformance.generation.references import Document, Part

# Deeper than a walk goes (`choices.DEEP`), and than any schema needs.
ENDLESS = 99
"""The least depth of a part that no finite value conforms to."""


@dataclass(frozen=True)
class Links:
    """The parts a part's least depth depends on: same value, one of each group, or one level below."""

    together: tuple[Part, ...]
    groups: tuple[tuple[Part, ...], ...]
    below: tuple[Part, ...]

    def all(self) -> Iterable[Part]:
        """Yield every linked part."""
        yield from self.together
        yield from self.below
        for group in self.groups:
            yield from group


class LeastDepths:
    """Least depths of a document's parts: a lower bound, exact enough to choose by."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._least_depths: dict[Part, int] = {}

    def of(self, part: Part) -> int:
        """Return the least depth of a value that conforms to ``part``; `ENDLESS` if none is finite."""
        if part not in self._least_depths:
            self._solve(part)
        return self._least_depths[part]

    def _solve(self, start: Part) -> None:
        links: dict[Part, Links] = {}
        todo = [start]
        while todo:
            part = todo.pop()
            if part not in links and part not in self._least_depths:
                links[part] = self._links(part)
                todo += links[part].all()
        self._least_depths.update(dict.fromkeys(links, ENDLESS))
        changed = True
        while changed:
            changed = False
            for part, linked in links.items():
                least_depth = self._estimate(part, linked)
                if least_depth < self._least_depths[part]:
                    self._least_depths[part] = least_depth
                    changed = True

    def _estimate(self, part: Part, linked: Links) -> int:
        if part.never:
            return ENDLESS
        least = max((self._least_depths[one] for one in linked.together), default=0)
        for group in linked.groups:
            least = max(least, min((self._least_depths[one] for one in group), default=ENDLESS))
        deepest = max((self._least_depths[one] + 1 for one in linked.below), default=0)
        return min(ENDLESS, max(least, deepest))

    def _links(self, part: Part) -> Links:
        keywords = part.keywords
        together = (*self._document.referenced(part), *self._below(part, keywords.get("allOf", ())))
        groups = tuple(self._below(part, keywords[word]) for word in ("anyOf", "oneOf") if word in keywords)
        return Links(together, groups, self._needed(part))

    def _needed(self, part: Part) -> tuple[Part, ...]:
        keywords = part.keywords
        if keywords.get("type") in ("object", ["object"]):
            members = keywords.get("properties", {})
            return self._below(
                part, [members[name] for name in keywords.get("required", ()) if name in members]
            )
        if keywords.get("type") in ("array", ["array"]):
            least = math.ceil(keywords.get("minItems", 0))
            items = keywords.get("prefixItems", [])[:least]
            if len(items) < least and "items" in keywords:
                items = [*items, keywords["items"]]
            return self._below(part, items)
        return ()

    def _below(self, part: Part, schemas: Iterable[object]) -> tuple[Part, ...]:
        return tuple(self._document.below(part, schema) for schema in schemas)
