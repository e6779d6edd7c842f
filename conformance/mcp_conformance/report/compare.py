"""Compare two reports: which rules broke or are fixed, and which tools changed for clients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_conformance.outcome import Outcome, Weight, weighing
from mcp_conformance.protocol.jsonrpc import show
from mcp_conformance.protocol.text import first_names, named
from mcp_conformance.report.model import (
    TESTED,
    Interface,
    OfferedTool,
    Report,
    Result,
    is_of_all_messages,
    plural,
    without_repeats,
)
from mcp_conformance.requirements import catalogue
from mcp_conformance.target.changes import OfferChange, tool_changes

BROKEN = weighing(Weight.FAILS, Weight.WARNS, Weight.EXCUSED)
"""The outcomes of a broken rule that counts; notes and findings of new rules are not compared."""
NOT_TESTED = "not tested"
MAX_REASON = 300


@dataclass(frozen=True)
class JudgedRule:
    """A rule in the revision, and with the tool if there is one, in which it was judged."""

    requirement: str
    tool: str
    revision: str


@dataclass(frozen=True)
class RuleChange:
    """A rule whose state changed, in these revisions; ``reason`` says what is or was wrong."""

    requirement: str
    tool: str
    revisions: tuple[str, ...]
    was: str
    now: str
    reason: str = ""

    def __str__(self) -> str:
        about = f" ({named(self.tool)})" if self.tool else ""
        reason = f": {named(self.reason, MAX_REASON)}" if self.reason else ""
        where = f"{self.requirement}{about} in {', '.join(self.revisions)}"
        return f"{where}: was {self.was}, now {self.now}{reason}"


@dataclass(frozen=True)
class Comparison:
    """The changes from one report to the other.

    ``changed`` rules are broken in both reports, with another outcome.  ``unseen`` rules were broken and are
    no longer tested.  ``newly_tested`` and ``no_longer_tested`` name rules that were tested in no revision
    before, or are tested in none now; ``newly_exercised`` and ``no_longer_exercised`` name tools.
    ``is_at_the_door`` says that some tools were exercised before, and that none is now.
    """

    broke: tuple[RuleChange, ...] = ()
    changed: tuple[RuleChange, ...] = ()
    fixed: tuple[RuleChange, ...] = ()
    unseen: tuple[RuleChange, ...] = ()
    newly_tested: tuple[str, ...] = ()
    no_longer_tested: tuple[str, ...] = ()
    tools: tuple[OfferChange, ...] = ()
    notes: tuple[str, ...] = ()
    newly_exercised: tuple[str, ...] = ()
    no_longer_exercised: tuple[str, ...] = ()
    is_at_the_door: bool = False

    @property
    def breaking(self) -> tuple[OfferChange, ...]:
        """The changes that can break clients."""
        return tuple(one for one in self.tools if one.breaking)

    @property
    def is_worse(self) -> bool:
        """Whether a rule broke, a change of a tool breaks clients, or no tool is exercised any more."""
        return bool(self.broke or self.breaking or self.is_at_the_door)

    @property
    def is_empty(self) -> bool:
        """Whether no finding and no tool changed, and the same tools were exercised."""
        rules = self.broke or self.changed or self.fixed or self.unseen
        return not (rules or self.tools or self.newly_exercised or self.no_longer_exercised)

    @property
    def verdict(self) -> str:
        """The comparison in one sentence."""
        parts = [f"{plural(_rules(self.broke), 'rule')} broke", f"{_rules(self.fixed)} fixed"]
        if self.changed:
            parts.append(f"{_rules(self.changed)} changed")
        if self.breaking:
            parts.append(f"{plural(len(self.breaking), 'change')} that can break clients")
        if self.is_at_the_door:
            parts.append("no tool is exercised any more")
        return ", ".join(parts)


def _rules(changes: Iterable[RuleChange]) -> int:
    """Return how many rules changed."""
    return len({one.requirement for one in changes})


def compared(old: Report, new: Report) -> Comparison:
    """Return the changes from ``old`` to ``new``."""
    before, after = _RuleStates(old.results), _RuleStates(new.results)
    worse = {place: one for place, one in after.broken.items() if place not in before.broken}
    better = {place: one for place, one in before.broken.items() if place not in after.broken}
    broke = _merged((place, before.word(place, one), str(one.outcome), one) for place, one in worse.items())
    in_both = (
        (place, before.broken[place], one) for place, one in after.broken.items() if place not in worse
    )
    changed = _merged(
        (place, str(was.outcome), str(now.outcome), now)
        for place, was, now in in_both
        if was.outcome is not now.outcome
    )
    no_longer_broken = _merged(
        (place, str(one.outcome), after.word(place, one), one) for place, one in better.items()
    )
    return Comparison(
        broke=broke,
        changed=changed,
        fixed=tuple(replace(one, reason="") for one in no_longer_broken if one.now != NOT_TESTED),
        unseen=tuple(one for one in no_longer_broken if one.now == NOT_TESTED),
        newly_tested=_names(after.rules - before.rules),
        no_longer_tested=_names(before.rules - after.rules),
        tools=tuple(_changes_of_tools(old, new)),
        notes=tuple(_notes(old, new)),
        **_exercise(old, new),
    )


def _exercise(old: Report, new: Report) -> dict[str, Any]:
    """Return what changed of the tools that were callable in both runs, if all checks were to run in both."""
    if old.is_partial or new.is_partial:
        return {}
    could = {one.name for one in old.callable_tools} & {one.name for one in new.callable_tools}
    before, after = ({one.name for one in each.exercised_tools} & could for each in (old, new))
    return {
        "newly_exercised": _names(after - before),
        "no_longer_exercised": _names(before - after),
        "is_at_the_door": bool(before) and new.status == "unexercised",
    }


# Rules -------------------------------------------------------------------------------------------


class _RuleStates:
    """Where each rule was broken in a run, and where it was kept."""

    def __init__(self, results: Sequence[Result]):
        found = sorted(without_repeats(results, *BROKEN), key=lambda one: one.outcome.place, reverse=True)
        self.broken = {JudgedRule(one.requirement, one.tool, one.revision): one for one in found}
        self.held = {place for one in results for place in _held(one)}
        self.passed = {_check(one) for one in results if _has_judged(one)}
        self.passed -= {_check(one) for one in results if not _has_judged(one)}

    @property
    def rules(self) -> set[str]:
        """The rules that were tested in some revision."""
        return {place.requirement for place in (*self.broken, *self.held)}

    def word(self, place: JudgedRule, found: Result) -> str:
        """Return the state of a rule that is not broken here; ``found`` is the other run's finding."""
        return "kept" if place in self.held or _check(found) in self.passed else NOT_TESTED


