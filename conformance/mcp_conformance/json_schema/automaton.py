"""Match a pattern in linear time: an automaton that follows every path through the pattern at once.

It takes at most the characters of the text times the states of the pattern in steps, whatever the pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from mcp_conformance.json_schema import ecma
from mcp_conformance.json_schema.characters import WORD, Points, has
from mcp_conformance.json_schema.ecma import Edge, Node, TooCostly

MAX_MATCH_STEPS = 300_000
"""The most steps for one text."""
MAX_STATES = 5_000
MAX_PARTS = 20_000
"""The most parts that repetitions may unfold to; empty ones have no state."""
MAX_REMEMBERED = 100_000
"""The most states in the sets that one automaton remembers between two texts: about 8 MB."""


@dataclass
class Meter:
    """The number of steps taken for one text."""

    steps: int = 0

    def spend(self, steps: int) -> None:
        """Count steps; raise `TooCostly` beyond the limit."""
        self.steps += steps
        if self.steps > MAX_MATCH_STEPS:
            raise TooCostly(f"a pattern that takes more than {MAX_MATCH_STEPS} steps for one text")


Holds = Sequence[bool]
"""For each place of a text, whether a condition holds there."""
Condition = Callable[[str, Meter], Holds]


@dataclass
class State:
    """A state of an automaton; ``on`` are the states after it.

    A state with ``takes`` reads one of these characters; others lead on at once, if the condition with the
    number ``needs`` holds.
    """

    on: tuple[int, ...] = ()
    takes: Points | None = None
    needs: int | None = None


@dataclass
class _Memory:
    """The sets of states seen so far, each with a number, and the moves between them."""

    size: int = 0
    numbers: dict[frozenset[int], int] = field(default_factory=dict)
    sets: list[frozenset[int]] = field(default_factory=list)
    moves: dict[tuple[int, tuple[bool, ...], str], tuple[int, bool]] = field(default_factory=dict)

    def number(self, states: frozenset[int]) -> int:
        """Return the number of a set of states."""
        if states not in self.numbers:
            self.numbers[states] = len(self.sets)
            self.sets.append(states)
            self.size += len(states)
        return self.numbers[states]


class Automaton:
    """The states of a pattern, read forwards or ``backwards``.

    Raises `TooCostly` for a pattern that has too many states, or a back-reference.
    """

    def __init__(self, tree: Node, *, backwards: bool = False):
        self._backwards = backwards
        self._parts = 0
        self._states = [State()]  # the first one is the end
        self._conditions: list[Condition] = []
        self._start = self._made(tree, 0)
        self._memory = _Memory()

    def search(self, text: str) -> tuple[bool, int]:
        """Return whether the pattern matches somewhere in a text, and the steps taken; raise `TooCostly`."""
        if len(text) > MAX_MATCH_STEPS:
            raise TooCostly(f"a text of {len(text)} characters, and many ways through the pattern")
        meter = Meter()
        return next(self.places(text, meter), None) is not None, meter.steps

    # Building, from the end to the beginning

    def _add(self, state: State) -> int:
        if len(self._states) >= MAX_STATES:
            raise TooCostly(f"a pattern that has more than {MAX_STATES} states")
        self._states.append(state)
        return len(self._states) - 1

    def _made(self, node: Node, on: int) -> int:
        """Add the states of a part before the state ``on``; return the first one."""
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise TooCostly(f"a pattern that has more than {MAX_PARTS} parts")
        match node:
            case ecma.One(takes):
                return self._add(State((on,), takes=takes))
            case ecma.Series(parts):
                for part in parts if self._backwards else reversed(parts):
                    on = self._made(part, on)
                return on
            case ecma.Choice(ways):
                return self._add(State(tuple([self._made(one, on) for one in ways])))
            case ecma.Repeat(body, least, most):
                return self._repeated(body, least, most, on)
            case ecma.Group(body):
                return self._made(body, on)
            case ecma.Look() | Edge():
                self._conditions.append(_look(node) if isinstance(node, ecma.Look) else EDGES[node])
                return self._add(State((on,), needs=len(self._conditions) - 1))
            case ecma.Same():
                raise TooCostly("a pattern with a back-reference in it, and many ways through it")

    def _repeated(self, body: Node, least: int, most: int | None, on: int) -> int:
        if most is None:
            loop = self._add(State())
            self._states[loop].on = (self._made(body, loop), on)
            on = loop
        else:
            after = on
            for _ in range(most - least):
                on = self._add(State((self._made(body, on), after)))
        for _ in range(least):
            on = self._made(body, on)
        return on

    # Following

    def places(self, text: str, meter: Meter) -> Iterator[int]:
        """Yield each place where a match ends, or where it begins if read backwards; raise `TooCostly`."""
        if self._memory.size + len(self._memory.moves) > MAX_REMEMBERED:
            self._memory = _Memory()
        memory = self._memory
        holds = [condition(text, meter) for condition in self._conditions]
        here = memory.number(frozenset())
        for place in range(len(text), -1, -1) if self._backwards else range(len(text) + 1):
            before = place - 1 if self._backwards else place
            character = text[before : before + 1] if before >= 0 else ""
            key = (here, tuple([one[place] for one in holds]), character)
            meter.spend(1)
            if key not in memory.moves:
                memory.moves[key] = self._moved(*key, meter)
            here, is_end = memory.moves[key]
            if is_end:
                yield place

    def _moved(self, here: int, holds: tuple[bool, ...], character: str, meter: Meter) -> tuple[int, bool]:
        """Return the set of states after a character, by number, and whether the end comes before it."""
        reached = {*self._memory.sets[here], self._start}
        waiting = [*reached]
        after: set[int] = set()
        while waiting:
            state = self._states[waiting.pop()]
            meter.spend(1)
            if state.takes is not None:
                if character and has(state.takes, character):
                    after.update(state.on)
            elif state.needs is None or holds[state.needs]:
                waiting += [one for one in state.on if one not in reached]
                reached.update(state.on)
        return self._memory.number(frozenset(after)), 0 in reached


def _look(look: ecma.Look) -> Condition:
    """Return a condition that another automaton finds: it ends there, or, read backwards, begins there."""
    inner = Automaton(look.body, backwards=not look.is_behind)

    def condition(text: str, meter: Meter) -> Holds:
        found = [not look.is_wanted] * (len(text) + 1)
        for place in inner.places(text, meter):
            found[place] = look.is_wanted
        return found

    return condition


def _at_start(text: str, _: Meter) -> Holds:
    return [True] + [False] * len(text)


def _at_end(text: str, _: Meter) -> Holds:
    return [False] * len(text) + [True]


def _at_word(text: str, _: Meter) -> Holds:
    words = [False, *(has(WORD, one) for one in text), False]
    return [before != after for before, after in pairwise(words)]


EDGES: dict[Edge, Condition] = {
    Edge.START: _at_start,
    Edge.END: _at_end,
    Edge.WORD: _at_word,
    Edge.NOT_WORD: lambda text, meter: [not one for one in _at_word(text, meter)],
}
