"""Pytest glue: what a check's result is worth, and how pytest shows and stores it."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from conformance.plugin.baseline import excused, out_of_date
from conformance.plugin.collection import OUTLIVED, SUBJECT, is_ours, revision_of, tool_name
from conformance.plugin.execution import newly_noted, server_for
from conformance.plugin.options import value
from conformance.protocol.text import shorten
from conformance.report.build import Course, held_back, interfaces
from conformance.report.model import TIME_IS_UP, Result
from conformance.report.text import (
    WIDTH,
    Evidence,
    crash_text,
    evidence_of,
    held_back_line,
    limits,
    reproduce_command,
    subject_lines,
    with_evidence,
    without_credentials,
    wrapped,
)
from conformance.requirements import catalogue
from conformance.requirements.catalogue import families
from conformance.requirements.checks import family_of
from conformance.scenarios.sdk_deviations import known_deviation
from conformance.transport.credentials import credentials, without
from conformance.transport.interface import CannotStart
from conformance.verdicts import ORDER, UNTESTED, Blocked, Finding, Outcome, outcome_of, severity

RESULTS = pytest.StashKey[list[Result]]()
PROPERTIES = ("requirement", "level", "basis", "revision", "spec", "outcome")
LETTERS = {
    Outcome.WARNED: "W",
    Outcome.INFO: "i",
    Outcome.EXPECTED: "k",
    Outcome.BLOCKED: "B",
    Outcome.INTERNAL_ERROR: "E",
}
NARROWEST = 60
NODES = "conformance/suites"
"""How the ids of our checks begin."""
QUIET = (Outcome.PASSED, Outcome.SKIPPED)
CATEGORIES = {Outcome.BLOCKED: "failed", Outcome.INTERNAL_ERROR: "error"}
GREEN = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


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
    results = [excused(item.config, _judged(item, report, one)) for one in told]
    results.sort(key=lambda result: ORDER.index(result.outcome), reverse=True)
    worst = results[0]
    texts = [result.text for result in results if result.text]
    if texts:
        report.longrepr = "\n\n".join(texts)
    _store(item, report, results)
    if worst.outcome in (Outcome.WARNED, Outcome.INFO, Outcome.EXPECTED):
        report.outcome = "passed"
        report.longrepr = None
    return report


def _judged(item: pytest.Item, report: pytest.TestReport, error: BaseException | None) -> Result:
    """What became of a check, by one of the errors it told."""
    row = _judged_row(item, error)
    result = Result.of(
        row,
        revision_of(item),
        node=item.nodeid,
        outcome=_outcome(item, report, error, row),
        tool=getattr(error, "tool", "") or tool_name(item),
        reason=_reason(report, error),
        deviation=_known(item, row, error),
        requirements=tuple(_cited(item)),
    )
    if result.outcome in (Outcome.PASSED, Outcome.SKIPPED):
        return result
    chosen = item.config.stash[SUBJECT].settings
    hidden = credentials(chosen.command, chosen.env)
    result = replace(result, reason=without(result.reason, hidden))
    repeat = without(reproduce_command(chosen, _repeated(item, error, row), result.revision, result.tool), hidden)
    evidence = _evidence(error)
    if evidence is None:
        text = crash_text(result, without(str(report.longrepr), hidden), repeat)
        return replace(result, text=text, reproduce=repeat)
    return with_evidence(result, without_credentials(evidence, hidden), repeat, chosen.transcripts)


def _judged_row(item: pytest.Item, error: BaseException | None) -> catalogue.Requirement:
    """The rule that was broken: unless told another, the loudest that the check cites and that holds."""
    if isinstance(error, Blocked | Finding) and error.requirement:
        return catalogue.requirement(error.requirement)
    rows = [catalogue.requirement(id) for id in _cited(item)]
    revision = revision_of(item)
    holding = [row for row in rows if row.holds_in(revision)]
    return max(holding, key=lambda row: ORDER.index(severity(row, revision)), default=rows[0])


def _known(item: pytest.Item, row: catalogue.Requirement, error: BaseException | None) -> str:
    """The SDK that breaks this rule in every server built on it."""
    if not isinstance(error, Blocked | Finding):
        return ""
    return known_deviation(server_for(item.config, revision_of(item)), row.id, error)


def _repeated(item: pytest.Item, error: BaseException | None, row: catalogue.Requirement) -> str:
    """The id by which the check is selected again: one it cites, unless what it met concerns another tool."""
    if getattr(error, "tool", "") and not tool_name(item):
        return row.id
    cited = _cited(item)
    return row.id if row.id in cited else cited[0]


def _cited(item: pytest.Item) -> list[str]:
    return [str(id) for mark in item.iter_markers("requirement") for id in mark.args]


def _outcome(
    item: pytest.Item, report: pytest.TestReport, error: BaseException | None, row: catalogue.Requirement
) -> Outcome:
    if report.skipped:
        return Outcome.SKIPPED
    if error is None:
        return Outcome.PASSED
    if isinstance(error, CannotStart):
        return Outcome.BLOCKED
    if not isinstance(error, Finding | Blocked):
        return Outcome.INTERNAL_ERROR
    strict, pedantic = value(item.config, "strict"), value(item.config, "pedantic")
    return outcome_of(error, row, revision_of(item), strict=strict, pedantic=pedantic)


def _evidence(error: BaseException | None) -> Evidence | None:
    """What to show; None for a mistake of ours."""
    if isinstance(error, Finding | Blocked):
        return evidence_of(error)
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
        item.user_properties += [("baseline", one.baseline)] if one.outcome is Outcome.EXPECTED else []
    report.user_properties = list(item.user_properties)
    report.mcp_noted = newly_noted(item.config)  # type: ignore[attr-defined]
    report.mcp_results = [{**vars(one), "outcome": str(one.outcome)} for one in results]  # type: ignore[attr-defined]


def results_of(report: Any) -> list[Result]:
    """What a check told that ran here or in a worker of xdist's; nothing for other tests."""
    stored = getattr(report, "mcp_results", [])
    return [Result(**{**one, "outcome": Outcome(one["outcome"])}) for one in stored]


