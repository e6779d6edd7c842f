"""The change or deletion of a thing leaves the others alone."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.scene import Change, Deletion, links_of, meaningful
from mcp_conformance.state.violation import Violation, quoted, violation


def can_judge(scene: Change | Deletion) -> bool:
    """Return whether others were shown before."""
    return scene.thing.lasts and any(
        scene.before.shows(link, one) for link in links_of(scene.thing) for one in scene.others
    )


def judge(scene: Change | Deletion) -> Iterator[Violation]:
    """Yield the reads that show another thing otherwise, or no more, after a change of its neighbour."""
    done = scene.done.call if isinstance(scene, Change) else scene.done
    for link in links_of(scene.thing):
        for one in scene.others:
            before, after = scene.before.look(link, one), scene.after.look(link, one)
            if not link.shows or before is None or after is None or not before.shows(link, one):
                continue
            changed = (
                []
                if link.is_list
                else meaningful(scene.noise.differences(link.tool, before.structure, after.structure))
            )
            if changed or not after.shows(link, one):
                how = str(changed[0]) if changed else "it is not shown any more"
                done_by = quoted(scene.effect.tool)
                got = f"{quoted(link.tool)} shows another one otherwise after {done_by}: {how}"
                calls = (one, scene.target, before, done, after)
                yield violation(
                    scene.effect.tool, "the others as they were", got, (link, scene.effect), calls
                )
                return
