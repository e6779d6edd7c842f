"""The command ``mcp-conformance soak``: call tools at full speed, and print what fails.

It runs as a pytest plugin, so that pytest reads the server's options as for any other run.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from mcp_conformance.cli.arguments import UsageError, expect_no_more, require_server
from mcp_conformance.cli.pytest_words import pytest_words, run_without_tests
from mcp_conformance.fuzzing.soak import Soak, SoakFinding
from mcp_conformance.outcome import Outcome
from mcp_conformance.plugin.collection import probed
from mcp_conformance.plugin.option_values import given
from mcp_conformance.plugin.options import reports, settings, severities, validate, wanted_revisions
from mcp_conformance.plugin.output import renderer, write_file
from mcp_conformance.protocol.text import shorten
from mcp_conformance.report.build import (
    CheckFacts,
    Evidence,
    RunFacts,
    build_report,
    build_result,
    interfaces,
)
from mcp_conformance.report.model import Result
from mcp_conformance.report.text import not_called_line, server_lines
from mcp_conformance.requirements import catalogue
from mcp_conformance.target.redaction import Redaction
from mcp_conformance.target.server import Server
from mcp_conformance.target.surface import Subject
from mcp_conformance.transport.interface import SYSTEM_CLOCK
from mcp_conformance.transport.throwaway import Throwaway, throwaway_folder
from mcp_conformance.verdicts import Blocked, outcome_of

DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
NODE = "soak"
EXIT_STATUS = {
    "failed": pytest.ExitCode.TESTS_FAILED,
    "not-started": pytest.ExitCode.TESTS_FAILED,
    "unfinished": pytest.ExitCode.INTERRUPTED,
    "untested": pytest.ExitCode.NO_TESTS_COLLECTED,
    "passed": pytest.ExitCode.OK,
}
"""The exit status for each status of the report."""
TERMINAL_SECONDS, FILE_SECONDS = 0.2, 60.0
"""The time between two lines of progress, on a terminal and elsewhere."""
PROGRESS_WIDTH = 78


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Soak a server for the duration of ``--for``; return the exit status."""
    expect_no_more(rest)
    server = require_server(options, command, "soak", "soak --for 10m [options]")
    return run_without_tests(pytest_words(options, server), SoakPlugin(_seconds(options.duration)))


def _seconds(text: str | None) -> float:
    found = DURATION.fullmatch(text or "")
    hours, minutes, seconds = (float(part or 0) for part in found.groups()) if found else (0.0, 0.0, 0.0)
    total = 3600 * hours + 60 * minutes + seconds
    if total <= 0:
        raise UsageError(f"soak: --for takes a duration such as 30s, 10m or 1h, not {text!r}")
    return total


