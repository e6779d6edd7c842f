"""Pytest glue: what a check's result is worth, and how pytest shows and stores it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest

from conformance import catalogue
from conformance.collection import (
    OUTLIVED,
    SUBJECT,
    is_ours,
    newly_let_go,
    revision_of,
    server_for,
    tool_name,
)
from conformance.ecosystem import known_deviation
from conformance.options import value
from conformance.process import CannotStart
from conformance.report import (
    Evidence,
    Result,
    again,
    crash_text,
    finding_lines,
    finding_text,
    grouped,
    held_back_line,
    known_lines,
    limit_lines,
    subject_lines,
    table,
    verdict_line,
)
from conformance.verdict import ORDER, UNTESTED, Blocked, Finding, Outcome, loudness
from conformance.wire import shorten

RESULTS = pytest.StashKey[list[Result]]()
PROPERTIES = ("requirement", "level", "basis", "revision", "spec", "outcome")
LETTERS = {Outcome.WARNED: "W", Outcome.INFORMED: "i", Outcome.BLOCKED: "B", Outcome.CRASHED: "E"}
CATEGORIES = {Outcome.BLOCKED: "failed", Outcome.CRASHED: "error"}


def pytest_configure(config: pytest.Config) -> None:
    """Start an empty collection of results."""
    config.stash[RESULTS] = []


# Judging -----------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn what a check raised into its outcome."""
    report = yield
    if not is_ours(item) or (call.when != "call" and report.passed):
        return report
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, KeyboardInterrupt):
        return report
    told = [error, *getattr(error, "others", ())]
    results = [_judged(item, report, one) for one in told]
    results.sort(key=lambda result: ORDER.index(result.outcome), reverse=True)
    worst = results[0]
    texts = [result.text for result in results if result.text]
    if texts:
        report.longrepr = "\n\n".join(texts)
    _store(item, report, results)
    if worst.outcome in (Outcome.WARNED, Outcome.INFORMED):
        report.outcome = "passed"
        report.longrepr = None
    return report


def _judged(item: pytest.Item, report: pytest.TestReport, error: BaseException | None) -> Result:
    """What became of a check, by one of the errors it told."""
    row = _judged_row(item, error)
    revision = _revision(item, row)
    result = Result(
        node=item.nodeid,
        requirement=row.id,
        level=row.level(revision),
        basis=row.basis(revision),
        revision=revision_of(item),
        says=row.says,
        spec=row.url(revision),
        outcome=_outcome(item, report, error, row),
        tool=getattr(error, "tool", "") or tool_name(item),
        reason=_reason(report, error),
        known=_known(item, row, error),
    )
    if result.outcome in (Outcome.PASSED, Outcome.SKIPPED):
        return result
    repeat = again(
        item.config.stash[SUBJECT].settings, _repeated(item, error, row), result.revision, result.tool
    )
    evidence = _evidence(error)
    if evidence is None:
        return replace(result, text=crash_text(result, str(report.longrepr), repeat))
    return replace(result, text=finding_text(result, evidence, repeat))


def _judged_row(item: pytest.Item, error: BaseException | None) -> catalogue.Requirement:
    """The rule that was broken: unless told another, the loudest that the check cites and that holds."""
    if isinstance(error, Blocked | Finding) and error.requirement:
        return catalogue.requirement(error.requirement)
    rows = [catalogue.requirement(id) for mark in item.iter_markers("requirement") for id in mark.args]
    revision = revision_of(item)
    holding = [row for row in rows if row.holds_in(revision)]
    return max(holding, key=lambda row: ORDER.index(loudness(row, revision)), default=rows[0])


def _known(item: pytest.Item, row: catalogue.Requirement, error: BaseException | None) -> str:
    """The SDK that breaks this rule in every server built on it."""
    if not isinstance(error, Blocked | Finding):
        return ""
    return known_deviation(server_for(item.config, revision_of(item)), row.id, error)


def _repeated(item: pytest.Item, error: BaseException | None, row: catalogue.Requirement) -> str:
    """The id by which the check is selected again: one it cites, unless what it met concerns another tool."""
    if getattr(error, "tool", "") and not tool_name(item):
        return row.id
    cited = [id for mark in item.iter_markers("requirement") for id in mark.args]
    return row.id if row.id in cited else cited[0]


def _revision(item: pytest.Item, row: catalogue.Requirement) -> str:
    """The item's revision, or one in which the rule holds."""
    revision = revision_of(item)
    return revision if row.holds_in(revision) else row.revisions[-1]


def _outcome(
    item: pytest.Item, report: pytest.TestReport, error: BaseException | None, row: catalogue.Requirement
) -> Outcome:
    if report.skipped:
        return Outcome.SKIPPED
    if error is None:
        return Outcome.PASSED
    if isinstance(error, Blocked | CannotStart):
        return Outcome.BLOCKED
    if not isinstance(error, Finding):
        return Outcome.CRASHED
    strict, pedantic = value(item.config, "strict"), value(item.config, "pedantic")
    if error.advisory and not pedantic:
        return Outcome.INFORMED
    return loudness(row, _revision(item, row), strict=strict, pedantic=pedantic)


