"""A change that succeeded is shown, and once."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.links import Link
from mcp_conformance.state.paging import shows_all
from mcp_conformance.state.places import differences
from mcp_conformance.state.scene import Change, links_of
from mcp_conformance.state.violation import Violation, quoted, violation
from mcp_conformance.state.workshop import Look


def can_judge(scene: Change) -> bool:
    """Return whether some read shows the change now, as was learned."""
    return bool(scene.effect.paths and _shown(scene))


def judge(scene: Change) -> Iterator[Violation]:
    """Yield the reads that show a thing as it was before, though another one shows the change."""
    shown = _shown(scene)
    for link in links_of(scene.thing):
        before, after = scene.before.look(link, scene.target), scene.after.look(link, scene.target)
        if before is None or after is None or link in shown or not before.shows(link, scene.target):
            continue
        is_whole = not link.is_list or shows_all(link.reader.tool, after.structure, after.call.arguments)
        if is_whole and _old(scene, after) and not list(differences(before.structure, after.structure)):
            got = f"{quoted(link.tool)} shows it as before, and {quoted(shown[0].tool)} as changed, after "
            got += f"{quoted(scene.effect.tool)}"
            calls = (scene.target, before, scene.done, scene.after.look(shown[0], scene.target), after)
            yield violation(link.tool, "the changed thing", got, (link, scene.effect), calls)


def _shown(scene: Change) -> list[Link]:
    """Return the links that show what the change was given, and no more what that replaced."""
    looks = ((one, scene.after.look(one, scene.target)) for one in links_of(scene.thing))
    return [
        one for one, look in looks if look is not None and look.forms(scene.done) and not _old(scene, look)
    ]


def _old(scene: Change, look: Look) -> bool:
    """Return whether a look shows a token that the change replaced: some link showed it, and does not now."""
    shown = set(look.forms(scene.target))
    return any(path in shown for path in scene.effect.paths)
