"""The subschemas that apply to one value, and which of them evaluate its items and members."""

from __future__ import annotations

from typing import Protocol

from mcp_conformance.generation.constraints import Branches, Constraints
from mcp_conformance.generation.references import Document, Part, PartValidator


class RuleContext(Protocol):
    """The state shared by the rules for all values of one schema."""

    document: Document
    validator: PartValidator
    branches: Branches
    text: Part
    """A part that allows strings only."""

    def contradiction_of(self, constraints: Constraints) -> str | None:
        """Return why no value can meet the constraints, if that is certain."""


class AppliedParts:
    """The parts that one value must conform to.

    ``schemas`` are their keywords.  Unless ``settled``, branches may still be chosen that evaluate more items
    and members.
    """

    def __init__(self, context: RuleContext, constraints: Constraints, *, settled: bool) -> None:
        self.context = context
        self.constraints = constraints
        self.settled = settled
        self.parts = constraints.holds
        self.schemas = [part.keywords for part in constraints.holds if part.keywords]

    def evaluates_rest(self, part: Part, keyword: str) -> bool:
        """Return whether the ``unevaluated...`` keyword of ``part`` applies: not while branches are open."""
        return self.settled and keyword in part.keywords

    def reach(self, part: Part) -> list[Part]:
        """Return ``part`` and the parts that it applies to the same value, in the choices made."""
        found = [part]
        for one in found:
            terms = self.context.branches.of(one)
            found += [other for other in terms.reach if other in self.parts and other not in found]
        return found
