"""What ``mcp-conformance baseline update`` does at the end of its run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.plugin.baseline import run_evidence
from conformance.plugin.collection import SUBJECT
from conformance.plugin.outcomes import RESULTS
from conformance.report.baseline import Baseline, Update, to_toml, updated
from conformance.verdicts import Outcome

LOOKED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


class Updating:
    """A plugin of pytest's, which brings a baseline up to date and writes it to ``path``."""

    def __init__(self, path: Path, baseline: Baseline):
        self._path, self._baseline = path, baseline
        self._update: Update | None = None
        self.is_written = False

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the file, unless the run was broken off."""
        config = session.config
        if SUBJECT not in config.stash or session.exitstatus not in LOOKED or session.shouldfail:
            return
        if any(one.outcome is Outcome.BLOCKED and one.is_late for one in config.stash[RESULTS]):
            return
        self._update = updated(self._baseline, run_evidence(config.stash[SUBJECT], config.stash[RESULTS]))
        self._path.write_text(to_toml(self._update.baseline), encoding="utf-8")
        self.is_written = True

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what has changed."""
        terminalreporter.section("baseline")
        for line in self._lines():
            terminalreporter.write_line(line)

    def _lines(self) -> Iterator[str]:
        if self._update is None:
            yield f"{self._baseline.name} is as it was, as the run did not come to its end"
            return
        yield from self._update.changes
        entries = self._update.baseline.entries
        yield f"{self._baseline.name} has {len(entries)} known finding{'' if len(entries) == 1 else 's'}"
        if lacking := sum(not entry.reason.strip() for entry in entries):
            yield f"give {lacking} of them a reason, and a date to expire on if there is one"
