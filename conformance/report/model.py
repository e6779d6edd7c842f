"""A run as one value: who was tested, how, and what became of each check.  All reports are made from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.requirements.catalogue import Requirement, families
from conformance.requirements.checks import LAST
from conformance.verdicts import ORDER, UNTESTED, Outcome

FINDINGS = (Outcome.FAILED, Outcome.BLOCKED, Outcome.WARNED, Outcome.EXPECTED, Outcome.INFO)
"""The outcomes that say something against the server, the worst first."""
TIME_IS_UP = "(--mcp-max-time)"
"""What the check says that is blocked because all checks together took too long."""
TESTED, REFUSED, DEAD = "tested", "refused", "dead"
"""What became of a revision: it was tested, the server does not speak it, or no conversation came about."""


@dataclass(frozen=True)
class Result:
    """One check's result: which rule, in which revision, for which tool, and what became of it.

    ``requirement`` is the rule that was judged, ``requirements`` are all that the check cites.  ``reason`` is
    short; ``expected``, ``got``, the lines on the ``wire`` (each behind ``>`` or ``<``) and ``stderr`` are
    the evidence, of which only so much is kept.  ``transcripts`` are the files of whole conversations, if
    there are any, ``reproduce`` the command that runs this check again, and ``text`` all of it for a terminal.
    ``deviation`` names the SDK that breaks the rule in every server built on it, and ``baseline`` is the reason
    for which a finding is expected.
    """

    node: str
    requirement: str
    level: str
    basis: str
    revision: str
    says: str
    spec: str
    outcome: Outcome
    tool: str = ""
    reason: str = ""
    text: str = ""
    deviation: str = ""
    requirements: tuple[str, ...] = ()
    expected: str = ""
    got: str = ""
    wire: tuple[str, ...] = ()
    stderr: str = ""
    transcripts: tuple[str, ...] = ()
    reproduce: str = ""
    baseline: str = ""

    @classmethod
    def of(cls, row: Requirement, revision: str, **facts: Any) -> Result:
        """A result with a rule's words, as the rule stands in the revision (`Requirement.stated_in`)."""
        stated = row.stated_in(revision)
        return cls(
            requirement=row.id,
            level=row.level(stated),
            basis=row.basis(stated),
            revision=revision,
            says=row.says,
            spec=row.url(stated),
            **facts,
        )

    @property
    def family(self) -> str:
        """The family of its requirement."""
        return self.requirement.partition(".")[0]

    @property
    def check(self) -> str:
        """The name of the check, without what it was run for."""
        return self.node.partition("[")[0].rpartition("::")[2]


@dataclass(frozen=True)
class OfferedTool:
    """A tool as the server lists it, and whether it might be ``called``.

    The ``definition`` is empty if it is too long to be kept, or none.
    """

    name: str
    called: bool
    definition: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Interface:
    """What the server offered in one revision.

    ``state`` is `TESTED`, `REFUSED` (it ``answered`` with what it speaks instead) or `DEAD`.  What it offers
    was ``found`` where it does not tell.  ``left_out`` tools were listed beyond those that were tested, and
    ``noise`` is the number of lines on stdout that were no JSON.
    """

    revision: str
    state: str = TESTED
    answered: str = ""
    server: str = ""
    version: str = ""
    offers: tuple[str, ...] = ()
    found: bool = False
    tools: tuple[OfferedTool, ...] = ()
    left_out: int = 0
    noise: int = 0


