"""A name is the same however its letters with accents are encoded."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.scene import Respelling, meaningful
from mcp_conformance.state.violation import Violation, answer, quoted, violation


def can_judge(scene: Respelling) -> bool:
    """Return whether the read succeeds by the name as it was given, before and after."""
    return scene.first.is_success and scene.again.is_success


def judge(scene: Respelling) -> Iterator[Violation]:
    """Yield the read if it fails, or shows something else, by the same name with its letters in two parts."""
    tool = scene.link.tool
    differences = scene.noise.differences(tool, scene.first.structure, scene.second.structure)
    changed = [one for one in meaningful(differences) if not _is_name(scene, one.gone)]
    if not scene.second.is_success:
        got = f"{quoted(tool)} does not find it: {answer(scene.second.call)}"
    elif changed:
        got = f"{quoted(tool)} shows something else: {changed[0]}"
    else:
        return
    expected = f'the same for `{scene.member}` with "e" and an accent in place of "\u00e9"'
    yield violation(tool, expected, got, (scene.link,), (scene.made, scene.first, scene.second))


def _is_name(scene: Respelling, shown: tuple[str, ...]) -> bool:
    """Return whether what is shown is the name itself, which is shown as it was given."""
    return all(scene.core in one for one in shown)
