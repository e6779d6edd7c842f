"""A run as one value: the server, the options, the results.  Every report is made from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mcp_conformance.outcome import COUNTED, FAILING, FINDINGS, Defect, Outcome, worst
from mcp_conformance.project.version import rule_page
from mcp_conformance.protocol.text import named, shorten
from mcp_conformance.report.connecting import ConnectingClient
from mcp_conformance.report.exercise import NOT_PERMITTED, ExercisedTool
from mcp_conformance.report.hosts import AskedHost
from mcp_conformance.report.tool_links import ToolLink
from mcp_conformance.requirements.catalogue import Requirement, families
from mcp_conformance.requirements.checks import LAST
from mcp_conformance.verdicts import NORMATIVE, Cause

SDK_FINDING = "every server on this SDK breaks the rule"
"""The reason of a finding that is expected because of the SDK."""
KINDS = frozenset(Defect)
MAX_DEFECT, MAX_EXPECTED = 200, 100
"""How many characters say what was seen of a defect, and what was expected if that is said."""
SPEAKS_FOR_ITSELF = (Defect.DIES, Defect.HANGS, Defect.THROWS)
"""The defects of which nobody needs to be told what was expected."""
TESTED, REFUSED, DEAD = "tested", "refused", "dead"
"""The states of a revision: tested, not spoken by the server, or no session could be used."""


@dataclass(frozen=True)
class Result:
    """The result of one check: the rule, the revision, the tool if there is one, and the outcome.

    ``requirement`` is the rule that was judged, ``requirements`` are all that the check cites. ``reason`` is
    short; ``expected``, ``got``, the request that was ``asked``, the lines on the ``wire`` (each after ``>``
    or ``<``) and ``stderr`` are the evidence, cut to what a report keeps. ``transcripts`` are files with
    whole conversations, ``replay`` is the command that sends one of them again, ``reproduce`` the one that
    runs the check again (both are empty if that would not show the finding), ``fix`` is what to do about it,
    and ``text`` is all of it for a terminal. ``cause`` is a `Cause`, ``defect`` a `Defect`; both may be
    empty. ``deviation`` names the SDK that breaks the rule in every server built on it, ``harm`` is what that
    costs a client if it is the process or an answer, ``way_out`` says which version mends that, and
    ``baseline`` is the reason why a finding does not count.
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
    harm: str = ""
    way_out: str = ""
    requirements: tuple[str, ...] = ()
    expected: str = ""
    got: str = ""
    asked: str = ""
    wire: tuple[str, ...] = ()
    stderr: str = ""
    transcripts: tuple[str, ...] = ()
    replay: str = ""
    reproduce: str = ""
    fix: str = ""
    baseline: str = ""
    cause: str = ""
    defect: str = ""

    @classmethod
    def of(cls, row: Requirement, revision: str, **facts: Any) -> Result:
        """Return a result about a rule, with its words in that revision (`Requirement.stated_in`)."""
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

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Result:
        """Return the result that `to_row` was made from."""
        return cls(**{**row, "outcome": Outcome(row["outcome"])})

    def to_row(self) -> dict[str, Any]:
        """Return the fields as plain values, which another process can read."""
        return {**vars(self), "outcome": str(self.outcome)}

    @property
    def family(self) -> str:
        """The family of its requirement."""
        return self.requirement.partition(".")[0]

    @property
    def page(self) -> str:
        """The address of its requirement: our page, if it has an address, else the specification."""
        return rule_page(self.requirement) or self.spec

    @property
    def check(self) -> str:
        """The name of the check, without its parameters."""
        return self.node.partition("[")[0].rpartition("::")[2]

    @property
    def is_of_sdk(self) -> bool:
        """Whether it is a note on the SDK, or expected because of the SDK and not by the baseline."""
        is_note = self.outcome is Outcome.INFO and bool(self.deviation) and not self.harm
        return is_note or (self.outcome is Outcome.EXPECTED and self.baseline == SDK_FINDING)

    @property
    def is_late(self) -> bool:
        """Whether the check did not run because the time for all checks was over."""
        return self.cause == Cause.TIME_IS_UP


