"""Requests to the client: roots, sampling, elicitation (spec: client)."""

from __future__ import annotations

import json

import pytest

from mcp_conformance.client.handlers import MAX_TOOL_USES
from mcp_conformance.client.reply import results_of
from mcp_conformance.expect import expect, expect_each, expect_none, is_string, require_some, skip
from mcp_conformance.protocol.jsonrpc import ABSENT, show
from mcp_conformance.protocol.methods import FEATURES, NO_SUCH_METHOD
from mcp_conformance.protocol.revisions import is_modern
from mcp_conformance.protocol.uri import is_uri
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.client_features import (
    CANCELLING,
    DECLINING,
    FEATURES_ONLY,
    FULL_CLIENT,
    INVALID_ANSWERS,
    SAMPLING_TOOLS,
    URL_ELICITATION,
    expect_answers,
    requested_params,
    require_requests,
    require_use,
    run_with_client,
    schema_errors,
    with_opening,
)
from mcp_conformance.scenarios.elicitation import (
    completed_elicitations,
    filled_forms,
    is_https_or_local,
    is_url_elicitation,
)
from mcp_conformance.scenarios.invalid_requests import call_unknown, malformed_call
from mcp_conformance.scenarios.multi_round_trip import all_results, undeclared_methods
from mcp_conformance.scenarios.unserved_methods import refuses_what_exists
from mcp_conformance.verdicts import Finding

ROOTS, SAMPLING, ELICITATION = FEATURES
URL_ELICITATION_REQUIRED = -32042


# Roots


@pytest.mark.requirement("clientfeature.roots.capability-checked")
def test_roots_are_requested_only_if_declared(server):
    requests = run_with_client(server, FULL_CLIENT).server_requests(ROOTS)
    undeclared = undeclared_requests(server, ROOTS)
    require_some([*requests, *undeclared], skip="the server never asks for roots")
    expect_none(undeclared, "no roots/list to a client that did not declare roots")


@pytest.mark.requirement("clientfeature.roots.unavailable")
def test_a_client_without_usable_roots_is_served(server):
    requests = run_with_client(server, FULL_CLIENT).server_requests(ROOTS)
    require_some(requests, skip="the server never asks for roots")
    expect_answers(run_with_client(server, DECLINING), ROOTS, "the client has no roots")
    expect_answers(run_with_client(server, CANCELLING), ROOTS, "the client's root does not exist")
    expect_answers(run_with_client(server, INVALID_ANSWERS), ROOTS, "the client could not list its roots")
    require_use(server, ROOTS)


def undeclared_requests(server, method):
    """Return the requests by a method to clients that did not declare its feature."""
    if is_modern(server.revision):
        asking = results_of(reply for reply in all_results(server) if method in undeclared_methods(reply))
        return members(asking, "inputRequests")
    opened = [session for session in server.sessions if session.opening is not None]
    bare = [session for session in opened if not session.capabilities]
    return [each for session in bare for each in with_opening(session, session.received.requests(method))]


# Sampling


@pytest.mark.requirement("clientfeature.sampling.schema")
def test_a_request_for_sampling_is_well_formed(server, revision):
    require_requests(server, SAMPLING)
    for params, error in schema_errors(requested_params(server, SAMPLING), SAMPLING, revision):
        got = f"{params.path}: {error}"
        raise Finding("params as sampling/createMessage has them", got, params.lines)


@pytest.mark.requirement("clientfeature.sampling.message-shape")
def test_a_message_to_a_model_has_a_role_and_content(server):
    require_requests(server, SAMPLING)
    arrays = [array for array in members(requested_params(server, SAMPLING), "messages") if array.is_a(list)]
    messages = [message for array in arrays for message in array.each()]
    require_some(messages, skip="no request for sampling has a message")
    expect_each(messages, is_message, "a message of the user or the assistant, with content")


@pytest.mark.requirement("clientfeature.sampling.tools-capability")
def test_sampling_tools_are_offered_only_if_declared(server):
    require_requests(server, SAMPLING)
    params = members(run_with_client(server, FEATURES_ONLY).declared_requests(SAMPLING), "params")
    offered = [*members(params, "tools"), *members(params, "toolChoice")]
    expect_none(offered, "no tools for a client that did not declare sampling.tools")


