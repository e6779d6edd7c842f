"""Pytest glue: the servers of a run, the time it may take, and what a check may raise."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from conformance.generation import NoExample
from conformance.json_schema.validation import Unjudgeable
from conformance.plugin.collection import (
    BEGUN,
    COMMON,
    NOTED,
    OUTLIVED,
    REASON_SHOWN,
    SANDBOX,
    SERVERS,
    SUBJECT,
    WHOLE,
    is_ours,
    revision_of,
)
from conformance.protocol.text import named
from conformance.target.scenario import STARTED_EARLY
from conformance.target.server import Server
from conformance.transport.process_tree import end_run
from conformance.verdicts import Blocked, Skipped

# Running -----------------------------------------------------------------------------------------


def server_for(config: pytest.Config, revision: str) -> Server:
    """The one `Server` of this run in a revision; `pytest_sessionfinish` ends its processes."""
    servers = config.stash.setdefault(SERVERS, {})
    if revision not in servers:
        subject = config.stash[SUBJECT]
        common = config.stash.setdefault(COMMON, {})
        server = servers[revision] = Server(subject.settings, subject.surface(revision), common)
        if config.stash.get(WHOLE, False):
            server.begin_calls()
            for scenario in STARTED_EARLY:
                scenario(server)
    return servers[revision]


def _expect_time(item: pytest.Item) -> None:
    """Block the first check that comes when the time is up, and skip the others."""
    stash, most = item.config.stash, item.config.stash[SUBJECT].settings.max_time
    begun = stash.setdefault(BEGUN, time.monotonic())
    if time.monotonic() - begun > most and revision_of(item) in stash.get(SERVERS, {}):
        reason = f"the checks took {most:g} s, which is all they may take (--mcp-max-time)"
        server_for(item.config, revision_of(item)).raise_once("time", Blocked(reason))


def newly_noted(config: pytest.Config) -> dict[str, int]:
    """How many of the server's lines were not kept, and how many repeat a member, since it was told last."""
    servers = config.stash.get(SERVERS, {}).values()
    lines = [session.lines for server in servers for session in server.sessions]
    found = Counter(dropped=sum(one.dropped for one in lines), repeats=sum(one.repeats for one in lines))
    told, config.stash[NOTED] = config.stash.get(NOTED, Counter()), found
    return dict(found - told)


@pytest.hookimpl(tryfirst=True)
def pytest_keyboard_interrupt(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Leave out the frames of an interrupted run that have no line; pytest stumbles over them."""
    excinfo.traceback = excinfo.traceback.filter(_has_line)


def _has_line(entry: Any) -> bool:
    try:
        return entry.lineno is not None
    except TypeError:
        return False


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what the server has left, and remove the throwaway folder."""
    end_run()
    if SANDBOX in config.stash:
        config.stash[SANDBOX].remove()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End every process of the server, whatever ended the run."""
    config = session.config
    for server in config.stash.get(SERVERS, {}).values():
        server.close()
    if SUBJECT in config.stash:
        config.stash[OUTLIVED] = config.stash.get(OUTLIVED, 0) + end_run()
        getattr(config, "workeroutput", {})["mcp_outlived"] = config.stash[OUTLIVED]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take from an xdist worker what it has found at its end."""
    stash = node.config.stash
    stash[OUTLIVED] = stash.get(OUTLIVED, 0) + getattr(node, "workeroutput", {}).get("mcp_outlived", 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """A rule that is not exercised is a skipped check, also when a fixture found out."""
    with _skipping(item):
        if is_ours(item):
            _expect_time(item)
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A rule that is not exercised is a skipped check."""
    with _skipping(item):
        return (yield)


@contextmanager
def _skipping(item: pytest.Item) -> Iterator[None]:
    """Skip a check that is not exercised, or that is blocked for what others have told."""
    try:
        yield
    except (Skipped, NoExample, Unjudgeable) as reason:
        raise _unexercised(item, reason) from None  # pytest would format the whole chain
    except Blocked as blocked:
        known = blocked.fault is not None and is_ours(item)
        if known and server_for(item.config, revision_of(item)).is_duplicate(blocked):
            raise pytest.skip.Exception(named(f"{blocked} (reported before)", REASON_SHOWN)) from None
        raise


def _unexercised(item: pytest.Item, reason: Exception) -> BaseException:
    """What skips a check, with the reason; a user's test is told itself that no arguments are known."""
    if isinstance(reason, Skipped) or is_ours(item):
        return pytest.skip.Exception(named(str(reason), REASON_SHOWN))
    return reason
