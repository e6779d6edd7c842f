"""Pytest hooks that make results of what checks raise, store them, and sum up the run."""

from __future__ import annotations

import math
import shutil
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, assert_never

import pytest

from mcp_conformance.options.again import again_words, replay_line, selection
from mcp_conformance.outcome import Defect, Listed, Outcome, Weight
from mcp_conformance.plugin.baseline import outdated, with_baseline
from mcp_conformance.plugin.collection import (
    case_name,
    inapplicable,
    is_ours,
    ran_all,
    revision_of,
    tool_name,
)
from mcp_conformance.plugin.deferral import DeferredCheck
from mcp_conformance.plugin.execution import server_for
from mcp_conformance.plugin.exercised import exercise_of, lacking, not_judged
from mcp_conformance.plugin.options import RUN_OPTIONS
from mcp_conformance.plugin.own_rules import own_cited, own_facts
from mcp_conformance.plugin.run_state import RunState, item_state, run_state
from mcp_conformance.plugin.since import since_line
from mcp_conformance.protocol.text import shell_line, shorten
from mcp_conformance.report.build import (
    CheckFacts,
    Evidence,
    RunFacts,
    build_result,
    interfaces,
    tools_not_called,
)
from mcp_conformance.report.exit_status import MACHINE, NOT_STARTED
from mcp_conformance.report.hosts import asked_hosts, host_lines
from mcp_conformance.report.model import SDK_FINDING, Result, plural
from mcp_conformance.report.text import (
    WIDTH,
    connection_lines,
    interference_lines,
    limit_lines,
    not_called_line,
    server_lines,
    spacing_line,
    wrapped,
)
from mcp_conformance.requirements import catalogue
from mcp_conformance.requirements.catalogue import families
from mcp_conformance.requirements.checks import PACKAGE, family_of
from mcp_conformance.requirements.official import official_ids
from mcp_conformance.sdks.deviations import known_fact
from mcp_conformance.sdks.evidence import Evidence as Shown
from mcp_conformance.sdks.recognition import sdk_of
from mcp_conformance.target.budgets import measured
from mcp_conformance.transport.interface import CannotStart
from mcp_conformance.verdicts import (
    Blocked,
    Cause,
    Finding,
    Repeat,
    broken_rule,
    defect_of,
    outcome_of,
    remedy_of,
)

PROPERTIES = ("requirement", "level", "basis", "revision", "spec", "outcome")
MIN_COLUMNS = 50
GREEN = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


# Facts -------------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn what a check raised into results, and the worst of them into pytest's outcome."""
    report = yield
    is_own = not is_ours(item) and bool(own_cited(item))
    if not (is_ours(item) or is_own) or (call.when != "call" and report.passed):
        return report
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, KeyboardInterrupt | DeferredCheck):
        return report
    settings = run_state(item.config).subject.settings
    errors = () if is_own else (error, *getattr(error, "others", ()))
    facts = [own_facts(item, report, call)] if is_own else [_facts(item, report, one) for one in errors]
    results = [_excused(item.config, build_result(one, settings)) for one in facts]
    results.sort(key=lambda result: result.outcome.place)
    texts = [result.text for result in results if result.text]
    if texts:
        report.longrepr = "\n\n".join(texts)
    elif isinstance(report.longrepr, tuple):
        report.longrepr = settings.redaction(report.longrepr)
    _store(item, report, results)
    if report.failed and not _fails(results[0].outcome):
        if call.when == "call" and results[0].outcome.is_finding:
            report.outcome, report.longrepr = "passed", None
        else:
            report.outcome, report.longrepr = "skipped", (str(item.path), 0, f"Skipped: {results[0].reason}")
    return report


def _fails(outcome: Outcome) -> bool:
    """Return whether a check that raised something fails for pytest, be it this tool's fault."""
    match outcome.style.weight:
        case Weight.FAILS:
            return True
        case Weight.WARNS | Weight.EXCUSED | Weight.NOTED | Weight.HOLDS:
            return False
        case Weight.SAYS_NOTHING:
            return outcome is not Outcome.SKIPPED
        case other:
            assert_never(other)