@pytest.mark.requirement("clientfeature.sampling.tool-results-balanced")
def test_the_use_of_a_tool_is_followed_by_its_result(server):
    require_requests(server, SAMPLING)
    requests = run_with_client(server, SAMPLING_TOOLS).server_requests(SAMPLING)
    arrays = members(requests, "params", "messages")
    used = [array for array in arrays if any(blocks(message, "tool_use") for message in array.each())]
    for array in require_some(used, skip="the server ran no tool that a model wanted to use"):
        messages = [*array.each(), Value(None, "the message after it", array.lines)]
        for index, message in enumerate(messages[:-1]):
            after = messages[index + 1]
            uses = [block.json.get("id") for block in blocks(message, "tool_use")]
            results = [block.json.get("toolUseId") for block in blocks(after, "tool_result")]
            matches = len(results) == len(blocks(after)) and same_values(uses, results)
            expect(after, not uses or matches, f"the results of {uses} and no more")


@pytest.mark.requirement("clientfeature.sampling.include-context")
def test_context_is_requested_only_if_declared(server):
    require_requests(server, SAMPLING)
    requests = run_with_client(server, FEATURES_ONLY).declared_requests(SAMPLING)
    contexts = members(requests, "params", "includeContext")
    expected = "none, or no includeContext, as the client did not declare sampling.context"
    expect_each(contexts, lambda context: context not in ("thisServer", "allServers"), expected)


@pytest.mark.requirement("clientfeature.sampling.iteration-limit")
def test_a_model_that_never_stops_using_tools_is_stopped(server):
    require_requests(server, SAMPLING)
    calls = run_with_client(server, SAMPLING_TOOLS).calls_asking(SAMPLING)
    loops = [[one for one in call.asked if one.get("params", "tools") is not None] for call in calls]
    longest = max(
        require_some(list(filter(None, loops)), skip="no tools were offered to a model"), key=rounds
    )
    if rounds(longest) > MAX_TOOL_USES:
        raise Finding(f"at most {MAX_TOOL_USES} rounds", f"{rounds(longest)} rounds", longest[-1].lines)


def rounds(requests):
    """Return how many requests a loop has; the messages of the last show it if the first were dropped."""
    roles = members([requests[-1]], "params", "messages")
    replies = [
        role
        for role in members([one for each in roles for one in each.each()], "role")
        if role.json == "assistant"
    ]
    return max(len(requests), len(replies) + 1)


@pytest.mark.requirement("clientfeature.sampling.validates-content")
def test_a_sampled_message_without_content_does_no_harm(server):
    require_requests(server, SAMPLING)
    run = run_with_client(server, INVALID_ANSWERS)
    require_some(run.calls_asking(SAMPLING), skip="no client without sampling.tools is asked")
    expect_answers(run, SAMPLING, "the model's message had no content")
    require_use(server, SAMPLING)


def is_message(json):
    return isinstance(json, dict) and json.get("role") in ("user", "assistant") and "content" in json


def blocks(message, type=None):
    """Return the content blocks of a message, of one type or all."""
    content = message.get("content") or Value([])
    found = list(content.each()) if content.is_a(list) else [content]
    return [block for block in found if type is None or (block.is_a(dict) and block.json.get("type") == type)]


def same_values(one, other):
    return sorted(map(json.dumps, one)) == sorted(map(json.dumps, other))


# Elicitation


@pytest.mark.requirement("clientfeature.elicitation.schema")
def test_a_form_is_flat_and_of_primitive_fields(server, revision):
    require_requests(server, ELICITATION)
    forms = [each for each in requested_params(server, ELICITATION) if not is_url_elicitation(each)]
    require_some(forms, skip="no form was asked for")
    for params, error in schema_errors(forms, ELICITATION, revision):
        expected = "requestedSchema: an object of strings, numbers, booleans and choices"
        raise Finding(expected, f"{params.path}: {error}", params.lines)


@pytest.mark.requirement("clientfeature.elicitation.common-params")
def test_an_elicitation_has_a_message_and_a_known_mode(server):
    require_requests(server, ELICITATION)
    params = requested_params(server, ELICITATION)
    expect_each(params, lambda each: isinstance(each, dict) and is_string(each.get("message")), "a message")
    expect_each(members(params, "mode"), lambda mode: mode in ("form", "url"), "the mode form or url")


