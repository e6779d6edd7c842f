"""The calls of a soak: each is made from a seed and a number alone, so any of them can be made again."""

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
"""One call of so many has invalid arguments, if the tool's schema forbids any."""
ANSWER_SECONDS = 1.0
CALLS_PER_SEED = 10**12
"""More calls than are made with one seed."""


@dataclass(frozen=True)
class SoakCall:
    """One call: its number, the seed its arguments were made from, its tool, and the arguments."""

    number: int
    seed: int
    load: ToolLoad
    case: Case

    @property
    def label(self) -> str:
        """What its arguments are."""
        return "valid arguments" if self.case.wrong is None else "invalid arguments"


class ToolLoad:
    """The calls of one tool; it was called once before, and answered.

    ``answer_seconds`` is how long an answer may take before it is doubted.
    """

    def __init__(self, server: Server, call: Call):
        self.name = call.tool.name
        self.target = FuzzTarget.of_tool(call)
        self.answer_seconds = min(server.settings.timeout, max(ANSWER_SECONDS, 20 * call.reply.seconds))
        self._oracle = partial(accepts_valid, call.tool, server.revision)
        self._usual = call.reply
        self._schema, self._revision = call.tool.input_schema, server.revision
        self._examples = server.examples(call.tool)
        self.first = SoakCall(0, 0, self, self._valid(call.arguments))

    def call(self, seed: int, number: int) -> SoakCall:
        """The call of a number; raises `NoExample` if no arguments are found."""
        own = seed * CALLS_PER_SEED + number
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
        """Cases that Hypothesis makes, valid or invalid as ``case`` is."""
        if case.wrong is None:
            return valid(self._schema, self._revision, self._examples).map(self._valid)
        return invalid_strategy(self._schema, self._revision, clear=True).map(self._invalid)

    def variations(self, call: SoakCall) -> st.SearchStrategy[Case]:
        """The case that the seed of a shot makes, with as many choices as Hypothesis likes made plainer."""
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
    """A source of choices that remembers them, by what was asked for."""

    def __init__(self, source: Source):
        self._source = source
        self.choices: dict[tuple[Any, ...], list[Any]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def choose(*asked: Any) -> Any:
            chosen = getattr(self._source, name)(*asked)
            self.choices.setdefault((name, *asked), []).append(chosen)
            return chosen

        return choose


KEEPS_CHOICE = st.integers(0, 100).map(bool)


class VariedChoices:
    """A source of choices that repeats a tape, but for those that Hypothesis makes anew."""

    def __init__(self, draw: st.DrawFn, recorded: RecordedChoices):
        self._draw, self._source = draw, HypothesisSource(draw)
        self._left = {asked: iter(chosen) for asked, chosen in recorded.choices.items()}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def choose(*asked: Any) -> Any:
            anew = getattr(self._source, name)(*asked)
            taped = next(self._left.get((name, *asked), iter(())), anew)
            return taped if self._draw(KEEPS_CHOICE) else anew

        return choose
