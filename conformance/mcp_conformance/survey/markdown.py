"""A survey as one page of Markdown: a table of the servers, and what each red rule means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from mcp_conformance.outcome import COUNTED
from mcp_conformance.report.formats.markdown import code
from mcp_conformance.report.model import Result, plural
from mcp_conformance.requirements.catalogue import families
from mcp_conformance.survey.notes import Notes
from mcp_conformance.survey.results import Grade, SurveyResult

COLUMNS = (
    "server",
    "package",
    "built on",
    "revisions",
    "grade",
    *(f"{one.style.mark} {one}" for one in COUNTED),
    "seconds",
)
UNREAD = "Not explained yet."


def unexplained(results: Iterable[SurveyResult], notes: Notes) -> Iterator[str]:
    """Yield a line for each failing rule without a note, and each note on a rule that is not broken."""
    surveyed = list(results)
    red = {(one.target.name, rule) for one in surveyed for rule in failing(one)}
    broken = {(one.target.name, found.requirement) for one in surveyed for found in one.findings}
    yield from (f"{server}: {rule} is red and not explained" for server, rule in sorted(red - notes.keys()))
    yield from (
        f"{server}: {rule} is explained and not broken" for server, rule in sorted(notes.keys() - broken)
    )


def failing(result: SurveyResult, notes: Notes | None = None) -> dict[str, Result]:
    """Return the first finding of each rule that fails or is blocked, or that has a note."""
    found: dict[str, Result] = {}
    for one in result.findings:
        if one.outcome.fails or (result.target.name, one.requirement) in (notes or {}):
            found.setdefault(one.requirement, one)
    return found


def render(results: Iterable[SurveyResult], notes: Notes) -> str:
    """Return the page: totals, the table, and each rule that fails or has notes."""
    surveyed = sorted(results, key=lambda one: one.target.name)
    blocks = [_totals(surveyed), "\n".join(_table(surveyed)), *_rules(surveyed, notes)]
    return "\n\n".join(blocks) + "\n"


def _totals(results: Sequence[SurveyResult]) -> str:
    counted = Counter(one.grade for one in results)
    grades = ", ".join(f"{counted[grade]} {grade}" for grade in Grade if counted[grade])
    rules = len({rule for one in results for rule in failing(one)})
    are = "rule is" if rules == 1 else "rules are"
    return f"{plural(len(results), 'server')}: {grades}. {rules} {are} broken by some server."


def _table(results: Iterable[SurveyResult]) -> Iterator[str]:
    yield _row(COLUMNS)
    yield _row("---" for _ in COLUMNS)
    for one in results:
        counted = Counter({(found.requirement, found.outcome) for found in one.findings})
        by_outcome = Counter(outcome for _, outcome in counted)
        package = f"{one.target.package} {one.target.version}".strip()
        grade = f"{one.grade} ({one.obstacle})" if one.obstacle else str(one.grade)
        numbers = (str(by_outcome[outcome]) for outcome in COUNTED)
        revisions = ", ".join(one.revisions)
        yield _row(
            [code(one.target.name), code(package), one.sdk, revisions, grade, *numbers, f"{one.seconds:.0f}"]
        )


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rules(results: Iterable[SurveyResult], notes: Notes) -> Iterator[str]:
    """Yield each rule that fails or has notes, and what it means on which servers."""
    found: dict[str, dict[str, list[str]]] = {}
    first: dict[str, Result] = {}
    for result in results:
        name = result.target.name
        for rule, one in failing(result, notes).items():
            note = notes.get((name, rule), UNREAD)
            found.setdefault(rule, {}).setdefault(note, []).append(f"{code(name)} ({one.outcome})")
            first.setdefault(rule, one)
    places = {family: number for number, family in enumerate(families())}
    for rule in sorted(found, key=lambda rule: (places[rule.partition(".")[0]], rule)):
        yield f"## `{rule}`"
        one = first[rule]
        yield f"{one.says} ({one.level}, {one.basis}; [specification]({one.spec}))"
        yield "\n".join(f"- {', '.join(servers)}: {note}" for note, servers in found[rule].items())
