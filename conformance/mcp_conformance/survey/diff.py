"""Compare the results of two surveys of the same targets, such as by two versions of this tool."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from mcp_conformance.outcome import COUNTED
from mcp_conformance.protocol.text import named
from mcp_conformance.report.model import plural
from mcp_conformance.requirements.catalogue import all_requirements
from mcp_conformance.survey.results import Grade, NoResults, SurveyResult

UNCHANGED, WORSE = 0, 1
"""The exit statuses: nothing is worse, or something is."""
NOT_TESTED, ONCE = "not tested", "red in one of two runs"
"""The states of a rule without an outcome, and of one whose finding a second run did not confirm."""
MAX_REASON = 200


@dataclass(frozen=True)
class RuleDifference:
    """A rule whose state changed in these revisions: it was red, is red, or both with another outcome.

    ``was`` and ``now`` are outcomes, `NOT_TESTED` or `ONCE`; ``reason`` says what is or was wrong.
    ``new_in`` is the version of this tool that brought or sharpened the rule, if only the new side has it.
    """

    rule: str
    revisions: tuple[str, ...]
    was: str
    now: str
    reason: str = ""
    new_in: str = ""

    @property
    def is_worse(self) -> bool:
        """Whether the rule is red now, and was not, or less so."""
        return _badness(self.now) > _badness(self.was)

    def __str__(self) -> str:
        new = f"; the rule is of version {self.new_in} of this tool" if self.new_in else ""
        reason = f": {named(self.reason, MAX_REASON)}" if self.reason else ""
        where = f"{self.rule} in {', '.join(map(named, self.revisions))}"
        return f"{where}: was {self.was}, now {self.now}{new}{reason}"


def _badness(state: str) -> int:
    """Return a number that grows with what an outcome says against the server; 0 for what is not red."""
    return next((place for place, one in enumerate(reversed(COUNTED), 1) if state == one), 0)


@dataclass(frozen=True)
class TargetDifference:
    """What changed for one target, which has a result on both sides."""

    old: SurveyResult
    new: SurveyResult
    rules: tuple[RuleDifference, ...] = ()

    @classmethod
    def of(cls, old: SurveyResult, new: SurveyResult) -> TargetDifference:
        """Return what changed between two results."""
        return cls(old, new, tuple(_rules(old, new)))

    @property
    def name(self) -> str:
        """The name of the target."""
        return self.new.target.name

    @property
    def is_change(self) -> bool:
        """Whether anything changed that says something about the server."""
        return bool(self.rules) or self.is_emptied or _standing(self.old) != _standing(self.new)

    @property
    def is_emptied(self) -> bool:
        """Whether tools of the server were exercised, and none is now."""
        return bool(self.old.exercised_tools) and self.new.is_at_the_door

    @property
    def reddened(self) -> bool:
        """Whether the server conformed, and does not now."""
        return self.old.grade is Grade.CONFORMS and self.new.grade is Grade.DOES_NOT_CONFORM

    @property
    def is_lost(self) -> bool:
        """Whether the server had a grade, and could not be judged now."""
        return self.old.grade is not Grade.NOT_JUDGED and self.new.grade is Grade.NOT_JUDGED

    @property
    def is_worse(self) -> bool:
        """Whether the change is to the server's disadvantage, or says less about it."""
        rules = any(one.is_worse for one in self.rules)
        return self.reddened or self.is_lost or self.is_emptied or rules


def _standing(result: SurveyResult) -> tuple[str, str]:
    return str(result.grade), str(result.obstacle)


@dataclass(frozen=True)
class Differences:
    """The changes from one survey to another: by target, and the targets that only one of them has."""

    old: tuple[SurveyResult, ...]
    new: tuple[SurveyResult, ...]
    pairs: tuple[TargetDifference, ...]
    only_old: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()

    @cached_property
    def changes(self) -> tuple[TargetDifference, ...]:
        """The targets that changed: first those that no longer conform, then those otherwise worse."""
        found = (one for one in self.pairs if one.is_change)
        return tuple(sorted(found, key=lambda one: (not one.reddened, not one.is_worse, one.name)))

    @property
    def status(self) -> int:
        """`WORSE` if a server that conformed does not now, or anything else is worse, else `UNCHANGED`."""
        return WORSE if self.only_old or any(one.is_worse for one in self.changes) else UNCHANGED


