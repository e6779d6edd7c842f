"""A run after an earlier one of the same process: what can have changed comes first, and an edit ends it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass, field

import pytest

from mcp_conformance.outcome import Listed
from mcp_conformance.plugin.collection import LISTED, is_ours, revision_of, stage_of, tool_name
from mcp_conformance.plugin.earlier_run import EarlierRun
from mcp_conformance.plugin.run_state import run_state
from mcp_conformance.plugin.since import compared_with, take_over
from mcp_conformance.report.model import Report, Result
from mcp_conformance.verdicts import Skipped

STOPPED = "files changed"
"""The reason of a run that an edit has ended."""
Key = tuple[str, str, str]
"""What one finding is: the rule, the tool if there is one, and the revision."""


@dataclass(frozen=True)
class Known:
    """What is known of a server after some runs: the results of each check by its id, the newest of each.

    ``report`` is that of the last run in which the server opened a session.
    """

    results: Mapping[str, tuple[Result, ...]] = field(default_factory=dict)
    report: Report | None = None

    def after(self, report: Report) -> Known:
        """Return what is known after one more run; one that has ended early keeps what it did not judge."""
        new: dict[str, tuple[Result, ...]] = {}
        for one in report.results:
            if one.reason != STOPPED:
                new[one.node] = (*new.get(one.node, ()), one)
        return Known({**self.results, **new} if report.ended or report.not_run else new, report)

    @property
    def findings(self) -> dict[Key, Result]:
        """The results that every report lists, one for each rule, tool and revision."""
        found: dict[Key, Result] = {}
        for one in (one for some in self.results.values() for one in some):
            if one.outcome.style.listed is Listed.ALWAYS:
                found.setdefault((one.requirement, one.tool, one.revision), one)
        return found

    @property
    def broken(self) -> frozenset[str]:
        """The ids of the checks that found something."""
        return frozenset(one.node for one in self.findings.values())

    def judges(self, one: Result) -> bool:
        """Return whether the check of a result has judged something the last time."""
        return any(now.outcome.is_judged for now in self.results.get(one.node, ()))


class RerunPlugin:
    """A pytest plugin that orders the checks of a run by what is ``known``, and ends it when files change.

    ``changed`` returns the files that somebody has edited since the run began.  After the run, ``stopped``
    says that an edit has ended it; ``report`` is there if the server has started, else ``unstarted``, which
    says why.
    """

    def __init__(self, known: Known, changed: Callable[[], Collection[str]]):
        self._known, self._changed = known, changed
        self._session: pytest.Session | None = None
        self._is_in_check = False
        self.stopped = False
        self.report: Report | None = None
        self.unstarted: Report | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Put the checks of changed tools first, then those that found something; take over what holds."""
        if self._known.report is None:
            return
        base, broken = compared_with(config, self._known.report), self._known.broken
        for item in items:
            if isinstance(item, pytest.Function) and is_ours(item) and _is_settled(item, base):
                take_over(item, base)
        items.sort(key=lambda item: _rank(item, base, broken))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Look for edits also while a check waits for the server."""
        self._session = session
        state = run_state(session.config)
        shown = state.on_wait

        def on_wait(waited: float, most: float) -> None:
            if shown is not None:
                shown(waited, most)
            if self._is_in_check and self._is_stopped():
                raise Skipped(STOPPED)

        state.on_wait = on_wait

    def _is_stopped(self) -> bool:
        """Return whether files have changed, so that the run is to end."""
        if not self.stopped and self._changed() and self._session is not None:
            self.stopped = True
            self._session.shouldstop = STOPPED
        return self.stopped

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, config: pytest.Config) -> None:
        """Take the report; pytest prints only that of a first run."""
        state = run_state(config)
        if state.probed is not None and state.probed.never_opened:
            self.unstarted = state.report
        else:
            self.report = state.report
        if self._known.report is not None:
            state.report = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """Note that a check runs."""
        self._is_in_check = True
        try:
            return (yield)
        finally:
            self._is_in_check = False

    def pytest_runtest_logfinish(self) -> None:
        """Look for edits after each check."""
        self._is_stopped()


def _is_settled(item: pytest.Item, base: EarlierRun) -> bool:
    """Return whether a check reads only the definition of a tool, which is the same as before."""
    tool = tool_name(item)
    return stage_of(item) == LISTED and bool(tool) and base.covers(revision_of(item), tool)


def _rank(item: pytest.Item, base: EarlierRun, broken: Collection[str]) -> int:
    """Return the place of a check: one of a changed tool, one that found something, any other."""
    if not is_ours(item) or stage_of(item) < 0:
        return 0
    tool, revision = tool_name(item), revision_of(item)
    if tool and tool not in base.same_tools.get(revision, frozenset()):
        return 1
    return 2 if item.nodeid in broken else 3
