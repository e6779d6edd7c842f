"""Values for a JSON Schema: valid, at its boundaries, invalid, hostile.

One walk over the schema makes each value, whether its choices come from Hypothesis or from a seeded
generator; jsonschema is the oracle for every value.  Nothing here fetches a remote reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from conformance.generation.boundary import Edges
from conformance.generation.errors import NoExample, Rejected, Unsatisfiable
from conformance.generation.generator import Generator, generator_of
from conformance.generation.hostile import Hostility
from conformance.generation.invalid import Invalid, Violator
from conformance.generation.source import HypothesisSource, PlainSource, RandomSource, Source, seeded

__all__ = [
    "HypothesisSource",
    "Invalid",
    "NoExample",
    "PlainSource",
    "RandomSource",
    "Source",
    "Unsatisfiable",
    "boundary",
    "draw_invalid",
    "draw_valid",
    "example",
    "hostile",
    "invalid",
    "invalid_strategy",
    "seeded",
    "valid",
    "values",
]

TRIES = 3
"""How many walks Hypothesis makes for one value; more would be cheaper than they are worth."""

PERSISTENCE = 100
"""How many walks a seeded generator makes for one value."""


def valid(schema: Any, revision: str, examples: Iterable[Any] = ()) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments that are valid under a tool's input schema.

    They shrink to the fewest members with the plainest contents.  ``examples`` are the user's own arguments,
    mixed in.  Raises `ValueError` if one of them is not valid, `Unsatisfiable` if no object is valid,
    `NoExample` if none was found or the schema is broken.
    """
    return _strategy(generator_of(schema, revision, objects=True), examples)


def values(schema: Any, revision: str) -> st.SearchStrategy[Any]:
    """Values of any type that are valid under ``schema``; raises as `valid` does."""
    return _strategy(generator_of(schema, revision, objects=False), ())


def _strategy(generator: Generator, examples: Iterable[Any]) -> st.SearchStrategy[Any]:
    proven = _proven(generator, examples)
    generator.example()
    walked = _walked(generator)
    return st.one_of(walked, st.sampled_from(proven)) if proven else walked


def _proven(generator: Generator, examples: Iterable[Any]) -> list[Any]:
    """The examples, each shown to be valid; raises `ValueError` for one that is not."""
    proven = list(examples)
    for one in proven:
        if not generator.oracle.is_valid(one):
            raise ValueError(f"the example {one!r} is not valid under the schema")
    return proven


@st.composite
def _walked(draw: st.DrawFn, generator: Generator) -> Any:
    try:
        return generator.walk(HypothesisSource(draw), TRIES)
    except Rejected:
        reject()


def draw_valid(schema: Any, revision: str, source: Source) -> dict[str, Any]:
    """Arguments that are valid under a tool's input schema, made from the choices of ``source``.

    The same choices make the same arguments.  Raises `NoExample` (or `Unsatisfiable`) if none are found.
    """
    generator = generator_of(schema, revision, objects=True)
    try:
        value: dict[str, Any] = generator.walk(source, PERSISTENCE)
    except Rejected as error:
        generator.example()
        raise NoExample(str(error)) from error
    return value


def example(schema: Any, revision: str) -> dict[str, Any]:
    """One small object that is valid under ``schema``, the same each time.

    Prefers the schema's own ``const``, ``enum``, ``examples`` and ``default``; leaves optional members out.
    Raises `Unsatisfiable` if there is none, `NoExample` if none was found or the schema is broken.
    """
    value: dict[str, Any] = generator_of(schema, revision, objects=True).example()
    return value


def boundary(
    schema: Any, revision: str, examples: Iterable[Any] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Valid arguments at the edges of a tool's input schema, the same each time: (what, arguments).

    After the user's own ``examples`` and the smallest arguments: each bound, length, listed value, named
    example and default, branch, and optional member present and absent, at least once.  Raises as `valid`
    does.
    """
    generator = generator_of(schema, revision, objects=True)
    yield from (("the user's example", one) for one in _proven(generator, examples))
    yield "the plainest arguments", generator.example()
    yield from Edges(generator).all()


def invalid(schema: Any, revision: str) -> list[Invalid]:
    """Invalid arguments that together violate each keyword of a tool's input schema, the same each time.

    Each violates one keyword at one place, proven by jsonschema in every dialect the schema may be in.  A
    keyword that nothing can violate is passed over.  Raises `NoExample` if the schema is broken.
    """
    return list(_violator(generator_of(schema, revision, objects=True)).entries)


def invalid_strategy(schema: Any, revision: str) -> st.SearchStrategy[Invalid]:
    """Invalid arguments as `invalid` gives them, and the same faults in other valid arguments.

    Raises `NoExample` if the schema is broken or forbids nothing.
    """
    return _violated(_able_violator(schema, revision))


@st.composite
def _violated(draw: st.DrawFn, violator: Violator) -> Invalid:
    return violator.drawn(HypothesisSource(draw))


def draw_invalid(schema: Any, revision: str, source: Source) -> Invalid:
    """One of what `invalid_strategy` gives, made from the choices of ``source``; raises `NoExample`."""
    return _able_violator(schema, revision).drawn(source)


def _able_violator(schema: Any, revision: str) -> Violator:
    violator = _violator(generator_of(schema, revision, objects=True))
    if not violator.entries:
        raise NoExample("the schema forbids no arguments")
    return violator


@lru_cache(maxsize=64)
def _violator(generator: Generator) -> Violator:
    return Violator(generator)


def hostile(schema: Any, revision: str) -> Iterator[tuple[str, bytes | None]]:
    """Arguments that a server must answer and survive: (what, the JSON text of ``arguments``).

    None stands for a call without ``arguments``.  Not every reader takes all of them (lone surrogates, 1e400,
    duplicate members), but all are JSON by RFC 8259's grammar.  What is nasty stands where the schema allows
    a value of that type, if it does anywhere.  Raises `NoExample` if the schema is broken.
    """
    return Hostility(generator_of(schema, revision, objects=True)).all()
