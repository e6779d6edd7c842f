"""The baseline: a TOML file of expected findings, what it excuses, and what is out of date in it.

Nothing here runs or prints anything: results come in, sentences and entries go out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeAlias

from mcp_conformance.outcome import COUNTED, Outcome
from mcp_conformance.protocol import revisions
from mcp_conformance.protocol.text import named
from mcp_conformance.report.model import Result, is_of_all_messages, without_repeats
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.checks import LAST, checked, checks
from mcp_conformance.transport.files import MAX_TOML_BYTES, BadFile, read_file, toml_value

TABLE = "expected"
HEADER = re.compile(rf"\s*\[\[\s*{TABLE}\s*\]\]")
HEAD = "# Expected findings, for --baseline. `mcp-conformance baseline update` rewrites the entries below.\n"
MAX_NAME = 100

Listed: TypeAlias = Mapping[str, frozenset[str] | None]
"""Each revision that was tested, with the names of its tools; None if not all of them are known."""


@dataclass(frozen=True)
class BaselineEntry:
    """An expected finding: a rule that the server breaks, with one ``tool`` or with any.

    Without ``revisions`` it is expected in all of them.  ``checks`` are those that found it; they decide
    whether it is fixed, unless it is ``flaky`` and comes and goes.  ``line`` is its place in the file, 0 if
    unknown.
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
        """Return whether the result has this rule, revision and tool."""
        return (
            result.requirement == self.requirement
            and (not self.revisions or result.revision in self.revisions)
            and (not self.tool or self.tool in names_of(result.tool))
        )

    def excuses(self, result: Result, today: date) -> bool:
        """Return whether this entry expects a finding.

        The check of all messages names no tool and repeats what others found, so any tool fits it.
        """
        if self.expires is not None and self.expires < today:
            return False
        return self.is_about(replace(result, tool=self.tool) if is_of_all_messages(result) else result)


def names_of(tool: str) -> tuple[str, str]:
    """Return a tool's name as a baseline has it, in one line, and as the server has it."""
    return named(tool, MAX_NAME), tool


# Reading -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Baseline:
    """The entries of a file, with its ``name`` as the user gave it, and the comment at its head."""

    name: str
    entries: tuple[BaselineEntry, ...] = ()
    head: str = HEAD

    def excuse(self, result: Result, today: date) -> BaselineEntry | None:
        """Return the entry that expects this finding; None if there is none."""
        if not result.outcome.is_finding:
            return None
        fitting = [entry for entry in self.entries if entry.excuses(result, today)]
        return max(fitting, key=lambda entry: (entry.is_about(result), bool(entry.tool)), default=None)


def read(path: Path, name: str) -> Baseline:
    """Return the baseline in a file.  Raises `BadFile`."""
    if not path.exists():
        raise BadFile(f"no such file: {name} (mcp-conformance baseline update writes one)")
    return parse(read_file(path, str, MAX_TOML_BYTES), name)


def parse(text: str, name: str) -> Baseline:
    """Return the baseline in a text.  Raises `BadFile`."""
    try:
        document = toml_value(text)
    except BadFile as error:
        raise BadFile(f"{name}: {error}") from None
    tables = document.pop(TABLE, [])
    if document or not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadFile(f"{name}: only tables [[{TABLE}]] are allowed")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if HEADER.match(line)]
    if len(lines) != len(tables):
        lines = [0] * len(tables)
    entries = tuple(
        _entry(table, line, f"{name}:{line}" if line else f"{name}: entry {number}")
        for number, (table, line) in enumerate(zip(tables, lines, strict=True), 1)
    )
    return Baseline(name, entries, _head(text))


def _head(text: str) -> str:
    """Return the comment at the head of the file, which a rewrite keeps."""
    lines = text.splitlines(keepends=True)
    first = next((number for number, line in enumerate(lines) if not _is_comment(line)), len(lines))
    return "".join(lines[:first]).rstrip() + "\n" if first else HEAD


def _is_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _entry(table: Mapping[str, Any], line: int, where: str) -> BaselineEntry:
    if unknown := sorted(table.keys() - _FORMS.keys()):
        raise BadFile(f"{where}: unknown member {unknown[0]!r}; allowed are {', '.join(_FORMS)}")
    for member, value in table.items():
        holds, expected = _FORMS[member]
        if not holds(value):
            raise BadFile(f"{where}: `{member}` must be {expected}")
    if "requirement" not in table:
        raise BadFile(f"{where}: an entry needs a `requirement`")
    members: dict[str, Any] = {name: tuple(of) if isinstance(of, list) else of for name, of in table.items()}
    return BaselineEntry(**members, line=line)


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
    "checks": (_are_checks, "a list of names of checks"),
}


