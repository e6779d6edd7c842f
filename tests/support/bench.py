"""The checks of the suites, run without pytest: on a server in memory, or on one in a process."""

import inspect
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from mcp_conformance.client.session import Session
from mcp_conformance.fuzzing import repeated_calls
from mcp_conformance.fuzzing.budgets import REPEATED, DriftBudget
from mcp_conformance.fuzzing.fuzzer import Fuzzer
from mcp_conformance.generation import NoExample
from mcp_conformance.json_schema.validation import Unjudgeable
from mcp_conformance.plugin.applicability import why_not
from mcp_conformance.plugin.collection import STAGES
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.checks import PACKAGE, check_of, suites_directory
from mcp_conformance.scenarios.beginning import begin
from mcp_conformance.scenarios.contract import observed
from mcp_conformance.tap.sessions import Recorded
from mcp_conformance.target.contract import Contract
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.server import Server
from mcp_conformance.target.settings import Sample, Settings
from mcp_conformance.transport.throwaway import Throwaway
from mcp_conformance.verdicts import Blocked, Finding, Skipped, broken_rule, outcome_of
from support.in_memory import MemorySettings, VirtualClock, mutated


def leave_out_shrinking(monkeypatch):
    """Make fuzzing report the first failure as it is, for tests that look only at whether there is one."""
    monkeypatch.setattr(Fuzzer, "shrink", lambda *_: None)
    monkeypatch.setattr(Fuzzer, "shrink_edges", lambda *_: None)


def hurry(monkeypatch):
    """Judge the drift of a process after some calls, however fast they are, by samples that come often."""
    quick = DriftBudget(pause_seconds=0.01, min_seconds=0.0, min_calls=1500)
    monkeypatch.setattr(repeated_calls, "REPEATED", replace(REPEATED, drift=quick))


SKIPS = (Skipped, NoExample, Unjudgeable, pytest.skip.Exception)
"""What a check raises that does not judge."""


@dataclass(frozen=True, eq=False)
class Check:
    """A check: its function and stage, the requirements it cites, its cases, the fixtures it asks for."""

    function: object
    stage: str
    suite: str
    name: str
    rows: tuple
    cases: tuple
    fixtures: tuple

    @property
    def ids(self):
        """The ids of the requirements it cites."""
        return {row.id for row in self.rows}

    @property
    def source(self):
        """What is known about it without importing it."""
        return check_of(f"{self.suite}.py", self.name)


@dataclass(frozen=True)
class Verdict:
    """One thing that a check found."""

    check: Check
    error: Finding | Blocked
    revision: str

    @property
    def row(self):
        """The broken rule: the one that the error names, else the most severe one the check cites."""
        return broken_rule(self.check.rows, self.revision, self.error)

    @property
    def outcome(self):
        """The outcome that a report gives it."""
        return outcome_of(self.error, self.row, self.revision, strict=False, pedantic=False)

    @property
    def text(self):
        """The check and what it found, with the lines that prove it, and the end of stderr."""
        lines = [line.shown(300) for line in self.error.lines[-6:]]
        stderr = getattr(self.error, "stderr", "").splitlines()[-6:]
        return "\n".join(
            [f"{self.check.name} ({self.row.id}, {self.outcome}): {self.error}", *lines, *stderr]
        )


@cache
def all_checks():
    """Return every check of the suites, in the order that a run has."""
    found = [
        (_stage(module, function), path.stem, name, function)
        for path in sorted(suites_directory().glob("test_*.py"))
        for module in [import_module(f"{PACKAGE}.{path.stem}")]
        for name, function in vars(module).items()
        if name.startswith("test_")
    ]
    return tuple(
        Check(function, stage, suite, name, _rows(function), _cases(function), _parameters(function))
        for stage, suite, name, function in sorted(found, key=lambda one: STAGES.index(one[0]))
    )


@cache
def checks_of(revision):
    """Return the checks of which a rule holds in a revision."""
    return tuple(check for check in all_checks() if any(row.holds_in(revision) for row in check.rows))


def _stage(module, function):
    of_module = getattr(module, "pytestmark", ())
    marks = [*function.pytestmark, *(of_module if isinstance(of_module, list) else [of_module])]
    return next((str(mark.args[0]) for mark in marks if mark and mark.name == "stage"), "")


def _parameters(function):
    return tuple(inspect.signature(function).parameters)


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


@cache
def _fixture(name):
    """Return the function of a fixture of the suites, and the names of the fixtures it asks for."""
    function = getattr(import_module(f"{PACKAGE}.fixtures"), name).__wrapped__
    return function, _parameters(function)


