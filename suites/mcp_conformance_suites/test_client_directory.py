"""What directories of servers demand of a submission, if the user names them with --client."""

from __future__ import annotations

import pytest

from mcp_conformance.scenarios.client_limits import expect_within_limits


@pytest.mark.requirement("client.title")
def test_each_tool_has_a_title(server):
    expect_within_limits(server, "title")


@pytest.mark.requirement("client.description")
def test_each_tool_has_a_description(server):
    expect_within_limits(server, "description")


@pytest.mark.requirement("client.any-hint")
def test_each_tool_says_whether_it_changes(server):
    expect_within_limits(server, "any-hint")


@pytest.mark.requirement("client.each-hint")
def test_each_tool_has_all_hints(server):
    expect_within_limits(server, "each-hint")


@pytest.mark.requirement("client.widget-csp")
def test_each_interface_has_a_policy(server):
    expect_within_limits(server, "widget-csp")


@pytest.mark.requirement("client.widget-domain")
def test_each_interface_has_a_domain(server):
    expect_within_limits(server, "widget-domain")
