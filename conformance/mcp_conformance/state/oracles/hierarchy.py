"""What was made in one parent is not found in another."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.scene import Nesting
from mcp_conformance.state.violation import Violation, quoted, violation


def can_judge(scene: Nesting) -> bool:
    """Return whether it is found where it was made."""
    return scene.inside.shows(scene.link, scene.child)


def judge(scene: Nesting) -> Iterator[Violation]:
    """Yield the reads that show it in a parent in which it was not made."""
    if scene.outside.shows(scene.link, scene.child):
        parent = quoted(scene.parent.maker.name)
        got = f"{quoted(scene.link.tool)} shows it in another thing that {parent} made"
        calls = (*scene.parents, scene.child, scene.inside, scene.outside)
        yield violation(scene.link.tool, "it in its own parent alone", got, (scene.link,), calls)
