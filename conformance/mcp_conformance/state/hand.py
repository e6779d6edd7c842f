"""The hand: makes the calls of sequences, within a budget, and counts them by phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from mcp_conformance.client.tool_call import Call, Tool

CallTool = Callable[[Tool, dict[str, Any]], Call]
"""Calls a tool with arguments."""
Together = Callable[[Sequence[tuple[Tool, dict[str, Any]]]], Sequence[Call]]
"""Calls tools at once, before it awaits the first answer."""


class Spent(Exception):  # noqa: N818  (no error: what was found so far counts)
    """No further call may be made: the budget is spent."""


class Lost(Exception):  # noqa: N818  (the checks of the calls report it)
    """A call was not answered, so what was made before may be gone."""


class Hand:
    """Makes calls in one process, ``max_calls`` at most, and none once it ``is_over``.

    ``calls`` are all so far; ``counts`` and ``seconds`` are those of each phase, pauses included.  It
    ``begins`` with one.  ``clock`` returns seconds.
    """

    def __init__(  # noqa: PLR0913  (what it takes from outside)
        self,
        call: CallTool,
        together: Together | None = None,
        *,
        max_calls: float,
        is_over: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = lambda: 0.0,
        pause: Callable[[], object] = lambda: None,
        begins: str = "",
    ):
        self._call, self._together = call, together
        self._max_calls, self._is_over, self._clock = max_calls, is_over, clock
        self._pause = pause
        self.calls: list[Call] = []
        self.counts: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        self._phase = begins

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what is done as that of a phase."""
        before, self._phase = self._phase, name
        try:
            yield
        finally:
            self._phase = before

    def call(self, tool: Tool, arguments: Mapping[str, Any]) -> Call:
        """Call a tool.  Raises `Spent` if no call is left, and `Lost` if no answer comes."""
        self._count(1)
        with self._timed():
            call = self._call(tool, deepcopy(dict(arguments)))
        return self._kept(call)

    def together(self, calls: Sequence[tuple[Tool, Mapping[str, Any]]]) -> list[Call]:
        """Make calls at once; one after the other if that is not possible.  Raises as `call` does."""
        if self._together is None:
            return [self.call(*one) for one in calls]
        self._count(len(calls))
        with self._timed():
            made = self._together([(t, deepcopy(dict(a))) for t, a in calls])
        return [self._kept(one) for one in made]

    def pause(self) -> None:
        """Give the server a moment."""
        with self._timed():
            self._pause()

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begun = self._clock()
        try:
            yield
        finally:
            self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + self._clock() - begun

    def _count(self, number: int) -> None:
        if len(self.calls) + number > self._max_calls or self._is_over():
            raise Spent
        self.counts[self._phase] += number

    def _kept(self, call: Call) -> Call:
        self.calls.append(call)
        if call.reply.fault is not None:
            raise Lost
        return call