def differences(old: Iterable[SurveyResult], new: Iterable[SurveyResult]) -> Differences:
    """Return what changed from the results of a survey to those of another.

    Two results belong together if their targets are equal, else if their targets have the same name.  If a
    side has several results of a target, the last one counts.  A target that only ``old`` has is worse: its
    server is no longer judged.  Raises `NoResults` if a side is empty, as a gate must compare something.
    """
    before, after = _by_digest(old), _by_digest(new)
    for side, results in (("first", before), ("second", after)):
        if not results:
            raise NoResults(f"the {side} survey has no result")
    pairs = [TargetDifference.of(before[digest], after[digest]) for digest in before if digest in after]
    equal = {one.name for one in pairs}
    old_names, new_names = (
        {one.target.name: one for one in side.values() if one.target.name not in equal}
        for side in (before, after)
    )
    pairs += [
        TargetDifference.of(old_names[name], new_names[name]) for name in old_names if name in new_names
    ]
    return Differences(
        tuple(before.values()),
        tuple(after.values()),
        tuple(pairs),
        tuple(sorted(old_names.keys() - new_names.keys())),
        tuple(sorted(new_names.keys() - old_names.keys())),
    )


def _by_digest(results: Iterable[SurveyResult]) -> dict[str, SurveyResult]:
    """Return the last result of each target, by the digest of the target."""
    in_time = sorted(_compact(results), key=lambda one: one.started)
    return {one.target.digest: one for one in in_time}


def _compact(results: Iterable[SurveyResult]) -> Iterator[SurveyResult]:
    """Yield results that share equal parts of their matrices, as thousands of them have to fit in memory."""
    rows: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
    for one in results:
        matrix = {
            sys.intern(rule): rows.setdefault(tuple(row.items()), row) for rule, row in one.matrix.items()
        }
        yield replace(one, matrix=matrix)


# Rules -------------------------------------------------------------------------------------------


class _States:
    """The state of each rule in each revision, in one result."""

    def __init__(self, result: SurveyResult):
        in_order = sorted(result.findings, key=lambda one: one.outcome.place, reverse=True)
        self.red = {(one.requirement, one.revision): one for one in in_order}
        self._once = {(one.requirement, one.revision) for one in result.unsteady}
        self._matrix = result.matrix

    def state(self, place: tuple[str, str]) -> str:
        rule, revision = place
        if place in self.red:
            return str(self.red[place].outcome)
        return ONCE if place in self._once else self._matrix.get(rule, {}).get(revision, NOT_TESTED)


def _rules(old: SurveyResult, new: SurveyResult) -> Iterator[RuleDifference]:
    """Yield the rules that are red on one side, or on both with another outcome; each once."""
    if Grade.NOT_JUDGED in (old.grade, new.grade):
        return
    before, after = _States(old), _States(new)
    changed: dict[tuple[str, str, str], list[str]] = {}
    for place in sorted(before.red.keys() | after.red.keys()):
        was, now = before.state(place), after.state(place)
        if was != now:
            changed.setdefault((place[0], was, now), []).append(place[1])
    for (rule, was, now), revisions in changed.items():
        place = (rule, revisions[0])
        finding = after.red.get(place) or before.red[place]
        is_new = place in after.red and place not in before.red
        new_in = _new_in(rule, old.tool_version) if is_new else ""
        yield RuleDifference(rule, tuple(revisions), was, now, finding.reason, new_in)


