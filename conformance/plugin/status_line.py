"""A line at the bottom of a terminal that says what ``mcp-conformance run`` does just now."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, TextIO
from unicodedata import east_asian_width

import pytest

from conformance.plugin.collection import ON_WAIT
from conformance.plugin.outcomes import results_of
from conformance.protocol.text import named
from conformance.verdicts import Outcome

PAUSE = 0.1
"""Seconds, at the least, from one state of the line to the next."""
PATIENCE = 2.0
"""How many seconds a wait lasts before it is worth a word."""
TOLD = (Outcome.FAILED, Outcome.BLOCKED, Outcome.WARNED)
PLACE = re.compile(r"^\d{4}-\d\d-\d\d-?")
NAME_SHOWN = 30
ECHO = 2
"""The columns that a terminal shows of Ctrl-C."""
DUMB = ("dumb", "unknown")


class Ticker:
    """The line, written to ``out`` and again over itself.

    It is brought up to date when something happens: a check begins or ends, the server is waited for.
    """

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic):
        self._out, self._clock = out, clock
        self._begun = clock()
        self._next = self._begun
        self._columns = 0
        self.what = "starting the server"
        self.total = self.done = 0
        self.found: Counter[Outcome] = Counter()

    def wait(self, passed: float, seconds: float) -> None:
        """The server has been waited for: so many seconds, of so many that the wait may last."""
        is_long = passed >= PATIENCE
        self.show(f"waiting for an answer, {passed:.0f} of {seconds:.0f} s" if is_long else "")

    def show(self, waiting: str = "") -> None:
        """Bring it up to date, if it is time to."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + PAUSE
        most = shutil.get_terminal_size().columns - 1 - ECHO
        line = fitted(self._state(now), self.what, waiting, most)
        columns = width(line)
        self._write(f"\r{line}{' ' * (self._columns - columns)}")
        self._columns = columns

    def _state(self, now: float) -> str:
        counted = f"{self.done} of {self.total}, " if self.total else ""
        found = "".join(f", {self.found[one]} {one}" for one in TOLD if self.found[one])
        return f"{counted}{duration(now - self._begun)}{found}"

    def clear(self) -> None:
        """Make room for other lines."""
        if self._columns:
            self._write(f"\r{' ' * (self._columns + ECHO)}\r")
        self._columns = 0

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def fitted(state: str, what: str, waiting: str, most: int) -> str:
    """The three parts as one line that has ``most`` columns, at the cost of what is done."""
    end = f" ({waiting})" if waiting else ""
    room = most - width(f"{state}: {end}")
    if width(what) > room:
        what = f"{narrowed(what, room - 3)}..." if room > 3 else ""
    return narrowed(f"{state}: {what}{end}", most)


def narrowed(text: str, most: int) -> str:
    """As much of the beginning of a text as fits into so many columns."""
    while width(text) > most:
        text = text[:-1]
    return text


def width(text: str) -> int:
    """How many columns a text takes."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def duration(seconds: float) -> str:
    """Seconds in words."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def said(node: str) -> str:
    """What a check does, in words, by pytest's id of it."""
    path, _, check = node.partition("[")[0].rpartition("::")
    case = PLACE.sub("", node.partition("[")[2].removesuffix("]"))
    suite = path.rpartition("/")[2].removesuffix(".py").removeprefix("test_").replace("_", " ")
    what, about = check.removeprefix("test_").replace("_", " "), named(case, NAME_SHOWN)
    if suite == "fuzz tools" and about:
        return f"fuzzing {about}: {what}"
    return f"{suite}: {what} ({about})" if about else f"{suite}: {what}"


# Pytest ------------------------------------------------------------------------------------------


class Ticking:
    """A plugin of pytest's: on a terminal the line stands in for its dots, and no finding is told twice."""

    def __init__(self) -> None:
        self._ticker: Ticker | None = None
        self._has_errors = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Know of a mistake that is no check's."""
        self._has_errors = self._has_errors or report.failed

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Begin, if there is a terminal to write to that nothing else is written to meanwhile."""
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or not is_wanted(config):
            return
        copy = os.dup(sys.stdout.fileno())  # pytest captures what is written to the original
        out = os.fdopen(copy, "w", encoding=sys.stdout.encoding, errors="backslashreplace", newline="")
        config.add_cleanup(out.close)
        self._ticker = Ticker(out)
        config.stash[ON_WAIT] = self._ticker.wait
        reporter.showfspath = False
        reporter._show_progress_info = False  # noqa: SLF001  (there is no other way to have no percentage)

    def pytest_sessionstart(self) -> None:
        """The server has been looked at, and its header is shown."""
        self._clear()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Know how many checks there are."""
        self._count(len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Know it from a worker of xdist's: they all have the same."""
        self._count(len(ids))

    def _count(self, number: int) -> None:
        if self._ticker is not None:
            self._ticker.total = number

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """However the run ends, leave no trace of the line."""
        try:
            return (yield)
        finally:
            self._clear()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A check begins."""
        if self._ticker is not None:
            self._ticker.what = said(nodeid)
            self._ticker.show()

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Generator[None, tuple[str, str, Any], tuple[str, str, Any]]:
        """Show no letters, which the line stands in for."""
        category, letter, word = yield
        return (category, letter, word) if self._ticker is None else (category, "", "")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what was found."""
        if self._ticker is not None:
            self._ticker.found.update(one.outcome for one in results_of(report))

    def pytest_runtest_logfinish(self) -> None:
        """A check has ended."""
        if self._ticker is not None:
            self._ticker.done += 1
            self._ticker.show()

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_testnodedown(self) -> None:
        """Make room for what xdist says of a worker."""
        self._clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Leave pytest's own section of failures out: the summary has all of the checks."""
        if session.config.option.tbstyle == "short" and not self._has_errors:
            session.config.option.tbstyle = "no"

    def _clear(self) -> None:
        if self._ticker is not None:
            self._ticker.clear()


def is_wanted(config: pytest.Config) -> bool:
    """Whether the line can be shown, and would disturb nothing."""
    chosen = config.option
    shows_more = config.get_verbosity() > 0 or chosen.capture == "no" or chosen.usepdb or chosen.collectonly
    return sys.stdout.isatty() and not shows_more and not any(_unfit())


def _unfit() -> Iterator[bool]:
    """What speaks against it in the environment."""
    yield "CI" in os.environ
    yield os.environ.get("TERM", "") in DUMB