class Bench:
    """A server in one revision, and the checks that run on it.

    With ``is_whole`` all checks will run, so the scenarios that take their time start at once.
    ``passed`` has the names of the checks that have passed.  ``run`` is what the servers of several
    revisions share.
    """

    def __init__(self, subject, revision, *, is_whole=False, run=None):
        self.server = Server.of(subject, revision, run)
        self.revision = revision
        self.passed = set()
        self._open = []
        if is_whole:
            begin(self.server)

    def run(self, check, case, tool):
        """Return the verdicts of a check, the worst first; raises what no check may raise."""
        given = {**case, "revision": self.revision, "server": self.server, "tool": tool}
        self._open = []
        self.server.trail.begin_check()
        try:
            check.function(**{name: self._given(name, given) for name in check.fixtures})
        except SKIPS:
            return []
        except (Finding, Blocked) as error:
            error = self._cause(error)
            if error is None:
                return []
            found = [Verdict(check, one, self.revision) for one in (error, *error.others)]
            return sorted(found, key=lambda one: one.outcome.place)
        finally:
            for fixture in self._open:
                next(fixture, None)
        self.passed.add(check.name)
        return []

    def _cause(self, error):
        """Return the cause of what a check raised; None if it was reported before."""
        try:
            self.server.causes.examine(error)
        except Skipped:
            return None
        except Finding as finding:
            return finding
        return error

    def run_all(self, checks, tools=None):
        """Return the verdicts of the checks that apply, in their order, in each case and for each tool.

        ``tools`` are the names of these tools, None for all.
        """
        chosen = [tool for tool in self.server.tools if tools is None or tool.name in tools]
        return [
            verdict
            for check in checks
            if not why_not(self.server.surface, check.source, self.server.settings)
            for case in cases_of(check, self.server.settings)
            for tool in (chosen if check.source.per_tool else (None,))
            for verdict in self.run(check, case, tool)
        ]

    def _given(self, name, given):
        """Return the value of a fixture."""
        if name not in given:
            function, wanted = _fixture(name)
            made = function(**{other: self._given(other, given) for other in wanted})
            if inspect.isgenerator(made):
                self._open.append(made)
                made = next(made)
            given[name] = made
        return given[name]


def cases_of(check, settings):
    """Return the cases of a check; one of recorded sessions has one for each."""
    return [{"recorded": one} for one in settings.sessions] if check.source.per_session else check.cases


SAMPLES = {
    "failing_call": Sample("fail", {"reason": "disk full"}),
    "mutating_call": Sample("grow", {}),
}
"""What some checks need on the reference server."""


def settings_in_memory(serve, examples=0, **others):
    """Return settings under which every check has what it needs on the reference server, in memory."""
    return MemorySettings(
        ("in-memory",),
        call=("all",),
        examples=examples,
        serve=serve,
        clock=VirtualClock(),
        **SAMPLES,
        **others,
    )


@cache
def reference_contract(*wanted):
    """Return the contract of the reference server in these revisions."""
    subject = probe_all(settings_in_memory(mutated(None)), wanted)
    offers = {}
    for surface in subject.live:
        server = Server.of(subject, surface.revision)
        offers[surface.revision] = observed(server).offer
        server.close()
    return Contract("mcp-contract.json", "reference", offers)


@cache
def reference_session(revision, path=Path("sessions/recorded.jsonl")):
    """Return a session with the reference server: a list, calls and a prompt."""
    settings = settings_in_memory(mutated(None))
    session = Session(settings.start(), revision=revision, timeout=5.0)
    session.open()
    session.request("tools/list")
    for text in ("hello", "again"):
        session.request("tools/call", {"name": "echo", "arguments": {"text": text}})
    session.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
    session.request("prompts/get", {"name": "greet", "arguments": {"name": "Ann"}})
    lines = tuple(session.lines)
    session.close()
    rows = [{"sent": one.sent, "at": one.at, "raw": one.raw.decode("latin-1")} for one in lines]
    header = {"format": 1, "command": ["reference"], "revision": revision, "about": "", "began": 1.0}
    return Recorded(path, ("reference",), tuple(rows), "", header)


@contextmanager
def settings_on_process(command, folder, examples=0, **others):
    """Give settings for a server in a throwaway folder, as a user's is; transcripts go to ``folder``."""
    throwaway = Throwaway()
    try:
        yield Settings(
            command, throwaway=throwaway, call=("all",), examples=examples, transcripts=folder, **others
        )
    finally:
        throwaway.remove()


@dataclass(frozen=True)
class Found:
    """What a run found: the failures of the probe, the verdicts, and the names of the checks that passed."""

    failures: list
    verdicts: list
    passed: set


def is_any(check):
    """Select every check."""
    return True


def run_checks(settings, revision, selects=is_any, *, is_whole=True, tools=None):
    """Run the selected checks in one revision, and return what they found.

    ``tools`` are the names of the tools for which a check runs that runs once for each tool; None for all.

    Raises whatever the engine or a check raises that is not a verdict.
    """
    subject = probe_all(settings, (revision,))
    verdicts, passed = [], set()
    for surface in subject.judged:
        bench = Bench(subject, surface.revision, is_whole=is_whole)
        try:
            verdicts += bench.run_all(filter(selects, checks_of(surface.revision)), tools)
        finally:
            bench.server.close()
        passed |= bench.passed
    return Found([one for surface in subject.surfaces for one in surface.failures], verdicts, passed)
