"""What was made can be read and is listed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mcp_conformance.state.links import Link, Made
from mcp_conformance.state.paging import shows_all
from mcp_conformance.state.scene import Creation, links_of
from mcp_conformance.state.violation import Violation, quoted, violation
from mcp_conformance.state.workshop import Look


def can_judge(scene: Creation) -> bool:
    """Return whether there is a link, and each made thing is another one."""
    return scene.thing.lasts and bool(links_of(scene.thing))


def judge(scene: Creation) -> Iterator[Violation]:
    """Yield a read that does not show all that was made just now; it is certain if it shows some.

    What one does not show is lost to the others too, as a rule.
    """
    for link in reversed(links_of(scene.thing)):
        missing = [one for one in scene.made if not scene.first.shows(link, one)]
        shown = [one for one in scene.made if scene.first.shows(link, one)]
        if missing and (look := _settled(scene, link, missing[0])) is not None:
            number = f"{len(missing)} of {len(scene.made)} that were made one after the other"
            got = f"{quoted(link.tool)} does not show {number}, though each {quoted(link.maker)} succeeded"
            expected = "each of them" if link.is_list else "what was made"
            other = scene.first.look(link, shown[-1]) if shown else None
            one = violation(link.tool, expected, got, (link,), (*scene.made, other, look))
            yield replace(one, certain=bool(shown))
            return


def _settled(scene: Creation, link: Link, made: Made) -> Look | None:
    """Return the look that does not show a thing; None if it is no proof: the list may go on elsewhere."""
    look = scene.first.look(link, made)
    if look is None or (
        link.is_list and not shows_all(link.reader.tool, look.structure, look.call.arguments)
    ):
        return None
    return look
