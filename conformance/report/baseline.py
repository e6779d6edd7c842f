"""Findings that are known: a TOML file of them, what it excuses in a run, and what in it is out of date.

Nothing here runs or prints anything; a run's results come in, sentences and entries go out.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeAlias

from conformance.protocol import revisions
from conformance.protocol.text import named
from conformance.report.model import Result, looks_at_all, told_once
from conformance.requirements import catalogue
from conformance.requirements.checks import LAST, checked, checks
from conformance.verdicts import UNTESTED, Outcome

HEADER = re.compile(r"\s*\[\[\s*expected\s*\]\]")
HEAD = "# Known findings, for --mcp-baseline. `mcp-conformance baseline update` rewrites the entries below.\n"
WRITTEN = (Outcome.FAILED, Outcome.BLOCKED, Outcome.WARNED)
"""The outcomes that are written down; what informs is no trouble that has to be excused."""
FOUND = (*WRITTEN, Outcome.EXPECTED, Outcome.INFO)
NAME_SHOWN = 100

Listed: TypeAlias = Mapping[str, frozenset[str] | None]
"""Each revision that was tested, with the names of the tools it lists; None if they are not all known."""


class BadBaseline(ValueError):  # noqa: N818  (a mistake of the user's, in one line)
    """A file that cannot be used as a baseline, and why."""


@dataclass(frozen=True)
class Entry:
    """A known finding: a rule that the server breaks, with one ``tool`` or with whatever there is.

    Without ``revisions`` it is known in all of them.  ``checks`` are those that found it; they tell when it
    is mended, unless it is ``flaky`` and comes and goes by itself.  ``line`` is where it stands in its file,
    0 if that cannot be said.
    """

    requirement: str
    tool: str = ""
    revisions: tuple[str, ...] = ()
    reason: str = ""
    expires: date | None = None
    flaky: bool = False
    checks: tuple[str, ...] = ()
    line: int = 0

    @property
    def title(self) -> str:
        """The rule and the tool, for a sentence."""
        return f"{self.requirement} ({named(self.tool)})" if self.tool else self.requirement

    def is_about(self, result: Result) -> bool:
        """Whether the result is of this rule, revision and tool."""
        return (
            result.requirement == self.requirement
            and (not self.revisions or result.revision in self.revisions)
            and (not self.tool or self.tool in names_of(result.tool))
        )

    def excuses(self, result: Result, today: date) -> bool:
        """Whether this makes a finding a known one.

        The look at all messages cannot say which tool a message was about, and tells what others have told.
        """
        if self.expires is not None and self.expires < today:
            return False
        return self.is_about(replace(result, tool=self.tool) if looks_at_all(result) else result)


def names_of(tool: str) -> tuple[str, str]:
    """A tool's name as it is written in a baseline, in one line whatever it is, and as the server has it."""
    return named(tool, NAME_SHOWN), tool


# Reading -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Baseline:
    """The entries of a file, with its ``name`` as the user gave it, and the comment it begins with."""

    name: str
    entries: tuple[Entry, ...] = ()
    head: str = HEAD

    def excuse(self, result: Result, today: date) -> Entry | None:
        """The entry that makes this finding a known one."""
        if result.outcome not in FOUND:
            return None
        fitting = [entry for entry in self.entries if entry.excuses(result, today)]
        return max(fitting, key=lambda entry: (entry.is_about(result), bool(entry.tool)), default=None)


