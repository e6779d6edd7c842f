"""What ``mcp-conformance soak`` does and shows.

It stands in for pytest's run of tests, so that the server's options are read, and the user's mistakes told,
as for any other run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from conformance import catalogue
from conformance.collection import probed
from conformance.document import Result, verdict_line
from conformance.options import settings, validate, value, wanted_revisions
from conformance.report import (
    evidence_of,
    finding_text,
    held_back_line,
    subject_lines,
)
from conformance.sandbox import Sandbox
from conformance.server import Server
from conformance.soak import Soak, Told
from conformance.surface import Subject
from conformance.tree import end_run, terminable
from conformance.verdict import Blocked, Outcome, loudness
from conformance.wire import shorten

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
        subject = probed(config, replace(settings(config), sandbox=sandbox))
        if len(subject.surfaces) > 1 and wanted_revisions(config) != ("latest",):
            raise pytest.UsageError("--mcp-revision: a soak takes one revision")
        return self._main(config, subject)

    def _main(self, config: pytest.Config, subject: Subject) -> int:
        surface = subject.surfaces[-1]
        _say(subject_lines(replace(subject, surfaces=(surface,))))
        for one in surface.troubles:
            what = Blocked(one.reason, one.lines, one.stderr, one.requirement)
            self._tell(config, surface.revision, Told(0, "", what))
        server = Server(subject.settings, surface)
        soak = Soak(server)
        try:
            stopped = self._watch(config, soak)
        finally:
            server.close()
        _say(_not_called(soak))
        if stopped and not self._is_red:
            return pytest.ExitCode.INTERRUPTED
        return self._status(soak)

    def _watch(self, config: pytest.Config, soak: Soak) -> bool:
        """Show what the soak finds; whether the user stopped it."""
        progress = Progress(soak)
        stopped = False
        try:
            for told in soak.run(progress.start + self._seconds):
                if told is not None:
                    progress.clear()
                    self._tell(config, soak.server.revision, told)
                progress.show(len(self._results))
        except KeyboardInterrupt:
            stopped = True
        progress.clear()
        if soak.calls:
            _say([f"{'stopped' if stopped else 'done'} after {progress.text}, seed {soak.seed}"])
        return stopped

    @property
    def _is_red(self) -> bool:
        return any(one.outcome in (Outcome.FAILED, Outcome.BLOCKED) for one in self._results)

    def _status(self, soak: Soak) -> int:
        if self._is_red:
            _say([f"verdict: {verdict_line(self._results)}"])
            return pytest.ExitCode.TESTS_FAILED
        _say(["verdict: no rule found broken" if soak.calls else "verdict: nothing was tested"])
        return pytest.ExitCode.OK if soak.calls else pytest.ExitCode.NO_TESTS_COLLECTED

    def _tell(self, config: pytest.Config, spoken: str, told: Told) -> None:
        """Show a finding in full."""
        row = catalogue.requirement(told.what.requirement or "lifecycle.initialize.responds")
        outcome = _outcome(config, told, row, row.stated_in(spoken))
        result = Result.of(row, spoken, node="soak", outcome=outcome, tool=told.tool)
        self._results.append(result)
        _say(["", f"call {told.number:,}: {finding_text(result, evidence_of(told.what), '')}", ""])


def _outcome(config: pytest.Config, told: Told, row: catalogue.Requirement, revision: str) -> Outcome:
    if isinstance(told.what, Blocked):
        return Outcome.BLOCKED
    strict, pedantic = value(config, "strict"), value(config, "pedantic")
    if told.what.advisory and not pedantic:
        return Outcome.INFORMED
    return loudness(row, revision, strict=strict, pedantic=pedantic)


def _not_called(soak: Soak) -> Iterator[str]:
    for name, (number, reason) in soak.left_out.items():
        since = f" since call {number:,}" if number else ""
        yield f"left out{since}: {shorten(name, 60)}: {shorten(reason, 200)}"
    callable_ones = {tool.name for tool in soak.callable_tools}
    held_back = sorted({tool.name for tool in soak.server.tools} - callable_ones)
    if held_back:
        yield held_back_line(held_back)
    if not soak.server.tools:
        yield "the server lists no tools"


def _say(lines: Iterator[str] | list[str]) -> None:
    for line in lines:
        print(line, flush=True)  # noqa: T201


class Progress:
    """A line on how far the soak is: over and over in one place on a terminal, elsewhere now and then."""

    def __init__(self, soak: Soak):
        self.start = time.monotonic()
        self._soak = soak
        self._is_terminal = sys.stdout.isatty()
        self._pause = ON_A_TERMINAL if self._is_terminal else ELSEWHERE
        self._next = self.start + self._pause

    @property
    def text(self) -> str:
        """How far the soak is."""
        seconds = time.monotonic() - self.start
        rate = self._soak.calls / max(seconds, 0.001)
        return f"{_duration(seconds)}: {self._soak.calls:,} calls, {rate:,.0f} a second"

    def show(self, findings: int) -> None:
        """Show it, if it is time to."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._pause
        text = f"{self.text}, {findings} findings"
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
