"""Two changes of a thing at once leave one of the two, and no mixture."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.scene import Together
from mcp_conformance.state.violation import Violation, quoted, violation

MIN_PATHS = 2


def can_judge(scene: Together) -> bool:
    """Return whether one call alone changes several members, and a read shows all of them."""
    paths = set(scene.effect.paths)
    shown = [set(look.forms(scene.done)) & paths for look in scene.alone.values()]
    return any(len(one) >= MIN_PATHS for one in shown)


def judge(scene: Together) -> Iterator[Violation]:
    """Yield the reads that show some members of one call, and others of the other."""
    for link, look in scene.after.items():
        judged = set(scene.alone[link].forms(scene.done)) & set(scene.effect.paths)
        one, other = (set(look.forms(each)) & judged for each in scene.both)
        if one and other and not one & other and one | other == judged:
            names = [", ".join(f"`{path[-1]}`" for path in sorted(some)) for some in (one, other)]
            writer = quoted(scene.effect.tool)
            got = f"{quoted(link.tool)} shows {names[0]} of one call of {writer} and {names[1]} of another"
            calls = (scene.target, *scene.both, look)
            yield violation(
                scene.effect.tool, "what one of the two calls had", got, (link, scene.effect), calls
            )