def _evidence(error: BaseException | None) -> Evidence | None:
    """What to show; None for a mistake of ours."""
    if isinstance(error, Finding):
        return Evidence(error.expected, error.got, error.lines)
    if isinstance(error, Blocked):
        return Evidence(got=error.reason, lines=error.lines, stderr=error.stderr)
    return Evidence(got=str(error)) if isinstance(error, CannotStart) else None


def _reason(report: pytest.TestReport, error: BaseException | None) -> str:
    if isinstance(report.longrepr, tuple):
        return shorten(str(report.longrepr[2]).removeprefix("Skipped: "), 1000)
    if error is None or isinstance(error, Finding | Blocked | CannotStart):
        return shorten(str(error or ""), 1000)
    return f"a mistake in this tool, please report it: {type(error).__name__}: {shorten(str(error), 500)}"


def _store(item: pytest.Item, report: pytest.TestReport, results: list[Result]) -> None:
    """Put the results, worst first, where JUnit, xdist and our own summary find them.

    The properties of each follow one another, those of the worst last: a reader that keeps one value for each
    name has that one's.
    """
    for one in reversed(results):
        item.user_properties += [(name, str(getattr(one, name))) for name in PROPERTIES]
        item.user_properties += [("finding", one.text)] if one.text else []
    report.user_properties = list(item.user_properties)
    report.mcp_let_go = newly_let_go(item.config)  # type: ignore[attr-defined]
    names = Result.__dataclass_fields__
    report.mcp_results = [{name: str(getattr(one, name)) for name in names} for one in results]  # type: ignore[attr-defined]


def _results(report: Any) -> list[Result]:
    stored = getattr(report, "mcp_results", [])
    return [Result(**{**one, "outcome": Outcome(one["outcome"])}) for one in stored]


# Showing -----------------------------------------------------------------------------------------


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    """Letters and words of our own for warned, informed and blocked checks."""
    outcome = next((result.outcome for result in _results(report)), None)
    if outcome not in LETTERS:
        return None
    return CATEGORIES.get(outcome, outcome.value), LETTERS[outcome], outcome.upper()


@pytest.hookimpl(trylast=True)
def pytest_report_header(config: pytest.Config) -> list[str]:
    """Who is tested."""
    if SUBJECT not in config.stash:
        return []
    return [f"MCP server: {line}" for line in subject_lines(config.stash[SUBJECT])]


RECORDER = pytest.StashKey["Recorder"]()


class Recorder:
    """Keeps each check's result as its report comes in, from wherever it ran."""

    def __init__(self, results: list[Result]):
        self.results = results
        self.let_go = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what it told."""
        self.results += _results(report)
        self.let_go += getattr(report, "mcp_let_go", 0)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Listen for results."""
    recorder = session.config.stash[RECORDER] = Recorder(session.config.stash[RESULTS])
    session.config.pluginmanager.register(recorder)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A run that tested nothing is not green; one that failed by mistakes of ours alone says so."""
    results = session.config.stash[RESULTS]
    crashed = {one.node for one in results if one.outcome is Outcome.CRASHED}
    if exitstatus == pytest.ExitCode.TESTS_FAILED and session.testsfailed == len(crashed):
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
    if exitstatus == pytest.ExitCode.OK and results and all(one.outcome in UNTESTED for one in results):
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Close the run with the verdict."""
    results = config.stash[RESULTS]
    if not results or SUBJECT not in config.stash:
        return
    terminalreporter.section("MCP conformance")
    for line in _summary(config, results):
        terminalreporter.write_line(line)


def _summary(config: pytest.Config, results: list[Result]) -> Generator[str]:
    subject = config.stash[SUBJECT]
    yield from subject_lines(subject)
    yield ""
    yield from table(results)
    listed = [Outcome.FAILED, Outcome.BLOCKED, Outcome.WARNED, Outcome.CRASHED]
    if config.get_verbosity() > 0:
        listed.append(Outcome.INFORMED)
    for group in grouped(results, *listed):
        yield ""
        yield from finding_lines(group)
    for paragraph in known_lines(results):
        yield ""
        yield from paragraph
    yield ""
    names = sorted(
        {tool.name for one in subject.live for tool in one.tools if not subject.settings.may_call(tool)}
    )
    if names:
        yield held_back_line(names)
    yield from limit_lines(subject, results, config.stash[RECORDER].let_go)
    if outlived := config.stash.get(OUTLIVED, 0):
        yield f"ended: {outlived} of the processes that the server has started outlived it"
    informed = len({one.requirement for one in results if one.outcome is Outcome.INFORMED})
    if informed and config.get_verbosity() <= 0:
        rules = "1 rule that rests" if informed == 1 else f"{informed} rules that rest"
        yield f"not kept: {rules} on no keyword (-v lists them)"
    yield f"verdict: {verdict_line(results)}"