def _excused(config: pytest.Config, result: Result) -> Result:
    """Return the result; it does not fail if the user, the baseline, the SDK or its age excuses it.

    An SDK excuses nothing that ends the process or loses an answer.
    """
    options = config.stash[RUN_OPTIONS]
    if result.requirement in options.left_out:
        return replace(result, outcome=Outcome.SKIPPED, reason="left out: --skip", text="")
    result = with_baseline(config, result)
    if not result.outcome.counts or result.is_late:
        return result
    if result.deviation and not result.harm and not options.sdk_findings_fail:
        return replace(result, outcome=Outcome.EXPECTED, baseline=SDK_FINDING)
    row, pinned = catalogue.requirement(result.requirement), options.rules_as_of
    if pinned and row.is_newer_than(pinned):
        return replace(result, outcome=Outcome.NEW, baseline=f"new in {row.as_of}: rules as of {pinned}")
    return result


def _facts(item: pytest.Item, report: pytest.TestReport, error: BaseException | None) -> CheckFacts:
    """Collect the facts about a check and one of the errors that it raised."""
    row = broken_rule(list(map(catalogue.requirement, _cited(item))), revision_of(item), error)
    options = item.config.stash[RUN_OPTIONS]
    deviation, harm, way_out = _deviation(item, row, error)
    outcome = _outcome(item, report, error, row)
    return CheckFacts(
        node=item.nodeid,
        row=row,
        revision=revision_of(item),
        outcome=outcome,
        tool=getattr(error, "tool", "") or tool_name(item),
        reason=item_state(item).taken_over or _reason(error),
        requirements=tuple(_cited(item)),
        replay=replay_line(options, error) if isinstance(error, Finding | Blocked) else "",
        again=_again(item, error, row, outcome),
        deviation=deviation,
        harm=harm,
        way_out=way_out,
        sdk=_sdk(item, row, error),
        cause=error.cause if isinstance(error, Blocked) else item_state(item).skip_cause,
        defect=_defect(item, row, error),
        evidence=_evidence(item, row, error),
        traceback=str(report.longrepr),
    )


def _deviation(
    item: pytest.Item, row: catalogue.Requirement, error: BaseException | None
) -> tuple[str, str, str]:
    """Return the SDK that breaks this rule in every server built on it, the harm, and the way out of it.

    Each may be empty.
    """
    if not isinstance(error, Blocked | Finding):
        return "", "", ""
    fact = known_fact(server_for(item.config, revision_of(item)), row.id, error)
    return ("", "", "") if fact is None else (fact.maker, Shown.of(error).harm, fact.way_out)


def _defect(item: pytest.Item, row: catalogue.Requirement, error: BaseException | None) -> Defect | None:
    """Return what the server does to its users; None if that is not what the check found."""
    if not isinstance(error, Blocked | Finding):
        return None
    return defect_of(error, row, row.stated_in(revision_of(item)))


def _sdk(item: pytest.Item, row: catalogue.Requirement, error: BaseException | None) -> str:
    """Return the SDK of the server if the rule's remedy depends on it; empty if none is recognised."""
    if not (row.fix_in and isinstance(error, Blocked | Finding)):
        return ""
    return sdk_of(server_for(item.config, revision_of(item)))


def _again(
    item: pytest.Item, error: BaseException | None, row: catalogue.Requirement, outcome: Outcome
) -> str:
    """Return the command that shows again what a check found; empty if none does, or nothing was found."""
    repeat = getattr(error, "repeat", Repeat.BY_CHECK)
    if outcome.style.listed is Listed.NEVER or repeat is Repeat.NOT_SEEN:
        return ""
    is_alone = repeat is Repeat.BY_CHECK
    selected = selection(_cited(item), row.id, case_name(item)) if is_alone else ()
    is_quiet = outcome.style.listed is not Listed.ALWAYS
    return shell_line(
        again_words(item.config.stash[RUN_OPTIONS], selected, revision_of(item), verbose=is_quiet)
    )


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
    return outcome_of(error, row, revision_of(item), **item.config.stash[RUN_OPTIONS].severities)


