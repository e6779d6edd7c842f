"""The generator of one schema: its validator, its document, the constraints of its root."""

from __future__ import annotations

import json
import math
import sys
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

from mcp_conformance.generation.choices import PlainSource, Source
from mcp_conformance.generation.conjunction import Conjunction, Space
from mcp_conformance.generation.constraints import Constraints
from mcp_conformance.generation.errors import Exhausted, NoExample, Rejected, Unsatisfiable, within_limits
from mcp_conformance.generation.keywords import is_simple
from mcp_conformance.generation.known import KnownPlace, Same, known_of, read, without_known
from mcp_conformance.generation.references import Document
from mcp_conformance.generation.seeded_choices import seeded
from mcp_conformance.generation.validator import SchemaValidator
from mcp_conformance.generation.walker import Walk
from mcp_conformance.json_schema.bounded import MAX_STEPS
from mcp_conformance.json_schema.validation import MAX_SCHEMA_LENGTH, TOO_COSTLY, without_dialect

# Twice `SEEDED_WALKS`, once for each schema: without an example, a tool is not called at all.
EXAMPLE_WALKS = 200
"""The most walks with other choices, tried if the plainest choices lead to no valid value."""


# The proof takes half of the time of a seeded value.  A walker that is wrong once in ten fails within thirty
# proofs in 96 of 100 schemas.
MIN_PROVEN = 30
"""The values of a simple schema that jsonschema proves, one after the other, before it proves no more."""


# Not measured: ten milliseconds for an example that a person can read.
FURTHER_EXAMPLES = 10
"""The most further walks, among whose values the shortest is the example."""


class Generator:
    """Values of one schema, many of them ``known``.  Raises `NoExample` for a broken or unsupported schema.

    ``known`` is what exists at the places of a value, None for nothing.
    """

    def __init__(self, schema: Any, revision: str, *, objects: bool, known: KnownPlace | None = None) -> None:
        self.known = known
        self.validator = SchemaValidator(schema, revision)
        self.document = Document(without_dialect(schema, self.validator.dialect), self.validator.dialect)
        self.space = Space(self.document, self.validator)
        self._is_simple = is_simple(schema)
        self._proven = 0
        self._has_walked = False
        besides = (self.document.alone({"type": "object"}),) if objects else ()
        bare = Constraints((self.document.root, *besides))
        # Known values, and members that are needed, may not go together; later walks do without.
        places = [known, known.without_needed(), None] if known else [None]
        self._roots = [self.space.of(replace(bare, known=place)) for place in places]
        self.root: Conjunction = self._roots[0]
        self._refusal: Exhausted | None = None

    def require(self) -> None:
        """Raise the `Exhausted` of a schema that has reached a limit."""
        if self._refusal is not None:
            raise self._refusal

    def walk(self, source: Source, attempts: int) -> Any:
        """Make a valid value; raises `Rejected` if ``attempts`` walks made none."""
        self.require()
        try:
            with within_limits():
                value = self._walk(source, attempts)
        except Exhausted as error:
            self._refusal = None if self._has_walked else error
            raise
        self._has_walked, self.space.wasted = True, 0
        return value

    def _walk(self, source: Source, attempts: int) -> Any:
        # Two whole proofs, and a tenth for each further walk: most values cost less than a hundredth.
        self.validator.refill(2 * MAX_STEPS + attempts * MAX_STEPS // 10)
        failure = Rejected("no value was found that is valid under its whole schema")
        for attempt in range(attempts):
            root = self._roots[attempt * len(self._roots) // attempts]
            try:
                value = Walk(self.space, source).value(root)
                if self._is_valid(value):
                    return value
            except Rejected as error:
                failure = error
            except Exhausted:
                raise
            except NoExample as error:
                if not self.validator.may_go_on:
                    raise
                failure = Rejected(str(error))
        raise failure

    def _is_valid(self, value: Any) -> bool:
        """Return whether a value is valid; after many valid values, one for simple rules needs no proof."""
        if self._is_simple and self._proven >= MIN_PROVEN:
            return True
        is_valid = self.validator.is_valid(value)
        self._proven = self._proven + 1 if is_valid else -sys.maxsize
        return is_valid

    def example(self) -> Any:
        """Return a small value, the same each time; raises `Unsatisfiable` or `NoExample`."""
        self.require()
        try:
            with within_limits():
                contradiction = self.root.contradiction
        except Exhausted as error:
            self._refusal = error
            raise
        if contradiction is not None:
            raise Unsatisfiable(contradiction)
        try:
            return self.walk(PlainSource(), 1)
        except Rejected:
            pass
        source = seeded(0, only_known=True)
        try:
            found = [self.walk(source, EXAMPLE_WALKS)]
        except Rejected as error:
            raise NoExample(str(error)) from error
        with suppress(Rejected, NoExample):
            for _ in range(FURTHER_EXAMPLES):
                found.append(self.walk(source, 1))
        return min(found, key=lambda value: len(json.dumps(value)))


def generator_of(schema: Any, revision: str, *, objects: bool) -> Generator:
    """Return the generator of a schema, made once for equal schemas; raises `NoExample`.

    A schema must not be changed afterwards.
    """
    return _of_same(Same(schema), revision, objects=objects)


@lru_cache(maxsize=256)
def _of_same(schema: Same, revision: str, *, objects: bool) -> Generator:
    try:
        text = json.dumps(_without_infinite_default(without_known(schema.content)), allow_nan=False)
        if len(text) > MAX_SCHEMA_LENGTH:
            raise NoExample(f"the schema is {TOO_COSTLY}: it has {len(text)} characters", is_too_costly=True)
        known = json.dumps(known_of(schema.content), allow_nan=False)
        return _generator(text, known, revision, objects=objects)
    except RecursionError as error:
        raise NoExample(f"the schema is {TOO_COSTLY}: it is nested too deeply", is_too_costly=True) from error
    except (ArithmeticError, ValueError) as error:
        raise NoExample(f"its numbers are out of range: {error}") from error


def _without_infinite_default(schema: Any) -> Any:
    """Remove each ``default`` that JSON can't hold: 1e400, for example, is read as infinity."""
    if isinstance(schema, list):
        return [_without_infinite_default(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _without_infinite_default(content)
        for name, content in schema.items()
        if name != "default" or not isinstance(content, float) or math.isfinite(content)
    }


@lru_cache(maxsize=256)
def _generator(text: str, known: str, revision: str, *, objects: bool) -> Generator:
    return Generator(json.loads(text), revision, objects=objects, known=read(json.loads(known)))
