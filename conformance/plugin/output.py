"""Pytest glue: the report of a run, shown, written to files and told to GitHub, however the run ends."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from conformance.plugin.collection import SUBJECT
from conformance.plugin.options import given, reports
from conformance.plugin.outcomes import RESULTS, columns, notices, run_facts
from conformance.report.build import build_report
from conformance.report.formats import badge, github, html, markdown, sarif, terminal
from conformance.report.formats import json as json_format
from conformance.report.model import Report

RENDERERS: Mapping[str, Callable[[Report], str]] = {
    "badge.json": badge.endpoint,
    ".sarif.json": sarif.render,
    ".json": json_format.render,
    ".html": html.render,
    ".md": markdown.render,
    ".sarif": sarif.render,
    ".svg": badge.svg,
}
"""What makes a report, by how the file's name ends; the first that fits."""
BEGUN = pytest.StashKey[tuple[datetime, float]]()
REPORT = pytest.StashKey[Report]()
TOLD = pytest.StashKey[list[str]]()


def renderer(path: Path) -> Callable[[Report], str]:
    """What makes the report in a file of that name.  Raises `pytest.UsageError`."""
    fitting = (render for ending, render in RENDERERS.items() if path.name.lower().endswith(ending))
    found = next(fitting, None)
    if found is None:
        known = ", ".join(ending for ending in RENDERERS if ending.startswith("."))
        raise pytest.UsageError(f"--mcp-report: {path.name!r} ends in none of {known}, badge.json")
    return found


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a file whose name does not tell what it should be, or that cannot be written."""
    config.stash[BEGUN] = (datetime.now(UTC), time.monotonic())
    for path in reports(config):
        renderer(path)
        if path.is_dir():
            raise pytest.UsageError(f"--mcp-report: {path} is a directory")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the reports."""
    config = session.config
    if hasattr(config, "workerinput") or SUBJECT not in config.stash or config.option.collectonly:
        return
    results = config.stash[RESULTS]
    started, begun = config.stash[BEGUN]
    facts = run_facts(session, started, time.monotonic() - begun)
    report = build_report(config.stash[SUBJECT], results, facts, given(config), notices(config))
    config.stash[REPORT] = report
    config.stash[TOLD] = [*_written(session, report), *_for_github(session, report)]


def _written(session: pytest.Session, report: Report) -> Iterator[str]:
    for path in reports(session.config):
        yield _told(session, kept(path, renderer(path)(report)))


def _told(session: pytest.Session, kept: tuple[str, bool]) -> str:
    """What became of a file; a run that has no other fault has that of a report not written."""
    text, is_written = kept
    if not is_written and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.USAGE_ERROR
    return text


def kept(path: Path, text: str, mode: str = "w") -> tuple[str, bool]:
    """Write to a file: what to say of it, and whether it is written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode, encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
    except OSError as error:
        return f"report: not written: {error}", False
    return f"report: {path}", True


def _for_github(session: pytest.Session, report: Report) -> Iterator[str]:
    """Annotations for GitHub, and the summary of its job."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    yield from github.commands(report)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        yield _told(session, kept(Path(summary), f"{markdown.render(report)}\n", mode="a"))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Close the run with the verdict, and say which reports there are."""
    report = config.stash.get(REPORT, None)
    if report is not None and (report.results or report.ended):
        terminalreporter.write_sep("=", "MCP conformance")
        verbose, crashes = config.get_verbosity() > 0, config.option.tbstyle == "no"
        for row in terminal.lines(report, width=columns(config), verbose=verbose, crashes=crashes):
            for text, style in row:
                terminalreporter.write(text, **dict.fromkeys(style.split(), True))
            terminalreporter.write_line("")
    for line in config.stash.get(TOLD, []):
        terminalreporter.write_line(line)