def _evidence(item: pytest.Item, row: catalogue.Requirement, error: BaseException | None) -> Evidence:
    if isinstance(error, Finding | Blocked):
        fix = remedy_of(error, row, row.stated_in(revision_of(item)))
        return replace(Evidence.of(error), fix=fix)
    return Evidence(got=str(error)) if isinstance(error, CannotStart) else Evidence()


def _reason(error: BaseException | None) -> str:
    if isinstance(error, pytest.skip.Exception):
        return error.msg or ""
    if error is None or isinstance(error, Finding | Blocked | CannotStart):
        return str(error or "")
    text = f"{type(error).__name__}: {shorten(str(error), 500)}"
    return f"an internal error in this tool, please report it: {text}"


def _store(item: pytest.Item, report: pytest.TestReport, results: list[Result]) -> None:
    """Attach the results, the worst first, for JUnit, xdist and the summary.

    The properties of each result follow one another, those of the worst last: a reader that keeps one value
    for each name has the worst one's.
    """
    for one in reversed(results):
        item.user_properties += [(name, str(getattr(one, name))) for name in PROPERTIES]
        official = ", ".join(official_ids(one.requirement, one.revision))
        item.user_properties += [("official", official)] if official else []
        item.user_properties += [("finding", one.text)] if one.text else []
        name = "baseline" if one.outcome is Outcome.EXPECTED and not one.is_of_sdk else "note"
        item.user_properties += [(name, one.baseline)] if one.baseline else []
        item.user_properties += [("defect", one.defect)] if one.defect else []
    report.user_properties = list(item.user_properties)
    report.mcp_results = [one.to_row() for one in results]  # type: ignore[attr-defined]


def results_of(report: Any) -> list[Result]:
    """Return the results of a check that ran here or in an xdist worker; none for a user's test."""
    return [Result.from_row(row) for row in getattr(report, "mcp_results", [])]


# Output ------------------------------------------------------------------------------------------


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    """Return our own letter and word for an outcome that pytest does not have."""
    outcome = next((result.outcome for result in results_of(report)), None)
    if outcome is None or not outcome.style.letter:
        return None
    return outcome.style.category or outcome.value, outcome.style.letter, outcome.upper()


@pytest.hookimpl(trylast=True)
def pytest_report_header(config: pytest.Config) -> list[str]:
    """Return lines about the server."""
    return list(_header(config)) if run_state(config).probed is not None else []


def _header(config: pytest.Config) -> Iterator[str]:
    subject, head = run_state(config).subject, config.stash[RUN_OPTIONS].chosen.head
    lines = [f"MCP server: {line}" for line in server_lines(interfaces(subject))]
    lines[:0] = [f"MCP {head}"] if head else []
    names = subject.settings.redaction(tools_not_called(subject))
    for line in (*lines, *([not_called_line(names)] if names else [])):
        yield from wrapped(line, columns(config), "", "  ")


