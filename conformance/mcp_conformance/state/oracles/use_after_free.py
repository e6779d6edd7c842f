"""What was deleted cannot be read any more."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.kinds import is_deletion
from mcp_conformance.state.places import differences
from mcp_conformance.state.scene import Deletion, links_of
from mcp_conformance.state.violation import Violation, quoted, violation


def can_judge(scene: Deletion) -> bool:
    """Return whether a thing was deleted, by the name of the tool and what the lists show, and can be read.

    What some list still shows was only taken out of another.
    """
    is_listed = any(scene.after.shows(one, scene.target) for one in links_of(scene.thing) if one.is_list)
    return is_deletion(scene.effect) and bool(scene.gone) and not is_listed and bool(scene.thing.reads)


def judge(scene: Deletion) -> Iterator[Violation]:
    """Yield the reads that show a deleted thing as they did before; one that marks it is right."""
    for link in links_of(scene.thing):
        before, after = scene.before.look(link, scene.target), scene.after.look(link, scene.target)
        if link.is_list or before is None or after is None:
            continue
        is_shown = before.shows(link, scene.target) and after.shows(link, scene.target)
        is_control = all(scene.after.shows(link, one) for one in scene.others)
        if is_shown and is_control and not list(differences(before.structure, after.structure)):
            gone = [scene.after.look(one, scene.target) for one in scene.gone]
            got = f"{quoted(link.tool)} shows it as before, after {quoted(scene.effect.tool)} succeeded"
            if shown := ", ".join(quoted(one.tool) for one in scene.gone):
                got += f" and {shown} shows it no more"
            yield violation(
                link.tool,
                "an error, or an answer that says that it is gone",
                got,
                (link, scene.effect),
                (scene.target, before, scene.done, *gone, after),
            )
