"""What was made once is listed once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcp_conformance.state.kinds import is_list_of
from mcp_conformance.state.links import Made
from mcp_conformance.state.places import alike, rows_with
from mcp_conformance.state.scene import Creation, links_of
from mcp_conformance.state.violation import Violation, quoted, violation


def can_judge(scene: Creation) -> bool:
    """Return whether there is a list of such things."""
    return scene.thing.lasts and any(is_list_of(one) for one in links_of(scene.thing))


def judge(scene: Creation) -> Iterator[Violation]:
    """Yield the lists that have several items alike for a thing that was made once."""
    for link in links_of(scene.thing):
        look = scene.first.look(link, scene.made[0]) if is_list_of(link) else None
        if look is not None:
            for made in scene.made[:1]:
                if number := _times(look.structure, made):
                    got = f"{quoted(link.tool)} lists {number} times what {quoted(link.maker)} made once"
                    yield violation(link.tool, "one item", got, (link,), (made, look))


def _times(structure: Any, made: Made) -> int:
    """Return how many items of one list are of a thing, and alike but for numbers and ids; 0 for one."""
    for token in made.tokens.values():
        for _, rows in rows_with(structure, token.core):
            kinds = [alike(one) for one in rows]
            most = max(map(kinds.count, kinds), default=0)
            if most > 1:
                return most
    return 0