# Showing -----------------------------------------------------------------------------------------


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    """Letters and words of our own for warned, informed and blocked checks."""
    outcome = next((result.outcome for result in results_of(report)), None)
    if outcome not in LETTERS:
        return None
    return CATEGORIES.get(outcome, outcome.value), LETTERS[outcome], outcome.upper()


@pytest.hookimpl(trylast=True)
def pytest_report_header(config: pytest.Config) -> list[str]:
    """Who is tested."""
    return list(_header(config)) if SUBJECT in config.stash else []


def _header(config: pytest.Config) -> Generator[str]:
    subject = config.stash[SUBJECT]
    told = [f"MCP server: {line}" for line in subject_lines(interfaces(subject))]
    names = held_back(subject)
    for line in (*told, *([held_back_line(names)] if names else [])):
        yield from wrapped(line, columns(config), "", "  ")


def columns(config: pytest.Config) -> int:
    """How long a line may be: no longer than the terminal is wide, if there is one."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or not terminal.isatty:
        return WIDTH
    return max(NARROWEST, min(WIDTH, shutil.get_terminal_size().columns))


RECORDER = pytest.StashKey["Recorder"]()


class Recorder:
    """Keeps which checks there are, and each one's result as its report comes in, from wherever it ran."""

    def __init__(self, results: list[Result]):
        self.results = results
        self.noted = Counter[str]()
        self.checks: tuple[str, ...] = ()
        self.has_errors = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Know that not all tests are known."""
        self.has_errors = self.has_errors or report.failed

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Know the checks that are to run."""
        self.checks = tuple(item.nodeid for item in session.items if is_ours(item))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Know them from a worker of xdist's: they all have the same."""
        self.checks = tuple(id for id in ids if id.startswith(NODES))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what it told, once: pytest keeps the report too, and there may be thousands."""
        told = results_of(report)
        self.results += told
        self.noted.update(getattr(report, "mcp_noted", {}))
        if told and all(one.outcome in QUIET for one in told):
            report.mcp_results = []  # type: ignore[attr-defined]
        if report.nodeid.startswith(NODES):
            report.keywords = {}


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Listen for results, and say who is tested where pytest has no header for it."""
    config = session.config
    recorder = config.stash[RECORDER] = Recorder(config.stash[RESULTS])
    config.pluginmanager.register(recorder)
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and config.option.no_header and SUBJECT in config.stash:
        for line in _header(config):
            terminal.write_line(line)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A run that tested nothing is not green; one that failed by mistakes of ours alone says so."""
    results = session.config.stash[RESULTS]
    crashed = {one.node for one in results if one.outcome is Outcome.INTERNAL_ERROR}
    if exitstatus == pytest.ExitCode.TESTS_FAILED and session.testsfailed == len(crashed):
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
    if exitstatus == pytest.ExitCode.OK and results and all(one.outcome in UNTESTED for one in results):
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
    if session.exitstatus in GREEN and _out_of_date(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _out_of_date(config: pytest.Config) -> list[str]:
    """What in the baseline has to be mended; an xdist worker has not seen enough to tell."""
    if not config.stash[RESULTS] or SUBJECT not in config.stash or hasattr(config, "workerinput"):
        return []
    return out_of_date(config, config.stash[SUBJECT], config.stash[RESULTS])


@pytest.hookimpl(trylast=True)
def pytest_internalerror(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Say whose mistake the traceback is."""
    if isinstance(excinfo.value, Exception):
        sys.stderr.write(
            "This is a mistake in pytest-mcp-conformance, or in another plugin, not in the server: "
            "please report it with the lines of INTERNALERROR.\n"
        )


