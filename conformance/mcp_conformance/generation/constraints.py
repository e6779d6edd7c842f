"""The constraints of one value, and the choices its schema leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mcp_conformance.generation.denial import denials
from mcp_conformance.generation.known import KnownPlace
from mcp_conformance.generation.references import Document, Part


@dataclass(frozen=True)
class Constraints:
    """Constraints of one value, all of which hold.

    It conforms to each part of ``holds`` and to none of ``fails``; if it is an object, it has the members
    ``present`` and none of ``absent``.  ``known`` are values that exist, which these constraints may forbid.
    """

    holds: tuple[Part, ...] = ()
    fails: tuple[Part, ...] = ()
    present: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    known: KnownPlace | None = None

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.holds, self.fails, self.present, self.absent, self.known))

    def __and__(self, other: Constraints) -> Constraints:
        return Constraints(
            self.holds + tuple(part for part in other.holds if part not in self.holds),
            self.fails + tuple(part for part in other.fails if part not in self.fails),
            self.present | other.present,
            self.absent | other.absent,
            self.known or other.known,
        )


@dataclass(frozen=True, eq=False)
class Choice:
    """Alternatives of which at least one must be met; ``keyword`` is the one that leaves the choice."""

    keyword: str
    alternatives: tuple[Constraints, ...]


@dataclass(frozen=True)
class Terms:
    """The constraints that one part adds to its own assertions, and the choices it leaves."""

    constraints: Constraints
    choices: tuple[Choice, ...] = ()
    reach: tuple[Part, ...] = field(default=(), compare=False)


class Branches:
    """The terms of each part of a document: references, combinations, conditions and dependencies."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._terms: dict[Part, Terms] = {}
        self._denials: dict[Part, tuple[Constraints, tuple[Choice, ...]]] = {}

    def of(self, part: Part) -> Terms:
        """Return the terms of ``part``; raises `NoExample` if a reference in it can't be resolved."""
        if part not in self._terms:
            self._terms[part] = self._make(part)
        return self._terms[part]

    def _make(self, part: Part) -> Terms:
        constraints = Constraints((*self._document.referenced(part), *self._below(part, "allOf")))
        choices = [*self._combinations(part), *self._conditions(part), *self._dependencies(part)]
        if "not" in part.keywords:
            denied, further = self.denial(self._document.below(part, part.keywords["not"]))
            constraints &= denied
            choices += further
        reach = [*constraints.holds]
        for choice in choices:
            for alternative in choice.alternatives:
                reach += alternative.holds
        return Terms(constraints, tuple(choices), tuple(dict.fromkeys(reach)))

    def _below(self, part: Part, keyword: str) -> list[Part]:
        return [self._document.below(part, schema) for schema in part.keywords.get(keyword, ())]

    def _combinations(self, part: Part) -> list[Choice]:
        return [
            Choice(keyword, tuple(Constraints((branch,)) for branch in self._below(part, keyword)))
            for keyword in ("anyOf", "oneOf")
            if keyword in part.keywords
        ]

    def _conditions(self, part: Part) -> list[Choice]:
        keywords = part.keywords
        if "if" not in keywords or not ("then" in keywords or "else" in keywords):
            return []
        condition = self._document.below(part, keywords["if"])
        then = self._document.below(part, keywords.get("then", True))
        otherwise = self._document.below(part, keywords.get("else", True))
        denied, further = self.denial(condition)
        met = Constraints((condition, then))
        if len(further) == 1:
            unmet = [Constraints((otherwise,)) & denied & one for one in further[0].alternatives]
        else:
            unmet = [Constraints((otherwise,)) & (denied if not further else Constraints(fails=(condition,)))]
        return [Choice("if", (met, *unmet))]

    def _dependencies(self, part: Part) -> list[Choice]:
        return [
            Choice(
                "dependentSchemas",
                (
                    Constraints(absent=frozenset({name})),
                    Constraints((self._document.below(part, schema),), present=frozenset({name})),
                ),
            )
            for name, schema in part.keywords.get("dependentSchemas", {}).items()
        ]

    def denial(self, part: Part) -> tuple[Constraints, tuple[Choice, ...]]:
        """Return the constraints and choices that keep a value from conforming to ``part``."""
        if part not in self._denials:
            self._denials[part] = self._deny(part)
        return self._denials[part]

    def _deny(self, part: Part) -> tuple[Constraints, tuple[Choice, ...]]:
        words = [word for word in part.keywords if word in _DENIABLE]
        if part.never:
            return Constraints(), ()
        if len(words) == 1 and len(part.keywords) == 1:
            return self._deny_keyword(part, words[0], part.keywords[words[0]])
        fails = Constraints(fails=(part,))
        if "$ref" in part.keywords or set(part.keywords) == {"type"}:
            return fails, ()
        others = tuple(
            Constraints((self._document.below(part, schema),)) for schema in denials(part.keywords)
        )
        return (fails, (Choice("not", others),)) if others else (fails, ())

    def _deny_keyword(self, part: Part, word: str, content: Any) -> tuple[Constraints, tuple[Choice, ...]]:
        if word == "not":
            return Constraints((self._document.below(part, content),)), ()
        if word == "required" and content:
            absent = tuple(Constraints(absent=frozenset({name})) for name in content)
            return (absent[0], ()) if len(absent) == 1 else (Constraints(), (Choice("not", absent),))
        if word == "anyOf":
            denied = Constraints()
            choices: list[Choice] = []
            for schema in content:
                one, further = self.denial(self._document.below(part, schema))
                denied &= one
                choices += further
            return denied, tuple(choices)
        return Constraints(fails=(part,)), ()


_DENIABLE = frozenset({"not", "required", "anyOf"})
