"""Budgets: figures that the user limits with --budget (not a rule of the specification)."""

from __future__ import annotations

import pytest

from mcp_conformance.scenarios.budgets import expect_calls_within_budget, expect_within_budget


@pytest.mark.requirement("budget.start")
def test_the_first_answer_comes_within_its_budget(server):
    expect_within_budget(server, "start")


@pytest.mark.requirement("budget.tools.count")
def test_the_number_of_tools_is_within_its_budget(server):
    expect_within_budget(server, "tools.count")


@pytest.mark.requirement("budget.tools.bytes")
def test_the_list_of_tools_is_within_its_budget(server):
    expect_within_budget(server, "tools.bytes")


@pytest.mark.requirement("budget.call.p95")
def test_calls_are_answered_within_their_budget(server):
    expect_calls_within_budget(server, "call.p95")


@pytest.mark.requirement("budget.result.bytes")
def test_results_are_within_their_budget(server):
    expect_calls_within_budget(server, "result.bytes")
