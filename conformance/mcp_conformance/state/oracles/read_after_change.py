"""A change that succeeded is shown, and once."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.paging import shows_all
from mcp_conformance.state.scene import Change, links_of
from mcp_conformance.state.violation import Violation, quoted, violation


def can_judge(scene: Change) -> bool:
    """Return whether some read showed such changes."""
    return bool(scene.effect.links) and bool(scene.effect.paths)


def judge(scene: Change) -> Iterator[Violation]:
    """Yield the reads that do not show a change."""
    for link in scene.effect.links:
        look = scene.after.look(link, scene.target)
        if link not in links_of(scene.thing) or look is None or look.forms(scene.done):
            continue
        if not link.is_list or shows_all(link.reader.tool, look.structure, look.call.arguments):
            got = f"{quoted(link.tool)} does not show what {quoted(scene.effect.tool)} was given"
            calls = (scene.target, scene.before.look(link, scene.target), scene.done, look)
            yield violation(link.tool, "the changed thing", got, (link, scene.effect), calls)
