"""Checks that come again after the fuzzing, as they need the answer of a slow call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from _pytest.outcomes import Skipped
from _pytest.runner import runtestprotocol

from mcp_conformance.plugin.collection import STAGES, is_ours, revision_of, stage_of
from mcp_conformance.plugin.run_state import item_state, run_state
from mcp_conformance.target.server import Server

COMES_AGAIN_AFTER = {"listed": "fuzz", "first": "fuzz", "": "fuzz", "late": "confirm"}
"""The stage after which a deferred check of a stage comes again."""


class DeferredCheck(Skipped):
    """The end of a check that comes again; no report shows it."""


@pytest.hookimpl
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a check beside a slow call; if it needs the answer, let it come again after the fuzzing.

    A check that comes again is not logged.
    """
    server = run_state(item.config).servers.get(revision_of(item)) if is_ours(item) else None
    if server is None or nextitem is None or not _may_be_deferred(item, server):
        return None
    with _deferring(server):
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    if item_state(item).is_deferred:
        _insert_again(item)
        return True
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _may_be_deferred(item: pytest.Item, server: Server) -> bool:
    """Return whether a check may come later, because others can run beside a slow call.

    An xdist worker runs each check in its turn.  Over HTTP all sessions share the process.
    """
    is_in_turn = item_state(item).is_deferred or hasattr(item.config, "workerinput")
    if is_in_turn or not server.tool_calls.pending:
        return False
    server.tool_calls.pending.read()
    return server.settings.http is None or not server.tool_calls.pending.keep_others_waiting


@contextmanager
def _deferring(server: Server) -> Iterator[None]:
    server.tool_calls.pending.may_be_deferred = True
    try:
        yield
    finally:
        server.tool_calls.pending.may_be_deferred = False


def _insert_again(item: pytest.Item) -> None:
    """Let a check come again after the checks of another stage, or of its own."""
    stage = STAGES[stage_of(item)]
    after = STAGES.index(COMES_AGAIN_AFTER.get(stage, stage))
    items = item.session.items
    later = (place for place, one in enumerate(items) if is_ours(one) and stage_of(one) > after)
    items.insert(next(later, len(items)), item)