def _held(result: Result) -> Iterator[JudgedRule]:
    """Yield the rules that a check found to be kept."""
    if result.outcome in (Outcome.PASSED, Outcome.INFO):
        rows = catalogue.all_requirements()
        for id in result.requirements or (result.requirement,):
            if id not in rows or rows[id].holds_in(result.revision):
                yield JudgedRule(id, result.tool, result.revision)


def _has_judged(result: Result) -> bool:
    """Return whether a check judged all it could; the check of all messages does so whatever it finds."""
    return result.outcome is Outcome.PASSED or (is_of_all_messages(result) and result.outcome.is_judged)


def _check(result: Result) -> tuple[str, str, str]:
    return result.check, result.revision, result.tool


def _merged(changed: Iterable[tuple[JudgedRule, str, str, Result]]) -> tuple[RuleChange, ...]:
    """Merge changes that differ only in the revision."""
    groups: dict[tuple[str, str, str, str], list[Result]] = {}
    for place, was, now, result in changed:
        groups.setdefault((place.requirement, place.tool, was, now), []).append(result)
    return tuple(
        RuleChange(id, tool, tuple(sorted({one.revision for one in found})), was, now, found[0].reason)
        for (id, tool, was, now), found in sorted(groups.items())
    )


def _names(rules: set[str]) -> tuple[str, ...]:
    return tuple(sorted(rules))


# Tools -------------------------------------------------------------------------------------------


