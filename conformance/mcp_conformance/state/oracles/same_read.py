"""The same read, several times in a row, shows the same things in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcp_conformance.state.links import Made
from mcp_conformance.state.scene import Creation
from mcp_conformance.state.violation import Violation, quoted, violation
from mcp_conformance.state.workshop import Look


def can_judge(scene: Creation) -> bool:
    """Return whether a read was repeated."""
    return bool(scene.repeated)


def judge(scene: Creation) -> Iterator[Violation]:
    """Yield the reads of which one does not show what the one before did, or in another order."""
    for link, looks in scene.repeated.items():
        number = next((one for one in range(1, len(looks)) if _lacks(scene, looks, one)), None)
        if number is not None:
            got = f"{quoted(link.tool)} does not show what it showed just before; nothing was done in between"
            calls = (scene.made[0].call, looks[number - 1].call, looks[number].call)
            yield violation(link.tool, "the same twice", got, (link,), calls)
        elif link.is_list and len({tuple(order(one, scene.made)) for one in looks}) > 1:
            got = f"{quoted(link.tool)} lists the same things in another order; nothing was done in between"
            shown = [one.call for one in looks]
            yield violation(link.tool, "the same order", got, (link,), [scene.made[0].call, *shown])


def _lacks(scene: Creation, looks: Sequence[Look], number: int) -> bool:
    made = scene.made[0]
    before, after = set(looks[number - 1].forms(made)), set(looks[number].forms(made))
    return bool(before - after)


def order(look: Look, made: Sequence[Made]) -> list[int]:
    """Return the numbers of the things that a look shows, in the order in which it does."""
    firsts = [_first(look, one) for one in made]
    return sorted((one for one in range(len(made)) if firsts[one] >= 0), key=lambda one: firsts[one])


def _first(look: Look, made: Made) -> int:
    found = [place for token in made.tokens.values() if (place := look.text.find(token.core)) >= 0]
    return min(found, default=-1)
