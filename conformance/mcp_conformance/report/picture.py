"""The picture of the links between tools: what makes stands to the left of what shows, changes and deletes.

It is drawn here as SVG, in layers: a program such as Graphviz would be a dependency of every report.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from mcp_conformance.protocol.text import named
from mcp_conformance.report import markup as h
from mcp_conformance.report.markup import Html, element
from mcp_conformance.report.tool_links import ToolLink

MAX_NAME, MAX_TOOLS = 30, 60
"""How many characters of a name, and how many tools, a picture has: more cannot be read."""
LETTER, PADDING = 7.6, 20.0
"""The width of a letter of 13 px in a monospaced font, and of the sides of a box; not measured."""
HEIGHT, ROW, COLUMN = 26, 38, 90
"""The height of a box, of a row, and the width between two columns, in px."""


def picture(links: Sequence[ToolLink]) -> Html | None:
    """Return the picture; None if there are no links, or too many tools."""
    columns = _columns(links)
    if not links or sum(map(len, columns)) > MAX_TOOLS:
        return None
    places = _places(columns)
    width = max(left + wide for left, _, wide in places.values()) + 1
    height = ROW * max(map(len, columns))
    arrows = [_arrow(one, places) for one in links if one.maker != one.tool]
    boxes = [_box(name, *place) for name, place in places.items()]
    view = f"0 0 {width:.0f} {height}"
    size = {"width": f"{width:.0f}", "height": f"{height}", "viewBox": view}
    return element(
        "svg", "\n", arrows, boxes, **size, class_="tools", role="img", aria_label="Links of tools"
    )


def _columns(links: Sequence[ToolLink]) -> list[list[str]]:
    """Return the tools in columns: each to the right of all whose things it uses, except in a circle."""
    makers: dict[str, list[str]] = defaultdict(list)
    names = list(dict.fromkeys(name for one in links for name in (one.maker, one.tool)))
    for one in links:
        if one.maker != one.tool:
            makers[one.tool].append(one.maker)
    depths: dict[str, int] = {}
    for name in names:
        _depth(name, makers, depths, ())
    columns: list[list[str]] = [[] for _ in range(max(depths.values(), default=-1) + 1)]
    for name in names:
        columns[depths[name]].append(name)
    for before, column in pairwise(columns):
        column.sort(
            key=lambda name: min((before.index(one) for one in makers[name] if one in before), default=0)
        )
    return columns


def _depth(
    name: str, makers: Mapping[str, Sequence[str]], depths: dict[str, int], above: tuple[str, ...]
) -> int:
    if name not in depths:
        others = [one for one in makers.get(name, ()) if one not in (*above, name)]
        depth = max((_depth(one, makers, depths, (*above, name)) + 1 for one in others), default=0)
        depths.setdefault(name, depth)
    return depths[name]


def _places(columns: Sequence[Sequence[str]]) -> dict[str, tuple[float, float, float]]:
    """Return the left, the top and the width of each tool's box."""
    places: dict[str, tuple[float, float, float]] = {}
    left, rows = 0.5, max(map(len, columns), default=0)
    for column in columns:
        width = max(len(named(name, MAX_NAME)) for name in column) * LETTER + PADDING
        first = (rows - len(column)) * ROW / 2 + (ROW - HEIGHT) / 2
        places |= {name: (left, first + row * ROW, width) for row, name in enumerate(column)}
        left += width + COLUMN
    return places


def _box(name: str, left: float, top: float, width: float) -> Html:
    middle = f"{left + width / 2:.1f}"
    return element(
        "g",
        element("rect", x=f"{left:.1f}", y=f"{top:.1f}", width=f"{width:.1f}", height=f"{HEIGHT}", rx="6"),
        element("text", named(name, MAX_NAME), x=middle, y=f"{top + 17:.1f}", text_anchor="middle"),
        "\n",
    )


def _arrow(one: ToolLink, places: Mapping[str, tuple[float, float, float]]) -> Html:
    """Return a line from what makes to what uses, with a point at its end; its title says what it is."""
    (left, top, wide), (other, below, _) = places[one.maker], places[one.tool]
    x, y, end, z = left + wide, top + HEIGHT / 2, other, below + HEIGHT / 2
    bend = max(40.0, (end - x) / 2)
    path = f"M{x:.1f} {y:.1f} C{x + bend:.1f} {y:.1f} {end - bend:.1f} {z:.1f} {end - 6:.1f} {z:.1f}"
    point = f"M{end - 8:.1f} {z - 4:.1f} L{end - 1:.1f} {z:.1f} L{end - 8:.1f} {z + 4:.1f}"
    words = f"{one.tool} {one.does} what {one.maker} makes"
    told = ", ".join(filter(None, (words, f"by {one.by}" if one.by else "", one.times)))
    return element("g", h.title(told), element("path", d=path), element("path", d=point), class_=one.does)
