"""Write patterns of ECMA-262 for Python's `re`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from mcp_conformance.json_schema.characters import between, to_python
from mcp_conformance.json_schema.ecma import (
    Choice,
    Edge,
    Group,
    Look,
    Node,
    One,
    Repeat,
    Same,
    Series,
    Unreadable,
    nodes,
)

MAX_WRITTEN_LENGTH = 200_000
"""The most characters of a pattern written for Python: `re` compiles 1.3 million of them a second."""
EDGES = {Edge.START: r"\A", Edge.END: r"\Z", Edge.WORD: r"\b", Edge.NOT_WORD: r"(?!\b)"}
EDGES_ELSEWHERE = {**EDGES, Edge.END: "$"}
"""The edges for engines whose ``$`` may come before a line end."""
LOOKS = {(False, True): "(?=", (False, False): "(?!", (True, True): "(?<=", (True, False): "(?<!"}
"""The beginning of an assertion that is behind or not, wanted or not."""


def exact(one: One) -> str:
    """Write the characters of a set."""
    return to_python(one.points)


def elsewhere(one: One) -> str:
    """Write them as engines read them that know other scripts."""
    return one.elsewhere or to_python(one.points)


def narrow(one: One) -> str:
    """Write only the printable ASCII ones, or else the ASCII ones, if there are any.

    Never as a complement: `hypothesis.strategies.from_regex` up to 6.167 refuses one of characters that are
    not in its alphabet.
    """
    return to_python(between(one.points, 32, 126) or between(one.points, 0, 127) or one.points)


def compiled_by_python(written: str, flags: int = re.ASCII) -> re.Pattern[str] | None:
    """Return what `re` makes of a written pattern; None if it can't, or it is too long."""
    if len(written) > MAX_WRITTEN_LENGTH:
        return None
    try:
        return re.compile(written, flags)
    except (re.error, OverflowError):  # such as an assertion behind whose length is not fixed
        return None


def written(tree: Node, one: Callable[[One], str], edges: Mapping[Edge, str] = EDGES) -> str:
    """Write a tree for `re`, with a way to write characters and edges.

    A back-reference to a group that took no part matches nothing in ECMA-262, and a repetition forgets its
    groups each time.  Raises `Unreadable` where Python can't do that.
    """
    return _Writer(tree, one, edges).node(tree)


class _Writer:
    """The state of writing a tree: the groups that have ended, and the parts above."""

    def __init__(self, tree: Node, one: Callable[[One], str], edges: Mapping[Edge, str]):
        self._one, self._edges = one, edges
        self._wanted = {node.number for node in nodes(tree) if isinstance(node, Same)}
        self._ended: set[int] = set()
        self._above: list[Repeat | Look] = []

    def node(self, node: Node) -> str:
        """Write a part."""
        match node:
            case One():
                found = self._one(node)
            case Edge():
                found = self._edges[node]
            case Series(parts):
                found = "".join(map(self.node, parts))
            case Choice(ways):
                found = f"(?:{'|'.join(map(self.node, ways))})"
            case Repeat(body, least, most):
                inside = self._inside(node, body)
                inside = inside if isinstance(body, One) else f"(?:{inside})"
                found = f"{inside}{{{least},{'' if most is None else most}}}"
            case Look(body, is_behind, is_wanted):
                found = f"{LOOKS[is_behind, is_wanted]}{self._inside(node, body)})"
            case Group(body, number):
                found = self._group(body, number)
            case Same(number):
                found = self._same(number)
        return found

    def _inside(self, node: Repeat | Look, body: Node) -> str:
        self._above.append(node)
        found = self.node(body)
        self._above.pop()
        return found

    def _group(self, body: Node, number: int) -> str:
        inside = self.node(body)
        self._ended.add(number)
        if number not in self._wanted:
            return f"(?:{inside})"
        if any(isinstance(one, Look) or one.most != 1 for one in self._above):
            raise Unreadable("a back-reference to a group in a repetition or an assertion is not supported")
        return f"(?P<g{number}>{inside})"

    def _same(self, number: int) -> str:
        if any(isinstance(one, Look) and one.is_behind for one in self._above):
            raise Unreadable("a back-reference in an assertion behind is not supported")
        return f"(?(g{number})(?P=g{number}))" if number in self._ended else ""
