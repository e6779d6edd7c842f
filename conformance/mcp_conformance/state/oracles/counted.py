"""A number that a tool moves is moved by each call, by what it is given, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.scene import Counted
from mcp_conformance.state.violation import Violation, quoted, violation


def can_judge(_: Counted) -> bool:
    """Return true: the scene shows only numbers for which the control holds."""
    return True


def judge(scene: Counted) -> Iterator[Violation]:
    """Yield the tool if its number has moved by something else."""
    if scene.moved == scene.expected:
        return
    effect, reader = scene.effect, scene.effect.links[0].tool
    got = f"{effect.spot} in {quoted(reader)}, which {quoted(effect.tool)} moves, "
    got += f"has moved by {scene.moved:g} after {scene.how}"
    tool = reader if scene.expected == 0 else effect.tool
    yield violation(tool, f"a number that has moved by {scene.expected:g}", got, (effect,), scene.calls)
