"""Which checks apply to a server in a revision; the others are no items, only counted by their reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from mcp_conformance.protocol.revisions import HAS_NO_CAPABILITY
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.checks import Check
from mcp_conformance.target.contract import FILE
from mcp_conformance.target.settings import Settings
from mcp_conformance.target.surface import Subject, Surface

CONTRACT, BUDGETS, CLIENTS = "test_contract.py", "test_budget.py", "test_client.py"
SURROUNDINGS, DRIFT, BACKEND = "test_surroundings.py", "test_drift.py", "test_backend.py"
LOGIN, SESSIONS = "test_http_login.py", "test_sessions.py"
"""The suites that judge what the user promises or asks for, not what the specification demands."""


def why_not(surface: Surface, check: Check, settings: Settings) -> str:
    """Return why a check does not apply; empty if it does."""
    return next(_reasons(surface, check, settings), "")


def _reasons(surface: Surface, check: Check, settings: Settings) -> Iterator[str]:
    """Yield the reasons for which a check does not apply, the most telling first."""
    revision = surface.revision
    if surface.refused:
        yield f"the server does not speak {revision}"
    is_judged = any(map(surface.can_judge, check.requirements))
    if surface.dead and not is_judged:
        yield f"no session could be used in {revision}"
    if not any(catalogue.requirement(id).holds_in(revision) for id in check.requirements):
        yield f"not a rule of {revision}"
    if not _is_declared(surface, check.capability):
        yield f"{'.'.join(check.capability)} not declared in {revision}"
    if not _is_of_transport(check, settings):
        yield "a rule of stdio" if settings.http is not None else "a rule of HTTP"
    if not is_judged:
        yield "a rule of HTTP+SSE of 2024-11-05"
    if check.per_tool and not surface.tools:
        yield f"no tools listed in {revision}"
    yield from _not_chosen(check, settings)
    if check.fuzzes and not (settings.fuzzes_tools if check.per_tool else settings.examples):
        yield "nothing is fuzzed (--fuzz none)"


def _not_chosen(check: Check, settings: Settings) -> Iterator[str]:
    """Yield why a check does not apply that only an option, or a file of the user, makes apply."""
    if check.suite == CONTRACT and settings.contract is None:
        yield f"no contract ({FILE}, which mcp-conformance lock writes)"
    if check.suite == BUDGETS and not _has_budget(check, settings):
        yield "no budget for it (--budget)"
    if check.suite == CLIENTS and not settings.clients:
        yield "no client is chosen (--client)"
    if check.suite == SURROUNDINGS and not settings.surroundings:
        yield "no other surroundings (--surroundings)"
    if check.suite == BACKEND and settings.backend is None:
        yield "the server asks real hosts, not this tool (--backend)"
    if check.suite == LOGIN and settings.login is None:
        yield "nobody has logged in (--auth login)"
    if check.suite == SESSIONS and not settings.sessions:
        yield "no recorded sessions (--sessions)"
    if check.suite == DRIFT and settings.is_gentle:
        yield "judged with --fuzz thorough"


def _is_of_transport(check: Check, settings: Settings) -> bool:
    """Return whether a check is not about the other transport."""
    other = "stdio" if settings.http is not None else "http"
    return not any(catalogue.requirement(id).transport == other for id in check.requirements)


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
