"""What lies in a deleted thing is not shown as if that were still there."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.kinds import is_deletion
from mcp_conformance.state.links import Link
from mcp_conformance.state.places import differences
from mcp_conformance.state.scene import Orphaning, links_of
from mcp_conformance.state.violation import Violation, quoted, violation


def can_judge(scene: Orphaning) -> bool:
    """Return whether the parent is gone, and a read showed the thing with the name of the parent before."""
    return is_deletion(scene.effect) and bool(scene.gone) and bool(_naming(scene))


def judge(scene: Orphaning) -> Iterator[Violation]:
    """Yield the first read that shows the thing as before, in a parent that is gone."""
    for link in _naming(scene):
        before, after = scene.before.look(link, scene.made), scene.after.look(link, scene.made)
        is_shown = after is not None and after.shows(link, scene.made)
        if before is not None and after is not None and is_shown:
            if list(differences(before.structure, after.structure)):
                continue
            gone = scene.home_after.look(scene.gone[0], scene.home)
            got = f"{quoted(link.tool)} shows it as before, with the name of what {quoted(scene.effect.tool)}"
            got += f" deleted and {quoted(scene.gone[0].tool)} shows no more"
            calls = (scene.home, scene.made, before, scene.done, gone, after)
            expected = "an error, or an answer without the deleted parent"
            yield violation(scene.effect.tool, expected, got, (link, scene.effect), calls)
            return


def _naming(scene: Orphaning) -> list[Link]:
    """Return the links through which the thing was shown with the name of its parent."""
    looks = ((one, scene.before.look(one, scene.made)) for one in links_of(scene.child))
    name = str(scene.name).lower()
    return [
        one for one, look in looks if look is not None and look.shows(one, scene.made) and name in look.text
    ]
