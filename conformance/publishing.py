"""Pytest glue: the reports of a run, written to files and told to GitHub, however the run ends."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from conformance import (
    rendering_badge,
    rendering_github,
    rendering_html,
    rendering_json,
    rendering_markdown,
    rendering_sarif,
)
from conformance.assembling import Course, assembled
from conformance.collection import SUBJECT
from conformance.document import Report
from conformance.options import given, reports
from conformance.reporting import RESULTS, notices

RENDERERS: Mapping[str, Callable[[Report], str]] = {
    "badge.json": rendering_badge.endpoint,
    ".sarif.json": rendering_sarif.render,
    ".json": rendering_json.render,
    ".html": rendering_html.render,
    ".md": rendering_markdown.render,
    ".sarif": rendering_sarif.render,
    ".svg": rendering_badge.svg,
}
"""What makes a report, by how the file's name ends; the first that fits."""
BEGUN = pytest.StashKey[tuple[datetime, float]]()
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
    report = _report(session)
    config.stash[TOLD] = [*_written(session, report), *_for_github(session, report)]


def _report(session: pytest.Session) -> Report:
    config = session.config
    results = config.stash[RESULTS]
    started, begun = config.stash[BEGUN]
    course = Course(started, time.monotonic() - begun, _ended(session))
    return assembled(config.stash[SUBJECT], results, course, given(config), notices(config))


def _ended(session: pytest.Session) -> str:
    """Why the run ended early; empty if it did not."""
    if session.exitstatus == pytest.ExitCode.INTERRUPTED:
        return str(session.shouldstop or "interrupted")
    return str(session.shouldfail or session.shouldstop or "")


def _written(session: pytest.Session, report: Report) -> Iterator[str]:
    for path in reports(session.config):
        yield _kept(session, path, renderer(path)(report))


def _kept(session: pytest.Session, path: Path, text: str, mode: str = "w") -> str:
    """Write to a file and say so; a run that has no other fault has that of a report not written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode, encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
    except OSError as error:
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        return f"report: not written: {error}"
    return f"report: {path}"


def _for_github(session: pytest.Session, report: Report) -> Iterator[str]:
    """Annotations for GitHub, and the summary of its job."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    yield from rendering_github.commands(report)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        yield _kept(session, Path(summary), f"{rendering_markdown.render(report)}\n", mode="a")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say which reports there are."""
    for line in config.stash.get(TOLD, []):
        terminalreporter.write_line(line)
