"""A list shows the same items, whatever the size of its pages."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.protocol.text import shorten
from mcp_conformance.state.oracles.pages import MAX_ITEM, counted
from mcp_conformance.state.scene import PageSizes
from mcp_conformance.state.violation import Violation, quoted, violation


def can_judge(scene: PageSizes) -> bool:
    """Return whether small pages were several, and large ones show something once, before and after."""
    return len(scene.small) > 1 and bool(_standing(scene))


def judge(scene: PageSizes) -> Iterator[Violation]:
    """Yield the list if small pages lack an item that large ones show, or show it twice."""
    shown = counted(scene.small)
    for item in _standing(scene):
        if (times := shown[item]) != 1:
            how = f"shows {times} times" if times else "does not show"
            got = (
                f"{quoted(scene.link.tool)} {how} in pages of {scene.size} what it shows once in larger ones"
            )
            got += f": {shorten(item, MAX_ITEM)}"
            calls = (*scene.made, *scene.large, *scene.small)
            yield violation(scene.link.tool, "the same items", got, (scene.link,), calls)
            return


def _standing(scene: PageSizes) -> list[str]:
    """Return the items that large pages show once, before and after."""
    before, after = counted(scene.large), counted(scene.again)
    return [item for item, times in before.items() if times == after[item] == 1]
