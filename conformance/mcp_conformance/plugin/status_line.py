"""What ``mcp-conformance run`` shows meanwhile: findings, and a line of progress and waits."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TextIO
from unicodedata import east_asian_width

import pytest

from mcp_conformance.outcome import COUNTED, Outcome
from mcp_conformance.plugin.finding_lines import FindingLines
from mcp_conformance.plugin.options import RUN_OPTIONS
from mcp_conformance.plugin.outcomes import results_of
from mcp_conformance.plugin.run_state import run_state
from mcp_conformance.protocol.text import named
from mcp_conformance.requirements.checks import PACKAGE

UPDATE_SECONDS = 0.1
"""The least time between two states of the line."""
# Not measured: a run of a fast server ends before the first, and one of ten minutes has twenty.
LOG_SECONDS = 30.0
"""How often a log gets the line, as each state stays there."""
LOG_COLUMNS = 110
LONG_WAIT_SECONDS = 2.0
"""How long a wait lasts before the line mentions it."""
REVISION = re.compile(r"^\d{4}-\d\d-\d\d-?")
QUIET = -2
"""The verbosity that the command gives pytest: nothing but our report."""
MAX_NAME = 30
ECHO_COLUMNS = 2
"""The columns that a terminal needs to show Ctrl-C."""
DUMB_TERMINALS = ("dumb", "unknown")


class StatusLine:
    """The line, which is written to ``out`` over its earlier state; in a log, below it and rarely.

    It changes when a check begins or ends, and while the client waits for the server.
    """

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic, *, is_log: bool = False):
        self._out, self._clock, self._is_log = out, clock, is_log
        self._begun = clock()
        self._next = self._begun + (LOG_SECONDS if is_log else 0.0)
        self._columns = 0
        self.activity = "starting the server"
        self.total = self.done = 0
        self.found: Counter[Outcome] = Counter()

    def wait(self, passed: float, seconds: float) -> None:
        """Show that the client has waited ``passed`` seconds, of ``seconds`` at most."""
        is_long = passed >= LONG_WAIT_SECONDS
        self.show(f"waiting for an answer, {passed:.0f} of {seconds:.0f} s" if is_long else "")

    def show(self, waiting: str = "") -> None:
        """Write the line, unless it was written a moment ago."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + (LOG_SECONDS if self._is_log else UPDATE_SECONDS)
        if self._is_log:
            self._write(f"{fitted(self._progress(now), self.activity, waiting, LOG_COLUMNS)}\n")
            return
        limit = shutil.get_terminal_size().columns - 1 - ECHO_COLUMNS
        line = fitted(self._progress(now), self.activity, waiting, limit)
        columns = width(line)
        self._write(f"\r{line}{' ' * (self._columns - columns)}")
        self._columns = columns

    def _progress(self, now: float) -> str:
        counted = f"{self.done} of {self.total}, " if self.total else ""
        found = "".join(f", {self.found[one]} {one}" for one in COUNTED if self.found[one])
        return f"{counted}{duration(now - self._begun)}{found}"

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self._columns:
            self._write(f"\r{' ' * (self._columns + ECHO_COLUMNS)}\r")
        self._columns = 0

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def fitted(progress: str, activity: str, waiting: str, limit: int) -> str:
    """Join the three parts to a line of ``limit`` columns at most; the activity is cut first."""
    end = f" ({waiting})" if waiting else ""
    room = limit - width(f"{progress}: {end}")
    if width(activity) > room:
        activity = f"{narrowed(activity, room - 3)}..." if room > 3 else ""
    return narrowed(f"{progress}: {activity}{end}", limit)


def narrowed(text: str, limit: int) -> str:
    """Return the beginning of a text, ``limit`` columns wide at most."""
    while text and width(text) > limit:
        text = text[:-1]
    return text


def width(text: str) -> int:
    """Return the number of columns that a text takes."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def duration(seconds: float) -> str:
    """Return a duration in words."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def activity_of(node: str) -> str:
    """Return what a check does, in words, by pytest's id of it."""
    path, _, check = node.partition("[")[0].rpartition("::")
    case = REVISION.sub("", node.partition("[")[2].removesuffix("]"))
    file = path.rpartition("/")[2].removesuffix(".py")
    suite = "suites" if file == PACKAGE else file.removeprefix("test_").replace("_", " ")
    rule, about = check.removeprefix("test_").replace("_", " "), named(case, MAX_NAME)
    if suite == "fuzz tools" and about:
        return f"fuzzing {about}: {rule}"
    return f"{suite}: {rule} ({about})" if about else f"{suite}: {rule}"


