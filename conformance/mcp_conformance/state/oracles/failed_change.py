"""A change that is refused leaves all as it was."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.scene import RefusedChange, links_of, meaningful
from mcp_conformance.state.violation import Violation, answer, quoted, violation


def can_judge(scene: RefusedChange) -> bool:
    """Return whether the call would have changed something that is shown."""
    return any(scene.before.shows(one, scene.target) for one in links_of(scene.thing))


def judge(scene: RefusedChange) -> Iterator[Violation]:
    """Yield the reads that show a thing otherwise after a refused change."""
    for link in links_of(scene.thing):
        before, after = scene.before.look(link, scene.target), scene.after.look(link, scene.target)
        if before is None or after is None or not before.shows(link, scene.target):
            continue
        changed = meaningful(scene.noise.differences(link.tool, before.structure, after.structure))
        if changed or not after.shows(link, scene.target):
            how = str(changed[0]) if changed else "it is not shown any more"
            got = f"{quoted(link.tool)} shows another thing after {quoted(scene.effect.tool)} was refused, as"
            got += f" {scene.wrong} ({answer(scene.refused.call)}): {how}"
            calls = (scene.target, before, scene.refused, after)
            yield violation(scene.effect.tool, "all as it was", got, (link, scene.effect), calls)
            return
