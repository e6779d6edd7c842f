"""A call that is refused makes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.scene import Refusal
from mcp_conformance.state.violation import Violation, answer, quoted, violation


def can_judge(scene: Refusal) -> bool:
    """Return whether somebody looked."""
    return bool(scene.after.lists or scene.after.reads)


def judge(scene: Refusal) -> Iterator[Violation]:
    """Yield the reads that show what a refused call had in it."""
    for link in scene.thing.links:
        look = scene.after.look(link, scene.refused)
        if look is not None and look.forms(scene.refused):
            got = f"{quoted(link.tool)} shows what {quoted(link.maker)} was given when {scene.wrong}, though"
            got += f" that was answered with {answer(scene.refused.call)}"
            yield violation(link.maker, "nothing of a refused call", got, (link,), (scene.refused, look))
            return
