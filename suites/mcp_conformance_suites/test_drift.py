"""Drift: a process over many calls, with --fuzz thorough (not a rule of the specification)."""

from __future__ import annotations

import pytest

from mcp_conformance.fuzzing.drift import CHILDREN, FILES, MEMORY
from mcp_conformance.fuzzing.repeated_calls import expect_level, expect_same_answers
from mcp_conformance.scenarios.list_stability import COMPARED, OTHER_LISTS, expect_same_in_every_process

pytestmark = pytest.mark.stage("last")


@pytest.mark.requirement("drift.memory")
def test_the_memory_levels_off(server):
    expect_level(server, MEMORY)


@pytest.mark.requirement("drift.open-files")
def test_the_number_of_open_files_levels_off(server):
    expect_level(server, FILES)


@pytest.mark.requirement("drift.child-processes")
def test_the_number_of_child_processes_levels_off(server):
    expect_level(server, CHILDREN)


@pytest.mark.requirement("drift.answers")
def test_the_same_calls_are_answered_likewise_in_the_end(server):
    expect_same_answers(server)


@pytest.mark.requirement("drift.lists")
@pytest.mark.parametrize("method", COMPARED)
def test_another_process_lists_the_same(server, method):
    expect_same_in_every_process(server, method, server.shared(OTHER_LISTS))
