"""Which checks apply to a server in a revision; the others are no items, only counted by their reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from conformance.protocol.revisions import HAS_NO_CAPABILITY
from conformance.requirements import catalogue
from conformance.requirements.checks import Check
from conformance.target.contract import FILE
from conformance.target.settings import Settings
from conformance.target.surface import Subject, Surface

CONTRACT, BUDGETS = "test_contract.py", "test_budget.py"
"""The suites that judge what the user promises, not what the specification demands."""


def why_not(surface: Surface, check: Check, settings: Settings) -> str:
    """Return why a check does not apply; empty if it does."""
    revision = surface.revision
    is_rule = any(catalogue.requirement(id).holds_in(revision) for id in check.requirements)
    reasons = {
        f"the server does not speak {revision}": bool(surface.refused),
        f"no session could be used in {revision}": surface.dead,
        f"not a rule of {revision}": not is_rule,
        f"{'.'.join(check.capability)} not declared in {revision}": not _is_declared(
            surface, check.capability
        ),
        f"no tools listed in {revision}": check.per_tool and not surface.tools,
        f"no contract ({FILE}, which mcp-conformance lock writes)": check.suite == CONTRACT
        and settings.contract is None,
        "no budget for it (--budget)": check.suite == BUDGETS and not _has_budget(check, settings),
        "nothing is fuzzed (--fuzz none)": check.fuzzes and not settings.examples,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _has_budget(check: Check, settings: Settings) -> bool:
    """Return whether the user limits the figure that a check judges."""
    return any(id.removeprefix("budget.") in settings.budgets for id in check.requirements)


def _is_declared(surface: Surface, capability: tuple[str, ...]) -> bool:
    """Return whether a capability is declared, or cannot be declared in this revision."""
    if not capability or surface.revision in HAS_NO_CAPABILITY.get(capability[0], ()):
        return True
    return surface.declares(*capability)


def not_applicable(subject: Subject, checks: Iterable[Check]) -> dict[str, int]:
    """Count the checks that do not apply, by the reason; a check counts once in each revision."""
    pairs = [(surface, check) for surface in subject.surfaces for check in checks]
    reasons = Counter(why_not(surface, check, subject.settings) for surface, check in pairs)
    del reasons[""]
    return dict(reasons.most_common())
