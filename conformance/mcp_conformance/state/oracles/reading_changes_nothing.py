"""Reading changes nothing, in any order, and the same read twice shows the same."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_conformance.state.oracles import same_read
from mcp_conformance.state.oracles.same_read import order
from mcp_conformance.state.scene import Creation, links_of, meaningful
from mcp_conformance.state.violation import Violation, quoted, violation


def can_judge(scene: Creation) -> bool:
    """Return whether something was read twice."""
    return bool(links_of(scene.thing))


def judge(scene: Creation) -> Iterator[Violation]:
    """Yield the reads that show something else the second time, though only reads came in between."""
    flickering = {one.tool for one in same_read.judge(scene)}
    for link in links_of(scene.thing):
        if link.tool in flickering:
            continue
        for made in scene.made:
            first, second = scene.first.look(link, made), scene.second.look(link, made)
            if first is None or second is None or not first.shows(link, made):
                continue
            changed = meaningful(scene.noise.differences(link.tool, first.structure, second.structure))
            moved = link.is_list and order(first, scene.made) != order(second, scene.made)
            if changed or moved or not second.shows(link, made):
                how = str(changed[0]) if changed else "what was made is not shown any more"
                how = "the order is another one" if moved and not changed else how
                got = f"{quoted(link.tool)} shows something else, though only reads came in between: {how}"
                between = (one.call for one in scene.first.reads.values())
                calls = (made.call, first.call, *between, second.call)
                yield violation(link.tool, "the same", got, (link,), calls)
                break
