"""Which tools make what others show, change and delete: as a table, and as text for Graphviz."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from mcp_conformance.protocol.text import named
from mcp_conformance.state.uses import Use, UseKind

MAX_NAME = 40
"""How many characters of a tool's name stand in a line."""


@dataclass(frozen=True)
class ToolLink:
    """A tool that does something with what ``maker`` makes.

    ``by`` is the value that names it, or the number that moves; empty if there is neither.  That was ``seen``
    in so many of so many ``trials``.
    """

    maker: str
    tool: str
    does: UseKind
    by: str = ""
    seen: int = 0
    trials: int = 0

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Return the link that `as_row` was made from."""
        return cls(**{**row, "does": UseKind(row["does"])})

    def as_row(self) -> dict[str, Any]:
        """Return the members as plain values, which another process can read."""
        return {**vars(self), "does": str(self.does)}

    @property
    def times(self) -> str:
        """How often it was seen."""
        return f"seen in {self.seen} of {self.trials}" if self.trials else ""


def tool_links(uses: Iterable[Use]) -> tuple[ToolLink, ...]:
    """Return the uses of what tools make, as a report has them."""
    return tuple(ToolLink(one.maker, one.tool, one.kind, one.by, one.seen, one.trials) for one in uses)


def link_lines(links: Iterable[ToolLink]) -> Iterator[str]:
    """Yield a line for each link, in columns."""
    rows = [
        (named(one.maker, MAX_NAME), f"{named(one.tool, MAX_NAME)} {one.does} it", one.by, one.times)
        for one in links
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


LOOKS = {
    UseKind.TAKES: "style=dashed",
    UseKind.SHOWS: "color=gray40",
    UseKind.CHANGES: "color=darkorange",
    UseKind.DELETES: "color=red",
    UseKind.COUNTS: "color=blue",
}
"""The attributes of the arrows of each kind."""


def dot(links: Iterable[ToolLink]) -> str:
    """Return the links as a graph for Graphviz (``dot -Tsvg``)."""
    lines = ["digraph tools {", "  rankdir=LR;", "  node [shape=box, style=rounded];"]
    for one in links:
        label = _quoted(" ".join(filter(None, (one.does, f"by {one.by}" if one.by else ""))))
        ends = f"{_quoted(named(one.maker, MAX_NAME))} -> {_quoted(named(one.tool, MAX_NAME))}"
        lines.append(f"  {ends} [label={label}, {LOOKS[one.does]}];")
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
