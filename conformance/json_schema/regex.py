"""Whether a text matches a regular expression, told in bounded time: patterns come from servers.

Python's own matcher backtracks, and ``^(a+)+$`` takes it longer than anyone lives.  It is used where the
number of its steps is known to be small; all else is matched by following every way through the pattern at
once, which takes no more steps than the text has characters times the pattern has states.
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

CHEAP = 1_000_000
"""How many steps Python's matcher may take."""
STEPS = 300_000
"""How many steps of ours one text may take."""
STEPS_TO_READ = 20
"""How many steps it takes, about, to read one character of a pattern."""
OURS_PER_PYTHONS = 20
"""How many steps Python's matcher takes while ours takes one."""
MOST_STATES = 5_000
MOST_MOVES = 20_000
LONGEST_PATTERN = 20_000
ENDLESS = 10**30

Test = Callable[[str, int], object]
"""Whether something holds at a place in a text."""


class TooCostly(Exception):  # noqa: N818
    """Whether a text matches cannot be told in reasonable time; the text says why."""


class Effort:
    """How many steps all matching has taken so far."""

    steps = 0


def search(pattern: str, text: str, flags: int = 0) -> bool:
    """Whether ``pattern`` matches somewhere in ``text``; raises `TooCostly`, and `re.error` as `re` does."""
    return compiled(pattern, flags).search(text)


@lru_cache(maxsize=2048)
def compiled(pattern: str, flags: int = 0) -> Pattern:
    """The pattern, made once; raises `TooCostly`, `re.error`, `OverflowError` or `RecursionError`."""
    return Pattern(pattern, flags)


class Pattern:
    """A pattern in Python's words.  ``python`` is what `re` makes of it, ``tree`` what it consists of."""

    def __init__(self, pattern: str, flags: int = 0):
        if len(pattern) > LONGEST_PATTERN:
            raise TooCostly(f"a pattern of {len(pattern)} characters")
        Effort.steps += STEPS_TO_READ * (100 + len(pattern))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.python = re.compile(pattern, flags)
            self.tree = parser.parse(pattern, flags)
        self._automaton: Automaton | None = None

    @property
    def shortest(self) -> int:
        """How many characters a text that matches has at the least."""
        return int(self.tree.getwidth()[0])

    def cost(self, length: int) -> int:
        """How many ways there are, at most, for Python's matcher to go through a text of this length."""
        starts = 1 if _is_anchored(self.tree) else length + 1
        return starts * _ways(self.tree, length)

    def search(self, text: str) -> bool:
        """Whether the pattern matches somewhere in the text; raises `TooCostly`."""
        cost = self.cost(len(text))
        if cost <= max(CHEAP, 4 * len(text)):
            Effort.steps += cost // OURS_PER_PYTHONS
            return self.python.search(text) is not None
        if self._automaton is None:
            self._automaton = Automaton(self.tree, self.python.flags)
        return self._automaton.search(text)


def _is_anchored(tree: Any) -> bool:
    return bool(tree) and tree[0] in ((op.AT, op.AT_BEGINNING), (op.AT, op.AT_BEGINNING_STRING))


def _ways(tree: Iterable[tuple[Any, Any]], length: int) -> int:
    """How many ways lead through a pattern: the product of its choices, endless where one is repeated."""
    ways = 1
    for code, value in tree:
        if code in REPEATS:
            least, most, body = value
            inside = _ways(body, length)
            if inside > 1 and most > 1:
                return ENDLESS
            ways *= (min(most, least + length) - least + 1) * inside
        elif code in GROUPS or code in ASSERTIONS:
            ways *= _ways(_body(value), length)
        elif code is op.BRANCH:
            ways *= sum(_ways(one, length) for one in value[1])
        elif code is op.GROUPREF_EXISTS:
            ways *= sum(_ways(one, length) for one in value[1:] if one)
        ways = min(ways, ENDLESS)
    return ways


REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
GROUPS = (op.SUBPATTERN, op.ATOMIC_GROUP)
ASSERTIONS = (op.ASSERT, op.ASSERT_NOT)
CHARACTERS = (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY, op.CATEGORY)


def _body(value: Any) -> Any:
    """What a group or an assertion holds."""
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


