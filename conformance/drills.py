"""The calls of a soak: each is made from its number alone, so any of them can be made again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from hypothesis import reject
from hypothesis import strategies as st

from conformance.generation import (
    HypothesisSource,
    NoExample,
    Source,
    draw_invalid,
    draw_valid,
    invalid_strategy,
    seeded,
    valid,
)
from conformance.generation import Invalid
from conformance.judges import Case, handled, refused
from conformance.server import Call, Server
from conformance.targets import Target
from conformance.wire import encode

INVALID_OF = 10
"""One call of so many has invalid arguments, if the tool's schema forbids any."""
RUN = 10**12
"""More calls than are made with one seed."""


class Drill:
    """A tool under soak, known from a call of it that was answered."""

    def __init__(self, server: Server, call: Call):
        self.target = Target.of_tool(call)
        self.name = call.tool.name
        self.patience = min(server.settings.timeout, max(1.0, 20 * call.reply.seconds))
        self._schema, self._revision = call.tool.input_schema, server.revision
        self._examples = server.examples(call.tool)
        self._usual = call.reply
        self.judge = partial(handled, call.tool, server.revision)

    def case(self, source: Source) -> Case:
        """Arguments from the choices of ``source``; raises `NoExample`."""
        if source.index(INVALID_OF) == INVALID_OF - 1:
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
        return Case(encode(arguments), self.judge)

    def _invalid(self, wrong: Invalid) -> Case:
        judge = partial(refused, wrong, self._usual, self._revision)
        return Case(encode(wrong.arguments), judge, wrong=wrong)

    def cases(self, like: Case) -> st.SearchStrategy[Case]:
        """Cases that Hypothesis makes, valid or invalid as ``like`` is."""
        if like.wrong is None:
            return valid(self._schema, self._revision, self._examples).map(self._valid)
        return invalid_strategy(self._schema, self._revision, clear=True).map(self._invalid)

    def variations(self, seed: int) -> st.SearchStrategy[Case]:
        """The case of a seed, of whose choices Hypothesis may take back as many as it likes."""
        tape = Tape(seeded(seed))
        self.case(cast(Source, tape))
        return _varied(self, tape)


@st.composite
def _varied(draw: st.DrawFn, drill: Drill, tape: Tape) -> Case:
    try:
        return drill.case(cast(Source, Variation(draw, tape)))
    except NoExample:
        reject()


class Tape:
    """A source that remembers its choices, by what was asked for."""

    def __init__(self, source: Source):
        self._source = source
        self.choices: dict[tuple[Any, ...], list[Any]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def choose(*asked: Any) -> Any:
            chosen = getattr(self._source, name)(*asked)
            self.choices.setdefault((name, *asked), []).append(chosen)
            return chosen

        return choose


KEPT = st.integers(0, 100).map(bool)


class Variation:
    """A source that repeats a tape, but for the choices that Hypothesis makes anew."""

    def __init__(self, draw: st.DrawFn, tape: Tape):
        self._draw, self._source = draw, HypothesisSource(draw)
        self._left = {asked: iter(choices) for asked, choices in tape.choices.items()}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def choose(*asked: Any) -> Any:
            anew = getattr(self._source, name)(*asked)
            taped = next(self._left.get((name, *asked), iter(())), anew)
            return taped if self._draw(KEPT) else anew

        return choose


@dataclass(frozen=True)
class Shot:
    """One call: its number, the seed that its arguments are made from, and what is sent."""

    number: int
    seed: int
    drill: Drill
    case: Case

    @classmethod
    def of(cls, drill: Drill, seed: int, number: int) -> Shot:
        """The call of a number; raises `NoExample`."""
        own = seed * RUN + number
        return cls(number, own, drill, drill.case(seeded(own)))

    @property
    def label(self) -> str:
        """What its arguments are."""
        return "valid arguments" if self.case.wrong is None else "invalid arguments"