class SoakPlugin:
    """A pytest plugin that soaks the server for ``seconds``."""

    def __init__(self, seconds: float):
        self._seconds = seconds
        self._results: list[Result] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int:
        """Soak the server, and return the exit status."""
        validate(config)
        with throwaway_folder() as throwaway:
            return self._soak(config, throwaway)

    def _soak(self, config: pytest.Config, throwaway: Throwaway) -> int:
        for path in reports(config):
            renderer(path)
        subject = probed(config, replace(settings(config), throwaway=throwaway))
        if len(subject.surfaces) > 1 and wanted_revisions(config) != ("latest",):
            raise pytest.UsageError("--conformance-revision: a soak takes one revision")
        return self._main(config, replace(subject, surfaces=subject.surfaces[-1:]))

    def _main(self, config: pytest.Config, subject: Subject) -> int:
        started = datetime.now(UTC)
        (surface,) = subject.surfaces
        _print(server_lines(interfaces(subject)))
        for one in surface.failures:
            what = Blocked(one.reason, one.lines, one.stderr, one.requirement)
            self._report(config, subject, SoakFinding(0, "", what))
        server = Server.of(subject, surface.revision)
        subject.close()
        soak, progress = Soak(server), SoakProgress()
        try:
            stopped = self._watch(config, subject, soak, progress)
        finally:
            server.close()
        _print(_not_called(soak))
        drift = Redaction.of(subject.settings)(soak.drift)
        _print(drift)
        facts = RunFacts(started, progress.seconds, "interrupted" if stopped else "")
        results = [*self._results, *_passed(soak, self._results)]
        report = build_report(subject, results, facts, given(config), (*_left_out(soak), *drift))
        _print([f"verdict: {report.verdict}"])
        written = [write_file(path, renderer(path)(report)) for path in reports(config)]
        _print([line for line, _ in written])
        status = EXIT_STATUS[report.status]
        return status if all(done for _, done in written) or status else pytest.ExitCode.USAGE_ERROR

    def _watch(self, config: pytest.Config, subject: Subject, soak: Soak, progress: SoakProgress) -> bool:
        """Print what the soak finds; return whether the user stopped it."""
        stopped = False
        try:
            for found in soak.run(progress.start + self._seconds):
                if found is not None:
                    progress.clear()
                    self._report(config, subject, found)
                progress.show(soak, len(self._results))
        except KeyboardInterrupt:
            stopped = True
        progress.clear()
        if soak.calls:
            _print([f"{'stopped' if stopped else 'done'} after {progress.text(soak)}, seed {soak.seed}"])
        return stopped

    def _report(self, config: pytest.Config, subject: Subject, found: SoakFinding) -> None:
        """Print a finding in full, and keep it."""
        verdict, revision = found.verdict, subject.surfaces[-1].revision
        row = catalogue.requirement(verdict.requirement or "lifecycle.initialize.responds")
        facts = CheckFacts(
            node=NODE,
            row=row,
            revision=revision,
            outcome=outcome_of(verdict, row, revision, **severities(config)),
            tool=found.tool,
            reason=str(verdict),
            evidence=Evidence.of(verdict),
        )
        self._results.append(build_result(facts, subject.settings))
        _print(["", f"call {found.number:,}: {self._results[-1].text}", ""])


def _passed(soak: Soak, results: list[Result]) -> Iterator[Result]:
    """Yield a result for each tool that was called and has no finding."""
    row = catalogue.requirement("tools.call.listed-is-callable")
    for name in {load.name: None for load in soak.loads}.keys() - {one.tool for one in results}:
        yield Result.of(row, soak.server.revision, node=NODE, outcome=Outcome.PASSED, tool=name)


def _left_out(soak: Soak) -> Iterator[str]:
    for name, (number, reason) in soak.left_out.items():
        since = f" since call {number:,}" if number else ""
        yield f"left out{since}: {shorten(name, 60)}: {shorten(reason, 200)}"


def _not_called(soak: Soak) -> Iterator[str]:
    yield from _left_out(soak)
    called = {tool.name for tool in soak.callable_tools}
    not_called = sorted({tool.name for tool in soak.server.tools} - called)
    if not_called:
        yield not_called_line(not_called)
    if not soak.server.tools:
        yield "the server lists no tools"


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, flush=True)  # noqa: T201


class SoakProgress:
    """The progress of a soak: one line that is rewritten on a terminal, elsewhere a line a minute."""

    def __init__(self) -> None:
        self.start = SYSTEM_CLOCK.monotonic()
        self._is_terminal = sys.stdout.isatty()
        self._pause = TERMINAL_SECONDS if self._is_terminal else FILE_SECONDS
        self._next = self.start + self._pause

    @property
    def seconds(self) -> float:
        """The seconds since the start."""
        return SYSTEM_CLOCK.monotonic() - self.start

    def text(self, soak: Soak) -> str:
        """Return the progress in words."""
        rate = soak.calls / max(self.seconds, 0.001)
        return f"{_duration(self.seconds)}: {soak.calls:,} calls, {rate:,.0f} a second"

    def show(self, soak: Soak, findings: int) -> None:
        """Print the progress if it is time to."""
        if SYSTEM_CLOCK.monotonic() < self._next:
            return
        self._next = SYSTEM_CLOCK.monotonic() + self._pause
        text = f"{self.text(soak)}, {findings} findings"
        if self._is_terminal:
            print(f"\r{text.ljust(PROGRESS_WIDTH)}", end="", flush=True)  # noqa: T201
        else:
            _print([text])

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self._is_terminal:
            print(f"\r{' ' * PROGRESS_WIDTH}\r", end="", flush=True)  # noqa: T201


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    words = [f"{hours} h" if hours else "", f"{minutes} m" if minutes else "", f"{rest} s"]
    return " ".join(filter(None, words))
