"""Checks on a server that writes more than the log of a conversation keeps."""

from mcp_conformance.client import message_log
from support.bench import run_checks, settings_in_memory
from support.in_memory import mutated


def test_tasks_are_judged_when_their_first_lines_were_dropped(monkeypatch):
    monkeypatch.setattr(message_log, "MAX_LOG_BYTES", 5000)
    settings = settings_in_memory(mutated(lambda *_: None), timeout=5.0)
    run = run_checks(
        settings, "2025-11-25", lambda check: any(id.startswith("tasks.") for id in check.ids), is_whole=False
    )
    assert run.verdicts == []