def read(path: Path, name: str) -> Baseline:
    """The baseline in a file.  Raises `BadBaseline`."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadBaseline(f"no such file: {name} (mcp-conformance baseline update writes one)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadBaseline(f"{name}: {error}") from None
    return parse(text, name)


def parse(text: str, name: str) -> Baseline:
    """The baseline that a text holds.  Raises `BadBaseline`."""
    try:
        told = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadBaseline(f"{name}: not TOML: {error}") from None
    tables = told.pop("expected", [])
    if told or not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadBaseline(f"{name}: tables [[expected]] are expected, and nothing else")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if HEADER.match(line)]
    if len(lines) != len(tables):
        lines = [0] * len(tables)
    entries = tuple(
        _entry(table, line, f"{name}:{line}" if line else f"{name}: entry {number}")
        for number, (table, line) in enumerate(zip(tables, lines, strict=True), 1)
    )
    return Baseline(name, entries, _head(text))


def _head(text: str) -> str:
    """The comment that the file begins with, which is kept when it is rewritten."""
    lines = text.splitlines(keepends=True)
    first = next((number for number, line in enumerate(lines) if not _is_comment(line)), len(lines))
    return "".join(lines[:first]).rstrip() + "\n" if first else HEAD


def _is_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _entry(table: Mapping[str, Any], line: int, where: str) -> Entry:
    if unknown := sorted(table.keys() - _FORMS.keys()):
        raise BadBaseline(f"{where}: unknown member {unknown[0]!r}; known are {', '.join(_FORMS)}")
    for member, value in table.items():
        holds, expected = _FORMS[member]
        if not holds(value):
            raise BadBaseline(f"{where}: `{member}` is {expected}")
    if "requirement" not in table:
        raise BadBaseline(f"{where}: an entry needs a `requirement`")
    told: dict[str, Any] = {name: tuple(of) if isinstance(of, list) else of for name, of in table.items()}
    return Entry(**told, line=line)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _are_revisions(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(one in revisions.KNOWN for one in value)


def _are_checks(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


_FORMS = {
    "requirement": (_is_text, "the id of a requirement"),
    "tool": (_is_text, "the name of a tool"),
    "revisions": (_are_revisions, f"a list of revisions, of {', '.join(revisions.KNOWN)}"),
    "reason": (lambda value: isinstance(value, str), "a text"),
    "expires": (lambda value: type(value) is date, "a date without quotes, such as 2027-03-01"),
    "flaky": (lambda value: isinstance(value, bool), "true or false"),
    "checks": (_are_checks, "a list of checks' names"),
}


# Writing -----------------------------------------------------------------------------------------


def written(baseline: Baseline) -> str:
    """The text of a file that holds this baseline."""
    return "\n".join([baseline.head, *map(_table, baseline.entries)])


def _table(entry: Entry) -> str:
    rows = ["[[expected]]", f"requirement = {_string(entry.requirement)}"]
    rows += [f"tool = {_string(entry.tool)}"] if entry.tool else []
    rows += [f"revisions = {_strings(entry.revisions)}"] if entry.revisions else []
    rows += [f"reason = {_string(entry.reason)}"]
    rows += [f"expires = {entry.expires}"] if entry.expires is not None else []
    rows += ["flaky = true"] if entry.flaky else []
    rows += [f"checks = {_strings(entry.checks)}"] if entry.checks else []
    return "\n".join(rows) + "\n"


def _string(text: str) -> str:
    """A basic string of TOML; JSON's escapes are among its own."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _strings(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_string, texts))}]"


# Looking at a run --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fate:
    """What became of an entry in a run: the revisions it is ``broken`` in, those it is ``mended`` in.

    An entry is ``unknown`` when there is no such requirement, and ``gone`` when its tool is not listed.  It
    is ``over`` when nothing is left of it.
    """

    broken: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    over: bool = False
    unknown: bool = False
    gone: bool = False


@dataclass(frozen=True)
class Seen:
    """A run: its results, and what was listed in it."""

    results: Sequence[Result]
    listed: Listed

    @cached_property
    def _by_check(self) -> Mapping[tuple[str, str], list[Result]]:
        found: dict[tuple[str, str], list[Result]] = {}
        for result in self.results:
            found.setdefault((check_of(result), result.revision), []).append(result)
        return found

    def fate(self, entry: Entry) -> Fate:
        """What became of an entry."""
        row = catalogue.all_requirements().get(entry.requirement)
        if row is None:
            return Fate(over=True, unknown=True)
        broken = tuple(sorted({one.revision for one in self.results if self._is_broken(entry, one)}))
        concerned = [one for one in self.listed if one in (entry.revisions or row.revisions)]
        if entry.tool and concerned and not broken and all(self._lacks(entry.tool, one) for one in concerned):
            return Fate(over=set(entry.revisions) <= set(concerned), gone=True)
        hopeful = [] if entry.flaky else [one for one in concerned if one not in broken]
        mended = tuple(one for one in hopeful if self._was_tried(entry, one))
        over = bool(mended) and not broken and set(mended) == set(entry.revisions or concerned)
        return Fate(broken, mended, over)

    @staticmethod
    def _is_broken(entry: Entry, result: Result) -> bool:
        return result.outcome in FOUND and entry.is_about(result)

    def _lacks(self, tool: str, revision: str) -> bool:
        names = self.listed[revision]
        return names is not None and not any(tool in names_of(name) for name in names)

    def _was_tried(self, entry: Entry, revision: str) -> bool:
        """Whether the checks that found it have looked again.

        Where no check is named, it is one that cites the rule, in a run that looked at all messages.
        """
        if told := [check for check in entry.checks if check in known_checks()]:
            return all(self._has_looked(check, entry.tool, revision) for check in told)
        citing = [f"{check.suite}::{check.name}" for check in checked().get(entry.requirement, ())]
        last = [check for check in known_checks() if check.startswith(LAST)]
        looked = all(self._has_looked(check, "", revision) for check in last)
        return looked and any(self._has_looked(check, entry.tool, revision) for check in citing or last)

    def _has_looked(self, check: str, tool: str, revision: str) -> bool:
        """Whether a check has passed, with this tool; the look at all messages tells all that it finds."""
        there = self._by_check.get((check, revision), [])
        about = [one for one in there if not tool or not one.tool or tool in names_of(one.tool)]
        if check.startswith(LAST):
            return bool(about) and not any(one.outcome in UNTESTED for one in about)
        return bool(about) and all(one.outcome is Outcome.PASSED for one in about)

    def findings(self) -> list[Result]:
        """What is worth an entry."""
        return told_once(self.results, *WRITTEN)


