"""Match regular expressions of servers in bounded time.

Python's matcher backtracks, and takes practically for ever on ``^(a+)+$``.  It is used where the number of
its steps is known to be small; all else is matched by an automaton that follows every path through the
pattern at once: its steps are at most the characters of the text times the states of the pattern.
"""

from __future__ import annotations

import re
import re._constants as op  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

MAX_PYTHON_STEPS = 1_000_000
MAX_MATCH_STEPS = 300_000
"""The most steps of the automaton for one text."""
PARSE_STEPS_PER_CHARACTER = 20
"""The steps that parsing one character of a pattern takes, roughly."""
PYTHON_STEPS_PER_STEP = 20
"""The steps of Python's matcher in the time of one step of the automaton."""
MAX_STATES = 5_000
MAX_MOVES = 20_000
MAX_PATTERN_LENGTH = 20_000
UNBOUNDED_WAYS = 10**30

PlaceTest = Callable[[str, int], object]
"""Returns something true if a condition holds at an index of a text."""


class TooCostly(Exception):  # noqa: N818
    """A match that can't be decided in reasonable time; the text says why."""


class Effort:
    """The number of steps that all matching has taken so far."""

    steps = 0


def search(pattern: str, text: str, flags: int = 0) -> bool:
    """Return whether ``pattern`` matches somewhere in ``text``; raise `TooCostly`, and `re.error` as `re`."""
    return compiled(pattern, flags).search(text)


@lru_cache(maxsize=2048)
def compiled(pattern: str, flags: int = 0) -> Pattern:
    """Return the pattern; raise `TooCostly`, `re.error`, `OverflowError` or `RecursionError`."""
    return Pattern(pattern, flags)


class Pattern:
    """A pattern in Python's syntax.  ``python`` is compiled by `re`; ``tree`` is `re`'s parse tree."""

    def __init__(self, pattern: str, flags: int = 0):
        if len(pattern) > MAX_PATTERN_LENGTH:
            raise TooCostly(f"a pattern of {len(pattern)} characters")
        Effort.steps += PARSE_STEPS_PER_CHARACTER * (100 + len(pattern))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.python = re.compile(pattern, flags)
            self.tree = parser.parse(pattern, flags)
        self._automaton: Automaton | None = None

    @property
    def shortest(self) -> int:
        """The least number of characters of a text that matches."""
        return int(self.tree.getwidth()[0])

    def cost(self, length: int) -> int:
        """Return the most ways in which Python's matcher may go through a text of this length."""
        starts = 1 if _is_anchored(self.tree) else length + 1
        return starts * _ways(self.tree, length)

    def search(self, text: str) -> bool:
        """Return whether the pattern matches somewhere in the text; raise `TooCostly`."""
        cost = self.cost(len(text))
        if cost <= max(MAX_PYTHON_STEPS, 4 * len(text)):
            Effort.steps += cost // PYTHON_STEPS_PER_STEP
            return self.python.search(text) is not None
        if self._automaton is None:
            self._automaton = Automaton(self.tree, self.python.flags)
        return self._automaton.search(text)


def _is_anchored(tree: Any) -> bool:
    return bool(tree) and tree[0] in ((op.AT, op.AT_BEGINNING), (op.AT, op.AT_BEGINNING_STRING))


def _ways(tree: Iterable[tuple[Any, Any]], length: int) -> int:
    """Return the number of ways through a pattern: the product of its choices, unbounded if one repeats."""
    ways = 1
    for code, value in tree:
        if code in REPEATS:
            least, most, body = value
            inside = _ways(body, length)
            if inside > 1 and most > 1:
                return UNBOUNDED_WAYS
            ways *= (min(most, least + length) - least + 1) * inside
        elif code in GROUPS or code in ASSERTIONS:
            ways *= _ways(_body(value), length)
        elif code is op.BRANCH:
            ways *= sum(_ways(one, length) for one in value[1])
        elif code is op.GROUPREF_EXISTS:
            ways *= sum(_ways(one, length) for one in value[1:] if one)
        ways = min(ways, UNBOUNDED_WAYS)
    return ways


REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
GROUPS = (op.SUBPATTERN, op.ATOMIC_GROUP)
ASSERTIONS = (op.ASSERT, op.ASSERT_NOT)
CHARACTERS = (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY, op.CATEGORY)


def _body(value: Any) -> Any:
    """Return the pattern inside a group or an assertion."""
    return value[-1] if isinstance(value, tuple) else value


# Characters --------------------------------------------------------------------------------------

CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}
PLACES = {
    op.AT_BEGINNING: "^",
    op.AT_BEGINNING_STRING: r"\A",
    op.AT_BOUNDARY: r"\b",
    op.AT_NON_BOUNDARY: r"\B",
    op.AT_END: "$",
    op.AT_END_STRING: r"\Z",
}


def to_pattern(code: Any, value: Any) -> str:
    """Return a pattern for just this part of a parse tree, which matches one character."""
    if code is op.ANY:
        return "."
    members = {op.LITERAL: [(op.LITERAL, value)], op.NOT_LITERAL: [(op.NEGATE, None), (op.LITERAL, value)]}
    inside = value if code is op.IN else members.get(code, [(code, value)])
    return f"[{''.join(_member(*one) for one in inside)}]"


def _member(code: Any, value: Any) -> str:
    if code is op.NEGATE:
        return "^"
    if code is op.CATEGORY:
        return CATEGORIES[value]
    return "-".join(f"\\U{point:08x}" for point in (value if code is op.RANGE else [value]))


@lru_cache(maxsize=4096)
def place_test(pattern: str, flags: int) -> PlaceTest:
    """Return a test of whether a pattern for one character, or for a boundary, matches at an index."""
    return re.compile(pattern, flags).match


# Automaton ---------------------------------------------------------------------------------------


@dataclass
class State:
    """A state of an automaton; ``on`` are the states after it.

    A state with ``takes`` reads one character; others lead on at once, if ``holds`` allows it.
    """

    on: tuple[int, ...] = ()
    takes: PlaceTest | None = None
    holds: Callable[[str, int], bool] | None = None


