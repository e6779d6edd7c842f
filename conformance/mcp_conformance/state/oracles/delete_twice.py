"""Deleting again is an error, or says that nothing was deleted."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.kinds import is_deletion
from mcp_conformance.state.places import alike, structure_of
from mcp_conformance.state.scene import Deletion
from mcp_conformance.state.violation import Violation, answer, quoted, violation
from mcp_conformance.world.success import is_success


def can_judge(scene: Deletion) -> bool:
    """Return whether a thing was deleted, and the tool does not say that it may be called again."""
    return is_deletion(scene.effect) and bool(scene.gone) and not scene.effect.writer.tool.idempotent


def judge(scene: Deletion) -> Iterator[Violation]:
    """Yield the second deletion of a thing if it is answered like the first."""
    first, second = (structure_of(one.reply.result) for one in (scene.done, scene.again))
    if is_success(scene.again.reply, needs_values=False) and alike(first) == alike(second):
        yield violation(
            scene.effect.tool,
            "an error for what does not exist, or an answer that says that nothing was deleted",
            f"{quoted(scene.effect.tool)} answers the second deletion like the first: {answer(scene.again)}",
            (scene.effect,),
            (scene.target, scene.done, scene.again),
        )