def columns(config: pytest.Config) -> int:
    """Return how many characters a line may have: the terminal's width, within limits."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or not terminal.isatty:
        return WIDTH
    return max(MIN_COLUMNS, min(WIDTH, shutil.get_terminal_size().columns))


class Recorder:
    """A plugin that keeps the ids of the checks, and each result as its report comes in, from any process."""

    def __init__(self, state: RunState, plugins: pytest.PytestPluginManager):
        self._state, self._plugins = state, plugins

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note that some tests could not be collected."""
        self._state.has_collect_errors |= report.failed

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep the ids of the checks that are to run."""
        self._state.checks = tuple(item.nodeid for item in session.items if is_ours(item))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Keep the ids that an xdist worker collected: all workers collect the same."""
        self._state.checks = tuple(id for id in ids if id.startswith(PACKAGE))

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str) -> None:
        """Note a check during which its xdist worker ended, as when the system is out of memory."""
        if crashitem.startswith(PACKAGE):
            self._state.lost.append(crashitem)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the results, and drop from pytest's own report what is not needed: there may be thousands."""
        results = results_of(report)
        self._state.results += results
        if results and all(one.outcome.style.listed is Listed.NEVER for one in results):
            report.mcp_results = []  # type: ignore[attr-defined]
        if report.nodeid.startswith(PACKAGE):
            report.keywords = {}
            self._forget_if_quiet(report)

    def _forget_if_quiet(self, report: pytest.TestReport) -> None:
        """Drop the report of a setup or teardown from pytest's list if it has nothing to show."""
        terminal = self._plugins.get_plugin("terminalreporter")
        quiet = terminal.stats.get("", []) if terminal is not None else []
        if report.when != "call" and report.passed and not report.sections and quiet[-1:] == [report]:
            quiet.pop()


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Register the recorder, and write the header if pytest writes none."""
    config = session.config
    state = run_state(config)
    config.pluginmanager.register(Recorder(state, config.pluginmanager))
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    is_quiet = config.get_verbosity() < 0
    if terminal is not None and config.option.no_header and not is_quiet and state.probed is not None:
        for line in _header(config):
            terminal.write_line(line)


@pytest.hookimpl(trylast=True)
def pytest_internalerror(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Print that the traceback shows an error of this tool, not of the server."""
    if isinstance(excinfo.value, Exception):
        sys.stderr.write(
            "This is a bug in pytest-mcp-conformance, or in another plugin, not in the server: "
            "please report it with the lines of INTERNALERROR.\n"
        )