class Automaton:
    """The states of a pattern; a text is followed along every path at once.

    Raises `TooCostly` for a pattern that has too many states, or a back-reference.
    """

    def __init__(self, tree: Any, flags: int, spent: list[int] | None = None):
        self._spent = [0] if spent is None else spent
        self._states = [State()]  # the first one is the end
        self._places: list[PlaceTest] = []
        self._is_plain = True
        self._start = self._made(tree, flags, 0)
        self._forget()

    def _forget(self) -> None:
        """Forget all sets of states, and the moves between them."""
        self._known: dict[frozenset[int], int] = {}
        self._sets: list[frozenset[int]] = []
        self._moves: dict[tuple[int, tuple[bool, ...], str], int | None] = {}

    # Building, from the end to the beginning

    def _add(self, state: State) -> int:
        if len(self._states) >= MAX_STATES:
            raise TooCostly(f"a pattern that has more than {MAX_STATES} states")
        self._states.append(state)
        return len(self._states) - 1

    def _made(self, tree: Any, flags: int, on: int) -> int:
        for code, value in reversed(list(tree)):
            on = self._one(code, value, flags, on)
        return on

    def _one(self, code: Any, value: Any, flags: int, on: int) -> int:
        if code in CHARACTERS:
            return self._add(State((on,), takes=place_test(to_pattern(code, value), flags)))
        if code in REPEATS:
            least, most, body = value
            return self._repeated(least, most, body, flags, on)
        if code is op.BRANCH:
            return self._add(State(tuple(self._made(one, flags, on) for one in value[1])))
        if code is op.SUBPATTERN:
            _, added, removed, body = value
            return self._made(body, (flags | added) & ~removed, on)
        if code is op.AT:
            self._places.append(place_test(PLACES[value], flags))
            return self._add(State((on,), holds=_place(self._places[-1])))
        if code in ASSERTIONS:
            self._is_plain = False
            direction, body = value
            return self._add(State((on,), holds=self._look(direction, body, flags, code is op.ASSERT)))
        raise TooCostly(f"a pattern with {str(code).lower()} in it, and many ways through it")

    def _repeated(self, least: int, most: int, body: Any, flags: int, on: int) -> int:
        if most is op.MAXREPEAT:
            loop = self._add(State())
            self._states[loop].on = (self._made(body, flags, loop), on)
            on = loop
        else:
            after = on
            for _ in range(most - least):
                on = self._add(State((self._made(body, flags, on), after)))
        for _ in range(least):
            on = self._made(body, flags, on)
        return on

    def _look(self, direction: int, body: Any, flags: int, wanted: bool) -> Callable[[str, int], bool]:
        inner = Automaton(body, flags, self._spent)
        width = 0 if direction > 0 else body.getwidth()[0]

        def holds(text: str, at: int) -> bool:
            if at < width:
                return not wanted
            end = len(text) if direction > 0 else at
            return inner.matches(text, at - width, end, whole=direction < 0) is wanted

        return holds

    # Following

    def search(self, text: str) -> bool:
        """Return whether the pattern matches somewhere in the text; raise `TooCostly`."""
        self._spent[0] = 0
        if not self._is_plain:
            return self._follow(text, 0, len(text), anywhere=True, whole=False)
        if len(self._moves) > MAX_MOVES:
            self._forget()
        here = self._number(frozenset())
        for at in range(len(text) + 1):
            character = text[at : at + 1]
            key = (here, tuple(test(text, at) is not None for test in self._places), character)
            if key not in self._moves:
                self._moves[key] = self._moved(here, text, at)
            self._spend(1)
            found = self._moves[key]
            if found is None:
                return True
            here = found
        return False

    def _moved(self, here: int, text: str, at: int) -> int | None:
        """Return the set of states after the next character, by number; None if the end comes first."""
        reached = self._reached({*self._sets[here], self._start}, text, at)
        return None if 0 in reached else self._number(frozenset(self._after(reached, text, at)))

    def _number(self, states: frozenset[int]) -> int:
        if states not in self._known:
            self._known[states] = len(self._sets)
            self._sets.append(states)
        return self._known[states]

    def matches(self, text: str, start: int, end: int, *, whole: bool) -> bool:
        """Return whether it matches from ``start``, and if ``whole`` up to ``end``; raise `TooCostly`."""
        return self._follow(text, start, end, anywhere=False, whole=whole)

    def _follow(self, text: str, start: int, end: int, *, anywhere: bool, whole: bool) -> bool:
        states = {self._start}
        for at in range(start, end + 1):
            reached = self._reached(states, text, at)
            if 0 in reached and (at == end or not whole):
                return True
            states = self._after(reached, text, at) if at < end else set()
            if anywhere:
                states.add(self._start)
            elif not states:
                return False
        return False

    def _reached(self, states: set[int], text: str, at: int) -> set[int]:
        """Return these states and all that follow before the next character."""
        waiting, reached = [*states], set(states)
        while waiting:
            state = self._states[waiting.pop()]
            self._spend(1)
            if state.takes is None and (state.holds is None or state.holds(text, at)):
                waiting += [one for one in state.on if one not in reached]
                reached.update(state.on)
        return reached

    def _after(self, reached: set[int], text: str, at: int) -> set[int]:
        """Return the states after the next character."""
        found: set[int] = set()
        for number in reached:
            state = self._states[number]
            if state.takes is not None and at < len(text) and state.takes(text, at) is not None:
                found.update(state.on)
        return found

    def _spend(self, steps: int) -> None:
        self._spent[0] += steps
        Effort.steps += steps
        if self._spent[0] > MAX_MATCH_STEPS:
            raise TooCostly(f"a pattern that takes more than {MAX_MATCH_STEPS} steps for one text")


def _place(test: PlaceTest) -> Callable[[str, int], bool]:
    return lambda text, at: test(text, at) is not None
