"""What a restart kept of one thing it keeps of all: none is lost, none comes back."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.links import Link, Made
from mcp_conformance.state.paging import shows_all
from mcp_conformance.state.scene import Restart, links_of, meaningful
from mcp_conformance.state.violation import Violation, quoted, violation


def can_judge(scene: Restart) -> bool:
    """Return whether what was made first is shown after the restart, at least in part."""
    return bool(_lasting(scene))


def judge(scene: Restart) -> Iterator[Violation]:
    """Yield what another process shows otherwise, though it shows the first thing; one read is enough."""
    for link in reversed(_lasting(scene)):
        for made in scene.made:
            if how := _lost(scene, link, made):
                got = f"after a restart {quoted(link.tool)} {how} before it, though it shows another thing"
                done = scene.done if made is scene.changed else None
                calls = (scene.kept, made, done, scene.before.look(link, made), scene.after.look(link, made))
                yield violation(link.tool, "what it showed before the restart", got, (link,), calls)
                return


def _lasting(scene: Restart) -> list[Link]:
    """Return the links that show the first thing before and after, a part of it at least."""
    links = [one for one in links_of(scene.thing) if one.shows and scene.before.shows(one, scene.kept)]
    looks = [(one, scene.after.look(one, scene.kept)) for one in links]
    return [one for one, look in looks if look is not None and look.forms(scene.kept)]


def _lost(scene: Restart, link: Link, made: Made) -> str:
    """Return what a restart did to a thing; empty if nothing, or if nobody can say."""
    before, after = scene.before.look(link, made), scene.after.look(link, made)
    if before is None or after is None:
        return ""
    if made is scene.deleted:
        is_back = not before.shows(link, made) and after.shows(link, made)
        return "shows again what was deleted" if is_back else ""
    if link.is_list and not shows_all(link.reader.tool, after.structure, after.call.arguments):
        return ""
    if made is scene.changed and scene.done is not None:
        is_lost = before.forms(scene.done) and not after.forms(scene.done)
        return "does not show a change that was made" if is_lost else ""
    if before.shows(link, made) and not after.shows(link, made):
        return "does not show what was made"
    changed = meaningful(scene.noise.differences(link.tool, before.structure, after.structure))
    return f"shows otherwise ({changed[0]}) what was made" if changed and not link.is_list else ""