def _changes_of_tools(old: Report, new: Report) -> Iterator[OfferChange]:
    """Yield the changes of tools, each once for all revisions."""
    found: dict[OfferChange, None] = {}
    for before, after in _pairs(old, new):
        found |= dict.fromkeys(_between(before, after))
    yield from sorted(found, key=lambda one: (one.name, not one.breaking))


def _pairs(old: Report, new: Report) -> Iterator[tuple[Interface, Interface]]:
    """Yield the two interfaces in each revision that both tested; without one, the newest of each."""
    before, after = _tested(old), _tested(new)
    both = [revision for revision in before if revision in after]
    if both:
        yield from ((before[revision], after[revision]) for revision in both)
    elif before and after:
        yield before[max(before)], after[max(after)]


def _tested(report: Report) -> Mapping[str, Interface]:
    return {one.revision: one for one in report.revisions if one.state == TESTED}


def _between(old: Interface, new: Interface) -> Iterator[OfferChange]:
    before, after = ({tool.name: tool for tool in one.tools} for one in (old, new))
    for name in before.keys() - after.keys():
        if not new.left_out:
            yield OfferChange(name, "is gone", breaking=True)
    for name in after.keys() - before.keys():
        if not old.left_out:
            yield OfferChange(name, "is new")
    for name in before.keys() & after.keys():
        yield from _redefined(before[name], after[name], new.revision)


def _redefined(old: OfferedTool, new: OfferedTool, revision: str) -> Iterator[OfferChange]:
    """Yield the changes of a definition; one that was not kept is not compared."""
    if old.definition and new.definition:
        yield from tool_changes(old.name, old.definition, new.definition, revision)
    elif old.definition or new.definition:
        yield OfferChange(old.name, "is not compared, as its definition is too long")


# Texts -------------------------------------------------------------------------------------------


def _notes(old: Report, new: Report) -> Iterator[str]:
    """Yield what makes the reports hard to compare, and changes of options and features."""
    if old.tool_version != new.tool_version:
        versions = f"{old.tool_version} and {new.tool_version}"
        yield f"the reports were made by versions {versions} of this tool, whose rules differ"
    for place, report in (("first", old), ("second", new)):
        if report.ended:
            yield f"the run of the {place} report ended early: {report.ended}"
    for name in sorted(old.options.keys() | new.options.keys()):
        if (was := old.options.get(name)) != (now := new.options.get(name)):
            yield f"option {name} is {show(now)}, was {show(was)}"
    before, after = _tested(old), _tested(new)
    yield from (f"{revision} is no longer tested" for revision in before if revision not in after)
    yield from (f"{revision} was not tested before" for revision in after if revision not in before)
    for revision in sorted(before.keys() & after.keys()):
        was, now = set(before[revision].offers), set(after[revision].offers)
        yield from (f"{named(one)} is no longer offered in {revision}" for one in sorted(was - now))
        yield from (f"{named(one)} is offered in {revision}" for one in sorted(now - was))


def comparison_lines(old: Report, new: Report, comparison: Comparison) -> Iterator[str]:
    """Yield a comparison as lines of text."""
    yield f"from {_title(old)}"
    yield f"to   {_title(new)}"
    yield from comparison.notes
    for title, found in (
        ("broke", comparison.broke),
        ("broken before and now, with another outcome", comparison.changed),
        ("fixed", comparison.fixed),
        ("was broken, and is no longer tested", comparison.unseen),
        ("tools", comparison.tools),
    ):
        if found:
            yield f"\n{title}"
            yield from (f"  {one}" for one in found)
    for title, names in (
        ("newly tested", comparison.newly_tested),
        ("no longer tested", comparison.no_longer_tested),
        ("tools exercised for the first time", comparison.newly_exercised),
        ("tools no longer exercised", comparison.no_longer_exercised),
    ):
        if names:
            yield f"\n{title}: {first_names([named(one) for one in names])}"
    yield f"\n{comparison.verdict}"


def _title(report: Report) -> str:
    version = f" {named(report.version)}" if report.version else ""
    return f"{named(report.server)}{version}, {report.started}: {report.verdict}"
