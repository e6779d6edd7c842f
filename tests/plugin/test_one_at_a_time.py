"""Where only one process of a server can run, the checks of one revision come after those of another."""

from types import SimpleNamespace

import pytest

from mcp_conformance.plugin import one_at_a_time


@pytest.mark.parametrize("reason", ["", "the store is locked"])
def test_each_stage_goes_from_revision_to_revision_once(reason, monkeypatch):
    solo = SimpleNamespace(reason=reason)
    state = SimpleNamespace(is_by_revision=False, probed=SimpleNamespace(settings=SimpleNamespace(solo=solo)))
    names = ["0a0", "0b1", "0a2", "0b3", "0a4", "0b5", "1a6", "1b7", "1a8"]
    items = [SimpleNamespace(name=name, config=None) for name in names]
    for item in items:
        item.session = SimpleNamespace(items=items)
    monkeypatch.setattr(one_at_a_time, "run_state", lambda _: state)
    monkeypatch.setattr(one_at_a_time, "is_ours", lambda _: True)
    monkeypatch.setattr(one_at_a_time, "stage_of", lambda item: int(item.name[0]))
    monkeypatch.setattr(one_at_a_time, "revision_of", lambda item: item.name[1])
    monkeypatch.setattr(
        one_at_a_time, "item_state", lambda item: SimpleNamespace(place=int(item.name[2]), is_deferred=False)
    )
    seen = []
    for item in items:
        one_at_a_time.pytest_runtest_protocol(item)
        seen.append(item.name)
    by_revision = ["0a0", "0b1", "0a2", "0a4", "0b3", "0b5", "1a6", "1a8", "1b7"]
    assert seen == (by_revision if reason else names)
