"""The servers of a run, the time limit for all checks, and the skips of a check."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import astuple
from typing import Any

import pytest

from mcp_conformance.generation import NoExample
from mcp_conformance.json_schema.validation import Unjudgeable
from mcp_conformance.plugin.collection import (
    BEGUN,
    COMMON,
    COSTS,
    COUNTS,
    JUDGED,
    MAX_REASON,
    OUTLIVED,
    SERVERS,
    STARTED,
    STARTS,
    SUBJECT,
    WHOLE,
    ProbeFailureItem,
    is_fuzzing,
    is_ours,
    revision_of,
)
from mcp_conformance.plugin.deferral import DEFERRED, DeferredCheck
from mcp_conformance.protocol.text import named
from mcp_conformance.scenarios.beginning import begin, begin_fuzzing
from mcp_conformance.target.budgets import CallCost
from mcp_conformance.target.fuzz_time import FuzzTime
from mcp_conformance.target.pending_calls import Deferred
from mcp_conformance.target.server import RunShared, Server
from mcp_conformance.target.surface import is_live
from mcp_conformance.transport.process_tree import end_run
from mcp_conformance.verdicts import Blocked, Cause, Finding, Skipped

# Running -----------------------------------------------------------------------------------------


def server_for(config: pytest.Config, revision: str) -> Server:
    """Return the one `Server` of this run in a revision; `pytest_sessionfinish` ends its processes."""
    servers = config.stash.setdefault(SERVERS, {})
    if revision not in servers:
        subject = config.stash[SUBJECT]
        run = config.stash.setdefault(COMMON, RunShared(subject.live))
        server = servers[revision] = Server.of(subject, revision, run)
        if config.stash.get(WHOLE, False) and is_live(server.surface):
            begin(server)
    return servers[revision]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Give the checks that fuzz their time, if it is limited; the workers of xdist share these checks."""
    config = session.config
    if SUBJECT in config.stash and (settings := config.stash[SUBJECT].settings).time < math.inf:
        workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        checks = math.ceil(sum(map(is_fuzzing, session.items)) / workers)
        fuzz_time = FuzzTime(settings.clock, config.stash[STARTED] + settings.time, checks)
        run = config.stash.setdefault(COMMON, RunShared(config.stash[SUBJECT].live))
        run.fuzz_time = fuzz_time


def _begin_fuzzing(item: pytest.Item) -> None:
    """Before a check that fuzzes, begin its share of the time, or once what takes its time to confirm."""
    if not is_fuzzing(item):
        return
    stash = item.config.stash
    if COMMON in stash and (fuzz_time := stash[COMMON].fuzz_time) is not None:
        fuzz_time.begin_check()
    elif stash.get(WHOLE, False) and not hasattr(item.config, "workerinput"):
        begin_fuzzing(server_for(item.config, revision_of(item)))


def _block_late_check(item: pytest.Item) -> None:
    """Block the first check that comes when the time for all checks is over, and skip the others."""
    stash, limit = item.config.stash, item.config.stash[SUBJECT].settings.max_time
    begun = stash.setdefault(BEGUN, time.monotonic())
    if time.monotonic() - begun > limit and revision_of(item) in stash.get(SERVERS, {}):
        reason = f"the checks took {limit:g} s, which is all they may take (--max-time)"
        blocked = Blocked(reason, cause=Cause.TIME_IS_UP)
        server_for(item.config, revision_of(item)).reported.raise_once("time", blocked)


