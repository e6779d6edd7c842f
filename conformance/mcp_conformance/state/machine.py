"""A Hypothesis state machine that takes walks: its bundles hold what was made, its rules are the calls.

Hypothesis chooses the steps, and shrinks a walk on which something breaks to a short one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis.errors import Flaky, Unsatisfiable
from hypothesis.stateful import Bundle, RuleBasedStateMachine, multiple, rule, run_state_machine_as_test

from mcp_conformance.deadline import Deadline, TookTooLong, held
from mcp_conformance.state.hand import Hand, Lost, Spent
from mcp_conformance.state.walk import Act, Broken, Step, Walk

# Not measured: the walks of our stateful fixtures take seconds, most of them the server's.
MAX_OWN_SECONDS = 20.0
"""The CPU time that Hypothesis may take for walks, and to shrink one."""


class Over(BaseException):
    """The budget is spent, or the process has ended: Hypothesis lets this pass, and so ends at once."""


class Walks:
    """Walks on one thing in one process: ``max_calls`` calls, and as many again to shrink what breaks.

    ``begin`` returns a walk that has made nothing.  ``shortest`` has the shortest walk on which each rule
    breaks.
    """

    def __init__(self, begin: Callable[[], Walk], hand: Hand, max_calls: int):
        self.begin = begin
        self.shortest: dict[str, tuple[Step, ...]] = {}
        self._hand, self._max_calls = hand, max_calls
        self._last_call = len(hand.calls) + max_calls
        self._is_over = False
        self._known: frozenset[str] = frozenset()

    def take(self, seed: int, walks: int, steps: int) -> None:
        """Take each walk on which an item is worked on once or twice, then random ones while new rules break.

        These are so many walks of so many steps at most.
        """
        with suppress(Over):
            self._take_shortest()
        while not self.is_over:
            self._known = frozenset(self.shortest)
            self._run(seed, walks, steps)
            if self._known == frozenset(self.shortest):
                return

    @property
    def is_over(self) -> bool:
        """Whether no step may be taken any more."""
        return self._is_over or len(self._hand.calls) >= self._last_call

    def _take_shortest(self) -> None:
        effects = range(len(self.begin().effects))
        for length in (1, 2):
            for chosen in product(effects, repeat=length):
                walk = self.begin()
                makes = [Step(Act.MAKE), Step(Act.MAKE)]
                with suppress(Broken):
                    for step in (*makes, *(Step(Act.DO, 1, effect) for effect in chosen)):
                        self.step(walk, step)

    def _run(self, seed: int, walks: int, steps: int) -> None:
        chosen = hypothesis.settings(
            max_examples=walks,
            stateful_step_count=steps,
            database=None,
            deadline=None,
            derandomize=False,
            phases=(Phase.generate, Phase.shrink),
            print_blob=False,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
        )
        machine = hypothesis.seed(seed)(machine_of(self))
        # What broke is in `shortest`.
        with suppress(Broken, Flaky, Unsatisfiable, Over, TookTooLong), Deadline(MAX_OWN_SECONDS):
            run_state_machine_as_test(machine, settings=chosen)

    def step(self, walk: Walk, step: Step) -> int | None:
        """Take a step of a walk; return the place of the item that it made, if it made one.

        Raises `Broken` for a rule that had not broken before, and `Over`.
        """
        if self.is_over:
            raise Over
        if not walk.can(step):
            return None
        number = len(walk.items)
        try:
            with held():
                walk.take(step)
        except (Spent, Lost):
            self._is_over = True
            raise Over from None
        except Broken as broken:
            self._note(broken, walk.steps)
            if broken.rule not in self._known:
                raise
        return number if len(walk.items) > number else None

    def _note(self, broken: Broken, steps: Sequence[Step]) -> None:
        known = self.shortest.get(broken.rule)
        if known is None:
            self._last_call += self._max_calls
        if known is None or len(steps) < len(known):
            self.shortest[broken.rule] = tuple(steps)


def machine_of(walks: Walks) -> type[RuleBasedStateMachine]:
    """Return a state machine whose bundle has the items of a thing, with a rule for each of its tools."""

    class Walking(RuleBasedStateMachine):
        made = Bundle("made")

        def __init__(self) -> None:
            super().__init__()
            self.walk = walks.begin()

        @rule(target=made)
        def make(self) -> Any:
            item = walks.step(self.walk, Step(Act.MAKE))
            return multiple() if item is None else item

        @rule(item=made)
        def look(self, item: int) -> None:
            walks.step(self.walk, Step(Act.LOOK, item))

    effects = range(len(walks.begin().effects))
    doings = {f"do_{place}": rule(item=Walking.made)(_doing(walks, place)) for place in effects}
    return type("Walking", (Walking,), doings)


def _doing(walks: Walks, effect: int) -> Callable[[Any, int], None]:
    def do(self: Any, item: int) -> None:
        walks.step(self.walk, Step(Act.DO, item, effect))

    do.__name__ = do.__qualname__ = f"do_{effect}"
    return do


def again(steps: Sequence[Step], walk: Walk, rule: str) -> Broken | None:
    """Take the steps of a walk once more; return the break of a rule, None if it holds this time.

    Raises `Spent` and `Lost` as the hand does.
    """
    for step in steps:
        try:
            if walk.can(step):
                walk.take(step)
        except Broken as broken:
            if broken.rule == rule:
                return broken
    return None
