"""The command ``mcp-conformance baseline update``: run the suites, and write the findings to the baseline."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_conformance.cli.arguments import UsageError, chosen_by, expect_no_stray_path, require_server
from mcp_conformance.cli.pytest_run import run_suites
from mcp_conformance.outcome import Outcome
from mcp_conformance.plugin.baseline import run_evidence
from mcp_conformance.plugin.run_state import run_state
from mcp_conformance.report.baseline import Baseline, Update, read, to_toml, updated
from mcp_conformance.report.exit_status import NOT_STARTED
from mcp_conformance.report.model import plural
from mcp_conformance.transport.writing import write_named

NAME = "baseline update"
COMPLETE = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED, NOT_STARTED)


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Run the suites and write the file; return 0 if it is written, else the exit status of the run."""
    path = options.file
    server = require_server(options, command, NAME, f"{NAME} FILE")
    expect_no_stray_path(rest, NAME)
    if not path.parent.is_dir():
        raise UsageError(f"{NAME}: no such directory: {path.parent}")
    old = read(path, str(path)) if path.exists() else Baseline(str(path))
    plugin = BaselineUpdatePlugin(path.absolute(), old)
    chosen = chosen_by(options, server, NAME).without("baseline")  # which may be the one to be written
    status = run_suites(chosen, rest, plugin, name=NAME)
    return 0 if plugin.is_written else status


class BaselineUpdatePlugin:
    """A pytest plugin that writes the baseline to ``path`` at the end of the run."""

    def __init__(self, path: Path, baseline: Baseline):
        self._path, self._baseline = path, baseline
        self._update: Update | None = None
        self.is_written = False

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the file, unless the run ended early."""
        state = run_state(session.config)
        if state.probed is None or session.exitstatus not in COMPLETE or session.shouldfail:
            return
        if any(one.outcome is Outcome.BLOCKED and one.is_late for one in state.results):
            return
        self._update = updated(self._baseline, run_evidence(state.probed, state.results))
        try:
            write_named(self._path, to_toml(self._update.baseline))
        except OSError as error:
            raise pytest.UsageError(f"baseline update: not written: {error}") from error
        self.is_written = True

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print what changed."""
        terminalreporter.section("baseline")
        for line in self._lines():
            terminalreporter.write_line(line)

    def _lines(self) -> Iterator[str]:
        if self._update is None:
            yield f"{self._baseline.name} is unchanged, as the run ended early"
            return
        yield from self._update.changes
        entries = self._update.baseline.entries
        yield f"{self._baseline.name} has {plural(len(entries), 'expected finding')}"
        if lacking := sum(not entry.reason.strip() for entry in entries):
            yield f"{lacking} of them need a reason; a date to expire on is optional"
