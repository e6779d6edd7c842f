"""The contract: what the project's mcp-contract.json promises (not a rule of the specification)."""

from __future__ import annotations

import pytest

from mcp_conformance.scenarios.contract import (
    CAPABILITIES,
    CURRENT,
    INPUT,
    LISTED,
    OUTPUT,
    PROMPTS,
    expect_contract,
)


@pytest.mark.requirement("contract.listed")
def test_what_the_contract_has_is_still_listed(server):
    expect_contract(server, LISTED)


@pytest.mark.requirement("contract.input")
def test_a_tool_accepts_what_the_contract_allows(server, tool):
    expect_contract(server, INPUT, tool)


@pytest.mark.requirement("contract.output")
def test_a_tool_promises_what_the_contract_does(server, tool):
    expect_contract(server, OUTPUT, tool)


@pytest.mark.requirement("contract.prompts")
def test_a_prompt_requires_what_the_contract_does(server):
    expect_contract(server, PROMPTS)


@pytest.mark.requirement("contract.capabilities")
def test_capabilities_of_the_contract_are_declared(server):
    expect_contract(server, CAPABILITIES)


@pytest.mark.requirement("contract.current")
def test_the_contract_describes_the_server_as_it_is(server):
    expect_contract(server, CURRENT)
