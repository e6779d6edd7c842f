"""Capabilities: a server declares the features that it serves (spec: server/*, "Capabilities")."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect_each, is_boolean, is_object, require, require_some, skip
from mcp_conformance.protocol.jsonrpc import Kind
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.completion import completion_request, is_completion
from mcp_conformance.scenarios.log_messages import MESSAGE, logging_requests
from mcp_conformance.verdicts import Finding


@pytest.mark.requirement("capabilities.tools.declared")
@pytest.mark.stage("listed")
def test_a_server_with_tools_declares_them(server):
    server.require_discovery()
    if server.offers.get("tools") is None:
        served = require_some(server.listing("tools/list").items, skip="the server has no tools")
        raise Finding("a tools capability", f"none, although it lists {served[0]}", served[0].lines)


@pytest.mark.requirement("capabilities.prompts.declared", "prompts.capabilities-respected")
@pytest.mark.stage("listed")
def test_a_server_with_prompts_declares_them(server):
    server.require_discovery()
    if server.offers.get("prompts") is None:
        served = require_some(server.listing("prompts/list").items, skip="the server has no prompts")
        raise Finding("a prompts capability", f"none, although it lists {served[0]}", served[0].lines)


@pytest.mark.requirement("capabilities.resources.declared")
@pytest.mark.stage("listed")
def test_a_server_with_resources_declares_them(server):
    server.require_discovery()
    if server.offers.get("resources") is None:
        lists = map(server.listing, ("resources/list", "resources/templates/list"))
        served = [item for listing in lists for item in listing.items]
        require_some(served, skip="the server has no resources")
        raise Finding("a resources capability", f"none, although it lists {served[0]}", served[0].lines)


@pytest.mark.requirement("capabilities.completions.declared")
@pytest.mark.stage("listed")
def test_a_server_that_completes_declares_it(server, session):
    server.require_discovery()
    if server.offers.get("completions") is None:
        params = require(completion_request(server), skip="no listed prompt or template can be completed")
        reply = session.request("completion/complete", params)
        if not is_completion(reply):
            skip("the server does not complete")
        raise Finding("a completions capability", f"none, although it completes: {reply}", reply.lines)


@pytest.mark.requirement("capabilities.logging.declared", "lifecycle.operation.server-features")
def test_a_server_that_logs_to_the_client_declares_it(server, messages):
    server.require_discovery()
    if server.offers.get("logging") is None:
        logging_requests(server)
        logged = [each for each in messages(Kind.NOTIFICATION) if each.json["method"] == MESSAGE]
        require_some(logged, skip="the server sent no log messages")
        lines = server.sessions.after_request(logged[0].lines[0])
        raise Finding("a logging capability", f"none, although it sent {logged[0]}", lines)


@pytest.mark.requirement("capabilities.tools.shape", "lifecycle.initialize.capabilities-shape")
@pytest.mark.capability("tools")
@pytest.mark.stage("listed")
def test_the_tools_capability_is_an_object_with_a_boolean_flag(server):
    server.require_discovery()
    declared = require_some(members([server.offers], "tools"), skip="tools are not declared")
    expect_each(declared, is_object, "an object")
    expect_each(members(declared, "listChanged"), is_boolean, "true or false")


@pytest.mark.requirement("capabilities.feature-objects.shape", "lifecycle.initialize.capabilities-shape")
@pytest.mark.stage("listed")
def test_the_other_capabilities_are_objects_with_boolean_flags(server, revision):
    server.require_discovery()
    names = ["prompts", "resources", "logging"]
    names += ["completions"] if revision >= "2025-03-26" else []
    names += ["tasks"] if revision == "2025-11-25" else []
    declared = [value for name in names for value in members([server.offers], name)]
    require_some(declared, skip="none of these capabilities is declared")
    expect_each(declared, is_object, "an object")
    flags = [*members(declared, "listChanged"), *members(declared, "subscribe")]
    expect_each(flags, is_boolean, "true or false")
