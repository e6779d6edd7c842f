"""Members that any result may have (spec: basic, "Messages")."""

from __future__ import annotations

import pytest

from mcp_conformance.expect import expect_each, expect_none, is_object, is_string, require_some
from mcp_conformance.protocol.jsonrpc import Kind
from mcp_conformance.protocol.revisions import SERVER_INFO
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.client_features import FULL_CLIENT, run_with_client
from mcp_conformance.scenarios.completion import completion_request
from mcp_conformance.scenarios.multi_round_trip import declared_capabilities
from mcp_conformance.scenarios.request_metadata import modern_results
from mcp_conformance.scenarios.subscriptions import subscriptions
from mcp_conformance.scenarios.traffic import exercise_everything, judged_in_all
from mcp_conformance.target.scenario import scenario

COMPLETE_MEMBERS = {
    "server/discover": ("supportedVersions", "capabilities"),
    "tools/list": ("tools",),
    "tools/call": ("content", "structuredContent", "isError"),
    "prompts/list": ("prompts",),
    "prompts/get": ("messages",),
    "resources/list": ("resources",),
    "resources/templates/list": ("resourceTemplates",),
    "resources/read": ("contents",),
    "completion/complete": ("completion",),
}
"""The members that only a complete result of each method has."""
INPUT_REQUIRED_MEMBERS = ("inputRequests", "requestState")


@pytest.mark.requirement("result.meta-object")
def test_meta_of_a_result_is_an_object(messages):
    results = require_some(members(messages(Kind.RESULT), "result"), skip="no request gave a result")
    expect_each(members(results, "_meta"), is_object, "an object")


# The type


@pytest.mark.requirement("result.result-type-present", "result.type-complete")
def test_a_result_has_a_result_type(server):
    replies = require_some(replies_with_objects(server), skip="no request gave a result")
    results = [reply.value for reply in replies]
    expect_each(results, lambda result: "resultType" in result, "a member resultType")


@pytest.mark.requirement("result.result-type-string", "result.type-complete")
def test_a_result_type_is_a_string(server):
    replies = require_some(replies_with_objects(server), skip="no request gave a result")
    types = members([reply.value for reply in replies], "resultType")
    require_some(types, skip="no result has a resultType")
    expect_each(types, is_string, "a string in resultType")


@pytest.mark.requirement("result.result-type-known", "result.type-complete")
def test_a_result_type_is_a_known_one(server):
    replies = require_some(replies_with_objects(server), skip="no request gave a result")
    results = [reply.value for reply in replies if not declares_extensions(reply)]
    types = [type for type in members(results, "resultType") if type.is_a(str)]
    require_some(types, skip="no result has a resultType")
    expect_each(types, lambda kind: kind in ("complete", "input_required"), "complete or input_required")


@pytest.mark.requirement("result.complete-for-final", "result.type-complete")
def test_only_a_result_that_asks_for_something_is_input_required(server):
    replies = require_some(replies_with_objects(server), skip="no request gave a result")
    asking = [reply for reply in replies if reply.needs_input]
    require_some(asking, skip="no result requires input")
    complete = [reply.value for reply in asking if is_complete(reply)]
    expect_none(complete, "complete, as it asks for nothing, or has what was requested")


def declares_extensions(reply):
    """Return whether a request declares extensions, which may have result types of their own."""
    declared = declared_capabilities(reply)
    return isinstance(declared, dict) and bool(declared.get("extensions"))


def is_complete(reply):
    """Return whether a result asks for nothing, or has what a complete result of its method has.

    The Go SDK 1.8.0 writes `"content": null` beside what it asks for, which is nothing.
    """
    asks = any(name in reply.result for name in INPUT_REQUIRED_MEMBERS)
    return not asks or any(reply.result.get(name) for name in COMPLETE_MEMBERS.get(reply.method, ()))


# The server


@pytest.mark.requirement("result.server-info")
def test_a_result_names_its_server(server):
    replies = require_some(replies_with_objects(server), skip="no request gave a result")
    with judged_in_all(server):
        expect_each([reply.value for reply in replies], has_server_info, f"{SERVER_INFO} in _meta")


@pytest.mark.requirement("result.server-info-shape")
def test_the_server_of_a_result_has_a_name_and_a_version(server):
    replies = require_some(replies_with_objects(server), skip="no request gave a result")
    infos = members([reply.value for reply in replies], "_meta", SERVER_INFO)
    require_some(infos, skip="no result names its server")
    expect_each(infos, is_implementation, "an object with strings in name and version")
    for name in ("title", "description", "websiteUrl"):
        expect_each(members(infos, name), is_string, f"a string, or no {name}")
    icons = members(infos, "icons")
    expect_each(icons, lambda value: isinstance(value, list), "an array, or no icons")


def has_server_info(result):
    meta = result.get("_meta")
    return isinstance(meta, dict) and SERVER_INFO in meta


def is_implementation(info):
    return isinstance(info, dict) and all(is_string(info.get(name)) for name in ("name", "version"))


# All results


def replies_with_objects(server):
    """Exercise everything, and return the replies so far whose result is an object."""
    exercise_everything(server)
    run_with_client(server, FULL_CLIENT)
    subscriptions(server)
    complete_something(server)
    return [reply for reply in modern_results(server) if isinstance(reply.result, dict)]


@scenario
def complete_something(server):
    """Complete an argument, if the server completes."""
    params = completion_request(server) if server.declares("completions") else None
    if params is not None:
        server.session.request("completion/complete", params)