@dataclass(frozen=True)
class FoundDefect:
    """A defect of the server, or of one tool, and the results that show it, the plainest first.

    ``text`` says what was seen.
    """

    kind: Defect
    tool: str
    text: str
    results: tuple[Result, ...]

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of its results."""
        return worst(one.outcome for one in self.results)

    def __str__(self) -> str:
        return f"{self.kind.told_of(named(self.tool) or 'the server')}: {self.text}"


@dataclass(frozen=True)
class OfferedTool:
    """A tool as the server lists it, and whether it may be ``called``.

    The ``definition`` is empty if it is too long to be kept, or not an object.
    """

    name: str
    called: bool
    definition: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Interface:
    """What the server offers in one revision.

    ``state`` is `TESTED`, `REFUSED` (the server ``answered`` with what it speaks instead) or `DEAD`.
    ``found`` says that the features were found by trying, as the server does not declare them.  ``left_out``
    counts the tools listed beyond those that were tested, ``noise`` the lines on stdout that were not JSON.
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
    """A run, without credentials.  ``started`` is in ISO 8601, in UTC.

    ``source`` is the project's file that the command starts, or else one that describes the project.
    ``ended`` says why a run ended before all checks had run, and ``not_run`` how many of each chapter did
    not; both are empty for a complete run.  ``results`` are in the order of the specification's chapters.
    ``notices`` say what was not tested, or not kept, and why, and what changed over the calls of a soak;
    ``outdated`` lists what to fix in the baseline. ``starts`` counts the server's processes in each revision
    by what they were started for, over HTTP ``sessions`` the sessions, and ``processes`` counts all that this
    run has started.  ``sent`` counts the lines that were sent to them, without those of the
    probe.  ``not_applicable`` counts the checks of other revisions, of capabilities that are not declared and
    the like, by the reason.  ``measured`` has the figures of each revision, in bytes and seconds; ``phases``
    the seconds of each phase of the run, and those of them that it waited for the server.  ``never_opened``
    says that the server ended, or was silent, in each revision.  ``exercise`` has what was exercised of each
    tool; ``lacking`` says that the user requires more, and is empty if it is enough.  ``is_partial`` says
    that only some checks were to run, so that the verdict says nothing about that.  ``hosts`` has what the
    server asks of other hosts, if that was looked at (``--backend``); ``links`` says which tools make what
    others show, change and delete, and ``sequences`` the calls and the seconds of each phase, if sequences of
    calls were made.  ``clients`` says which kinds of clients can connect.
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
    processes: int = 0
    starts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    sessions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    sent: Mapping[str, int] = field(default_factory=dict)
    not_applicable: Mapping[str, int] = field(default_factory=dict)
    measured: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    phases: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    never_opened: bool = False
    exercise: tuple[ExercisedTool, ...] = ()
    lacking: str = ""
    is_partial: bool = False
    hosts: tuple[AskedHost, ...] = ()
    links: tuple[ToolLink, ...] = ()
    sequences: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    clients: tuple[ConnectingClient, ...] = ()

    @cached_property
    def counts(self) -> Mapping[Outcome, int]:
        """The number of results with each outcome, the worst first."""
        return _counted(self._distinct)

    @cached_property
    def _distinct(self) -> list[Result]:
        """The results without the findings that the check of all messages only repeats."""
        found = without_repeats(self.results, *FINDINGS)
        return [one for one in self.results if not one.outcome.is_finding or one in found]

    @property
    def tested(self) -> list[str]:
        """The revisions that were tested."""
        return [one.revision for one in self.revisions if one.state == TESTED]

    @cached_property
    def chapters(self) -> Mapping[str, Mapping[Outcome, int]]:
        """The same for each family of requirements."""
        found: dict[str, list[Result]] = {}
        for one in self._distinct:
            found.setdefault(one.family, []).append(one)
        return {family: _counted(some) for family, some in found.items()}

    @cached_property
    def matrix(self) -> Mapping[str, Mapping[str, Outcome]]:
        """The worst outcome of each rule in each revision, the revisions in their order."""
        found: dict[str, dict[str, Outcome]] = {}
        for one in sorted(self.judged, key=lambda one: one.revision):
            outcomes = found.setdefault(one.requirement, {})
            known = outcomes.get(one.revision, one.outcome)
            outcomes[one.revision] = worst((known, one.outcome))
        return found

    @cached_property
    def judged(self) -> tuple[Result, ...]:
        """The results without those of checks that came too late."""
        return tuple(one for one in self.results if not one.is_late)

    @cached_property
    def findings(self) -> tuple[Result, ...]:
        """The results that say something against the server."""
        return tuple(one for one in self.judged if one.outcome.is_finding)

    @cached_property
    def defects(self) -> tuple[FoundDefect, ...]:
        """The defects that count, the worst first; what several revisions show of one tool is one of them."""
        found: dict[tuple[Defect, str, str], list[Result]] = {}
        for one in without_repeats(self.judged, *COUNTED):
            if one.defect in KINDS:
                found.setdefault((Defect(one.defect), one.tool, _cause(one)), []).append(one)
        defects = (
            FoundDefect(kind, tool, _seen(some[0]), tuple(some)) for (kind, tool, _), some in found.items()
        )
        return tuple(sorted(defects, key=lambda one: (one.outcome.place, one.kind.place)))

    @cached_property
    def deviations(self) -> Mapping[str, tuple[str, ...]]:
        """The broken rules that an SDK breaks in every server built on it, by SDK."""
        return _rules_by_sdk(self.findings)

    @cached_property
    def not_yours(self) -> Mapping[str, tuple[str, ...]]:
        """Those of them that cost a client neither the process nor an answer, and that count for nothing."""
        return _rules_by_sdk(one for one in self.findings if not (one.harm or one.outcome.counts))

    @property
    def status(self) -> str:
        """The first that is true of these words.

        They are not-started, failed, internal-error, unfinished, untested, unexercised and passed.
        """
        outcomes = {one.outcome for one in self.judged}
        failing = outcomes.intersection(FAILING)
        words = (
            ("not-started", self.never_opened and failing == {Outcome.BLOCKED}),
            ("failed", failing),
            ("internal-error", Outcome.INTERNAL_ERROR in outcomes),
            ("unfinished", self.ended),
            ("untested", not any(one.is_judged for one in outcomes)),
            ("failed", self.outdated or self.lacking),
            ("unexercised", self._unlisted or self._is_vain),
        )
        return next((word for word, is_true in words if is_true), "passed")

    @cached_property
    def callable_tools(self) -> tuple[ExercisedTool, ...]:
        """The tools that were there to be exercised."""
        return tuple(one for one in self.exercise if one.is_callable)

    @cached_property
    def exercised_tools(self) -> tuple[ExercisedTool, ...]:
        """Those of which a call succeeded."""
        return tuple(one for one in self.callable_tools if one.is_exercised)

    @property
    def share_exercised(self) -> str:
        """How many of the callable tools were exercised, in words; empty if none was callable."""
        if not self.callable_tools:
            return ""
        barred = sum(one.why_not == NOT_PERMITTED for one in self.exercise)
        not_called = f", {barred} not called" if barred else ""
        return (
            f"{len(self.exercised_tools)} of {plural(len(self.callable_tools), 'tool')} exercised{not_called}"
        )

    @property
    def headline(self) -> str:
        """The run in a few words."""
        words = {
            "not-started": f"the server {self._not_examined or f'did not start: {self._why_not_started}'}",
            "failed": "; the rest ".join(filter(None, (self._failure, self._not_examined))),
            "internal-error": "not tested in full: an internal error in this tool, please report it",
            "unfinished": "",
            "untested": "nothing was tested",
            "unexercised": self._after_defects(self._unexercised),
            "passed": self._after_defects(f"passed{self._remarks}"),
        }[self.status]
        has_share = self.status in ("failed", "passed") and not self.is_partial
        share = self.share_exercised if has_share else ""
        return "; ".join(filter(None, (words, share, self._shortfall)))

    @property
    def _why_not_started(self) -> str:
        """The cause, as far as it is known: the reason begins with it."""
        reason = next((one.reason for one in self.judged), "no session opened")
        return shorten(reason.partition("; ")[0], MAX_DEFECT)

    @property
    def _unlisted(self) -> str:
        """That the tools cannot be listed, as the server reaches no host; empty if they can."""
        return next((one.reason for one in self.judged if one.cause == Cause.NO_HOST), "")

    @property
    def _is_vain(self) -> bool:
        """Whether a whole run could call tools, and exercised none."""
        return bool(self.callable_tools) and not (self.exercised_tools or self.is_partial)

    @property
    def _unexercised(self) -> str:
        if self._unlisted:
            return f"{self._unlisted}{self._remarks}"
        lacks = [one.lacks for one in self.callable_tools]
        none = f"none of {len(lacks)} tools was exercised" if len(lacks) > 1 else "its tool was not exercised"
        if lacks and all(lacks):
            return f"could not be judged{self._remarks}: no host is reached ({lacks[0]}), so {none}"
        return f"passed at the door{self._remarks}: {none}"

    @property
    def _not_examined(self) -> str:
        """That no session opens with a server that lives, and why; empty unless that is known."""
        return next((one.reason for one in self.judged if one.cause == Cause.NO_SESSION), "")

    @property
    def _failure(self) -> str:
        for outcome in FAILING:
            if rules := rules_with(filter(is_of_specification, self.judged), outcome):
                return self._after_defects(outcome.style.headline.format(plural(rules, "rule")))
        reasons = ["the baseline is out of date"] if self.outdated else []
        reasons += ["too few tools were exercised"] if self.lacking else []
        passed = f"otherwise passed{self._remarks}"
        return self._after_defects("; ".join(filter(None, (" and ".join(reasons), passed))))

    def _after_defects(self, conformance: str) -> str:
        """Return what is said of the specification after what the server does to its users."""
        return "; ".join([*self._told_defects(), conformance])

    def _told_defects(self) -> Iterator[str]:
        """Yield a clause for each kind of defects."""
        tools: dict[Defect, dict[str, None]] = {}
        for one in self.defects:
            tools.setdefault(one.kind, {})[one.tool] = None
        for kind, names in tools.items():
            some = [name for name in names if name]
            subject = plural(len(some), "tool") if some else "the server"
            yield kind.told_of(subject, several=len(some) > 1)

    @property
    def _remarks(self) -> str:
        """The findings that do not fail: how many rules have each kind."""
        own = [one for one in self.judged if not one.is_of_sdk]
        rules = {outcome: rules_with(own, outcome) for outcome in FINDINGS if not outcome.fails}
        parts = [plural(number, outcome.style.headline) for outcome, number in rules.items() if number]
        *before, last = parts or [""]
        listed = f"{', '.join(before)} and {last}" if before else last
        return f", with {listed}" if listed else ""

    @property
    def left_out(self) -> str:
        """That not all checks of the run have run, though it ended as the user wants (``--within``)."""
        many = self._missing
        return f"{many}, as the time was over (--within)" if many and not self.ended else ""

    @property
    def _missing(self) -> str:
        missing = sum(self.not_run.values())
        run = {one.node for one in self.judged}
        return f"{missing} of {missing + len(run)} checks did not run" if missing else ""

    @property
    def _shortfall(self) -> str:
        """That not all checks have run, and why."""
        if not self.ended:
            return self.left_out
        return f"not finished: {', '.join(filter(None, (self.ended, self._missing)))}"

    @property
    def verdict(self) -> str:
        """The run in one sentence."""
        return f"{self.headline} ({self.counted})"

    @property
    def counted(self) -> str:
        """The number of results with each outcome, in words."""
        words = ", ".join(f"{number} {outcome}" for outcome, number in self.counts.items())
        return words or "no checks"


def _cause(one: Result) -> str:
    """Return what tells defects of one kind and tool apart: the place that throws, the SDK, or the rule."""
    if one.defect == Defect.THROWS:
        return one.stderr.partition("\n")[0]
    return (one.defect == Defect.DIES and one.deviation) or one.requirement


def _seen(one: Result) -> str:
    """Return what was seen of a defect, and the SDK that has it in every server."""
    sdk = f"every server built on the {one.deviation} does this" if one.deviation else ""
    notes = "; ".join(filter(None, (sdk, one.way_out)))
    return f"{_seen_here(one)} ({notes})" if notes else _seen_here(one)


def _seen_here(one: Result) -> str:
    """Return what was seen of a defect: what was asked, what was expected, and what came."""
    if one.defect in SPEAKS_FOR_ITSELF or not one.expected:
        seen = shorten(one.got or one.reason, MAX_DEFECT)
        is_bare = one.defect == Defect.DIES and not one.tool
        return f"{seen}, under {one.requirement}" if is_bare else seen
    asked = one.asked.removesuffix(f' "{one.tool}"')  # the line begins with the tool
    asked = f"{asked}: " if asked else ""
    return f"{asked}expected {_cut(one.expected, MAX_EXPECTED)}, got {shorten(one.got, MAX_DEFECT)}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()} ..."


def _rules_by_sdk(results: Iterable[Result]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for one in results:
        if one.deviation:
            found.setdefault(one.deviation, {})[one.requirement] = None
    return {sdk: tuple(rules) for sdk, rules in found.items()}


def in_order(results: Iterable[Result]) -> tuple[Result, ...]:
    """Sort results by the specification's chapters, whatever the order they came in."""
    places = {family: place for place, family in enumerate(families())}
    return tuple(
        sorted(
            results,
            key=lambda one: (places[one.family], one.requirement, one.revision, one.tool, one.node),
        )
    )


