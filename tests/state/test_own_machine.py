"""State machines of users: bundles hold what tools have answered, and rules call tools with it."""

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from mcp_conformance import state_machine
from mcp_conformance.target.probe import probe_all
from mcp_conformance.testing import McpServer
from support.bench import settings_in_memory
from support.state import REVISION, state_in_memory

QUICK = settings(
    max_examples=20,
    stateful_step_count=8,
    deadline=None,
    database=None,
    derandomize=True,
    phases=(Phase.generate,),
)
TOOLS = ("create_folder", "create_note", "get_note", "delete_note")


def machine(name, called):
    """Return a machine that expects deleted notes to be gone; ``called`` gets what was called."""
    server = McpServer(probe_all(settings_in_memory(state_in_memory(name)), (REVISION,)))

    class Notes(state_machine(server, *TOOLS)):  # type: ignore[misc]  # mypy knows no such classes
        def __init__(self):
            super().__init__()
            self.deleted = set()

        def after_create_note(self, arguments, result):
            assert result.ok

        def after_delete_note(self, arguments, result):
            if result.ok:
                self.deleted.add(arguments["id"])

        def after_get_note(self, arguments, result):
            assert result.ok is not (arguments["id"] in self.deleted)
            called.add("get_note" if result.ok else "get_note of a deleted one")

    return Notes


def test_tools_are_called_with_what_others_made():
    called = set()
    run_state_machine_as_test(machine("", called), settings=QUICK)
    assert {"get_note", "get_note of a deleted one"} <= called


def test_what_does_not_hold_fails_the_test():
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine("a_deleted_note_can_be_read", set()), settings=QUICK)