def _new_in(rule: str, version: str) -> str:
    """Return the version of this tool that brought or sharpened a rule after this one; empty if none did."""
    row = all_requirements().get(rule)
    try:
        return row.as_of if row and row.is_newer_than(version) else ""
    except ValueError:  # a version without numbers, such as that of a checkout
        return ""


# Text --------------------------------------------------------------------------------------------


def render(found: Differences) -> str:
    """Return the differences as text: a summary, then each target that changed."""
    parts = [_summary(found), *("\n".join(_target(one)) for one in found.changes)]
    if found.only_old:
        parts.append(_names("no longer surveyed", found.only_old))
    if found.only_new:
        parts.append(_names("not surveyed before", found.only_new))
    return "\n\n".join(parts)


def _summary(found: Differences) -> str:
    lines = [f"from {_side(found.old)}", f"to   {_side(found.new)}"]
    reddened = sum(one.reddened for one in found.changes)
    worse = sum(one.is_worse for one in found.changes) - reddened
    others = len(found.changes) - reddened - worse
    unchanged = len(found.pairs) - len(found.changes)
    words = [f"{plural(len(found.pairs), 'target')} compared", f"{unchanged} unchanged"]
    words += [f"{reddened} no longer conform"] if reddened else []
    words += [f"{worse} otherwise worse"] if worse else []
    words += [f"{others} changed and not worse"] if others else []
    words += [f"{len(found.only_old)} no longer surveyed"] if found.only_old else []
    words += [f"{len(found.only_new)} not surveyed before"] if found.only_new else []
    return "\n".join([*lines, ", ".join(words)])


def _side(results: Sequence[SurveyResult]) -> str:
    """Return the versions, the options and the totals of a survey."""
    grades = Counter(one.grade for one in results)
    versions = ", ".join(sorted({one.tool_version for one in results}))
    options = ", ".join(sorted({" ".join(one.options) for one in results if one.options}))
    counted = ", ".join(f"{grade}: {grades[grade]}" for grade in Grade if grades[grade])
    about = f"version {named(versions)}" + (f" with {named(options, MAX_REASON)}" if options else "")
    return f"{about}, {plural(len(results), 'target')}; {counted}" if results else "no results"


def _target(one: TargetDifference) -> Iterator[str]:
    yield f"{named(one.name, MAX_REASON)}: {_grade(one)}"
    for what, was, now in _circumstances(one):
        if was and now and was != now:
            yield f"  {what} was {named(was)}, is {named(now)}"
    for title, rules in _sections(one.rules).items():
        yield from (f"  {title}: {rule}" for rule in rules)


def _grade(one: TargetDifference) -> str:
    """Return the grade, and what it was if it changed."""
    was, now = (_words(side) for side in (one.old, one.new))
    if one.is_lost:
        return f"could no longer be judged ({named(one.new.obstacle)}), was {was}"
    return f"{now}, was {was}" if was != now else now


def _words(result: SurveyResult) -> str:
    obstacle = f" ({named(result.obstacle)})" if result.obstacle else ""
    return f"{result.grade}{obstacle}"


def _circumstances(one: TargetDifference) -> Iterator[tuple[str, str, str]]:
    """Yield how much was exercised, and what may have changed the server itself."""
    yield "the share of tools exercised", one.old.exercised, one.new.exercised
    yield "the target's version", one.old.target.version, one.new.target.version
    yield "the server's version", one.old.server_version, one.new.server_version
    yield "the SDK", one.old.sdk, one.new.sdk


def _sections(rules: Iterable[RuleDifference]) -> Mapping[str, list[RuleDifference]]:
    found: dict[str, list[RuleDifference]] = {"newly red": [], "another outcome": [], "no longer red": []}
    for one in rules:
        was, now = _badness(one.was), _badness(one.now)
        title = "another outcome" if was and now else "newly red" if now else "no longer red"
        found[title].append(one)
    return found


def _names(title: str, names: Sequence[str]) -> str:
    return "\n".join([f"{title}:", *(f"  {named(one, MAX_REASON)}" for one in names)])
