"""Results taken over from an earlier run (``--since FILE``), of checks that passed for the same tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from mcp_conformance.options.table import OPTIONS
from mcp_conformance.outcome import Outcome
from mcp_conformance.plugin.applicability import BUDGETS, CONTRACT
from mcp_conformance.plugin.collection import SUBJECT, WHOLE, is_ours, revision_of, tool_name
from mcp_conformance.plugin.options import RUN_OPTIONS
from mcp_conformance.project.version import tool_version
from mcp_conformance.report.build import interfaces
from mcp_conformance.report.model import Interface, Report, plural

TAKEN_OVER = pytest.StashKey[str]()
"""Why a check need not run again."""
BASE = pytest.StashKey["Base | None"]()
UNCHANGED = "unchanged since"
JUDGING = frozenset(option.name for option in OPTIONS if option.judges)


@dataclass(frozen=True)
class Base:
    """An earlier run beside this one: the names of the tools with the same definition in each revision.

    ``passed`` has the ids of the checks that passed, ``skipped`` the reasons of those that judged nothing;
    ``complete`` has the revisions in which all tools are the same.  ``difference`` says why nothing can be
    taken over, if so.
    """

    date: str
    passed: frozenset[str]
    skipped: dict[str, str]
    same_tools: dict[str, frozenset[str]]
    complete: frozenset[str]
    difference: str = ""

    def covers(self, revision: str, tool: str) -> bool:
        """Return whether a check of a revision, and of a tool if it is about one, would judge the same."""
        if self.difference:
            return False
        return tool in self.same_tools.get(revision, ()) if tool else revision in self.complete


def base_of(config: pytest.Config) -> Base | None:
    """Return the earlier run that the user names, if any."""
    if BASE not in config.stash:
        report = config.stash[RUN_OPTIONS].earlier
        config.stash[BASE] = _base(config, report) if report is not None else None
    return config.stash[BASE]


def _base(config: pytest.Config, report: Report) -> Base:
    now = {one.revision: one for one in interfaces(config.stash[SUBJECT])}
    pairs = [(one, now[one.revision]) for one in report.revisions if one.revision in now]
    passed = {one.node for one in report.results if one.outcome is Outcome.PASSED}
    broken = {one.node for one in report.results if one.outcome not in (Outcome.PASSED, Outcome.SKIPPED)}
    return Base(
        date=report.started[:10],
        passed=frozenset(passed - broken),
        skipped=_skipped(report),
        same_tools={new.revision: frozenset(_same_tools(old, new)) for old, new in pairs},
        complete=frozenset(new.revision for old, new in pairs if _is_same(old, new)),
        difference=_difference(report, now.values(), config.stash[RUN_OPTIONS].given),
    )


def _skipped(report: Report) -> dict[str, str]:
    """Return why checks judged nothing; none if a blocked check or a limit may be the cause of that."""
    if any(one.outcome is Outcome.BLOCKED for one in report.results):
        return {}
    skipped = [one for one in report.results if one.outcome is Outcome.SKIPPED and not one.cause]
    return {one.node: one.reason for one in skipped}


def _same_tools(old: Interface, new: Interface) -> Iterable[str]:
    before = {one.name: one for one in old.tools}
    return (one.name for one in new.tools if one.definition and before.get(one.name) == one)


def _is_same(old: Interface, new: Interface) -> bool:
    """Return whether a server offers the same as before, and all of it is known."""
    is_known = all(one.definition for one in new.tools) and not new.left_out
    return is_known and replace(old, noise=0) == replace(new, noise=0)


def _difference(report: Report, now: Iterable[Interface], options: dict[str, Any]) -> str:
    """Return what differs between two runs apart from tools; empty if nothing does."""
    if report.tool_version != tool_version():
        return f"version {report.tool_version or 'unknown'} of this tool wrote the earlier report"
    if _compared(report.options) != _compared(options):
        return "the earlier run had other options"
    if {_identity(one) for one in report.revisions} != {_identity(one) for one in now}:
        return "the server had another name, version, set of revisions or set of capabilities"
    return ""


def _compared(options: Any) -> dict[str, Any]:
    """Return the options that can make a check pass or fail."""
    return {name: chosen for name, chosen in options.items() if name in JUDGING}


def _identity(one: Interface) -> tuple[Any, ...]:
    return one.revision, one.state, one.server, one.version, one.offers


# Hooks -------------------------------------------------------------------------------------------


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the checks that need not run again."""
    base = base_of(config) if SUBJECT in config.stash else None
    if base is None:
        return
    for item in items:
        if (
            isinstance(item, pytest.Function)
            and is_ours(item)
            and item.path.name not in (CONTRACT, BUDGETS)
            and base.covers(revision_of(item), tool_name(item))
        ):
            _take_over(item, base)


def _take_over(item: pytest.Function, base: Base) -> None:
    """Let a check end as it did, without its fixtures; let it run if it found something."""
    if item.nodeid in base.passed:
        item.stash[TAKEN_OVER] = f"{UNCHANGED} {base.date}"
        item.fixturenames = []
    elif item.nodeid in base.skipped:
        item.add_marker(pytest.mark.skip(reason=base.skipped[item.nodeid]))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Note that not all checks run, so nothing is worth starting early."""
    if any(TAKEN_OVER in item.stash for item in session.items):
        session.config.stash[WHOLE] = False


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object | None:
    """Let a check pass that need not run again."""
    return True if TAKEN_OVER in pyfuncitem.stash else None


def since_line(config: pytest.Config, reasons: Iterable[str]) -> str:
    """Return what was taken over, or why nothing was; empty if the user names no earlier run."""
    base = base_of(config)
    if base is None:
        return ""
    if base.difference:
        return f"--since: every check ran, because {base.difference}"
    number = sum(reason.startswith(UNCHANGED) for reason in reasons)
    return f"{UNCHANGED} {base.date}, and not run again: {plural(number, 'check')}"
