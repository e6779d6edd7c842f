"""The same arguments written in another way have the same answer."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.scene import Rewriting, meaningful
from mcp_conformance.state.violation import Violation, answer, quoted, violation


def can_judge(scene: Rewriting) -> bool:
    """Return whether the read succeeds, and shows the same before and after."""
    tool = scene.first.call.tool.name
    same = not list(scene.noise.differences(tool, scene.first.structure, scene.again.structure))
    return scene.first.is_success and scene.again.is_success and same


def judge(scene: Rewriting) -> Iterator[Violation]:
    """Yield the read if it is refused, or shows something else, when it is written in another way."""
    tool = scene.first.call.tool.name
    changed = meaningful(scene.noise.differences(tool, scene.first.structure, scene.second.structure))
    if scene.second.call.failed or changed:
        how = answer(scene.second.call) if scene.second.call.failed else str(changed[0])
        got = f"{quoted(tool)} answers otherwise with {scene.how}: {how}"
        yield violation(tool, "the same answer", got, (), (scene.made, scene.first, scene.second))
