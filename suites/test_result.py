"""Members that any result may have (spec: basic, "Messages")."""

from __future__ import annotations

import pytest

from conformance.expect import expect_each, expect_none, require_some
from conformance.protocol.jsonrpc import Kind
from conformance.protocol.revisions import SERVER_INFO
from conformance.protocol.value import members
from conformance.scenarios.client_features import FULL_CLIENT, run_with_client
from conformance.scenarios.completion import completion_request
from conformance.scenarios.multi_round_trip import declared_capabilities
from conformance.scenarios.request_metadata import modern_results
from conformance.scenarios.subscriptions import subscriptions
from conformance.scenarios.traffic import exercise_everything

OF_A_METHOD = {
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


@pytest.mark.requirement("result.meta-object")
def test_meta_of_a_result_is_an_object(traffic):
    results = require_some(members(traffic(Kind.RESULT), "result"), skip="no request gave a result")
    expect_each(members(results, "_meta"), lambda meta: isinstance(meta, dict), "an object")


# What kind of result it is


@pytest.mark.requirement("result.result-type-present", "result.type-complete")
def test_a_result_says_what_kind_it_is(server):
    expect_each(results(server), lambda result: "resultType" in result, "a member resultType")


@pytest.mark.requirement("result.result-type-string", "result.type-complete")
def test_the_kind_of_a_result_is_a_string(server):
    expect_each(types(server), lambda kind: isinstance(kind, str), "a string in resultType")


@pytest.mark.requirement("result.result-type-known", "result.type-complete")
def test_the_kind_of_a_result_is_a_known_one(server):
    plain = [reply for reply in replies(server) if not extensions_of(reply)]
    found = [kind for kind in members([reply.value for reply in plain], "resultType") if kind.is_a(str)]
    expect_each(
        require_some(found, skip="no result says what kind it is"), is_core, "complete or input_required"
    )


@pytest.mark.requirement("result.complete-for-final", "result.type-complete")
def test_only_what_asks_for_something_requires_input(server):
    asking = require_some(
        [reply for reply in replies(server) if reply.needs_input], skip="no result requires input"
    )
    final = [reply.value for reply in asking if not asks(reply) or is_final(reply)]
    expect_none(final, "complete, as it asks for nothing")


def is_core(kind):
    return kind in ("complete", "input_required")


def asks(reply):
    return "inputRequests" in reply.result or "requestState" in reply.result


def is_final(reply):
    """Whether it has what a complete result of its method has."""
    return any(name in reply.result for name in OF_A_METHOD.get(reply.method, ()))


def extensions_of(reply):
    """The extensions that a request declares, which may have results of a kind of their own."""
    declared = declared_capabilities(reply)
    return declared.get("extensions") if isinstance(declared, dict) else None


# Who made it


@pytest.mark.requirement("result.server-info")
def test_a_result_says_who_made_it(server):
    expect_each(results(server), names_server, f"{SERVER_INFO} in _meta")


@pytest.mark.requirement("result.server-info-shape")
def test_who_made_a_result_has_a_name_and_a_version(server):
    infos = require_some(members(results(server), "_meta", SERVER_INFO), skip="no result says who made it")
    expect_each(infos, is_implementation, "an object with strings in name and version")
    for name in ("title", "description", "websiteUrl"):
        expect_each(members(infos, name), lambda value: isinstance(value, str), f"a string, or no {name}")
    icons = members(infos, "icons")
    expect_each(icons, lambda value: isinstance(value, list), "an array, or no icons")


def names_server(result):
    meta = result.get("_meta")
    return isinstance(meta, dict) and SERVER_INFO in meta


def is_implementation(info):
    return isinstance(info, dict) and all(isinstance(info.get(name), str) for name in ("name", "version"))


# Every result


def replies(server):
    """Every result so far that is an object."""
    exercise_everything(server)
    run_with_client(server, FULL_CLIENT)
    subscriptions(server)
    server.once("a completion", lambda: completed(server))
    found = [reply for reply in modern_results(server) if reply.value.is_a(dict)]
    return require_some(found, skip="no request gave a result")


def completed(server):
    """What an argument is completed to, if the server completes."""
    params = completion_request(server) if server.declares("completions") else None
    return server.session.request("completion/complete", params) if params else None


def results(server):
    return [reply.value for reply in replies(server)]


def types(server):
    return require_some(members(results(server), "resultType"), skip="no result says what kind it is")
