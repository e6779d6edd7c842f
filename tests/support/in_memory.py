"""The engine on a scripted server without any process, in a time that only passes when nothing happens."""

import inspect
import sys
import time
from collections import Counter, deque
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import pytest
from conformance.fixtures import reference_modern

from conformance.generation import NoExample
from conformance.json_schema.validation import Unjudgeable
from conformance.report.build import Course, assembled
from conformance.report.formats import terminal
from conformance.report.model import Result
from conformance.report.text import evidence_of, with_evidence
from conformance.requirements import catalogue
from conformance.requirements.checks import PACKAGE, suites_directory
from conformance.scenarios.sdk_deviations import known_deviation
from conformance.target.probe import probe_all
from conformance.target.server import Server
from conformance.target.settings import Sample, Settings
from conformance.target.surface import Surface
from conformance.transport.process import EOF, MAX_LINE, Splitter
from conformance.verdicts import Blocked, Finding, Outcome, Skipped, severity
from support.scripted_server import Ended, Scripted


class Clock:
    """Stands for the module `time`."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        """The time, a little later with every look at it."""
        self.now += 1e-6
        return self.now


class Pipe:
    """Stands for the end of a pipe that a server writes to."""

    def __init__(self, write, close=lambda: None):
        self.write, self.close = write, close

    def flush(self):
        """Nothing is held back."""


class MemoryProcess:
    """Stands for a `conformance.process.Process`: a scripted server that is run by being written to."""

    def __init__(self, script, clock):
        self.command = ("scripted",)
        self.max_line = MAX_LINE
        self.clock = clock
        self.started = clock.monotonic()
        self.code = None
        self.lines = deque()
        self.errors = []
        self.timers = []
        self.out = Splitter(lambda line: self.lines.append((self.age, line)))
        self.taken = Splitter(self.take)
        self.is_closed = self.is_ending = False
        self.scripted = Scripted(script, Pipe(self.out.feed, self.close), Pipe(self.errors.append))
        self.scripted.server.schedule = self.schedule

    def close(self):
        """What happens when the server closes its stdout."""
        if not self.is_closed:
            self.is_closed = True
            self.out.finish()
            self.lines.append((self.age, EOF))

    # What it does later

    def schedule(self, seconds, job):
        self.timers.append((self.clock.now + seconds, job))

    def run(self, job, *arguments):
        if self.code is not None:
            return
        try:
            job(*arguments)
        except Ended as end:
            self.end(end.status)

    def end(self, status):
        self.code = status
        self.timers.clear()
        self.close()

    def take(self, line):
        if line.strip() and self.code is None:
            self.run(self.scripted.server.take, line)

    # What the engine uses

    on_wait = None

    def write(self, data):
        if self.code is None and not self.is_ending:
            self.taken.feed(data)

    def read(self, timeout):
        until = self.clock.monotonic() + timeout
        while not self.lines:
            due = min(self.timers, key=lambda timer: timer[0], default=None)
            if due is None or due[0] > until:
                self.clock.now = max(self.clock.now, until)
                return None
            self.timers.remove(due)
            self.clock.now = max(self.clock.now, due[0])
            self.run(due[1])
        return self.lines.popleft()

    def close_stdin(self):
        if not self.is_ending and self.code is None:
            self.is_ending = True
            self.taken.finish()
            self.run(self.scripted.server.modern.end)
            if self.code is None:
                self.end(0)

    @property
    def unended(self):
        return self.out.unended

    @property
    def age(self):
        return self.clock.monotonic() - self.started

    @property
    def exit_code(self):
        return self.code

    def wait(self, timeout):
        if self.code is None:
            self.clock.now += timeout
        return self.code

    @property
    def stderr(self):
        return b"".join(self.errors).decode("utf-8", "backslashreplace")

    def begin_stop(self, grace=0.0):
        self.close_stdin()

    def stop(self, grace=0.0):
        self.close_stdin()


class Later:
    """Stands for the thread in which the reference server goes on with what takes its time."""

    def __init__(self, target, args, daemon):
        self.modern, (self.steps,) = target.__self__, args

    def start(self):
        """Do the next step in a while."""
        self.modern.server.schedule(reference_modern.STEP, self.step)

    def step(self):
        """Do a step, unless what it is for was cancelled."""
        if self.steps in self.modern.under_way and not self.modern.step(self.steps):
            self.start()


@dataclass(frozen=True)
class MemorySettings(Settings):
    """Settings that start a server by a script."""

    script: tuple = ()
    clock: Clock | None = None

    def start(self):
        """Start one."""
        return MemoryProcess(self.script, self.clock)


@contextmanager
def in_memory():
    """A clock that all of the engine goes by."""
    clock = Clock()
    modules = [module for name, module in sys.modules.items() if name.startswith("conformance.")]
    timed = [
        module
        for module in modules
        if vars(module).get("time") is time and not module.__name__.startswith("conformance.fixtures")
    ]
    thread, reference_modern.Thread = reference_modern.Thread, Later
    for module in timed:
        module.time = clock
    try:
        yield clock
    finally:
        reference_modern.Thread = thread
        for module in timed:
            module.time = time


# --- the checks, run without pytest ---------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """A check: its function, the requirements it cites and what it is parametrized with."""

    function: object
    suite: str
    rows: tuple
    cases: tuple

    @property
    def wanted(self):
        """The names of what it asks for."""
        return list(inspect.signature(self.function).parameters)

    @property
    def is_per_tool(self):
        """Whether it is run once for each tool."""
        return not {"tool", "call"}.isdisjoint(self.wanted)


def all_checks():
    """Every check of the suites."""
    return [
        Check(function, path.stem, _rows(function), _cases(function))
        for path in sorted(suites_directory().glob("test_*.py"))
        for name, function in vars(import_module(f"{PACKAGE}.{path.stem}")).items()
        if name.startswith("test_")
    ]


def _marks(function, name):
    return [mark for mark in function.pytestmark if mark.name == name]


def _rows(function):
    return tuple(catalogue.requirement(id) for mark in _marks(function, "requirement") for id in mark.args)


def _cases(function):
    for mark in _marks(function, "parametrize"):
        names = [name.strip() for name in mark.args[0].split(",")]
        return tuple(dict(zip(names, _values(case, names), strict=True)) for case in mark.args[1])
    return ({},)


def _values(case, names):
    if isinstance(case, type(pytest.param())):
        return case.values
    return case if len(names) > 1 else (case,)


class Bench:
    """One subject in one revision, and the checks that are run on it."""

    def __init__(self, settings, surface, common):
        self.server = Server(settings, surface, common)
        self.open = []

    def run(self, check, case, tool):
        """What became of a check: its verdicts, the worst first; raises what no check may raise."""
        given = {**case, "revision": self.server.revision, "server": self.server, "tool": tool}
        self.open = []
        try:
            check.function(**{name: self.fixture(name, given) for name in check.wanted})
        except (Skipped, NoExample, Unjudgeable, pytest.skip.Exception):
            return []
        except (Finding, Blocked) as verdict:
            return [verdict, *verdict.others]
        finally:
            for fixture in self.open:
                next(fixture, None)
        return []

    def fixture(self, name, given):
        """What a check asks for by this name."""
        if name not in given:
            function = getattr(import_module(f"{PACKAGE}.fixtures"), name).__wrapped__
            wanted = inspect.signature(function).parameters
            made = function(**{other: self.fixture(other, given) for other in wanted})
            if inspect.isgenerator(made):
                self.open.append(made)
                made = next(made)
            given[name] = made
        return given[name]

    def result(self, check, verdict, tool):
        """A verdict with its words, as a report has it."""
        revision = self.server.revision
        holding = [row for row in check.rows if row.holds_in(revision)] or list(check.rows[:1])
        row = catalogue.requirement(verdict.requirement) if verdict.requirement else holding[0]
        found = isinstance(verdict, Finding)
        result = Result.of(
            row,
            revision,
            node=check.suite,
            outcome=severity(row, row.stated_in(revision)) if found else Outcome.BLOCKED,
            tool=tool.name if tool is not None else "",
            reason=str(verdict),
            known=known_deviation(self.server, row.id, verdict),
        )
        return with_evidence(result, evidence_of(verdict), "again", Path("transcripts"))


def run_in_memory(script, revisions, chosen, examples=0, *, as_for_workers=True):
    """Run checks on a server by a script; how many came to what.  Raises whatever the engine raises.

    ``chosen`` gives the checks to run, each with its case and the number of a tool.
    """
    with in_memory() as clock:
        settings = MemorySettings(
            ("scripted",),
            call=("all",),
            examples=examples,
            failing_call=Sample("fail", {"reason": "disk full"}),
            mutating_call=Sample("grow", {}),
            script=tuple(script),
            clock=clock,
        )
        subject = probe_all(settings, revisions)
        if as_for_workers:
            told = [one.to_json() for one in subject.surfaces]
            assert [Surface.from_json(one).to_json() for one in told] == told
        subject.mistake()
        text, common, counts = [], {}, Counter()
        for surface in subject.live:
            results = _checked(Bench(settings, surface, common), chosen, counts)
            report = assembled(subject, results, Course(datetime.now(UTC), 1.0), {}, ["a notice"])
            text += [terminal.render(report, verbose=True), *(one.text for one in results)]
        "\n".join(text).encode()
        counts["live"] = len(subject.live)
        return counts


def _checked(bench, chosen, counts):
    results = []
    try:
        for check, case, at in chosen:
            tools = bench.server.tools
            if not any(row.holds_in(bench.server.revision) for row in check.rows):
                continue
            if check.is_per_tool and not tools:
                continue
            tool = tools[at % len(tools)] if check.is_per_tool else None
            found = bench.run(check, case, tool)
            counts["checks"] += 1
            counts["verdicts"] += len(found)
            results += [bench.result(check, verdict, tool) for verdict in found]
    finally:
        bench.server.close()
    return results
