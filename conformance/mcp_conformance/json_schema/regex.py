r"""Match the patterns of servers, as ECMA-262 reads them, in bounded time.

Python's matcher backtracks, and takes practically for ever on ``^(a+)+$``.  It is used where the number of
its steps is known to be small, with the pattern written for it from the tree; all else is matched by an
automaton.
"""

from __future__ import annotations

import math
import re
from functools import cached_property, lru_cache

from mcp_conformance.json_schema import ecma
from mcp_conformance.json_schema.automaton import Automaton
from mcp_conformance.json_schema.ecma import Edge, Node, One, Reading, TooCostly, Unreadable, parts_of
from mcp_conformance.json_schema.writing import (
    EDGES_ELSEWHERE,
    compiled_by_python,
    elsewhere,
    exact,
    narrow,
    written,
)

MAX_PYTHON_STEPS = 1_000_000
"""The most ways through a pattern for Python's matcher, which goes some 50 million a second.

Twice as many would let a costly text take 40 ms; half as many leaves more patterns to the automaton, with the
same verdicts.
"""
PYTHON_STEPS_PER_STEP = 20
"""The steps of Python's matcher in the time of one step of the automaton, which goes 2 million a second."""
MAX_PATTERN_LENGTH = 20_000
UNBOUNDED_WAYS = 10**30


def search(pattern: str, text: str) -> bool:
    """Return whether ``pattern`` matches somewhere in ``text``; raise `TooCostly` or `Unreadable`."""
    return compiled(pattern).search(text)


@lru_cache(maxsize=2048)
def compiled(pattern: str) -> Pattern:
    """Return the pattern; raise `TooCostly`, `Unreadable` or `RecursionError`."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise TooCostly(f"a pattern of {len(pattern)} characters")
    return Pattern(pattern, ecma.read(pattern))


class Pattern:
    """A pattern that was read: its ``source``, and the ``tree`` of its parts.

    Raises `Unreadable` for a back-reference that is not supported.
    """

    def __init__(self, source: str, reading: Reading):
        self.source, self.tree = source, reading.tree
        self._reading = reading
        self._written = written(reading.tree, exact)
        self._costs: dict[int, int] = {}

    def with_tree(self, tree: Node) -> Pattern:
        """Return the pattern with another tree."""
        return Pattern(self.source, Reading(tree, self._reading.is_unicode))

    @cached_property
    def shortest(self) -> int:
        """The least number of characters of a text that matches."""
        return _shortest(self.tree)

    def cost(self, length: int) -> int:
        """Return the most ways in which Python's matcher may go through a text of this length."""
        length = (1 << length.bit_length()) - 1  # so that few lengths are computed
        if length not in self._costs:
            starts = 1 if _is_anchored(self.tree) else length + 1
            self._costs[length] = starts * _ways(self.tree, length)
        return self._costs[length]

    def search(self, text: str) -> bool:
        """Return whether the pattern matches somewhere in the text; raise `TooCostly` or `Unreadable`."""
        return self.searched(text)[0]

    def searched(self, text: str) -> tuple[bool, int]:
        """Return whether the pattern matches somewhere in the text, and the steps that it took.

        Raises `TooCostly`, and `Unreadable` where engines differ: a pattern that is only valid without the
        flag ``u``, and a character beyond U+FFFF.
        """
        found, steps = self._searched(text)
        if not self._reading.is_unicode and (_has_astral(text) or _has_astral(self.source)):
            other, more = self._by_halves._searched(ecma.halves(text))  # noqa: SLF001
            if other is not found:
                raise Unreadable("only without the flag u is it valid, and then it halves characters")
            steps += more
        return found, steps

    def _searched(self, text: str) -> tuple[bool, int]:
        cost = self.cost(len(text))
        if self.python is not None and cost <= max(MAX_PYTHON_STEPS, 4 * len(text)):
            return self.python.search(text) is not None, cost // PYTHON_STEPS_PER_STEP
        return self._automaton.search(text)

    def is_disputed(self, text: str) -> bool:
        r"""Return whether engines differ on a text; raise as `search`.

        Elsewhere ``\d``, ``\s`` and ``\w`` may know all scripts, ``$`` may come before a line end, and a
        character beyond U+FFFF may be two.
        """
        if text.isascii() and text.isprintable():
            return False
        found = self.search(text)
        if self.elsewhere is None or self.cost(len(text)) > MAX_PYTHON_STEPS:
            return True
        try:
            by_halves = found if not _has_astral(text) else self._by_halves.search(ecma.halves(text))
        except Unreadable:
            by_halves = found
        return not found == by_halves == (self.elsewhere.search(text) is not None)

    @cached_property
    def python(self) -> re.Pattern[str] | None:
        """The pattern for Python; None if that can't express it, or only at great length."""
        return compiled_by_python(self._written)

    @cached_property
    def narrow(self) -> re.Pattern[str] | None:
        """The same with the printable ASCII characters only of each class that has some, to make texts."""
        return compiled_by_python(written(self.tree, narrow))

    @cached_property
    def elsewhere(self) -> re.Pattern[str] | None:
        """The same as engines read it that know other scripts."""
        return compiled_by_python(written(self.tree, elsewhere, EDGES_ELSEWHERE), re.UNICODE)

    @cached_property
    def _automaton(self) -> Automaton:
        return Automaton(self.tree)

    @cached_property
    def _by_halves(self) -> Pattern:
        return Pattern(self.source, ecma.read_by_halves(self.source))


def _has_astral(text: str) -> bool:
    return not text.isascii() and max(text) > "\uffff"


# The cost of Python's matcher --------------------------------------------------------------------


def _is_anchored(node: Node) -> bool:
    return node is Edge.START or (isinstance(node, ecma.Series) and Edge.START in node.parts[:1])


def _shortest(node: Node) -> int:
    match node:
        case One():
            return 1
        case ecma.Series(parts):
            return sum(map(_shortest, parts))
        case ecma.Choice(ways):
            return min(map(_shortest, ways))
        case ecma.Group(body):
            return _shortest(body)
        case ecma.Repeat(body, least):
            return least * _shortest(body)
    return 0


def _ways(node: Node, length: int) -> int:
    """Return the number of ways through a pattern: the product of its choices, unbounded if one repeats."""
    match node:
        case ecma.Choice(ways):
            found = sum(_ways(one, length) for one in ways)
        case ecma.Repeat(body, least, most):
            inside = _ways(body, length)
            if inside > 1 and (most is None or most > 1):
                return UNBOUNDED_WAYS
            choices = min(least + length if most is None else most, least + length) - least + 1
            found = choices * inside * (1 if _shortest(body) else max(1, least))
        case _:
            found = math.prod(_ways(one, length) for one in parts_of(node))
    return min(found, UNBOUNDED_WAYS)
