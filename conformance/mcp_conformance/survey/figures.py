"""What the pages of a survey count: surveys in their order, rules with their servers, SDKs with theirs."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from mcp_conformance.outcome import FAILING, Outcome
from mcp_conformance.report.model import Result
from mcp_conformance.survey.results import Grade, SurveyResult

NO_SDK = "none known"


@dataclass(frozen=True)
class Entry:
    """A result as the pages show it: without credentials, and with ``counts`` instead of its matrix.

    ``counts`` has the number of rules with each outcome in each revision.
    """

    result: SurveyResult
    counts: Mapping[str, Counter[str]]
    broken: Mapping[str, Outcome]

    @classmethod
    def of(cls, result: SurveyResult) -> Entry:
        """Return the entry of a result; it is much smaller than the result."""
        shown = replace(result, matrix={}).shown
        broken = result.broken if result.grade is not Grade.NOT_JUDGED else {}
        return cls(shown, _counts(result.matrix), broken)

    @property
    def name(self) -> str:
        """The name of its target."""
        return self.result.target.name

    @property
    def version(self) -> str:
        """The version of its package, or what the server says its version is."""
        return self.result.target.version or self.result.server_version

    @property
    def page(self) -> str:
        """The address of its server's page, from the start page."""
        return f"servers/{file_name(self.name)}"

    @property
    def is_judged(self) -> bool:
        """Whether it has a grade."""
        return self.result.grade is not Grade.NOT_JUDGED

    @property
    def sdks(self) -> tuple[tuple[str, str], ...]:
        """The names and versions of its SDKs; `NO_SDK` if none is known."""
        return self.result.sdks or ((NO_SDK, ""),)

    def number(self, *outcomes: Outcome) -> int:
        """Return how many rules have one of these outcomes."""
        return sum(one in outcomes for one in self.broken.values())


def _counts(matrix: Mapping[str, Mapping[str, str]]) -> Mapping[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for row in matrix.values():
        for revision, outcome in row.items():
            found.setdefault(revision, Counter())[outcome] += 1
    return dict(sorted(found.items()))


def file_name(words: str) -> str:
    """Return the name of the page about something: words of a server become a safe and unique name."""
    digest = hashlib.blake2b(words.encode(errors="surrogatepass"), digest_size=4).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9.]+', '-', words)[:60].strip('-.') or 'x'}-{digest}.html"


@dataclass(frozen=True)
class Survey:
    """A survey: the newest entry of each server, with one version of this tool and one set of options."""

    tool_version: str
    options: tuple[str, ...]
    entries: tuple[Entry, ...]

    @cached_property
    def ended(self) -> str:
        """When its last examination started, in ISO 8601."""
        return max(one.result.started for one in self.entries)

    @cached_property
    def grades(self) -> Counter[Grade]:
        """The number of servers with each grade."""
        return Counter(one.result.grade for one in self.entries)

    @property
    def judged(self) -> int:
        """The number of servers that have a grade."""
        return len(self.entries) - self.grades[Grade.NOT_JUDGED]

    @cached_property
    def callable_tools(self) -> int:
        """The number of callable tools of all servers."""
        return sum(len(one.result.callable_tools) for one in self.entries)

    @cached_property
    def exercised_tools(self) -> int:
        """The number of those that were exercised."""
        return sum(len(one.result.exercised_tools) for one in self.entries)

    @property
    def at_the_door(self) -> int:
        """The number of servers with callable tools of which none was exercised."""
        return sum(one.result.is_at_the_door for one in self.entries)

    @cached_property
    def obstacles(self) -> Counter[str]:
        """The number of servers that could not be judged, for each reason, the most frequent first."""
        return _frequent(one.result.obstacle for one in self.entries if not one.is_judged)

    @cached_property
    def rules(self) -> Mapping[str, tuple[Entry, ...]]:
        """The servers that break each rule; the rule that most servers fail comes first."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            for rule in entry.broken:
                found.setdefault(rule, []).append(entry)
        return {
            rule: tuple(found[rule])
            for rule in sorted(found, key=lambda rule: (-_reds(rule, found[rule]), -len(found[rule]), rule))
        }

    @cached_property
    def sdks(self) -> Mapping[str, Mapping[str, tuple[Entry, ...]]]:
        """The servers on each SDK, by its version; the SDK of most servers comes first, `NO_SDK` last.

        A server on a framework counts for the framework and for the SDK below it.
        """
        found: dict[str, dict[str, list[Entry]]] = {}
        for entry in self.entries:
            for name, version in entry.sdks:
                found.setdefault(name, {}).setdefault(version, []).append(entry)
        numbers = {name: sum(map(len, one.values())) for name, one in found.items()}
        order = sorted(found, key=lambda name: (name == NO_SDK, -numbers[name], name))
        return {
            name: {version: tuple(found[name][version]) for version in sorted(found[name], key=_by_number)}
            for name in order
        }


def broken_rules(surveys: Sequence[Survey]) -> Mapping[str, Result]:
    """Return every rule that a server broke in one of these surveys, with a finding that states it.

    The rules of the newest survey come first, in its order; the others are broken no more.
    """
    newest_first = list(reversed(surveys))
    stated: dict[str, Result] = {}
    for survey in newest_first:
        for entry in survey.entries:
            for one in entry.result.findings:
                stated.setdefault(one.requirement, one)
    rules = dict.fromkeys(rule for survey in newest_first for rule in survey.rules)
    return {rule: stated[rule] for rule in rules}


def before(surveys: Sequence[Survey]) -> Survey | None:
    """Return the survey before the newest, with the same options; None if there is none."""
    newest = surveys[-1]
    return next((one for one in reversed(surveys[:-1]) if one.options == newest.options), None)


def _reds(rule: str, entries: Iterable[Entry]) -> int:
    return with_outcome(rule, entries, *FAILING)


def with_outcome(rule: str, entries: Iterable[Entry], *outcomes: Outcome) -> int:
    """Return how many servers have one of these outcomes of a rule."""
    return sum(one.broken.get(rule) in outcomes for one in entries)


def _frequent(words: Iterable[str]) -> Counter[str]:
    return Counter(dict(Counter(words).most_common()))


def _by_number(version: str) -> list[tuple[int, str]]:
    """Return the key that sorts the newest version first."""
    return [(-int(part), "") if part.isdigit() else (1, part) for part in re.split(r"[.+-]", version)]


def surveys_of(results: Iterable[SurveyResult]) -> list[Survey]:
    """Return the surveys of a store, the newest last.

    A new survey begins where a server has a second result with the same version of this tool and the same
    options, such as for its next release.  It has the earlier results of all servers that did not change.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[Entry]] = {}
    for entry in sorted(map(Entry.of, results), key=lambda one: (one.result.started, one.name)):
        groups.setdefault((entry.result.tool_version, entry.result.options), []).append(entry)
    found = [Survey(*key, entries) for key, group in groups.items() for entries in _successive(group)]
    return sorted(found, key=lambda one: one.ended)


def _successive(group: Iterable[Entry]) -> Iterator[tuple[Entry, ...]]:
    """Yield the newest entries of all servers, each time before a server comes again, and at the end."""
    newest: dict[str, Entry] = {}
    seen: set[str] = set()
    for entry in group:
        if entry.name in seen:
            yield _by_name(newest)
            seen.clear()
        newest[entry.name] = entry
        seen.add(entry.name)
    yield _by_name(newest)


def _by_name(entries: Mapping[str, Entry]) -> tuple[Entry, ...]:
    return tuple(entries[name] for name in sorted(entries))
