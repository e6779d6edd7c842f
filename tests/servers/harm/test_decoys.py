"""Tools that keep to their folder, and those that only seem to: what becomes of files of ours beside it."""

import sys

import pytest

from support import awkward, run_suite
from support.nightly import some_of

CHOSEN = ("--select", "tools.call.access-control", "--fuzz", "none", "--revision", "2025-11-25")
FAULTS = (
    "a_path_is_compared_before_it_is_resolved",
    "a_folder_of_a_like_name_is_taken_for_the_own_one",
    "a_link_is_not_followed_before_it_is_judged",
)


def test_a_tool_that_keeps_to_its_folder_is_not_accused():
    run = run_suite(awkward("keeps_to_its_folder"), *CHOSEN)
    assert [case.text for case in run.findings] == []
    assert len(run.of("passed")) == 1


@pytest.mark.parametrize("fault", some_of(FAULTS, 3))
def test_a_tool_that_leaves_its_folder_is_found(fault):
    server = (sys.executable, "-m", "mcp_conformance_fixtures.mutants", fault)
    run = run_suite(server, *CHOSEN)
    assert [case.check.partition("[")[0] for case in run.findings] == [
        "test_a_tool_that_keeps_to_its_folder_leaves_it_by_no_spelling"
    ]