@pytest.mark.requirement("clientfeature.elicitation.mode-supported")
def test_only_the_declared_modes_of_elicitation_are_used(server):
    require_requests(server, ELICITATION)
    forms = [*modes_for(server, FEATURES_ONLY), *modes_for(server, INVALID_ANSWERS)]
    expect_each(forms, lambda mode: mode != "url", "no url for a client that shows forms only")
    pages = modes_for(server, URL_ELICITATION)
    expect_each(pages, lambda mode: mode == "url", "url for a client that declared elicitation.url alone")


@pytest.mark.requirement("clientfeature.elicitation.url-params")
def test_an_elicitation_by_url_has_a_url_and_an_id(server, revision):
    require_requests(server, ELICITATION)
    pages = require_some(url_elicitations(server), skip="the server requested no URL elicitation")
    if not is_modern(revision):
        expect_each(pages, lambda params: is_string(params.get("elicitationId")), "a string in elicitationId")
    expect_each(pages, lambda params: is_string(params.get("url")) and is_uri(params["url"]), "a valid url")


@pytest.mark.requirement("clientfeature.elicitation.url-https")
def test_the_url_of_an_elicitation_uses_https(server):
    require_requests(server, ELICITATION)
    pages = require_some(url_elicitations(server), skip="the server requested no URL elicitation")
    urls = [url for url in members(pages, "url") if url.is_a(str)]
    expect_each(urls, is_https_or_local, "https (http is for development)")


@pytest.mark.requirement("clientfeature.elicitation.required-error-only")
def test_no_elicitation_is_required_for_what_does_not_exist(server, session):
    if refuses_what_exists(server):
        skip("what exists is refused too")
    replies = [session.request(NO_SUCH_METHOD, {})]
    if any(call.reply.code != URL_ELICITATION_REQUIRED for call in server.calls()):
        replies += [call_unknown(server), malformed_call(server, "empty")]
    answered = [reply.error_value for reply in replies if reply.fault is None]
    codes = members(require_some(answered, skip="no request for what does not exist is answered"), "code")
    expected = "another error, as no elicitation would help"
    expect_each(codes, lambda code: code != URL_ELICITATION_REQUIRED, expected)


@pytest.mark.requirement("clientfeature.elicitation.complete-notification")
def test_a_completed_elicitation_was_requested_before(server):
    run_with_client(server, FULL_CLIENT)
    found = [one for session in server.sessions for one in completed_elicitations(session)]
    for id, known in require_some(found, skip="no elicitation by url was reported complete"):
        holds = is_string(id.json) and id.json in known
        expect(id, holds, "the elicitationId of an elicitation requested before")


@pytest.mark.requirement("clientfeature.elicitation.handles-refusal")
def test_a_user_may_decline_or_cancel(server):
    require_requests(server, ELICITATION)
    expect_answers(run_with_client(server, DECLINING), ELICITATION, "the user declined")
    expect_answers(run_with_client(server, CANCELLING), ELICITATION, "the user cancelled")
    require_use(server, ELICITATION)


@pytest.mark.requirement("clientfeature.elicitation.validates-data")
def test_the_content_of_a_form_is_validated(server):
    require_requests(server, ELICITATION)
    invalid_run = run_with_client(server, INVALID_ANSWERS)
    valid, invalid = filled_forms(run_with_client(server, FULL_CLIENT)), filled_forms(invalid_run)
    expect_answers(invalid_run, ELICITATION, "a field of the form had a value of the wrong type")
    both = [name for name in invalid if name in valid and not valid[name].is_refused]
    require_some(both, skip="no tool accepted a form that was filled in")
    refused = [name for name in both if invalid[name].is_refused]
    taken = [name for name in both if name not in refused]
    accepted = [name for name in taken if invalid[name].is_result_of(valid[name])]
    require_some(accepted + refused, skip="the tools' answers do not show whether they validate")
    for name in accepted:
        got = f"{name} took {show(invalid[name].content)} as it took {show(valid[name].content)}"
        expected = "a refusal of content that breaks the requestedSchema"
        raise Finding(expected, got, invalid[name].call.reply.lines)


def modes_for(server, client):
    """Return the mode of each elicitation requested of a client; `ABSENT` where it has none."""
    requests = run_with_client(server, client).declared_requests(ELICITATION)
    return [each.get("params", "mode") or Value(ABSENT, "params.mode", each.lines) for each in requests]


def url_elicitations(server):
    return [params for params in requested_params(server, ELICITATION) if is_url_elicitation(params)]
