"""Values for a JSON Schema: valid, at its boundaries, invalid, hostile.

One walk over the schema makes each value; its choices come from Hypothesis or from a seeded generator.
jsonschema validates every value, except those of a schema with simple keywords after many valid ones.
Nothing here fetches a remote reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from mcp_conformance.generation import smaller
from mcp_conformance.generation.adversarial import Hostility
from mcp_conformance.generation.adversarial import texts as hostile_texts
from mcp_conformance.generation.boundary import Edges
from mcp_conformance.generation.choices import FilledSource, HypothesisSource, PlainSource, Source
from mcp_conformance.generation.errors import NoExample, Rejected, Unsatisfiable
from mcp_conformance.generation.generator import Generator, generator_of
from mcp_conformance.generation.invalid import Invalid, Violator, clear, since_2020_12
from mcp_conformance.generation.known import with_known
from mcp_conformance.generation.seeded_choices import RandomSource, seeded

__all__ = [
    "HypothesisSource",
    "Invalid",
    "NoExample",
    "PlainSource",
    "RandomSource",
    "Source",
    "Unsatisfiable",
    "boundary",
    "clearly_invalid",
    "draw_invalid",
    "draw_valid",
    "draw_value",
    "example",
    "further_examples",
    "hostile",
    "hostile_texts",
    "invalid",
    "invalid_since_2020_12",
    "invalid_strategy",
    "seeded",
    "shrunk",
    "together",
    "valid",
    "values",
    "with_known",
]

# Hypothesis draws another value itself; more walks in one would only make it large, and slow to shrink.
HYPOTHESIS_WALKS = 3
"""The most walks Hypothesis makes for one value."""

# A seed has no second try.  A walk takes about a millisecond, so that a schema without values costs 0.1 s.
SEEDED_WALKS = 100
"""The most walks a seeded generator makes for one value."""


def valid(schema: Any, revision: str, examples: Iterable[Any] = ()) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for arguments that are valid under a tool's input schema.

    They shrink to the fewest members with the plainest contents.  ``examples``, the user's own arguments, are
    mixed in; they are the only ones if no others can be made.  Raises `ValueError` if one of them is not
    valid, `Unsatisfiable` if no object is valid, `NoExample` if none was found or the schema is broken.
    """
    own = list(examples)
    try:
        return _strategy(generator_of(schema, revision, objects=True), own)
    except NoExample:
        if not own:
            raise
        return st.sampled_from(own)


def values(schema: Any, revision: str) -> st.SearchStrategy[Any]:
    """Return a strategy for values of any type that are valid under ``schema``; raises as `valid` does."""
    return _strategy(generator_of(schema, revision, objects=False), [])


def _strategy(generator: Generator, examples: list[Any]) -> st.SearchStrategy[Any]:
    _prove(generator, examples)
    generator.example()
    walked = _walked(generator)
    return st.one_of(walked, st.sampled_from(examples)) if examples else walked


def _prove(generator: Generator, examples: list[Any]) -> None:
    """Raise `ValueError` for an example that is invalid in every dialect the schema may be in."""
    for one in examples:
        if generator.validator.is_invalid(one):
            raise ValueError(f"the example {one!r} is not valid under the schema")


@st.composite
def _walked(draw: st.DrawFn, generator: Generator) -> Any:
    try:
        return generator.walk(HypothesisSource(draw), HYPOTHESIS_WALKS)
    except (Rejected, NoExample):
        reject()


def draw_valid(schema: Any, revision: str, source: Source) -> dict[str, Any]:
    """Make arguments that are valid under a tool's input schema from the choices of ``source``.

    The same choices make the same arguments.  Raises `NoExample` (or `Unsatisfiable`) if none are found.
    """
    value: dict[str, Any] = _drawn(generator_of(schema, revision, objects=True), source)
    return value


def draw_value(schema: Any, revision: str, source: Source) -> Any:
    """Make a value of any type that is valid under ``schema``, as `draw_valid` makes arguments."""
    return _drawn(generator_of(schema, revision, objects=False), source)


def _drawn(generator: Generator, source: Source) -> Any:
    try:
        return generator.walk(source, SEEDED_WALKS)
    except Rejected as error:
        generator.example()
        raise NoExample(str(error)) from error


def example(schema: Any, revision: str) -> dict[str, Any]:
    """Return one small object that is valid under ``schema``, the same each time.

    It prefers the schema's own ``const``, ``enum``, ``examples`` and ``default``, and omits optional members.
    Raises `Unsatisfiable` if no object is valid, `NoExample` if none was found or the schema is broken.
    """
    value: dict[str, Any] = generator_of(schema, revision, objects=True).example()
    return value


