"""The command ``mcp-conformance soak``: call tools at full speed, and print what fails."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from mcp_conformance.cli.arguments import UsageError, chosen_by, expect_no_more, require_server, usage_errors
from mcp_conformance.fuzzing.soak import Soak, SoakFinding
from mcp_conformance.options.again import replay_line
from mcp_conformance.options.probing import probed
from mcp_conformance.options.readers import NO_FILE
from mcp_conformance.options.run_options import RunOptions, read_options
from mcp_conformance.outcome import Outcome
from mcp_conformance.protocol.text import shorten
from mcp_conformance.report.build import (
    CheckFacts,
    Evidence,
    RunFacts,
    build_report,
    build_result,
    interfaces,
)
from mcp_conformance.report.exercise import exercised_tools
from mcp_conformance.report.exit_status import FAILED, INTERRUPTED, NOT_RUN, NOTHING_TESTED, PASSED
from mcp_conformance.report.files import format_of, write_file
from mcp_conformance.report.model import Result
from mcp_conformance.report.text import not_called_line, server_lines
from mcp_conformance.requirements import catalogue
from mcp_conformance.scenarios.walks import SOAK, broken_in
from mcp_conformance.target.server import Server
from mcp_conformance.target.surface import Subject
from mcp_conformance.transport import interrupts
from mcp_conformance.transport.interface import SYSTEM_CLOCK
from mcp_conformance.transport.throwaway import Throwaway, throwaway_folder
from mcp_conformance.verdicts import Blocked, defect_of, outcome_of

DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
NODE = "soak"
EXIT_STATUS = {
    "failed": FAILED,
    "not-started": FAILED,
    "unfinished": INTERRUPTED,
    "untested": NOTHING_TESTED,
    "unexercised": PASSED,
    "passed": PASSED,
}
"""The exit status for each status of the report."""
WALKS_SHARE, MIN_WALKS_SECONDS = 0.2, 10.0
"""The share of the time for walks, and for how long it is worth it.  Not measured: to learn takes 4 s."""
TERMINAL_SECONDS, FILE_SECONDS = 0.2, 60.0
"""The time between two lines of progress, on a terminal and elsewhere."""
PROGRESS_WIDTH = 78


def main(options: argparse.Namespace, rest: Sequence[str], command: list[str] | None) -> int:
    """Soak a server for the duration of ``--for``; return the exit status."""
    expect_no_more(rest)
    server = require_server(options, command, "soak", "soak --for 10m [options]")
    seconds = _seconds(options.duration)
    with usage_errors("soak"):
        chosen = read_options(chosen_by(options, server, "soak").having("contract", NO_FILE))
        with throwaway_folder() as throwaway:
            return SoakRun(chosen, seconds).run(throwaway)


def _seconds(text: str | None) -> float:
    found = DURATION.fullmatch(text or "")
    hours, minutes, seconds = (float(part or 0) for part in found.groups()) if found else (0.0, 0.0, 0.0)
    total = 3600 * hours + 60 * minutes + seconds
    if total <= 0:
        raise UsageError(f"soak: --for takes a duration such as 30s, 10m or 1h, not {text!r}")
    return total


class SoakRun:
    """A soak of the server that the user chose, for ``seconds``."""

    def __init__(self, options: RunOptions, seconds: float):
        self._options, self._seconds = options, seconds
        self._results: list[Result] = []

    def run(self, throwaway: Throwaway) -> int:
        """Soak the server, and return the exit status.  Raises `BadOption`."""
        options = self._options
        subject = probed(options, options.settings.within(throwaway))
        if len(subject.surfaces) > 1 and options.revisions != ("latest",):
            subject.close()
            raise options.chosen.error("revision", "a soak takes one revision")
        return self._main(replace(subject, surfaces=subject.surfaces[-1:]))

    def _main(self, subject: Subject) -> int:
        started = datetime.now(UTC)
        (surface,) = subject.surfaces
        _print(server_lines(interfaces(subject)))
        for one in surface.failures:
            what = Blocked(one.reason, one.lines, one.stderr, one.requirement)
            self._report(subject, SoakFinding(0, "", what))
        server = Server.of(subject, surface.revision)
        subject.close()
        soak, progress = Soak(server), SoakProgress()
        try:
            stopped = self._watch(subject, soak, progress) or self._walk(subject, server)
        finally:
            server.close()
        redact = subject.settings.redaction
        confinement = subject.settings.confinement
        _print((*confinement, *redact(list(_not_called(soak)))))
        drift = redact(soak.drift)
        _print(drift)
        exercise = exercised_tools(subject, server.tool_calls.exercise, {}, is_whole=True)
        facts = RunFacts(started, progress.seconds, "interrupted" if stopped else "", exercise=exercise)
        results = [*self._results, *_passed(soak, self._results)]
        notices = (*confinement, *_left_out(soak), *drift)
        report = build_report(subject, results, facts, self._options.given, notices)
        _print([f"verdict: {report.verdict}"])
        written = [write_file(path, format_of(path).render(report)) for path in self._options.reports]
        _print([one.text for one in written])
        status = EXIT_STATUS[report.status]
        return NOT_RUN if any(one.error for one in written) and not status else status

    def _watch(self, subject: Subject, soak: Soak, progress: SoakProgress) -> bool:
        """Print what the soak finds; return whether the user stopped it."""
        stopped = False
        try:
            for found in soak.run(progress.start + self._seconds - self._walks_seconds):
                if found is not None:
                    progress.clear()
                    self._report(subject, found)
                progress.show(soak, len(self._results))
        except KeyboardInterrupt:
            interrupts.taken()
            stopped = True
        progress.clear()
        if soak.calls:
            _print([f"{'stopped' if stopped else 'done'} after {progress.text(soak)}, seed {soak.seed}"])
        return stopped

    @property
    def _walks_seconds(self) -> float:
        """The seconds at the end for walks; 0 if there are too few."""
        seconds = self._seconds * WALKS_SHARE
        return seconds if seconds >= MIN_WALKS_SECONDS else 0.0

    def _walk(self, subject: Subject, server: Server) -> bool:
        """Print what breaks on walks over what tools make, once the load is over; return if stopped."""
        if not self._walks_seconds or not server.state.may_write():
            return False
        try:
            for found in broken_in(server, replace(SOAK, seconds=self._walks_seconds)):
                self._report(subject, SoakFinding(0, found.tool, found), "in a sequence of calls")
        except KeyboardInterrupt:
            interrupts.taken()
            return True
        calls = sum(number for number, _ in server.state.spent.values())
        _print([f"walked over what tools make: {calls:,} calls"])
        return False

    def _report(self, subject: Subject, found: SoakFinding, where: str = "") -> None:
        """Print a finding in full, and keep it; ``where`` is not the number of a call."""
        verdict, revision = found.verdict, subject.surfaces[-1].revision
        row = catalogue.requirement(verdict.requirement or "lifecycle.initialize.responds")
        facts = CheckFacts(
            node=NODE,
            row=row,
            revision=revision,
            outcome=outcome_of(verdict, row, revision, **self._options.severities),
            tool=found.tool,
            reason=str(verdict),
            replay=replay_line(self._options, verdict),
            defect=defect_of(verdict, row, row.stated_in(revision)),
            evidence=Evidence.of(verdict),
        )
        self._results.append(build_result(facts, subject.settings))
        _print(["", f"{where or f'call {found.number:,}'}: {self._results[-1].text}", ""])


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