def _block_locked_check(item: pytest.Item) -> None:
    """Block the first check that comes when the server rejects the credential, and skip the others."""
    server = item.config.stash.get(SERVERS, {}).get(revision_of(item))
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
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End every process of the server, whatever ended the run."""
    config = session.config
    servers = config.stash.get(SERVERS, {}).values()
    for server in servers:
        server.sessions.begin_close()
    for server in servers:
        server.close()
    _count(config)
    if SUBJECT in config.stash:
        config.stash[SUBJECT].close()
        if (http := config.stash[SUBJECT].settings.http) is not None:
            http.close()
        config.stash[OUTLIVED] = config.stash.get(OUTLIVED, 0) + end_run()
        getattr(config, "workeroutput", {})["mcp_outlived"] = config.stash[OUTLIVED]


def _count(config: pytest.Config) -> None:
    """Add up what the servers of this run have started, written and answered."""
    starts, counts = config.stash.setdefault(STARTS, Counter()), config.stash.setdefault(COUNTS, Counter())
    costs, judged = config.stash.setdefault(COSTS, {}), config.stash.setdefault(JUDGED, {})
    for revision, server in config.stash.get(SERVERS, {}).items():
        judged[revision] = server.judged_figures
        costs.setdefault(revision, []).extend(map(CallCost.of, server.tool_calls.answered()))
        starts.update({(revision, purpose): number for purpose, number in server.sessions.all_starts.items()})
        for what, tools in vars(server.tool_calls.counts).items():
            counts.update({(what, tool): number for tool, number in tools.items()})
        counts["sent", revision] += sum(session.sent for session in server.sessions.every)
        for session in server.sessions.every:
            counts["dropped", ""] += session.lines.dropped
    if hasattr(config, "workeroutput"):
        config.workeroutput["mcp_starts"] = [(*key, number) for key, number in starts.items()]
        config.workeroutput["mcp_costs"] = {name: list(map(astuple, each)) for name, each in costs.items()}
        config.workeroutput["mcp_judged"] = judged
        config.workeroutput["mcp_counts"] = [(*key, number) for key, number in counts.items()]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add what an xdist worker has counted."""
    stash, output = node.config.stash, getattr(node, "workeroutput", {})
    stash[OUTLIVED] = stash.get(OUTLIVED, 0) + output.get("mcp_outlived", 0)
    costs = stash.setdefault(COSTS, {})
    for revision, each in output.get("mcp_costs", {}).items():
        costs.setdefault(revision, []).extend(CallCost(*one) for one in each)
    for revision, figures in output.get("mcp_judged", {}).items():
        stash.setdefault(JUDGED, {}).setdefault(revision, {}).update(figures)
    for key, name in ((STARTS, "mcp_starts"), (COUNTS, "mcp_counts")):
        counted = stash.setdefault(key, Counter())
        for one, other, number in output.get(name, ()):
            counted[one, other] += number


# Skipping ----------------------------------------------------------------------------------------


SKIP_CAUSE = pytest.StashKey[Cause | None]()
"""Why a check was skipped, where the report needs to know."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Skip a check whose fixture raises `Skipped`; block or skip one that comes too late."""
    with _skipping(item):
        if is_ours(item):
            _block_late_check(item)
            _block_locked_check(item)
            _begin_fuzzing(item)
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Skip a check that raises `Skipped`."""
    with _skipping(item):
        return (yield)


@contextmanager
def _skipping(item: pytest.Item) -> Iterator[None]:
    """Skip a check that was not exercised, or that is blocked by a fault that another check has reported."""
    try:
        yield
    except pytest.fail.Exception as error:
        raise _ended_by_a_plugin(item, error) from None
    except Deferred:
        item.stash[DEFERRED] = True
        raise DeferredCheck("it needs the answer of a slow call") from None
    except (Skipped, NoExample, Unjudgeable) as reason:
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


def _skip_or_error(item: pytest.Item, reason: Skipped | NoExample | Unjudgeable) -> BaseException:
    """Return what skips a check; a user's own test gets the error that no arguments are known."""
    if isinstance(reason, Skipped):
        return _skip(item, str(reason), reason.cause)
    if not is_ours(item):
        return reason
    return _skip(item, str(reason), Cause.TOO_COSTLY if reason.is_too_costly else None)


def _skip(item: pytest.Item, reason: str, cause: Cause | None) -> BaseException:
    item.stash[SKIP_CAUSE] = cause
    return pytest.skip.Exception(named(reason, MAX_REASON))
