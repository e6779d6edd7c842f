"""What was deleted is in no list any more."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.kinds import is_deletion, is_list_of
from mcp_conformance.state.scene import Deletion, links_of
from mcp_conformance.state.violation import Violation, quoted, violation


def can_judge(scene: Deletion) -> bool:
    """Return whether a thing was deleted, as some read shows, and there is a list of such things."""
    is_gone = any(not one.is_list for one in scene.gone)
    return is_deletion(scene.effect) and is_gone and any(is_list_of(one) for one in links_of(scene.thing))


def judge(scene: Deletion) -> Iterator[Violation]:
    """Yield the lists that show a deleted thing."""
    reads = [one for one in scene.gone if not one.is_list]
    for link in links_of(scene.thing):
        if is_list_of(link) and scene.after.shows(link, scene.target):
            got = f"{quoted(link.tool)} lists it, after {quoted(scene.effect.tool)} succeeded and "
            got += f"{quoted(reads[0].tool)} finds it no more"
            look, gone = scene.after.look(link, scene.target), scene.after.look(reads[0], scene.target)
            calls = (scene.target, scene.done, gone, look)
            yield violation(link.tool, "a list without what was deleted", got, (link, scene.effect), calls)