def written(code: Any, value: Any) -> str:
    """A part of a pattern that stands for one character, in words that stand alone."""
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
def test_of(words: str, flags: int) -> Test:
    """Whether a character, or a place between two, is what a pattern for just that says."""
    return re.compile(words, flags).match


# Every way at once -------------------------------------------------------------------------------


@dataclass
class State:
    """A place in a pattern: where it leads ``on`` to, and what has to hold there.

    A state with ``takes`` reads one character; others lead on at once, if ``holds`` allows it.
    """

    on: tuple[int, ...] = ()
    takes: Test | None = None
    holds: Callable[[str, int], bool] | None = None


class Automaton:
    """All states of a pattern, in which a text is followed through every way at once.

    Raises `TooCostly` for a pattern that has too many states, or that refers back to what it has matched.
    """

    def __init__(self, tree: Any, flags: int, spent: list[int] | None = None):
        self._spent = [0] if spent is None else spent
        self._states = [State()]  # the first one is the end
        self._places: list[Test] = []
        self._is_plain = True
        self._start = self._made(tree, flags, 0)
        self._forget()

    def _forget(self) -> None:
        """Begin anew with the sets of states that were met, and where characters led from them."""
        self._known: dict[frozenset[int], int] = {}
        self._sets: list[frozenset[int]] = []
        self._moves: dict[tuple[int, tuple[bool, ...], str], int | None] = {}

    # Building, from the end to the beginning

    def _add(self, state: State) -> int:
        if len(self._states) >= MOST_STATES:
            raise TooCostly(f"a pattern that stands for more than {MOST_STATES} states")
        self._states.append(state)
        return len(self._states) - 1

    def _made(self, tree: Any, flags: int, on: int) -> int:
        for code, value in reversed(list(tree)):
            on = self._one(code, value, flags, on)
        return on

    def _one(self, code: Any, value: Any, flags: int, on: int) -> int:
        if code in CHARACTERS:
            return self._add(State((on,), takes=test_of(written(code, value), flags)))
        if code in REPEATS:
            least, most, body = value
            return self._repeated(least, most, body, flags, on)
        if code is op.BRANCH:
            return self._add(State(tuple(self._made(one, flags, on) for one in value[1])))
        if code is op.SUBPATTERN:
            _, added, removed, body = value
            return self._made(body, (flags | added) & ~removed, on)
        if code is op.AT:
            self._places.append(test_of(PLACES[value], flags))
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
        """Whether the pattern matches somewhere in the text; raises `TooCostly`."""
        self._spent[0] = 0
        if not self._is_plain:
            return self._follow(text, 0, len(text), anywhere=True, whole=False)
        if len(self._moves) > MOST_MOVES:
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
        """The number of the states behind the next character; None if the end is reached before it."""
        reached = self._reached({*self._sets[here], self._start}, text, at)
        return None if 0 in reached else self._number(frozenset(self._after(reached, text, at)))

    def _number(self, states: frozenset[int]) -> int:
        if states not in self._known:
            self._known[states] = len(self._sets)
            self._sets.append(states)
        return self._known[states]

    def matches(self, text: str, start: int, end: int, *, whole: bool) -> bool:
        """Whether it matches from ``start``, and if ``whole`` just to ``end``; raises `TooCostly`."""
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
        """These states and all that they lead to before the next character."""
        waiting, reached = [*states], set(states)
        while waiting:
            state = self._states[waiting.pop()]
            self._spend(1)
            if state.takes is None and (state.holds is None or state.holds(text, at)):
                waiting += [one for one in state.on if one not in reached]
                reached.update(state.on)
        return reached

    def _after(self, reached: set[int], text: str, at: int) -> set[int]:
        """The states behind the next character."""
        found: set[int] = set()
        for number in reached:
            state = self._states[number]
            if state.takes is not None and at < len(text) and state.takes(text, at) is not None:
                found.update(state.on)
        return found

    def _spend(self, steps: int) -> None:
        self._spent[0] += steps
        Effort.steps += steps
        if self._spent[0] > STEPS:
            raise TooCostly(f"a pattern that takes more than {STEPS} steps for one text")


def _place(test: Test) -> Callable[[str, int], bool]:
    return lambda text, at: test(text, at) is not None
