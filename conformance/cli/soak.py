"""What ``mcp-conformance soak`` does and shows.

It stands in for pytest's run of tests, so that the server's options are read, and the user's mistakes told,
as for any other run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from conformance.fuzzing.soak import Soak, SoakFinding
from conformance.plugin.collection import probed
from conformance.plugin.options import given, reports, settings, validate, value, wanted_revisions
from conformance.plugin.output import kept, renderer
from conformance.protocol.text import shorten
from conformance.report.build import CheckFacts, Evidence, RunFacts, build_report, build_result, interfaces
from conformance.report.model import Result
from conformance.report.text import not_called_line, server_lines
from conformance.requirements import catalogue
from conformance.target.server import Server
from conformance.target.surface import Subject
from conformance.transport.process_tree import end_run, terminable
from conformance.transport.sandbox import Sandbox
from conformance.verdicts import Blocked, Outcome, outcome_of

NODE = "soak"
STATUS = {
    "failed": pytest.ExitCode.TESTS_FAILED,
    "unfinished": pytest.ExitCode.INTERRUPTED,
    "untested": pytest.ExitCode.NO_TESTS_COLLECTED,
    "passed": pytest.ExitCode.OK,
}
"""The exit status of each verdict."""
ON_A_TERMINAL, ELSEWHERE = 0.2, 60.0
"""Seconds from one word on the progress to the next."""
WIDTH = 78


class Soaking:
    """A plugin of pytest's; ``seconds`` is how long the server is soaked."""

    def __init__(self, seconds: float):
        self._seconds = seconds
        self._results: list[Result] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int:
        """Soak the server; the exit status."""
        validate(config)
        sandbox = Sandbox()
        try:
            with terminable():
                return self._soak(config, sandbox)
        finally:
            end_run()
            sandbox.remove()

    def _soak(self, config: pytest.Config, sandbox: Sandbox) -> int:
        for path in reports(config):
            renderer(path)
        subject = probed(config, replace(settings(config), sandbox=sandbox))
        if len(subject.surfaces) > 1 and wanted_revisions(config) != ("latest",):
            raise pytest.UsageError("--mcp-revision: a soak takes one revision")
        return self._main(config, replace(subject, surfaces=subject.surfaces[-1:]))

    def _main(self, config: pytest.Config, subject: Subject) -> int:
        started = datetime.now(UTC)
        (surface,) = subject.surfaces
        _say(server_lines(interfaces(subject)))
        for one in surface.failures:
            what = Blocked(one.reason, one.lines, one.stderr, one.requirement)
            self._report(config, subject, SoakFinding(0, "", what))
        server = Server(subject.settings, surface)
        soak, progress = Soak(server), Progress()
        try:
            stopped = self._watch(config, subject, soak, progress)
        finally:
            server.close()
        _say(_not_called(soak))
        facts = RunFacts(started, progress.seconds, "interrupted" if stopped else "")
        results = [*self._results, *_passed(soak, self._results)]
        report = build_report(subject, results, facts, given(config), _left_out(soak))
        _say([f"verdict: {report.verdict}"])
        written = [kept(path, renderer(path)(report)) for path in reports(config)]
        _say([line for line, _ in written])
        status = STATUS[report.status]
        return status if all(done for _, done in written) or status else pytest.ExitCode.USAGE_ERROR

    def _watch(self, config: pytest.Config, subject: Subject, soak: Soak, progress: Progress) -> bool:
        """Show what the soak finds; whether the user stopped it."""
        stopped = False
        try:
            for told in soak.run(progress.start + self._seconds):
                if told is not None:
                    progress.clear()
                    self._report(config, subject, told)
                progress.show(soak, len(self._results))
        except KeyboardInterrupt:
            stopped = True
        progress.clear()
        if soak.calls:
            _say([f"{'stopped' if stopped else 'done'} after {progress.text(soak)}, seed {soak.seed}"])
        return stopped

    def _report(self, config: pytest.Config, subject: Subject, found: SoakFinding) -> None:
        """Print a finding in full, and keep it."""
        verdict, revision = found.what, subject.surfaces[-1].revision
        row = catalogue.requirement(verdict.requirement or "lifecycle.initialize.responds")
        strict, pedantic = value(config, "strict"), value(config, "pedantic")
        facts = CheckFacts(
            node=NODE,
            row=row,
            revision=revision,
            outcome=outcome_of(verdict, row, revision, strict=strict, pedantic=pedantic),
            tool=found.tool,
            reason=str(verdict),
            evidence=Evidence.of(verdict),
        )
        self._results.append(build_result(facts, subject.settings))
        _say(["", f"call {found.number:,}: {self._results[-1].text}", ""])


def _passed(soak: Soak, results: list[Result]) -> Iterator[Result]:
    """A result for each tool that was soaked and of which nothing was found."""
    row = catalogue.requirement("tools.call.listed-is-callable")
    for name in {load.name: None for load in soak.loads}.keys() - {one.tool for one in results}:
        yield Result.of(row, soak.server.revision, node=NODE, outcome=Outcome.PASSED, tool=name)


def _left_out(soak: Soak) -> Iterator[str]:
    for name, (number, reason) in soak.left_out.items():
        since = f" since call {number:,}" if number else ""
        yield f"left out{since}: {shorten(name, 60)}: {shorten(reason, 200)}"


def _not_called(soak: Soak) -> Iterator[str]:
    yield from _left_out(soak)
    callable_ones = {tool.name for tool in soak.callable_tools}
    held_back = sorted({tool.name for tool in soak.server.tools} - callable_ones)
    if held_back:
        yield not_called_line(held_back)
    if not soak.server.tools:
        yield "the server lists no tools"


def _say(lines: Iterator[str] | list[str]) -> None:
    for line in lines:
        print(line, flush=True)  # noqa: T201


class Progress:
    """A line on how far the soak is: over and over in one place on a terminal, elsewhere now and then."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self._is_terminal = sys.stdout.isatty()
        self._pause = ON_A_TERMINAL if self._is_terminal else ELSEWHERE
        self._next = self.start + self._pause

    @property
    def seconds(self) -> float:
        """How long it has gone on."""
        return time.monotonic() - self.start

    def text(self, soak: Soak) -> str:
        """How far the soak is."""
        rate = soak.calls / max(self.seconds, 0.001)
        return f"{_duration(self.seconds)}: {soak.calls:,} calls, {rate:,.0f} a second"

    def show(self, soak: Soak, findings: int) -> None:
        """Show it, if it is time to."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._pause
        text = f"{self.text(soak)}, {findings} findings"
        if self._is_terminal:
            print(f"\r{text.ljust(WIDTH)}", end="", flush=True)  # noqa: T201
        else:
            _say([text])

    def clear(self) -> None:
        """Make room for other lines."""
        if self._is_terminal:
            print(f"\r{' ' * WIDTH}\r", end="", flush=True)  # noqa: T201


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    words = [f"{hours} h" if hours else "", f"{minutes} m" if minutes else "", f"{rest} s"]
    return " ".join(filter(None, words))