def is_of_all_messages(result: Result) -> bool:
    """Return whether the check judges every message: it repeats findings of others and names no tool."""
    return LAST in result.node


def without_repeats(results: Iterable[Result], *outcomes: Outcome) -> list[Result]:
    """Return the findings of these outcomes, without those that the check of all messages only repeats."""
    found = [one for one in results if one.outcome in outcomes]
    first = {(one.requirement, one.revision) for one in found if not is_of_all_messages(one)}
    return [
        one for one in found if not is_of_all_messages(one) or (one.requirement, one.revision) not in first
    ]


def grouped(results: Iterable[Result], *outcomes: Outcome) -> Iterator[list[Result]]:
    """Yield the findings of these outcomes, those of one requirement together, the worst first.

    What an SDK breaks and what the server breaks itself are apart.
    """
    groups: dict[tuple[int, str, str], list[Result]] = {}
    for one in without_repeats(results, *outcomes):
        groups.setdefault((one.outcome.place, one.requirement, one.deviation), []).append(one)
    for key in sorted(groups, key=lambda key: key[0]):
        yield groups[key]


def by_reason(group: Iterable[Result]) -> list[list[Result]]:
    """Group findings of one requirement that have the same outcome and reason."""
    cases: dict[tuple[Outcome, str], list[Result]] = {}
    for one in group:
        cases.setdefault((one.outcome, one.reason), []).append(one)
    return list(cases.values())


def rules_with(results: Iterable[Result], outcome: Outcome) -> int:
    """Return how many rules have a result with this outcome."""
    return len({one.requirement for one in results if one.outcome is outcome})


def is_of_specification(result: Result) -> bool:
    """Return whether a failure is one of conformance: a defect under a rule without a keyword is not."""
    return result.outcome is not Outcome.FAILED or result.basis in NORMATIVE or not result.defect


def plural(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 rule``, ``2 rules``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _counted(results: Iterable[Result]) -> dict[Outcome, int]:
    counts = Counter(one.outcome for one in results)
    return {outcome: counts[outcome] for outcome in Outcome if counts[outcome]}
