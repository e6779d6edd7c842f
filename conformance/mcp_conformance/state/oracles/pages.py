"""The pages of a list lose and repeat nothing that stood there all the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from mcp_conformance.protocol.text import shorten
from mcp_conformance.state.places import rows_with, text_of
from mcp_conformance.state.scene import Paging
from mcp_conformance.state.violation import Violation, quoted, violation
from mcp_conformance.state.workshop import Look

MAX_ITEM = 80


def can_judge(scene: Paging) -> bool:
    """Return whether something is shown once while nothing is done, before and after."""
    return bool(_standing(scene))


def judge(scene: Paging) -> Iterator[Violation]:
    """Yield the list if its pages lack something that stood there, or show it twice."""
    shown = counted(scene.pages)
    for item in _standing(scene):
        if (times := shown[item]) != 1:
            did = "one was deleted" if scene.deleted is not None else "another one was made"
            how = f"show {times} times" if times else "do not show"
            got = f"the pages of {quoted(scene.link.tool)} {how} what stood there all the time, since {did} "
            got += f"between two pages: {shorten(item, MAX_ITEM)}"
            calls = (*scene.pages[:1], scene.done, *scene.pages[1:], *scene.after)
            yield violation(scene.link.tool, "each item that stood there, once", got, (scene.link,), calls)
            return


def _standing(scene: Paging) -> list[str]:
    """Return the items that the pages show once, before and after."""
    before, after = counted(scene.before), counted(scene.after)
    return [item for item, times in before.items() if times == after[item] == 1]


def counted(pages: Sequence[Look]) -> Counter[str]:
    """Return how often pages show each item of a list, as a text."""
    return Counter(
        text_of(row) for page in pages for _, rows in rows_with(page.structure, "") for row in rows
    )
