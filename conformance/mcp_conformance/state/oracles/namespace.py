"""What a session made for itself alone is not shown in another one."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.links import Link
from mcp_conformance.state.paging import shows_all
from mcp_conformance.state.scene import Strangers, links_of
from mcp_conformance.state.violation import Violation, quoted, violation


def can_judge(scene: Strangers) -> bool:
    """Return whether the other session does not know the thing, as a read or a call there shows."""
    return bool(_unknown(scene))


def judge(scene: Strangers) -> Iterator[Violation]:
    """Yield the reads of the other session that show the thing all the same."""
    unknown = _unknown(scene)
    for link in links_of(scene.thing):
        look = scene.outside.look(link, scene.made)
        if link.shows and scene.inside.shows(link, scene.made) and scene.outside.shows(link, scene.made):
            got = f"{quoted(link.tool)} shows in another session what {quoted(link.maker)} made in this one, "
            got += f"and {quoted(unknown[0])} does not find it there"
            calls = (scene.made, scene.inside.look(link, scene.made), look, *scene.refused.values())
            yield violation(link.tool, "nothing of what another session has for itself", got, (link,), calls)


def _unknown(scene: Strangers) -> list[str]:
    """Return the tools that work with the thing in its own session, and do not find it in the other one."""
    hidden = [one.tool for one in links_of(scene.thing) if _is_hidden(scene, one)]
    return [*hidden, *scene.refused]


def _is_hidden(scene: Strangers, link: Link) -> bool:
    look = scene.outside.look(link, scene.made)
    if look is None or not scene.inside.shows(link, scene.made) or look.shows(link, scene.made):
        return False
    return not link.is_list or shows_all(link.reader.tool, look.structure, look.call.arguments)
