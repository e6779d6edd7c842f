"""The order of checks for a server of which only one process can run: one revision after the other."""

from __future__ import annotations

import pytest

from mcp_conformance.plugin.collection import is_ours, revision_of, stage_of
from mcp_conformance.plugin.run_state import item_state, run_state


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Once that is known, let the checks of each stage come by their revision: each change is a start.

    The next check stays where it is: pytest has prepared for it.
    """
    state = run_state(item.config)
    if not is_ours(item) or state.is_by_revision or item_state(item).is_deferred or state.probed is None:
        return
    if state.probed.settings.solo.reason:
        state.is_by_revision = True
        items = item.session.items
        later = items.index(item) + 2
        items[later:] = sorted(items[later:], key=_by_revision)


def _by_revision(item: pytest.Item) -> tuple[int, str, int]:
    return stage_of(item), revision_of(item), item_state(item).place
