"""Write the report of a run to files, to GitHub and to the terminal, even if the run is interrupted."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_conformance.plugin.options import HANDED, RUN_OPTIONS
from mcp_conformance.plugin.outcomes import GREEN, columns, notices, run_facts
from mcp_conformance.plugin.run_state import run_state
from mcp_conformance.report.build import build_report
from mcp_conformance.report.exit_status import MACHINE
from mcp_conformance.report.files import Written, format_of, write_file
from mcp_conformance.report.formats import github, markdown, terminal
from mcp_conformance.report.formats import json as json_format
from mcp_conformance.report.model import Report
from mcp_conformance.requirements.checks import PACKAGE
from mcp_conformance.transport.machine import machine_fault
from mcp_conformance.transport.writing import append


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the reports."""
    config = session.config
    state = run_state(config)
    if hasattr(config, "workerinput") or state.probed is None or config.option.collectonly:
        return
    facts = run_facts(session, state.begun_at, time.monotonic() - state.begun)
    given = config.stash[RUN_OPTIONS].given
    report = build_report(state.probed, state.results, facts, given, notices(config))
    state.report = report
    if report.lacking and session.exitstatus in GREEN:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if report.not_run and report.status == "untested" and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED  # none fitted into --within
    state.written = [*_write_files(session, report), *_write_for_github(session, report)]


def _write_files(session: pytest.Session, report: Report) -> Iterator[str]:
    for path in session.config.stash[RUN_OPTIONS].reports:
        yield _noted(session, write_file(path, format_of(path).render(report)))


def _write_for_github(session: pytest.Session, report: Report) -> Iterator[str]:
    """Yield annotations for GitHub, and append to the summary of its job."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    yield from github.commands(report)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        yield _noted(session, write_file(Path(summary), f"{markdown.render(report)}\n", append))


def _noted(session: pytest.Session, written: Written) -> str:
    """Return the text about a file; a file that is not written makes a green run a usage error.

    If the machine had no room for it, that is the status of any run.
    """
    if machine_fault(written.error):
        session.exitstatus = MACHINE
    elif written.error is not None and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.USAGE_ERROR
    return written.text


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the report in the form that the user chose, and the names of the files."""
    report, form = run_state(config).report, config.stash[RUN_OPTIONS].output_format
    if unmatched := run_state(config).unmatched:
        if HANDED not in config.stash:  # else it is an error, which pytest prints
            terminalreporter.write_line(f"MCP conformance: {unmatched}")
    elif report is not None and (report.results or report.ended or report.not_applicable):
        if config.get_verbosity() >= 0 or not run_state(config).base_verbosity:
            terminalreporter.write_sep("=", "MCP conformance")
        for row in _rows(report, config, form):
            for text, style in row:
                terminalreporter.write(text, **dict.fromkeys(style.split(), True))
            terminalreporter.write_line("")
    for line in run_state(config).written if form != "json" else ():
        terminalreporter.write_line(line)
    if config.get_verbosity() < 1:
        _fold_skips(terminalreporter.stats.get("skipped", []))


def _rows(report: Report, config: pytest.Config, form: str) -> Iterator[terminal.Row]:
    """Yield the lines of a report in one of the forms of ``--output-format``."""
    if form == "full":
        verbose, tracebacks = verbosity(config) > 0, config.option.tbstyle == "no"
        yield from terminal.lines(report, width=columns(config), verbose=verbose, tracebacks=tracebacks)
        return
    texts = {"concise": terminal.concise, "github": github.commands}
    lines = json_format.render(report).splitlines() if form == "json" else texts[form](report)
    yield from map(terminal.plain, lines)


def verbosity(config: pytest.Config) -> int:
    """Return how often the user gave ``-v``: the command itself begins with ``-qq``."""
    return config.get_verbosity() - run_state(config).base_verbosity


def _fold_skips(reports: Iterable[pytest.TestReport]) -> None:
    """Give our skipped checks one place and reason, so that pytest's ``-rs`` has one line for them."""
    for report in reports:
        if report.nodeid.startswith(PACKAGE):
            report.longrepr = (PACKAGE, None, "Skipped: nothing to judge (-v lists the reasons)")  # type: ignore[assignment]