def check_of(result: Result) -> str:
    """The check that a result is of, as ``test_tools.py::test_what_holds``."""
    return result.node.partition("[")[0].rpartition("/")[2]


@cache
def known_checks() -> frozenset[str]:
    """The checks there are, in the same form."""
    return frozenset(f"{check.suite}::{check.name}" for check in checks())


def _finders(results: Iterable[Result]) -> tuple[str, ...]:
    """The checks that these results are of; what kept the run from starting is of none."""
    return tuple(sorted({check_of(one) for one in results} & known_checks()))


def complaints(baseline: Baseline, seen: Seen, today: date) -> Iterator[str]:
    """What is out of date in a baseline and how to mend it, each with its line."""
    for entry in baseline.entries:
        where = f"{baseline.name}:{entry.line}" if entry.line else baseline.name
        for text in _complaint(entry, seen.fate(entry), today):
            yield f"{where}: {text}"


def _complaint(entry: Entry, fate: Fate, today: date) -> Iterator[str]:
    if fate.unknown or fate.over:
        yield f"{_why(entry, fate)}: remove this entry"
    elif fate.mended and entry.revisions:
        yield f"{entry.title} is mended in {', '.join(fate.mended)}: take that out of `revisions`"
    elif fate.broken and entry.expires is not None and entry.expires < today:
        text = f"{entry.title} has expired on {entry.expires} and is still broken"
        yield f"{text}: mend it, or set a later date"


def _why(entry: Entry, fate: Fate) -> str:
    """Why nothing is left of an entry."""
    if fate.unknown:
        return _unknown(entry.requirement)
    if fate.gone:
        return f"{entry.requirement}: the server lists no tool {named(entry.tool)!r}"
    return f"{entry.title} is mended"


def _unknown(requirement: str) -> str:
    try:
        catalogue.requirement(requirement)
    except catalogue.UnknownRequirement as error:
        hint = f" (did you mean {' or '.join(error.suggestions)}?)" if error.suggestions else ""
        return f"there is no requirement {requirement!r}{hint}"
    return requirement


# Updating ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Update:
    """A baseline as it is after a run, and in sentences what has changed."""

    baseline: Baseline
    changes: tuple[str, ...]


def updated(baseline: Baseline, seen: Seen) -> Update:
    """Keep what is broken or was not tried, drop what is mended, add what is new."""
    kept, changes = [], []
    for entry in baseline.entries:
        fate = seen.fate(entry)
        if fate.over:
            changes.append(f"dropped: {_why(entry, fate)}")
            continue
        kept.append(_freshened(entry, fate, seen))
        if fate.mended and entry.revisions:
            changes.append(f"mended in {', '.join(fate.mended)}: {entry.title}")
    fresh = list(_fresh(kept, seen))
    changes += [f"added: {entry.title}" for entry in fresh]
    return Update(replace(baseline, entries=(*kept, *fresh)), tuple(changes))


def _freshened(entry: Entry, fate: Fate, seen: Seen) -> Entry:
    """An entry without the revisions it is mended in, and with the checks that found it now."""
    left = tuple(one for one in entry.revisions if one not in fate.mended)
    found = _finders(one for one in seen.findings() if entry.is_about(one))
    return replace(entry, revisions=left, checks=found or entry.checks)


def _fresh(kept: Sequence[Entry], seen: Seen) -> Iterator[Entry]:
    """Entries for what the kept ones do not know, whether or not they have expired."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for one in seen.findings():
        if not any(entry.excuses(one, date.min) for entry in kept):
            groups.setdefault((one.requirement, names_of(one.tool)[0]), []).append(one)
    for (requirement, tool), found in sorted(groups.items()):
        where = {one.revision for one in found}
        row = catalogue.requirement(requirement)
        everywhere = where >= {one for one in seen.listed if row.holds_in(one)}
        yield Entry(requirement, tool, () if everywhere else tuple(sorted(where)), checks=_finders(found))
