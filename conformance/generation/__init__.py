"""Values for a JSON Schema: valid, at its boundaries, invalid, hostile.

One walk over the schema makes each value, whether its choices come from Hypothesis or from a seeded generator;
jsonschema is the oracle for every value.  Nothing here fetches a remote reference.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from conformance.generation.errors import NoExample, Rejected, Unsatisfiable
from conformance.generation.generator import Generator, generator_of
from conformance.generation.source import HypothesisSource, PlainSource, RandomSource, Source

__all__ = [
    "HypothesisSource",
    "NoExample",
    "PlainSource",
    "RandomSource",
    "Source",
    "Unsatisfiable",
    "draw_valid",
    "example",
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
    return _strategy(generator_of(schema, revision, objects=True), list(examples))


def values(schema: Any, revision: str) -> st.SearchStrategy[Any]:
    """Values of any type that are valid under ``schema``; raises as `valid` does."""
    return _strategy(generator_of(schema, revision, objects=False), [])


def _strategy(generator: Generator, examples: list[Any]) -> st.SearchStrategy[Any]:
    for one in examples:
        if not generator.oracle.is_valid(one):
            raise ValueError(f"the example {one!r} is not valid: {generator.oracle.errors(one)[0].message}")
    generator.example()
    walked = _walked(generator)
    return walked if not examples else st.one_of(walked, st.sampled_from(examples))


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
