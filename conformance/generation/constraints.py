"""What is demanded of one value, and the choices its schema leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conformance.generation.references import Document, Part


@dataclass(frozen=True)
class Demand:
    """What must hold of one value, all of it.

    It conforms to each part of ``holds`` and to none of ``fails``; if it is an object, it has the members
    ``present`` and none of ``absent``.
    """

    holds: tuple[Part, ...] = ()
    fails: tuple[Part, ...] = ()
    present: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()

    def __and__(self, other: Demand) -> Demand:
        return Demand(
            self.holds + tuple(part for part in other.holds if part not in self.holds),
            self.fails + tuple(part for part in other.fails if part not in self.fails),
            self.present | other.present,
            self.absent | other.absent,
        )


@dataclass(frozen=True, eq=False)
class Choice:
    """Demands of which at least one must be met; ``keyword`` is the one that leaves the choice."""

    keyword: str
    alternatives: tuple[Demand, ...]


@dataclass(frozen=True)
class Terms:
    """What one part demands of the value beside its own assertions, and the choices it leaves."""

    demand: Demand
    choices: tuple[Choice, ...] = ()
    reach: tuple[Part, ...] = field(default=(), compare=False)


class Branches:
    """The terms of each part of a document: references, combinations, conditions and dependencies."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._terms: dict[Part, Terms] = {}
        self._denials: dict[Part, tuple[Demand, tuple[Choice, ...]]] = {}

    def of(self, part: Part) -> Terms:
        """The terms of ``part``; raises `NoExample` if a reference in it leads nowhere."""
        if part not in self._terms:
            self._terms[part] = self._make(part)
        return self._terms[part]

    def _make(self, part: Part) -> Terms:
        demand = Demand((*self._document.referenced(part), *self._below(part, "allOf")))
        choices = [*self._combinations(part), *self._conditions(part), *self._dependencies(part)]
        if "not" in part.keywords:
            denied, further = self.denial(self._document.below(part, part.keywords["not"]))
            demand &= denied
            choices += further
        reach = [*demand.holds]
        for choice in choices:
            for alternative in choice.alternatives:
                reach += alternative.holds
        return Terms(demand, tuple(choices), tuple(dict.fromkeys(reach)))

    def _below(self, part: Part, keyword: str) -> list[Part]:
        return [self._document.below(part, schema) for schema in part.keywords.get(keyword, ())]

    def _combinations(self, part: Part) -> list[Choice]:
        return [
            Choice(keyword, tuple(Demand((branch,)) for branch in self._below(part, keyword)))
            for keyword in ("anyOf", "oneOf")
            if keyword in part.keywords
        ]

    def _conditions(self, part: Part) -> list[Choice]:
        said = part.keywords
        if "if" not in said or not ("then" in said or "else" in said):
            return []
        condition = self._document.below(part, said["if"])
        then = self._document.below(part, said.get("then", True))
        otherwise = self._document.below(part, said.get("else", True))
        denied, further = self.denial(condition)
        met = Demand((condition, then))
        if len(further) == 1 and denied == Demand():
            unmet = [Demand((otherwise,)) & one for one in further[0].alternatives]
        else:
            unmet = [Demand((otherwise,)) & (denied if not further else Demand(fails=(condition,)))]
        return [Choice("if", (met, *unmet))]

    def _dependencies(self, part: Part) -> list[Choice]:
        return [
            Choice(
                "dependentSchemas",
                (
                    Demand(absent=frozenset({name})),
                    Demand((self._document.below(part, schema),), present=frozenset({name})),
                ),
            )
            for name, schema in part.keywords.get("dependentSchemas", {}).items()
        ]

    def denial(self, part: Part) -> tuple[Demand, tuple[Choice, ...]]:
        """What must hold, and be chosen, for a value not to conform to ``part``."""
        if part not in self._denials:
            self._denials[part] = self._deny(part)
        return self._denials[part]

    def _deny(self, part: Part) -> tuple[Demand, tuple[Choice, ...]]:
        words = [word for word in part.keywords if word in _DENIABLE]
        if part.never:
            return Demand(), ()
        if len(words) == 1 and len(part.keywords) == 1:
            return self._deny_keyword(part, words[0], part.keywords[words[0]])
        return Demand(fails=(part,)), ()

    def _deny_keyword(self, part: Part, word: str, content: Any) -> tuple[Demand, tuple[Choice, ...]]:
        if word == "not":
            return Demand((self._document.below(part, content),)), ()
        if word == "required" and content:
            absent = tuple(Demand(absent=frozenset({name})) for name in content)
            return (absent[0], ()) if len(absent) == 1 else (Demand(), (Choice("not", absent),))
        if word == "anyOf":
            denied = Demand()
            choices: list[Choice] = []
            for schema in content:
                one, further = self.denial(self._document.below(part, schema))
                denied &= one
                choices += further
            return denied, tuple(choices)
        return Demand(fails=(part,)), ()


_DENIABLE = frozenset({"not", "required", "anyOf"})