# The end of the run ------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Set the exit status: a run that tested nothing is not green, one with internal errors only says so."""
    state = run_state(session.config)
    results = state.results
    broken_checks = {one.node for one in results if one.outcome is Outcome.INTERNAL_ERROR}
    if exitstatus == pytest.ExitCode.TESTS_FAILED and session.testsfailed == len(broken_checks):
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
    if exitstatus == pytest.ExitCode.OK and results and not any(one.outcome.is_judged for one in results):
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
    subject = state.probed
    if subject is not None and subject.never_opened and session.testsfailed == len(subject.surfaces):
        session.exitstatus = NOT_STARTED
    if session.exitstatus in GREEN and _outdated(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    is_machine = any(one.cause == Cause.MACHINE for one in results)
    is_machine |= bool(state.lost) and session.testsfailed == len(broken_checks) + len(state.lost)
    if is_machine and exitstatus != pytest.ExitCode.INTERRUPTED:
        session.exitstatus = MACHINE


def _outdated(config: pytest.Config) -> list[str]:
    """Return what is out of date in the baseline; an xdist worker has not seen enough to know."""
    state = run_state(config)
    if not state.results or state.probed is None or hasattr(config, "workerinput"):
        return []
    return outdated(config, state.probed, state.results)


def run_facts(session: pytest.Session, started: datetime, seconds: float) -> RunFacts:
    """Return the facts about the run."""
    config = session.config
    ended = _reason_of_end(session, run_state(config).results)
    not_run = _not_run(config) if ended or config.stash[RUN_OPTIONS].within < math.inf else {}
    numbers = run_state(config).counts.numbers
    sent = {revision: number for (what, revision), number in numbers.items() if what == "sent" and number}
    opened, is_over_http = _opened(config), run_state(config).subject.settings.http is not None
    started_by_us = sum(sum(purposes.values()) for purposes in opened.values())
    return RunFacts(
        started,
        seconds,
        ended,
        not_run,
        tuple(_outdated(config)),
        processes=numbers["processes", ""] if is_over_http else started_by_us,
        starts={} if is_over_http else opened,
        sessions=opened if is_over_http else {},
        sent=sent,
        not_applicable=inapplicable(config),
        measured=measured_figures(config),
        phases=run_state(config).phases.figures,
        exercise=exercise_of(config),
        lacking=lacking(config),
        hosts=run_state(config).counts.hosts,
        links=run_state(config).counts.links,
        sequences={
            phase: {"calls": calls, "seconds": round(seconds, 2)}
            for phase, (calls, seconds) in run_state(config).counts.sequences.items()
        },
        is_partial=not ran_all(config),
    )


def _opened(config: pytest.Config) -> dict[str, dict[str, int]]:
    """Count the processes of the server in each revision, over HTTP the sessions, by what they are for."""
    state = run_state(config)
    found = {revision: {"the probe": 1} for revision in state.subject.probed}
    for (revision, purpose), number in state.counts.starts.items():
        found[revision][purpose] = number
    return found


def measured_figures(config: pytest.Config) -> dict[str, Mapping[str, float]]:
    """Return the measured figures of each revision: those that checks have judged, else those of all calls.

    Under xdist a check judges its worker's calls, one of each tool; the calls of all workers are more.
    """
    state = run_state(config)
    costs, judged = state.counts.costs, state.counts.judged
    figures = {
        one.revision: {**measured(one, costs.get(one.revision, [])), **judged.get(one.revision, {})}
        for one in state.subject.live
    }
    return {
        revision: {name: round(amount, 4) for name, amount in some.items()}
        for revision, some in figures.items()
    }


def _reason_of_end(session: pytest.Session, results: list[Result]) -> str:
    """Return why the run ended before all checks had run; empty if it did not."""
    if late := next((one for one in results if one.outcome is Outcome.BLOCKED and one.is_late), None):
        return late.reason
    if lacking_machine := next((one for one in results if one.cause == Cause.MACHINE), None):
        return lacking_machine.reason
    if lost := run_state(session.config).lost:
        return f"a worker of xdist was killed while it ran {lost[0]}"
    stopped = str(session.shouldfail or session.shouldstop or "")
    most = session.config.getoption("maxfail")
    if stopped and most and session.testsfailed >= most:
        return f"stopped after {plural(session.testsfailed, 'failure')}"
    if session.exitstatus != pytest.ExitCode.INTERRUPTED:
        return stopped
    has_errors = run_state(session.config).has_collect_errors
    return stopped or ("tests could not be collected" if has_errors else "interrupted")


def _not_run(config: pytest.Config) -> dict[str, int]:
    """Count the checks of each chapter that have not run."""
    state = run_state(config)
    run = {one.node for one in state.results if not one.is_late}
    missing = Counter(family_of(node) for node in state.checks if node not in run)
    return {family: missing[family] for family in families() if missing[family]}


def notices(config: pytest.Config) -> list[str]:
    """Return what was not tested or not kept, and what the server left behind."""
    state = run_state(config)
    counts = state.counts
    dropped = counts.numbers["dropped", ""]
    lines = list(limit_lines(state.subject, state.results, counts.exercise, dropped))
    settings = state.subject.settings
    lines[:0] = settings.confinement
    if settings.backend is not None:
        lines[:0] = [f"backend: {settings.backend.describe()}", *host_lines(asked_hosts(counts.hosts))]
    if outlived := counts.outlived:
        lines.append(f"ended: {outlived} of the processes that the server has started outlived it")
    lines += interference_lines(counts.numbers)
    if settings.throwaway is not None and (gone := settings.throwaway.restored):
        lines.append(f"made again: the server deleted its own folder ({', '.join(sorted(gone))})")
    if settings.throwaway is not None and settings.throwaway.renewals:
        lines.append("furnished again: the server did not start in its folder any more after calls of tools")
    lines += filter(None, [spacing_line(counts.spaced, counts.calls_spaced)])
    lines += connection_lines(counts.numbers, counts.rate, counts.asked)
    skipped = (one for one in state.results if one.family == "sessions" and one.outcome is Outcome.SKIPPED)
    lines += [f"not replayed: {one.reason}" for one in skipped]
    lines += [f"updated: {one}" for one in counts.updated]
    if line := not_judged(config):
        lines.append(line)
    if line := since_line(config, (one.reason for one in state.results)):
        lines.append(line)
    return lines