def further_examples(schema: Any, revision: str) -> Iterator[dict[str, Any]]:
    """Yield a few valid arguments other than `example`, the same each time; none if none are found.

    First the same with an item in each list, then with the optional members too, then any.
    """
    seen = [example(schema, revision)]
    for source in (FilledSource(has_all=False), FilledSource(has_all=True), seeded(0, only_known=True)):
        with suppress(NoExample):
            found = draw_valid(schema, revision, source)
            if found not in seen:
                seen.append(found)
                yield found


def boundary(
    schema: Any, revision: str, examples: Iterable[Any] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield valid arguments at the edges of a tool's input schema, the same each time: (what, arguments).

    After the user's own ``examples`` and the smallest arguments: each bound, length, listed value, named
    example and default, branch, and optional member present and absent, at least once.  Raises as `valid`
    does.
    """
    own = list(examples)
    first = [("the user's example", one) for one in own]
    try:
        generator = generator_of(schema, revision, objects=True)
        _prove(generator, own)
        plain = generator.example()
    except NoExample:
        if not own:
            raise
        yield from first
        return
    yield from first
    yield "the plainest arguments", plain
    yield from Edges(generator).all()


def together(schema: Any, revision: str) -> Iterator[dict[str, Any]]:
    """Yield valid arguments in which edges of a few members come together, the same each time.

    Of the members with the fewest values, each three values of three members come together soon.
    """
    with suppress(NoExample):
        generator = generator_of(schema, revision, objects=True)
        generator.require()
        yield from Edges(generator).together()


def shrunk(
    schema: Any, revision: str, arguments: dict[str, Any], fails: Callable[[Any], bool], most: int
) -> dict[str, Any]:
    """Return the plainest valid arguments found next to ``arguments`` for which ``fails`` is true.

    For values that Hypothesis did not draw, such as those of `boundary`.  ``fails`` is called at most
    ``most`` times.  Raises `NoExample` if the schema is broken.
    """
    found: dict[str, Any] = smaller.shrunk(
        generator_of(schema, revision, objects=True), arguments, fails, most
    )
    return found


def invalid(schema: Any, revision: str) -> list[Invalid]:
    """Return invalid arguments that together violate each keyword of a tool's input schema, always the same.

    Each violates one keyword at one place, proven by jsonschema in every dialect the schema may be in.  A
    keyword that nothing can violate is left out.  Raises `NoExample` if the schema is broken.
    """
    return list(_violator(generator_of(schema, revision, objects=True)).entries)


def clearly_invalid(schema: Any, revision: str, arguments: dict[str, Any]) -> list[Invalid]:
    """Make valid ``arguments`` invalid in each possible way that no lenient server can repair.

    A required member is missing, or an object replaces a scalar.  Raises `NoExample` as `invalid` does.
    """
    return clear(invalid(schema, revision), arguments, generator_of(schema, revision, objects=True))


def invalid_since_2020_12(schema: Any, revision: str) -> list[Invalid]:
    """Return arguments that only a ``dependentRequired`` or ``prefixItems`` forbids, one for each keyword.

    Raises `NoExample` as `invalid` does.
    """
    return since_2020_12(invalid(schema, revision), schema, revision)


def invalid_strategy(schema: Any, revision: str, *, clear: bool = False) -> st.SearchStrategy[Invalid]:
    """Return a strategy for the arguments of `invalid`, and for the same violations in other arguments.

    With ``clear``, only objects that no lenient server can repair.  Raises `NoExample` if the schema is
    broken or forbids nothing.
    """
    violator = _violator(generator_of(schema, revision, objects=True))
    return _violated(violator, _some(violator.clear if clear else violator.entries))


@st.composite
def _violated(draw: st.DrawFn, violator: Violator, entries: list[Invalid]) -> Invalid:
    return violator.drawn(HypothesisSource(draw), entries)


def draw_invalid(schema: Any, revision: str, source: Source, *, clear: bool = False) -> Invalid:
    """Make one value of `invalid_strategy` from the choices of ``source``; raises `NoExample`."""
    violator = _violator(generator_of(schema, revision, objects=True))
    return violator.drawn(source, _some(violator.clear if clear else violator.entries))


def _some(entries: list[Invalid]) -> list[Invalid]:
    if not entries:
        raise NoExample("the schema forbids no arguments")
    return entries


@lru_cache(maxsize=256)
def _violator(generator: Generator) -> Violator:
    return Violator(generator)


def hostile(
    schema: Any, revision: str, spares: Callable[[str], bool] | None = None
) -> Iterator[tuple[str, bytes | None]]:
    """Yield arguments that a server must answer and survive: (what, the JSON text of ``arguments``).

    None means a call without ``arguments``.  Not every parser accepts all of them (lone surrogates, 1e400,
    duplicate members), but all are JSON by RFC 8259's grammar.  The hostile value is placed where the schema
    allows a value of its type, if there is such a place; members for which ``spares`` is true get no numbers.
    Raises `NoExample` if the schema is broken.
    """
    return Hostility(generator_of(schema, revision, objects=True), spares).all()
