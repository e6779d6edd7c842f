"""The calls of a soak: each depends only on a seed and its number, so any of them can be repeated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from hypothesis import reject
from hypothesis import strategies as st

from conformance.client.tool_call import Call
from conformance.fuzzing.fuzz_target import FuzzTarget
from conformance.fuzzing.oracles import Case, accepts_valid, rejects_invalid
from conformance.generation import (
    HypothesisSource,
    Invalid,
    NoExample,
    Source,
    draw_invalid,
    draw_valid,
    invalid_strategy,
    seeded,
    valid,
)
from conformance.protocol.jsonrpc import encode
from conformance.target.server import Server

CALLS_PER_INVALID = 10
"""One call in so many has invalid arguments, if the tool's schema forbids any."""
MIN_ANSWER_SECONDS = 1.0
MAX_CALLS_PER_SEED = 10**12
"""The distance of the seeds of calls, so that two soaks have no call in common."""


@dataclass(frozen=True)
class SoakCall:
    """One call: its number, the seed its arguments were made from, its tool, and the arguments."""

    number: int
    seed: int
    load: ToolLoad
    case: Case

    @property
    def label(self) -> str:
        """The kind of its arguments."""
        return "valid arguments" if self.case.wrong is None else "invalid arguments"


class ToolLoad:
    """The calls of one tool, which was called once before.

    ``answer_seconds`` is the time after which a missing answer is looked into.
    """

    def __init__(self, server: Server, call: Call):
        self.name = call.tool.name
        self.target = FuzzTarget.of_tool(call)
        self.answer_seconds = min(server.settings.timeout, max(MIN_ANSWER_SECONDS, 20 * call.reply.seconds))
        self._oracle = partial(accepts_valid, call.tool, server.revision)
        self._usual = call.reply
        self._schema, self._revision = call.tool.input_schema, server.revision
        self._examples = server.examples(call.tool)
        self.first = SoakCall(0, 0, self, self._valid(call.arguments))

    def call(self, seed: int, number: int) -> SoakCall:
        """Return the call of a number; raise `NoExample` if no arguments are found."""
        own = seed * MAX_CALLS_PER_SEED + number
        return SoakCall(number, own, self, self._case(seeded(own)))

    def _case(self, source: Source) -> Case:
        if source.index(CALLS_PER_INVALID) == CALLS_PER_INVALID - 1:
            try:
                return self._invalid(draw_invalid(self._schema, self._revision, source, clear=True))
            except NoExample:
                pass
        return self._valid(self._arguments(source))

    def _arguments(self, source: Source) -> Any:
        try:
            return draw_valid(self._schema, self._revision, source)
        except NoExample:
            if not self._examples:
                raise
            return self._examples[source.index(len(self._examples))]

    def _valid(self, arguments: Any) -> Case:
        return Case(encode(arguments), self._oracle)

    def _invalid(self, wrong: Invalid) -> Case:
        return Case(
            encode(wrong.arguments), partial(rejects_invalid, wrong, self._usual, self._revision), wrong=wrong
        )

    # For Hypothesis

    def cases_like(self, case: Case) -> st.SearchStrategy[Case]:
        """Return a strategy for cases that are valid or invalid as ``case`` is."""
        if case.wrong is None:
            return valid(self._schema, self._revision, self._examples).map(self._valid)
        return invalid_strategy(self._schema, self._revision, clear=True).map(self._invalid)

    def variations(self, call: SoakCall) -> st.SearchStrategy[Case]:
        """Return a strategy for the case of a call, with any of its choices replaced by Hypothesis's."""
        recorded = RecordedChoices(seeded(call.seed))
        self._case(cast("Source", recorded))
        return _drawn(lambda draw: self._case(cast("Source", VariedChoices(draw, recorded))))


@st.composite
def _drawn(draw: st.DrawFn, make: Callable[[st.DrawFn], Case]) -> Case:
    try:
        return make(draw)
    except NoExample:
        reject()


class RecordedChoices:
    """A source of choices that records them by method and arguments."""

    def __init__(self, source: Source):
        self._source = source
        self.choices: dict[tuple[Any, ...], list[Any]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def choose(*asked: Any) -> Any:
            chosen = getattr(self._source, name)(*asked)
            self.choices.setdefault((name, *asked), []).append(chosen)
            return chosen

        return choose


IS_KEPT = st.integers(0, 100).map(bool)
"""Whether a recorded choice is kept; shrinking replaces it."""


class VariedChoices:
    """A source that repeats recorded choices, except those that Hypothesis replaces."""

    def __init__(self, draw: st.DrawFn, recorded: RecordedChoices):
        self._draw, self._source = draw, HypothesisSource(draw)
        self._left = {asked: iter(chosen) for asked, chosen in recorded.choices.items()}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def choose(*asked: Any) -> Any:
            new = getattr(self._source, name)(*asked)
            recorded = next(self._left.get((name, *asked), iter(())), new)
            return recorded if self._draw(IS_KEPT) else new

        return choose
