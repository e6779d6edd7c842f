"""The servers of a run, the time limit for all checks, and the skips of a check."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mcp_conformance.deadline import TookTooLong
from mcp_conformance.generation import NoExample
from mcp_conformance.json_schema.validation import Unjudgeable
from mcp_conformance.plugin.collection import (
    LISTED,
    MAX_REASON,
    STAGES,
    ProbeFailureItem,
    is_fuzzing,
    is_ours,
    revision_of,
    stage_of,
)
from mcp_conformance.plugin.deferral import DeferredCheck
from mcp_conformance.plugin.options import RUN_OPTIONS
from mcp_conformance.plugin.phases import END, MAIN
from mcp_conformance.plugin.run_counts import RunCounts
from mcp_conformance.plugin.run_state import RunState, item_state, run_state
from mcp_conformance.protocol.text import named
from mcp_conformance.report.exit_status import MACHINE
from mcp_conformance.scenarios.beginning import begin, begin_fuzzing
from mcp_conformance.target.fuzz_time import FuzzTime
from mcp_conformance.target.pending_calls import Deferred
from mcp_conformance.target.server import Server
from mcp_conformance.target.surface import is_live
from mcp_conformance.transport import interrupts
from mcp_conformance.transport.machine import OF_MACHINE, machine_fault
from mcp_conformance.transport.process_tree import end_run, lost_watchdogs
from mcp_conformance.verdicts import Blocked, Cause, Finding, Skipped

# Not measured: what was found is seen again meanwhile, for which a quick run allows 20 s.
MAX_LATE_SECONDS, LATE_SHARE = 30.0, 0.5
"""How long the running check may go on when the time for all is over: in seconds, and as a share of it."""

MAX_END_SECONDS = 0.3
"""What is left to end the processes and to write the reports: 0.2 s on a server that ends with its stdin."""

# Running -----------------------------------------------------------------------------------------


def server_for(config: pytest.Config, revision: str) -> Server:
    """Return the one `Server` of this run in a revision; `pytest_sessionfinish` ends its processes."""
    state = run_state(config)
    if revision not in state.servers:
        Server.of(state.subject, revision, state.shared)
    return state.servers[revision]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Give the checks that fuzz their time, if it is limited; the workers of xdist share these checks."""
    state = run_state(session.config)
    if state.probed is not None and (settings := state.probed.settings).time < math.inf:
        workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        checks = math.ceil(sum(map(is_fuzzing, session.items)) / workers)
        state.shared.fuzz_time = FuzzTime(settings.clock, state.begun + settings.time, checks)


def _begin_fuzzing(item: pytest.Item) -> None:
    """Before a check that fuzzes, begin its share of the time, or once what takes its time to confirm."""
    if not is_fuzzing(item):
        return
    state = run_state(item.config)
    if state.shared.fuzz_time is not None:
        state.shared.fuzz_time.begin_check()
    elif state.is_whole and not hasattr(item.config, "workerinput"):
        begin_fuzzing(server_for(item.config, revision_of(item)))


def _begin_check(item: pytest.Item) -> None:
    """Note that a check begins; before the first that asks more of the server than the probe, begin it."""
    state, revision = run_state(item.config), revision_of(item)
    if state.is_whole and stage_of(item) > LISTED:
        server = server_for(item.config, revision)
        if is_live(server.surface):
            begin(server)
    if revision in state.servers:
        state.servers[revision].trail.begin_check()


def _block_late_check(item: pytest.Item) -> None:
    """Block the first check that comes when the time for all checks is over, and skip the others.

    One that runs then fuzzes no more, and ends at its next wait for the server a while later.
    """
    state, now = run_state(item.config), time.monotonic()
    settings = state.subject.settings
    limit = settings.max_time
    if state.checks_begun is None:
        state.checks_begun = now
        state.shared.fuzz_until = settings.clock.monotonic() + limit

    def end() -> None:
        reason = f"the checks took {limit:g} s, which is all they may take (--max-time)"
        blocked = Blocked(reason, cause=Cause.TIME_IS_UP)
        server_for(item.config, revision_of(item)).reported.raise_once("time", blocked)

    if now - state.checks_begun > limit and revision_of(item) in state.servers:
        end()
    state.on_late = end
    state.late_at = state.checks_begun + limit + min(MAX_LATE_SECONDS, limit * LATE_SHARE)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Leave out a check that comes when the run should end (``--within``)."""
    is_late = is_ours(item) and stage_of(item) >= 0 and time.monotonic() > _end_of_run(item.config)
    return True if is_late else None


def _end_of_run(config: pytest.Config) -> float:
    """Return when the checks must end (monotonic) for the run to end in time; infinity without a limit."""
    state, within = run_state(config), config.stash[RUN_OPTIONS].within
    return state.begun - min(state.cpu_before, within / 2) + within - MAX_END_SECONDS


def _hurry(item: pytest.Item) -> None:
    """Let a check end at its next wait for the server when the run should end (``--within``)."""
    state, within = run_state(item.config), item.config.stash[RUN_OPTIONS].within
    if within == math.inf:
        return

    def end() -> None:
        raise Skipped(f"the run had to end within {within:g} s (--within)")

    state.on_late, state.late_at = end, _end_of_run(item.config)
    state.shared.fuzz_until = state.subject.settings.clock.monotonic() + state.late_at - time.monotonic()


def _block_locked_check(item: pytest.Item) -> None:
    """Block the first check that comes when the server rejects the credential, and skip the others."""
    server = run_state(item.config).servers.get(revision_of(item))
    if server is not None:
        server.causes.require_access()


@pytest.hookimpl(tryfirst=True)
def pytest_keyboard_interrupt(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Remove the frames without a line number from an interrupt's traceback: pytest cannot format them."""
    excinfo.traceback = excinfo.traceback.filter(_has_line)


