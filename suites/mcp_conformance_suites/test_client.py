"""Limits of the clients that the user names with --client (not rules of the specification)."""

from __future__ import annotations

import pytest

from mcp_conformance.scenarios.client_limits import expect_within_limits


@pytest.mark.requirement("client.tool-name")
def test_names_of_tools_are_accepted(server):
    expect_within_limits(server, "tool-name")


@pytest.mark.requirement("client.name-length")
def test_names_of_tools_leave_room_for_that_of_the_server(server):
    expect_within_limits(server, "name-length")


@pytest.mark.requirement("client.property-name")
def test_names_of_properties_are_accepted(server):
    expect_within_limits(server, "property-name")


@pytest.mark.requirement("client.top-keyword")
def test_the_outermost_schema_is_accepted(server):
    expect_within_limits(server, "top-keyword")


@pytest.mark.requirement("client.keyword")
def test_keywords_of_schemas_are_accepted(server):
    expect_within_limits(server, "keyword")


@pytest.mark.requirement("client.array-items")
def test_arrays_have_items(server):
    expect_within_limits(server, "array-items")


@pytest.mark.requirement("client.format")
def test_formats_are_accepted(server):
    expect_within_limits(server, "format")


@pytest.mark.requirement("client.one-type")
def test_a_schema_has_one_type(server):
    expect_within_limits(server, "one-type")


@pytest.mark.requirement("client.tool-count")
def test_the_number_of_tools_is_accepted(server):
    expect_within_limits(server, "tool-count")


@pytest.mark.requirement("client.output-dialect")
def test_the_dialect_of_output_schemas_is_accepted(server):
    expect_within_limits(server, "output-dialect")


@pytest.mark.requirement("client.domain-pattern")
def test_the_domains_of_interfaces_are_accepted(server):
    expect_within_limits(server, "domain-pattern")


@pytest.mark.requirement("client.result-length")
def test_the_length_of_results_is_accepted(server):
    expect_within_limits(server, "result-length")
