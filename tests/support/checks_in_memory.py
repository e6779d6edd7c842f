"""The checks of the suites, run without pytest on a server in memory."""

import inspect
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance.generation import NoExample
from conformance.json_schema.validation import Unjudgeable
from conformance.plugin.collection import SUBJECT, WHOLE
from conformance.plugin.execution import server_for
from conformance.report.build import Course, assembled
from conformance.report.formats import terminal
from conformance.report.model import Result
from conformance.report.text import evidence_of, with_evidence
from conformance.requirements import catalogue
from conformance.requirements.checks import PACKAGE, PLACES, suites_directory
from conformance.scenarios.sdk_deviations import known_deviation
from conformance.target.probe import probe_all
from conformance.target.settings import Sample
from conformance.target.surface import Surface
from conformance.verdicts import ORDER, Blocked, Finding, Skipped, outcome_of, severity
from support.in_memory import MemorySettings, VirtualClock, scripted

SKIPS = (Skipped, NoExample, Unjudgeable, pytest.skip.Exception)
"""What a check raises that is not exercised."""


@dataclass(frozen=True)
class Check:
    """A check: its function, the requirements it cites, its cases, and the fixtures it asks for."""

    function: object
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
    def is_per_tool(self):
        """Whether it runs once for each tool."""
        return not {"tool", "call"}.isdisjoint(self.fixtures)


@dataclass(frozen=True)
class Verdict:
    """One thing that a check found."""

    check: Check
    error: Finding | Blocked
    revision: str

    @property
    def row(self):
        """The broken rule: the one that the error names, else the most severe one the check cites."""
        if self.error.requirement:
            return catalogue.requirement(self.error.requirement)
        holding = [row for row in self.check.rows if row.holds_in(self.revision)] or self.check.rows[:1]
        return max(holding, key=lambda row: ORDER.index(severity(row, self.revision)))

    @property
    def outcome(self):
        """What a report says of it."""
        return outcome_of(self.error, self.row, self.revision, strict=False, pedantic=False)


@cache
def all_checks():
    """Return every check of the suites, in the order that a run has."""
    paths = suites_directory().glob("test_*.py")
    return tuple(
        Check(function, path.stem, name, _rows(function), _cases(function), _parameters(function))
        for path in sorted(paths, key=lambda path: (PLACES.get(path.name, 0), path))
        for name, function in vars(import_module(f"{PACKAGE}.{path.stem}")).items()
        if name.startswith("test_")
    )


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
    """Return the function of a fixture of the suites, and what it asks for."""
    function = getattr(import_module(f"{PACKAGE}.fixtures"), name).__wrapped__
    return function, _parameters(function)


class Bench:
    """One subject in one revision, and the checks that run on it; ``stash`` is that of a run."""

    def __init__(self, stash, revision):
        self.server = server_for(SimpleNamespace(stash=stash), revision)
        self.revision = revision
        self._open = []

    def run(self, check, case, tool):
        """Return the verdicts of a check, the worst first; raises what no check may raise."""
        given = {**case, "revision": self.revision, "server": self.server, "tool": tool}
        self._open = []
        try:
            check.function(**{name: self._given(name, given) for name in check.fixtures})
        except SKIPS:
            return []
        except (Finding, Blocked) as error:
            if isinstance(error, Blocked) and error.fault is not None and self.server.is_duplicate(error):
                return []
            found = [Verdict(check, one, self.revision) for one in (error, *error.others)]
            return sorted(found, key=lambda one: ORDER.index(one.outcome), reverse=True)
        finally:
            for fixture in self._open:
                next(fixture, None)
        return []

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

    def result(self, verdict, tool):
        """Return a verdict with its words, as a report has it."""
        result = Result.of(
            verdict.row,
            self.revision,
            node=verdict.check.suite,
            outcome=verdict.outcome,
            tool=tool.name if tool is not None else "",
            reason=str(verdict.error),
            deviation=known_deviation(self.server, verdict.row.id, verdict.error),
        )
        return with_evidence(result, evidence_of(verdict.error), "again", Path("transcripts"))


def settings_in_memory(serve, examples=0, **others):
    """Return settings under which every check has what it needs on the reference server."""
    return MemorySettings(
        ("in-memory",),
        call=("all",),
        examples=examples,
        failing_call=Sample("fail", {"reason": "disk full"}),
        mutating_call=Sample("grow", {}),
        serve=serve,
        clock=VirtualClock(),
        **others,
    )


def run_suite_in_memory(settings, revision):
    """Run every check in one revision; return what the probe found broken, and the verdicts.

    Raises whatever the engine or a check raises that is not a verdict.
    """
    subject = probe_all(settings, (revision,))
    verdicts = []
    for surface in subject.live:
        bench = Bench({SUBJECT: subject, WHOLE: True}, surface.revision)
        try:
            for check in all_checks():
                if any(row.holds_in(revision) for row in check.rows):
                    for case in check.cases:
                        for tool in bench.server.tools if check.is_per_tool else (None,):
                            verdicts += bench.run(check, case, tool)
        finally:
            bench.server.close()
    return [one for surface in subject.surfaces for one in surface.failures], verdicts


def run_in_memory(script, revisions, chosen, examples=0, *, as_for_workers=True):
    """Run checks on a server by a script; return how many came to what.  Raises whatever the engine raises.

    ``chosen`` gives the checks to run, each with its case and the number of a tool.
    """
    subject = probe_all(settings_in_memory(scripted(tuple(script)), examples), revisions)
    if as_for_workers:
        surfaces = [one.to_json() for one in subject.surfaces]
        assert [Surface.from_json(one).to_json() for one in surfaces] == surfaces
    subject.error_in_samples()
    stash, text, counts = {SUBJECT: subject}, [], Counter()
    for surface in subject.live:
        results = _checked(Bench(stash, surface.revision), chosen, counts)
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
            if not any(row.holds_in(bench.revision) for row in check.rows):
                continue
            if check.is_per_tool and not tools:
                continue
            tool = tools[at % len(tools)] if check.is_per_tool else None
            found = bench.run(check, case, tool)
            counts["checks"] += 1
            counts["verdicts"] += len(found)
            results += [bench.result(verdict, tool) for verdict in found]
    finally:
        bench.server.close()
    return results