def _has_line(entry: Any) -> bool:
    try:
        return entry.lineno is not None
    except TypeError:
        return False


@pytest.hookimpl(tryfirst=True)
def pytest_internalerror(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """End the session by one line if the machine lacked memory, space, files or processes."""
    if lack := machine_fault(excinfo.value):
        pytest.exit(f"{lack}{OF_MACHINE}", returncode=MACHINE)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End every process of the server, whatever ended the run."""
    config, state = session.config, run_state(session.config)
    has_run = state.phases.name in (*STAGES, MAIN)  # else the workers of xdist have run the checks
    if has_run:
        state.phases.begin(END)
    try:
        _close(state)
    except KeyboardInterrupt:  # the reports are written all the same; `end_run` ends what is left
        interrupts.taken()
        session.exitstatus = pytest.ExitCode.INTERRUPTED
    for server in state.servers.values():
        state.counts.add_server(server)
    if state.probed is not None:
        if (http := state.probed.settings.http) is not None:
            state.counts.add_http(http)
        state.counts.outlived += end_run()
        state.counts.add_interference(state.stops, lost_watchdogs())
    if has_run:
        state.phases.begin("")
    if hasattr(config, "workeroutput"):
        config.workeroutput["mcp_counts"] = state.counts.as_data()
        config.workeroutput["mcp_phases"] = state.phases.as_rows()


def _close(state: RunState) -> None:
    """End the sessions with the server: all are asked to end before the first is waited for."""
    for server in state.servers.values():
        server.sessions.begin_close()
    for server in state.servers.values():
        server.close()
    if state.probed is not None:
        state.probed.close()
        if state.probed.settings.http is not None:
            state.probed.settings.http.close()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add what an xdist worker has counted."""
    output, state = getattr(node, "workeroutput", {}), run_state(node.config)
    state.counts.add(RunCounts.from_data(output.get("mcp_counts", {})))
    state.phases.add(output.get("mcp_phases", ()))


# Skipping ----------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Skip a check whose fixture raises `Skipped`; block or skip one that comes too late."""
    with _skipping(item), _machine_permitting(item):
        if is_ours(item):
            run_state(item.config).phases.begin(STAGES[max(stage_of(item), 0)] or MAIN)
            _block_late_check(item)
            _hurry(item)
            _block_locked_check(item)
            _begin_fuzzing(item)
            _begin_check(item)
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Skip a check that raises `Skipped`."""
    with _skipping(item), _machine_permitting(item):
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Let no wait of what follows a check be late."""
    run_state(item.config).late_at = math.inf


@contextmanager
def _machine_permitting(item: pytest.Item) -> Iterator[None]:
    """Skip a check of ours that ended for want of memory, space or processes, which is not the server's."""
    try:
        yield
    except Exception as error:
        if is_ours(item) and (lack := machine_fault(error)):
            raise Skipped(f"this machine's fault: {lack}", cause=Cause.MACHINE) from None
        raise


@contextmanager
def _skipping(item: pytest.Item) -> Iterator[None]:
    """Skip a check that was not exercised, or that is blocked by a fault that another check has reported."""
    try:
        yield
    except pytest.fail.Exception as error:
        raise _ended_by_a_plugin(item, error) from None
    except Deferred:
        item_state(item).is_deferred = True
        raise DeferredCheck("it needs the answer of a slow call") from None
    except (Skipped, NoExample, Unjudgeable, TookTooLong) as reason:
        raise _skip_or_error(item, reason) from None  # pytest would format the whole chain
    except (Blocked, Finding) as verdict:
        if is_ours(item) and not isinstance(item, ProbeFailureItem):
            try:
                server_for(item.config, revision_of(item)).causes.examine(verdict)
            except Skipped as reason:
                raise _skip_or_error(item, reason) from None
        raise


def _ended_by_a_plugin(item: pytest.Item, error: BaseException) -> BaseException:
    """Return the verdict of a check that another plugin has ended, such as pytest-timeout."""
    return (
        Blocked(f"not the server, but a pytest plugin ended this check: {error}") if is_ours(item) else error
    )


def _skip_or_error(item: pytest.Item, reason: Exception) -> BaseException:
    """Return what skips a check; a user's own test gets the error that no arguments are known."""
    if isinstance(reason, Skipped):
        return _skip(item, str(reason), reason.cause)
    if not is_ours(item):
        return reason
    is_too_costly = isinstance(reason, TookTooLong) or getattr(reason, "is_too_costly", False)
    return _skip(item, str(reason), Cause.TOO_COSTLY if is_too_costly else None)


def _skip(item: pytest.Item, reason: str, cause: Cause | None) -> BaseException:
    item_state(item).skip_cause = cause
    return pytest.skip.Exception(named(reason, MAX_REASON))
