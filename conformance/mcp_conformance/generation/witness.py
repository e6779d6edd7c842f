"""An object that tells two schemas apart: one allows it, the other forbids it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from mcp_conformance.generation import NoExample, boundary, invalid
from mcp_conformance.generation.validator import SchemaValidator
from mcp_conformance.json_schema.validation import Unjudgeable
from mcp_conformance.protocol.value import Value

# Not measured: with fewer, more changes of a schema are reported without an object that shows them.
MAX_CANDIDATES = 300
"""The most objects of each kind that are tried."""


def witness(allows: Any, forbids: Any, revision: str, without: Collection[str] = ()) -> dict[str, Any] | None:
    """Return an object that is valid under the first schema and invalid under the second, if one is found.

    jsonschema proves both, in every dialect that the schemas may be in.  The object has no member that is
    named in ``without``.
    """
    with suppress(NoExample, Unjudgeable, ValueError, RecursionError):
        allowing, forbidding = SchemaValidator(allows, revision), SchemaValidator(forbids, revision)
        for one in _candidates(allows, forbids, revision):
            if not _has_any(one, without) and forbidding.is_invalid(one) and allowing.is_valid(one):
                return one
    return None


def _candidates(allows: Any, forbids: Any, revision: str) -> Iterator[dict[str, Any]]:
    """Yield objects at the edges of what one schema allows, and those with one fault under the other."""
    with suppress(NoExample, Unjudgeable):
        yield from (arguments for _, arguments in islice(boundary(allows, revision), MAX_CANDIDATES))
    with suppress(NoExample, Unjudgeable):
        for one in invalid(forbids, revision)[:MAX_CANDIDATES]:
            if isinstance(one.arguments, dict):
                yield one.arguments


def _has_any(value: Any, names: Collection[str]) -> bool:
    """Return whether an object in the value has one of these members."""
    found = Value(value).walk() if names else ()
    return any(not one.json.keys().isdisjoint(names) for one in found if one.is_a(dict))
