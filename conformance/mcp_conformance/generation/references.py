"""The parts of a schema, and the targets of its references."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from jsonschema.protocols import Validator
from jsonschema_specifications import REGISTRY
from referencing import Specification
from referencing.exceptions import NoSuchAnchor, PointerToNowhere, Unresolvable
from referencing.jsonschema import lookup_recursive_ref, specification_with

from mcp_conformance.generation.errors import NoExample
from mcp_conformance.generation.keywords import DRAFTS, in_2020_12
from mcp_conformance.generation.validator import SchemaValidator
from mcp_conformance.json_schema.bounded import with_limits


@dataclass(frozen=True, eq=False)
class Part:
    """A subschema and the base URIs its references are resolved against.

    ``keywords`` are its keywords, translated to 2020-12; ``never`` is true for the schema ``false``.
    """

    schema: Any
    resolver: Any = field(repr=False)
    scope: tuple[str, ...] = field(repr=False)
    keywords: dict[str, Any] = field(repr=False)
    never: bool = False


class Document:
    """A schema and its subschemas; the same `Part` for the same subschema, on every path to it."""

    def __init__(self, schema: Any, dialect: str) -> None:
        self.draft = DRAFTS[dialect]
        self._specification: Specification[Any] = specification_with(dialect)
        self._parts: dict[tuple[int, tuple[str, ...]], Part] = {}
        self._targets: dict[Part, tuple[Part, ...]] = {}
        schema = json.loads(json.dumps(schema))
        resource = self._specification.create_resource(schema)
        self.root = self._part(schema, REGISTRY.resolver_with_root(resource), ())

    def below(self, part: Part, schema: Any) -> Part:
        """Return the part of a ``schema`` written inside ``part``."""
        known = self._parts.get((id(schema), part.scope))
        if known is not None:
            return known
        resolver = part.resolver
        if isinstance(schema, dict):
            resolver = resolver.in_subresource(self._specification.create_resource(schema))
        return self._part(schema, resolver, part.scope)

    def alone(self, schema: Any) -> Part:
        """Return a part outside the document, for a further constraint."""
        return Part(schema, self.root.resolver, (), in_2020_12(schema, self.draft))

    def referenced(self, part: Part) -> tuple[Part, ...]:
        """Return the targets of the references of ``part`` itself; raises `NoExample` for a missing one."""
        if part not in self._targets:
            self._targets[part] = tuple(self._referenced(part))
        return self._targets[part]

    def _referenced(self, part: Part) -> list[Part]:
        found = []
        for keyword in ("$ref", "$dynamicRef"):
            reference = part.keywords.get(keyword)
            if isinstance(reference, str):
                found.append(self._lookup(part, reference))
        if "$recursiveRef" in part.keywords:
            resolved = lookup_recursive_ref(part.resolver)
            found.append(self._part(resolved.contents, resolved.resolver, _scope(resolved.resolver)))
        return found

    def _lookup(self, part: Part, reference: str) -> Part:
        try:
            resolved = part.resolver.lookup(reference)
        except (Unresolvable, NoSuchAnchor, PointerToNowhere) as error:
            raise NoExample(f"the reference {reference!r} cannot be resolved") from error
        return self._part(resolved.contents, resolved.resolver, _scope(resolved.resolver))

    def _part(self, schema: Any, resolver: Any, scope: tuple[str, ...]) -> Part:
        key = (id(schema), scope)
        if key not in self._parts:
            keywords = in_2020_12(schema, self.draft) if isinstance(schema, dict) else {}
            self._parts[key] = Part(schema, resolver, scope, keywords, never=schema is False)
        return self._parts[key]


class PartValidator:
    """A validator for single parts, as far as the root's validator resolves their references."""

    def __init__(self, document: Document, schema: SchemaValidator) -> None:
        self._schema = schema
        self._validator = schema.validators[0]
        self._in_root: set[int] = set()
        self._collect(document.root.schema, top=True)
        self._validators: dict[Part, Validator | None] = {}

    def conforms(self, part: Part, value: Any) -> bool:
        """Return whether ``value`` conforms to ``part``; true also if `is_able` is false.

        Raises `NoExample` if validation takes too many steps.
        """
        if part not in self._validators:
            known = isinstance(part.schema, bool) or id(part.schema) in self._in_root
            self._validators[part] = (
                self._validator.evolve(schema=with_limits(part.schema)) if known else None
            )
        validator = self._validators[part]
        if validator is None:
            return True
        with self._schema.validating():
            return validator.is_valid(value)

    def is_able(self, part: Part) -> bool:
        """Return whether `conforms` can validate ``part``."""
        return isinstance(part.schema, bool) or id(part.schema) in self._in_root

    def _collect(self, schema: Any, *, top: bool = False) -> None:
        """Remember the parts that have the root's base URI."""
        if isinstance(schema, dict):
            if not top and any(isinstance(schema.get(name), str) for name in ("$id", "id")):
                return
            self._in_root.add(id(schema))
            for content in schema.values():
                self._collect(content)
        elif isinstance(schema, list):
            for content in schema:
                self._collect(content)


def _scope(resolver: Any) -> tuple[str, ...]:
    """Return the base URIs that a dynamic reference searches, each once."""
    return tuple(dict.fromkeys(uri for uri, _ in resolver.dynamic_scope()))
