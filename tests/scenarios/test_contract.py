"""Differences from a contract: which requirement each breaks, and none that breaks nobody."""

from pathlib import Path

import pytest

from mcp_conformance.outcome import Outcome
from mcp_conformance.protocol.revisions import LATEST_HANDSHAKE, LATEST_MODERN
from mcp_conformance.scenarios.contract import Observed, differences, observed
from mcp_conformance.target.contract import Contract
from mcp_conformance.target.probe import probe_all
from mcp_conformance.target.server import Server
from mcp_conformance_fixtures.mutants import item
from support.bench import reference_contract, run_checks, settings_in_memory
from support.in_memory import mutated

NOW, MODERN = LATEST_HANDSHAKE, LATEST_MODERN
TEXT = {"type": "object", "properties": {"a": {"type": "string"}}}
NEEDED = TEXT | {"required": ["a"]}


def offer(**members):
    lists = {"tools": {}, "prompts": {}, "resources": {}, "resourceTemplates": {}}
    return {"capabilities": {}, **lists, **members}


def found(old, new, incomplete=()):
    changes = differences(offer(**old), Observed(offer(**new), frozenset(incomplete)), NOW)
    return [(one.requirement.removeprefix("contract."), str(one.change)) for one in changes]


def tool(**members):
    return {"tools": {"add": {"inputSchema": {"type": "object"}, **members}}}


def tasks(support):
    return tool(execution={"taskSupport": support})


def prompt(*arguments):
    listed = [{"name": name, "required": needed} for name, needed in arguments]
    return {"prompts": {"greet": {"arguments": listed}}}


def resource(**members):
    return {"resources": {"a:b": members}}


def capabilities(**members):
    return {"capabilities": members}


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (tool(), {}, "listed: tool add: BREAKING is gone"),
        ({}, tool(), "current: tool add: is new"),
        (resource(), {}, "listed: resource a:b: BREAKING is gone"),
        (
            {"resourceTemplates": {"a:{b}": {}}},
            {},
            "listed: resource template a:{b}: BREAKING is gone",
        ),
        (
            tool(inputSchema=TEXT),
            tool(inputSchema=NEEDED),
            "input: add: BREAKING inputSchema: a is required now",
        ),
        (
            tool(inputSchema=NEEDED),
            tool(inputSchema=TEXT),
            "current: add: inputSchema: a is no longer required",
        ),
        (
            tool(outputSchema=NEEDED),
            tool(outputSchema=TEXT),
            "output: add: BREAKING outputSchema: a is no longer required",
        ),
        (
            tool(outputSchema=TEXT),
            tool(outputSchema=NEEDED),
            "current: add: outputSchema: a is required now",
        ),
        (tool(outputSchema=TEXT), tool(), "output: add: BREAKING outputSchema is gone"),
        (tool(), tool(outputSchema=TEXT), "current: add: outputSchema is new"),
        (tool(), tasks("required"), 'input: add: BREAKING `taskSupport` is "required", was "forbidden"'),
        (
            tasks("optional"),
            tasks("forbidden"),
            'input: add: BREAKING `taskSupport` is "forbidden", was "optional"',
        ),
        (tool(), tasks("optional"), 'current: add: `taskSupport` is "optional", was "forbidden"'),
        (tool(description="a"), tool(description="b"), 'current: add: `description` changed to "b"'),
        (
            tool(annotations={"readOnlyHint": True}),
            tool(),
            "current: add: `readOnlyHint` is null, was true",
        ),
        (
            prompt(("a", False)),
            prompt(("a", True)),
            "prompts: greet: BREAKING argument a is required now",
        ),
        (prompt(), prompt(("a", True)), "prompts: greet: BREAKING argument a is required now"),
        (prompt(), prompt(("a", False)), "current: greet: argument a is new"),
        (prompt(("a", True)), prompt(("a", False)), "current: greet: argument a is no longer required"),
        (prompt(("a", True)), prompt(), "current: greet: argument a is gone"),
        (capabilities(logging={}), {}, "capabilities: capability logging: BREAKING is gone"),
        ({}, capabilities(logging={}), "current: capability logging: is new"),
        ({"instructions": "a"}, {"instructions": "b"}, "current: instructions: changed"),
        (resource(mimeType="a/b"), resource(), 'current: a:b: `mimeType` is null, was "a/b"'),
    ],
)
def test_a_difference_breaks_its_requirement(old, new, text):
    assert [": ".join(one) for one in found(old, new)] == [text]


def test_a_flag_that_is_no_longer_declared_is_gone():
    declared, not_declared = (capabilities(tools={"listChanged": flag}) for flag in (True, False))
    gone = [("capabilities", "capability tools.listChanged: BREAKING is gone")]
    assert found(declared, not_declared) == gone
    assert found(not_declared, capabilities(tools={})) == []


def test_a_list_that_is_not_complete_lacks_nothing():
    assert found(tool(), {}, incomplete={"tools"}) == []


@pytest.mark.parametrize("member", ["inputSchema", "outputSchema"])
def test_a_schema_that_is_written_otherwise_breaks_nothing(member):
    forms = ({"const": "x"}, {"const": "x", "type": "string"})
    one, other = (tool(**{member: {"type": "object", "properties": {"a": form}}}) for form in forms)
    for old, new in ((one, other), (other, one)):
        assert {requirement for requirement, _ in found(old, new)} == {"current"}


def test_wrong_definitions_do_no_harm():
    odd = tool(inputSchema=5, annotations=[], execution=1) | {"prompts": {"greet": {"arguments": 3}}}
    right = tool() | prompt(("a", False))
    assert {requirement for requirement, _ in found(odd, right)} == {"current"}
    assert found(odd, odd) == []


# Whole checks


def verdicts(settings):
    run = run_checks(settings, NOW, lambda check: check.suite == "test_contract", is_whole=False)
    return {one.row.id: (one.outcome, str(one.error)) for one in run.verdicts}, run.passed


def test_a_breaking_change_fails_with_its_proof_and_a_description_warns():
    def mutate(server, request, reply):
        if weather := item(reply, "weather"):
            schema = weather["inputSchema"]
            weather["inputSchema"] = {**schema, "required": [*schema["required"], "units"]}
            weather["description"] = "Now with units."

    by_rule, _ = verdicts(settings_in_memory(mutated(mutate), contract=reference_contract(NOW)))
    (failed, broken), (warned, current) = by_rule.pop("contract.input"), by_rule.pop("contract.current")
    assert (failed, warned, by_rule) == (Outcome.FAILED, Outcome.WARNED, {})
    assert "units is required now" in broken
    assert "proves it" in broken
    assert "Now with units." in current


def test_a_contract_of_no_tested_revision_warns():
    offers = reference_contract(MODERN).offers
    by_rule, passed = verdicts(settings_in_memory(mutated(None), contract=Contract("c.json", "", offers)))
    assert {rule: outcome for rule, (outcome, _) in by_rule.items()} == {"contract.current": Outcome.WARNED}
    assert passed == set()


def test_the_name_of_the_folder_and_credentials_are_no_part_of_a_contract():
    class Place:
        root = Path("/tmp/place-1")
        work = root / "work"

    def mutate(server, request, reply):
        if add := item(reply, "add"):
            add["description"] = "Reads /tmp/place-1/work with s3cret-value."

    environment = {"API_TOKEN": "s3cret-value"}
    settings = settings_in_memory(mutated(mutate), env=environment, throwaway=Place())
    server = Server.of(probe_all(settings, (NOW,)), NOW)
    described = observed(server).offer["tools"]["add"]["description"]
    server.close()
    assert described == "Reads ***/work with ***."