# Pytest ------------------------------------------------------------------------------------------


class StatusLinePlugin:
    """A pytest plugin that shows the line in place of pytest's dots, and each finding as it is found.

    ``is_part`` says that another process shows the progress of several runs.
    """

    def __init__(self, *, is_part: bool = False) -> None:
        self._is_part = is_part
        self._line: StatusLine | None = None
        self._findings: FindingLines | None = None
        self._has_errors = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note an error outside the checks."""
        self._has_errors = self._has_errors or report.failed

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Open what findings are written to; create the line, if there is a terminal that can show it."""
        run_state(config).base_verbosity = QUIET
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or not is_wanted(config):
            return
        if (out := _copy_of_stdout()) is None:
            return
        config.add_cleanup(partial(_close, out))
        options = config.stash[RUN_OPTIONS]
        if options.output_format == "full" and (head := options.chosen.head):
            print(head, file=out, flush=True)
        if options.output_format == "full" and not options.selected:  # else it ends soon
            self._findings = FindingLines(out, partial(_painted, config.get_terminal_writer()))
        is_shown = can_rewrite()
        if is_shown or (options.output_format == "full" and not self._is_part):
            self._line = StatusLine(out, is_log=not is_shown)
            run_state(config).on_wait = self._line.wait

    def pytest_sessionstart(self) -> None:
        """Clear the line before pytest writes its header."""
        self._clear()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Set the number of checks."""
        self._count(len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Set the number that an xdist worker collected: all workers collect the same."""
        self._count(len(ids))

    def _count(self, number: int) -> None:
        if self._line is not None:
            self._line.total = number

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Clear the line at the end of the run, however it ends."""
        try:
            return (yield)
        finally:
            self._clear()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Show the check that begins."""
        if self._line is not None:
            self._line.activity = activity_of(nodeid)
            self._line.show()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Show the check that begins: one that may be deferred is logged when it has ended."""
        self.pytest_runtest_logstart(item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(
        self, config: pytest.Config
    ) -> Generator[None, tuple[str, str, Any], tuple[str, str, Any]]:
        """Return no letter: the report at the end has everything."""
        category, letter, word = yield
        return (category, "", "") if config.get_verbosity() < 0 else (category, letter, word)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the outcomes, and show what was found."""
        results = results_of(report)
        if self._line is not None:
            self._line.found.update(one.outcome for one in results)
        if self._findings is not None and (lines := list(self._findings.of(results))):
            self._clear()
            self._findings.write(lines)

    def pytest_runtest_logfinish(self) -> None:
        """Count the check that ended."""
        if self._line is not None:
            self._line.done += 1
            self._line.show()

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_testnodedown(self) -> None:
        """Clear the line before xdist writes about a worker."""
        self._clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Leave out pytest's own section of failures, which our summary has."""
        if session.config.option.tbstyle == "short" and not self._has_errors:
            session.config.option.tbstyle = "no"

    def _clear(self) -> None:
        if self._line is not None:
            self._line.clear()


def _copy_of_stdout() -> TextIO | None:
    """Return a stream that leads where stdout does, which pytest captures; None if that is no file."""
    with suppress(OSError, ValueError):
        copy = os.dup(sys.stdout.fileno())
        return os.fdopen(copy, "w", encoding=sys.stdout.encoding, errors="backslashreplace", newline="")
    return None


def _painted(writer: Any, text: str, style: str) -> str:
    """Return a text with the colour and the weight that ``style`` names, if the terminal has colours."""
    return str(writer.markup(text, **dict.fromkeys(style.split(), True)))


def _close(out: TextIO) -> None:
    """Close the copy of stdout, also if nobody reads what was written to it."""
    with suppress(OSError):
        out.close()


def is_wanted(config: pytest.Config) -> bool:
    """Return whether what is shown meanwhile would disturb nothing else."""
    chosen = config.option
    if RUN_OPTIONS not in config.stash:
        return False
    shows_more = config.get_verbosity() >= 0 or chosen.capture == "no" or chosen.usepdb or chosen.collectonly
    return not shows_more


def can_rewrite() -> bool:
    """Return whether stdout is a terminal on which a line can be rewritten."""
    is_unsuitable = "CI" in os.environ or os.environ.get("TERM", "") in DUMB_TERMINALS
    return sys.stdout.isatty() and not is_unsuitable