# Writing -----------------------------------------------------------------------------------------


def to_toml(baseline: Baseline) -> str:
    """Return the text of a file with this baseline."""
    return "\n".join([baseline.head, *map(_table, baseline.entries)])


def _table(entry: BaselineEntry) -> str:
    rows = [f"[[{TABLE}]]", f"requirement = {_string(entry.requirement)}"]
    rows += [f"tool = {_string(entry.tool)}"] if entry.tool else []
    rows += [f"revisions = {_strings(entry.revisions)}"] if entry.revisions else []
    rows += [f"reason = {_string(entry.reason)}"]
    rows += [f"expires = {entry.expires}"] if entry.expires is not None else []
    rows += ["flaky = true"] if entry.flaky else []
    rows += [f"checks = {_strings(entry.checks)}"] if entry.checks else []
    return "\n".join(rows) + "\n"


def _string(text: str) -> str:
    """Return a TOML basic string; JSON's escapes are among its own."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _strings(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_string, texts))}]"


# Comparing a run with the baseline ---------------------------------------------------------------


@dataclass(frozen=True)
class EntryState:
    """The state of an entry after a run: the revisions where it is ``broken``, and where it is ``fixed``.

    An entry is ``unknown`` if there is no such requirement, ``gone`` if its tool is not listed, and ``over``
    if nothing of it is left.
    """

    broken: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    over: bool = False
    unknown: bool = False
    gone: bool = False


@dataclass(frozen=True)
class RunEvidence:
    """What a run says about a baseline: its results, and the tools listed in each revision."""

    results: Sequence[Result]
    listed: Listed

    @cached_property
    def _by_check(self) -> Mapping[tuple[str, str], list[Result]]:
        found: dict[tuple[str, str], list[Result]] = {}
        for result in self.results:
            found.setdefault((check_of(result), result.revision), []).append(result)
        return found

    def state_of(self, entry: BaselineEntry) -> EntryState:
        """Return the state of an entry."""
        try:
            row = catalogue.requirement(entry.requirement)
        except catalogue.UnknownRequirement:
            return EntryState(over=True, unknown=True)
        broken = tuple(sorted({one.revision for one in self.results if self._is_broken(entry, one)}))
        concerned = [one for one in self.listed if one in (entry.revisions or row.revisions)]
        if entry.tool and concerned and not broken and all(self._lacks(entry.tool, one) for one in concerned):
            return EntryState(over=set(entry.revisions) <= set(concerned), gone=True)
        possibly_fixed = [] if entry.flaky else [one for one in concerned if one not in broken]
        fixed = tuple(one for one in possibly_fixed if self._was_tried(entry, one))
        over = bool(fixed) and not broken and set(fixed) == set(entry.revisions or concerned)
        return EntryState(broken, fixed, over)

    @staticmethod
    def _is_broken(entry: BaselineEntry, result: Result) -> bool:
        return result.outcome.is_finding and entry.is_about(result)

    def _lacks(self, tool: str, revision: str) -> bool:
        names = self.listed[revision]
        return names is not None and not any(tool in names_of(name) for name in names)

    def _was_tried(self, entry: BaselineEntry, revision: str) -> bool:
        """Return whether the checks that found it have judged it again.

        If no check is named, some check that cites the rule is enough, in a run that judged all messages.
        """
        if entry.requirement in catalogue.own_rules():
            own = {check_of(one) for one in self.results if one.requirement == entry.requirement}
            return bool(own) and all(self._has_judged(check, entry.tool, revision) for check in own)
        if finders := [check for check in entry.checks if check in known_checks()]:
            return all(self._has_judged(check, entry.tool, revision) for check in finders)
        citing = [f"{check.suite}::{check.name}" for check in checked().get(entry.requirement, ())]
        last = [check for check in known_checks() if check.startswith(LAST)]
        is_whole = all(self._has_judged(check, "", revision) for check in last)
        return is_whole and any(self._has_judged(check, entry.tool, revision) for check in citing or last)

    def _has_judged(self, check: str, tool: str, revision: str) -> bool:
        """Return whether a check passed with this tool; that of all messages may find other rules broken."""
        there = self._by_check.get((check, revision), [])
        about = [one for one in there if not tool or not one.tool or tool in names_of(one.tool)]
        if check.startswith(LAST):
            return bool(about) and all(one.outcome.is_judged for one in about)
        return bool(about) and all(one.outcome is Outcome.PASSED for one in about)

    def findings(self) -> list[Result]:
        """Return the results that become entries; a note needs no excuse."""
        return without_repeats(self.results, *COUNTED)


def check_of(result: Result) -> str:
    """Return the check of a result, as ``test_tools.py::test_its_rule``."""
    return result.node.partition("[")[0].rpartition("/")[2]


@cache
def known_checks() -> frozenset[str]:
    """Return all checks, in the same form."""
    return frozenset(f"{check.suite}::{check.name}" for check in checks())


def _finders(results: Iterable[Result]) -> tuple[str, ...]:
    """Return the checks of these results; a failure of the probe has no check."""
    return tuple(sorted({check_of(one) for one in results} & known_checks()))


def outdated_entries(baseline: Baseline, evidence: RunEvidence, today: date) -> Iterator[str]:
    """Yield what is out of date in a baseline and how to fix it, each with its line."""
    for entry in baseline.entries:
        where = f"{baseline.name}:{entry.line}" if entry.line else baseline.name
        for text in _outdated(entry, evidence.state_of(entry), today):
            yield f"{where}: {text}"


def _outdated(entry: BaselineEntry, state: EntryState, today: date) -> Iterator[str]:
    if state.unknown or state.over:
        yield f"{_why(entry, state)}: remove this entry"
    elif state.fixed and entry.revisions:
        yield f"{entry.title} is fixed in {', '.join(state.fixed)}: remove that from `revisions`"
    elif state.broken and entry.expires is not None and entry.expires < today:
        text = f"{entry.title} expired on {entry.expires} and is still broken"
        yield f"{text}: fix it, or set a later date"


def _why(entry: BaselineEntry, state: EntryState) -> str:
    """Return why nothing is left of an entry."""
    if state.unknown:
        return _unknown(entry.requirement)
    if state.gone:
        return f"{entry.requirement}: the server lists no tool {named(entry.tool)!r}"
    return f"{entry.title} is fixed"


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
    """A baseline after a run, and its changes as sentences."""

    baseline: Baseline
    changes: tuple[str, ...]


def updated(baseline: Baseline, evidence: RunEvidence) -> Update:
    """Keep the entries that are broken or were not tried, drop those that are fixed, add new findings."""
    kept, changes = [], []
    for entry in baseline.entries:
        state = evidence.state_of(entry)
        if state.over:
            changes.append(f"dropped: {_why(entry, state)}")
            continue
        kept.append(_refreshed(entry, state, evidence))
        if state.fixed and entry.revisions:
            changes.append(f"fixed in {', '.join(state.fixed)}: {entry.title}")
    new = list(_new_entries(kept, evidence))
    changes += [f"added: {entry.title}" for entry in new]
    return Update(replace(baseline, entries=(*kept, *new)), tuple(changes))


def _refreshed(entry: BaselineEntry, state: EntryState, evidence: RunEvidence) -> BaselineEntry:
    """Return an entry without the revisions in which it is fixed, and with the checks that found it now."""
    left = tuple(one for one in entry.revisions if one not in state.fixed)
    found = _finders(one for one in evidence.findings() if entry.is_about(one))
    return replace(entry, revisions=left, checks=found or entry.checks)


def _new_entries(kept: Sequence[BaselineEntry], evidence: RunEvidence) -> Iterator[BaselineEntry]:
    """Yield entries for findings that the kept ones do not cover, expired or not."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for one in evidence.findings():
        if not any(entry.excuses(one, date.min) for entry in kept):
            groups.setdefault((one.requirement, names_of(one.tool)[0]), []).append(one)
    for (requirement, tool), found in sorted(groups.items()):
        where = {one.revision for one in found}
        row = catalogue.requirement(requirement)
        everywhere = where >= {one for one in evidence.listed if row.holds_in(one)}
        revisions_ = () if everywhere else tuple(sorted(where))
        yield BaselineEntry(requirement, tool, revisions_, checks=_finders(found))
