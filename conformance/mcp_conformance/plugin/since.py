"""Results taken over from an earlier run (``--since FILE``), of checks that passed for the same tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from mcp_conformance.options.table import OPTIONS
from mcp_conformance.outcome import Outcome
from mcp_conformance.plugin.applicability import BUDGETS, CONTRACT, SESSIONS
from mcp_conformance.plugin.collection import is_ours, revision_of, tool_name
from mcp_conformance.plugin.earlier_run import EarlierRun
from mcp_conformance.plugin.options import RUN_OPTIONS
from mcp_conformance.plugin.run_state import item_state, run_state
from mcp_conformance.project.version import tool_version
from mcp_conformance.report.build import interfaces
from mcp_conformance.report.exercise import ExercisedTool
from mcp_conformance.report.model import Interface, Report, plural

UNCHANGED = "unchanged since"
JUDGING = frozenset(option.name for option in OPTIONS if option.judges)


def compared_with(config: pytest.Config, report: Report) -> EarlierRun:
    """Return an earlier run as this one sees it: what is the same, and what came of it."""
    now = {one.revision: one for one in interfaces(run_state(config).subject)}
    pairs = [(one, now[one.revision]) for one in report.revisions if one.revision in now]
    passed = {one.node for one in report.results if one.outcome is Outcome.PASSED}
    broken = {one.node for one in report.results if one.outcome not in (Outcome.PASSED, Outcome.SKIPPED)}
    same = {new.revision: frozenset(_same_tools(old, new)) for old, new in pairs}
    difference = _difference(report, now.values(), config.stash[RUN_OPTIONS].given)
    return EarlierRun(
        date=report.started[:10],
        passed=frozenset(passed - broken),
        skipped=_skipped(report),
        same_tools=same,
        complete=frozenset(new.revision for old, new in pairs if _is_same(old, new)),
        difference=difference,
        exercise={} if difference else _exercise(report, now.values(), same),
    )


def _exercise(
    report: Report, now: Iterable[Interface], same: Mapping[str, frozenset[str]]
) -> dict[str, ExercisedTool]:
    """Return what was exercised of the tools that are the same in each revision that lists them."""
    changed = {
        tool.name for one in now for tool in one.tools if tool.name not in same.get(one.revision, frozenset())
    }
    return {one.name: one for one in report.exercise if one.is_tool and one.name not in changed}


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


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compare the earlier run, if the user names one, with the server of this run."""
    earlier = session.config.stash[RUN_OPTIONS].earlier
    if earlier is not None:
        run_state(session.config).earlier = compared_with(session.config, earlier)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the checks that need not run again."""
    base = run_state(config).earlier
    if base is None:
        return
    for item in items:
        if (
            isinstance(item, pytest.Function)
            and is_ours(item)
            and item.path.name not in (CONTRACT, BUDGETS, SESSIONS)
            and base.covers(revision_of(item), tool_name(item))
        ):
            take_over(item, base)


def take_over(item: pytest.Function, base: EarlierRun) -> None:
    """Let a check end as it did, without its fixtures; let it run if it found something."""
    if item.nodeid in base.passed:
        item_state(item).taken_over = f"{UNCHANGED} {base.date}"
        item.fixturenames = []
    elif item.nodeid in base.skipped:
        item.add_marker(pytest.mark.skip(reason=base.skipped[item.nodeid]))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Note that not all checks run, so nothing is worth starting early."""
    if any(item_state(item).taken_over for item in session.items):
        run_state(session.config).is_whole = False


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object | None:
    """Let a check pass that need not run again."""
    return True if item_state(pyfuncitem).taken_over else None


def since_line(config: pytest.Config, reasons: Iterable[str]) -> str:
    """Return what was taken over, or why nothing was; empty if the user names no earlier run."""
    base = run_state(config).earlier
    if base is None:
        return ""
    if base.difference:
        return f"--since: every check ran, because {base.difference}"
    number = sum(reason.startswith(UNCHANGED) for reason in reasons)
    return f"{UNCHANGED} {base.date}, and not run again: {plural(number, 'check')}"