# The end -----------------------------------------------------------------------------------------


def course(session: pytest.Session, started: datetime, seconds: float) -> Course:
    """How the run went."""
    config = session.config
    ended = _ended(session, config.stash[RESULTS])
    missing = _not_run(config, ended) if ended else {}
    return Course(started, seconds, ended, missing, tuple(_out_of_date(config)))


def _ended(session: pytest.Session, results: list[Result]) -> str:
    """Why the run ended before all checks had run; empty if it did not."""
    if late := [one.reason for one in results if one.outcome is Outcome.BLOCKED and TIME_IS_UP in one.reason]:
        return late[0]
    stopped = str(session.shouldfail or session.shouldstop or "")
    if failures := re.fullmatch(r"stopping after (\d+) failures", stopped):
        return f"stopped after {failures[1]} failure{'s' * (failures[1] != '1')}"
    if session.exitstatus != pytest.ExitCode.INTERRUPTED:
        return stopped
    errors = session.config.stash[RECORDER].has_errors
    return stopped or ("tests could not be collected" if errors else "interrupted")


def _not_run(config: pytest.Config, ended: str) -> dict[str, int]:
    """How many checks of each chapter have not run."""
    run = {one.node for one in config.stash[RESULTS] if not one.reason.startswith(ended)}
    missing = Counter(family_of(node) for node in config.stash[RECORDER].checks if node not in run)
    return {family: missing[family] for family in families() if missing[family]}


def notices(config: pytest.Config) -> list[str]:
    """What was not tested or not kept, and what the server left behind."""
    results = config.stash[RESULTS]
    told = list(limits(config.stash[SUBJECT], results, config.stash[RECORDER].noted))
    if outlived := config.stash.get(OUTLIVED, 0):
        told.append(f"ended: {outlived} of the processes that the server has started outlived it")
    return told
