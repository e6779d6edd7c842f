"""Sources of cases: one case for each seed, and strategies with which Hypothesis shrinks those that fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from hypothesis import reject
from hypothesis import strategies as st

from mcp_conformance.client.reply import Reply
from mcp_conformance.fuzzing.budgets import CASES
from mcp_conformance.fuzzing.oracles import Case, Oracle, rejects_invalid
from mcp_conformance.generation import (
    HypothesisSource,
    Invalid,
    NoExample,
    Source,
    draw_invalid,
    draw_valid,
    draw_value,
    invalid_strategy,
    seeded,
    valid,
    values,
)
from mcp_conformance.protocol.jsonrpc import encode
from mcp_conformance.world.jail import Jail


@dataclass(frozen=True)
class CaseSource:
    """Cases of one kind.

    ``draw`` makes a case from choices, or raises `NoExample`; ``like`` returns a strategy for cases of the
    same kind as a given one.
    """

    draw: Callable[[Source], Case]
    like: Callable[[Case], st.SearchStrategy[Case]]

    def case(self, seed: int) -> Case:
        """Return the case of a seed, always the same; raise `NoExample` if no value is found."""
        return replace(self.draw(seeded(seed)), seed=seed)

    def variations(self, seed: int) -> st.SearchStrategy[Case]:
        """Return a strategy for the case of a seed, with any of its choices replaced by Hypothesis's."""
        recorded = RecordedChoices(seeded(seed))
        self.draw(cast("Source", recorded))
        return _drawn(lambda draw: self.draw(cast("Source", VariedChoices(draw, recorded))))


def valid_cases(
    schema: Any, revision: str, oracle: Oracle, examples: Sequence[dict[str, Any]] = ()
) -> CaseSource:
    """Return the source of arguments that a tool's input schema allows.

    The user's ``examples`` are the only ones if no others can be made.
    """

    def case(arguments: Any) -> Case:
        return Case(encode(arguments), oracle, valid=True)

    def draw(source: Source) -> Case:
        try:
            return case(draw_valid(schema, revision, source))
        except NoExample:
            if not examples:
                raise
            return case(examples[source.index(len(examples))])

    return CaseSource(draw, lambda _: valid(schema, revision, examples).map(case))


def value_cases(schema: Any, revision: str, oracle: Oracle) -> CaseSource:
    """Return the source of values of any type that a schema allows."""

    def case(value: Any) -> Case:
        return Case(encode(value), oracle)

    return CaseSource(
        lambda source: case(draw_value(schema, revision, source)),
        lambda _: values(schema, revision).map(case),
    )


def invalid_cases(schema: Any, revision: str, usual: Reply, *, clear: bool = False) -> CaseSource:
    """Return the source of arguments that a tool's input schema forbids.

    ``usual`` is the answer to valid arguments; with ``clear``, no lenient server can repair the arguments.
    """

    def draw(source: Source) -> Case:
        for _ in range(CASES.max_invalid_draws):
            wrong = draw_invalid(schema, revision, source, clear=clear)
            if _is_object(wrong):
                return invalid_case(wrong, usual, revision)
        raise NoExample("no invalid arguments were found that are an object")

    def like(_: Case) -> st.SearchStrategy[Case]:
        objects = invalid_strategy(schema, revision, clear=clear).filter(_is_object)
        return objects.map(lambda wrong: invalid_case(wrong, usual, revision))

    return CaseSource(draw, like)


def held_case(case: Case, tool: str, jail: Jail) -> Case | None:
    """Return a case as a tool may get it; None if it may not, or valid arguments would no longer be valid."""
    try:
        text = jail.text(tool, case.text, must_stay_valid=case.valid)
    except NoExample:
        return None
    return case if text == case.text else None if text is None else replace(case, text=text)


def _is_object(wrong: Invalid) -> bool:
    return wrong.kind != "arguments"


def invalid_case(wrong: Invalid, usual: Reply, revision: str) -> Case:
    """Return the case of invalid arguments; ``usual`` is the answer to valid ones."""
    return Case(encode(wrong.arguments), partial(rejects_invalid, wrong, usual, revision), wrong=wrong)


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


# A case has tens of choices: one in a hundred replaced changes about one of them.
IS_KEPT = st.integers(0, 100).map(bool)
"""Whether a recorded choice is kept; shrinking replaces it."""


class VariedChoices:
    """A source that repeats recorded choices, except those that Hypothesis replaces."""

    def __init__(self, draw: st.DrawFn, recorded: RecordedChoices):
        self._draw, self._source = draw, HypothesisSource(draw)
        self._left = {asked: iter(chosen) for asked, chosen in recorded.choices.items()}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def choose(*asked: Any) -> Any:
            # Drawn even if it is not used, so that replacing one choice does not shift those after it.
            new = getattr(self._source, name)(*asked)
            recorded = next(self._left.get((name, *asked), iter(())), new)
            return recorded if self._draw(IS_KEPT) else new

        return choose