@dataclass(frozen=True)
class Report:
    """A run.  ``command`` and ``options`` are without credentials; ``started`` is in ISO 8601, in UTC.

    ``source`` is the file of the project that the command starts, or else one that describes the project.
    ``ended`` says why a run ended before all checks had run, and ``not_run`` how many of each chapter have
    not; both are empty if all have.  ``results`` are in the order of the specification's chapters.
    ``notices`` say what was not tested, or not kept, and why, and ``outdated`` what in the baseline has to be
    mended.
    """

    tool_version: str
    command: tuple[str, ...]
    server: str
    version: str
    started: str
    seconds: float
    source: str = ""
    revisions: tuple[Interface, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    ended: str = ""
    results: tuple[Result, ...] = ()
    not_called: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    not_run: Mapping[str, int] = field(default_factory=dict)
    outdated: tuple[str, ...] = ()

    @property
    def counts(self) -> Mapping[Outcome, int]:
        """How many results there are of each outcome, the worst first."""
        return _counted(self.results)

    @property
    def chapters(self) -> Mapping[str, Mapping[Outcome, int]]:
        """The same for each family of requirements."""
        found: dict[str, list[Result]] = {}
        for one in self.results:
            found.setdefault(one.family, []).append(one)
        return {family: _counted(some) for family, some in found.items()}

    @property
    def judged(self) -> tuple[Result, ...]:
        """The results, but for those of checks that came too late."""
        return tuple(one for one in self.results if not self._came_too_late(one))

    @property
    def findings(self) -> tuple[Result, ...]:
        """What says something against the server."""
        return tuple(one for one in self.judged if one.outcome in FINDINGS)

    @property
    def deviations(self) -> Mapping[str, tuple[str, ...]]:
        """The rules that an SDK breaks in every server built on it, by SDK."""
        found: dict[str, dict[str, None]] = {}
        for one in self.findings:
            if one.deviation:
                found.setdefault(one.deviation, {})[one.requirement] = None
        return {sdk: tuple(rules) for sdk, rules in found.items()}

    @property
    def status(self) -> str:
        """``failed``, ``internal-error``, ``unfinished``, ``untested`` or ``passed``: the first that is true."""
        outcomes = {one.outcome for one in self.judged}
        if outcomes & {Outcome.FAILED, Outcome.BLOCKED}:
            return "failed"
        if Outcome.INTERNAL_ERROR in outcomes:
            return "internal-error"
        if self.ended:
            return "unfinished"
        if outcomes <= set(UNTESTED):
            return "untested"
        return "failed" if self.outdated else "passed"

    def _came_too_late(self, one: Result) -> bool:
        """Whether a check was blocked or skipped only because the run was over."""
        return TIME_IS_UP in self.ended and one.reason.startswith(self.ended)

    @property
    def headline(self) -> str:
        """The run in a few words."""
        new = "new " if Outcome.EXPECTED in self.counts else ""
        said = {
            "failed": f"does not conform: {self._failure}",
            "internal-error": "not tested in full, through a mistake in this tool: please report it",
            "unfinished": "",
            "untested": "nothing was tested",
            "passed": f"no {new}rule found broken",
        }[self.status]
        if self.status == "failed" and not self.counts.keys() & {Outcome.FAILED, Outcome.BLOCKED}:
            said = f"no {new}rule found broken, but the baseline is out of date"
        return "; ".join(filter(None, (said, self._shortfall)))

    @property
    def _failure(self) -> str:
        rules = broken_rules(self.results)
        return f"{rules} rule{'s' if rules != 1 else ''} broken" if rules else "could not be tested in full"

    @property
    def _shortfall(self) -> str:
        """That not all checks have run, and why."""
        missing = sum(self.not_run.values())
        run = {one.node for one in self.judged}
        many = f", {missing} of {missing + len(run)} checks did not run" if missing else ""
        return f"not finished: {self.ended}{many}" if self.ended else ""

    @property
    def verdict(self) -> str:
        """The run in one sentence."""
        said = ", ".join(f"{number} {outcome.value}" for outcome, number in self.counts.items())
        return f"{self.headline} ({said or 'no checks'})"


def in_order(results: Iterable[Result]) -> tuple[Result, ...]:
    """Results in the order of the specification's chapters, whatever the order they came in."""
    places = {family: place for place, family in enumerate(families())}
    return tuple(
        sorted(
            results,
            key=lambda one: (places[one.family], one.requirement, one.revision, one.tool, one.node),
        )
    )


def looks_at_all(result: Result) -> bool:
    """Whether this is of the look at every message, which tells what others have told and names no tool."""
    return LAST in result.node


def told_once(results: Iterable[Result], *outcomes: Outcome) -> list[Result]:
    """The findings of these outcomes, without what the look at every message tells again after others."""
    found = [one for one in results if one.outcome in outcomes]
    told = {(one.requirement, one.revision) for one in found if not looks_at_all(one)}
    return [one for one in found if not looks_at_all(one) or (one.requirement, one.revision) not in told]


def grouped(results: Iterable[Result], *outcomes: Outcome) -> Iterator[list[Result]]:
    """The findings of these outcomes (`told_once`), those of one requirement together, worst first."""
    groups: dict[tuple[int, str], list[Result]] = {}
    for result in told_once(results, *outcomes):
        groups.setdefault((-ORDER.index(result.outcome), result.requirement), []).append(result)
    for key in sorted(groups, key=lambda key: key[0]):
        yield groups[key]


def alike(group: Iterable[Result]) -> list[list[Result]]:
    """The findings of a group, those together that have the same reason."""
    cases: dict[tuple[Outcome, str], list[Result]] = {}
    for one in group:
        cases.setdefault((one.outcome, one.reason), []).append(one)
    return list(cases.values())


def broken_rules(results: Iterable[Result]) -> int:
    """How many rules failed."""
    return len({one.requirement for one in results if one.outcome is Outcome.FAILED})


def _counted(results: Iterable[Result]) -> dict[Outcome, int]:
    counts = Counter(one.outcome for one in results)
    return {outcome: counts[outcome] for outcome in reversed(ORDER) if counts[outcome]}
