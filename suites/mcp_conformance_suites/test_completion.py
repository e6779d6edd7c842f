"""Completing the arguments of prompts and the variables of templates (spec: server/utilities/completion)."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_conformance.client.refusals import NO_SUCH_NAME
from mcp_conformance.client.reply import results_of
from mcp_conformance.expect import (
    expect_each,
    expect_error,
    expect_result,
    is_boolean,
    is_number,
    is_string,
    require_answer,
    require_some,
    skip,
)
from mcp_conformance.protocol.value import members
from mcp_conformance.scenarios.completion import (
    NOT_COMPLETED,
    accepted_params,
    completion_request,
    completions,
    fails_always,
    is_completed,
    is_completion,
)
from mcp_conformance.scenarios.invalid_requests import require_own_refusal
from mcp_conformance.verdicts import Finding

JSON_RPC_CODES = (-32700, -32600, -32601, -32602, -32603)
MAX_VALUES = 100


# The result


@pytest.mark.requirement("completion.result-shape")
@pytest.mark.capability("completions")
def test_a_completion_has_an_array_of_strings(server):
    results = require_some(results_of(completions(server)), skip=NOT_COMPLETED)
    expect_each(results, lambda result: has(result, "completion", dict), "an object in completion")
    found = members(results, "completion")
    expect_each(found, lambda each: has(each, "values", list), "an array in values")
    expect_each([value for each in members(found, "values") for value in each.each()], is_string, "a string")


@pytest.mark.requirement("completion.values-max-100")
@pytest.mark.capability("completions")
def test_a_completion_has_at_most_100_values(server):
    found = [values for values in members(completion_objects(server), "values") if values.is_a(list)]
    for values in require_some(found, skip=NOT_COMPLETED):
        if len(values.json) > MAX_VALUES:
            raise Finding(f"at most {MAX_VALUES} values", f"{len(values.json)} values", values.lines)


@pytest.mark.requirement("completion.total-type")
@pytest.mark.capability("completions")
def test_the_total_and_has_more_of_a_completion_have_their_types(server):
    found = require_some(completion_objects(server), skip=NOT_COMPLETED)
    expect_each(members(found, "total"), is_number, "a number, or no total")
    expect_each(members(found, "hasMore"), is_boolean, "true or false, or no hasMore")


@pytest.mark.requirement("completion.total-consistent")
@pytest.mark.capability("completions")
def test_the_total_of_a_completion_is_consistent_with_its_values(server):
    found = require_some(completion_objects(server), skip=NOT_COMPLETED)
    counted = [one for one in found if has(one.json, "values", list) and is_number(one.json.get("total"))]
    require_some(counted, skip="no completion has a total")
    expected = "a total no less than the values sent, and hasMore true just if it is more"
    expect_each(counted, is_consistent, expected)


def completion_objects(server):
    return [each for each in members(results_of(completions(server)), "completion") if each.is_a(dict)]


def has(value, name, type):
    return isinstance(value, dict) and isinstance(value.get(name), type)


def is_consistent(completion):
    sent, total = len(completion["values"]), completion["total"]
    more = completion.get("hasMore")
    return total >= sent and (not isinstance(more, bool) or more is (total > sent))


# Invalid requests


@pytest.mark.requirement("completion.undeclared-code")
def test_a_server_that_does_not_complete_has_no_such_method(server, session):
    if server.offers.get("completions") is not None:
        skip("completions are declared")
    listed = completion_request(server)
    reply = require_answer(session.request("completion/complete", listed or params_for("ref/prompt")))
    if listed and is_completion(reply):
        skip("the server completes: that it does not declare it is another finding")
    expect_error(reply, -32601)


@pytest.mark.requirement("completion.unknown-prompt-code")
@pytest.mark.capability("completions")
def test_the_completion_of_an_unknown_prompt_is_refused(server, session):
    right, reply = completions(server), session.request("completion/complete", params_for("ref/prompt"))
    expect_error(require_own_refusal(reply, right), -32602)


@pytest.mark.requirement("completion.unknown-ref-type")
@pytest.mark.capability("completions")
def test_a_reference_of_an_unknown_type_is_refused(server, session):
    right, reply = completions(server), session.request("completion/complete", params_for("ref/nothing"))
    expect_error(require_own_refusal(reply, right), -32602)


@pytest.mark.requirement("completion.missing-arguments-code")
@pytest.mark.parametrize("missing", ["ref", "argument", "name", "value"])
@pytest.mark.capability("completions")
def test_a_completion_that_lacks_a_part_is_refused(server, session, missing):
    params = accepted_params(server)
    argument = without(params["argument"], missing)
    incomplete = without({**params, "argument": argument}, missing)
    expect_error(session.request("completion/complete", incomplete), -32602)


@pytest.mark.requirement("completion.inputs-validated")
@pytest.mark.parametrize("wrong", ["ref", "ref-name", "argument", "argument-name", "argument-value"])
@pytest.mark.capability("completions")
def test_parts_of_the_wrong_type_are_refused(server, session, wrong):
    params = accepted_params(server)
    ref, argument = params["ref"], params["argument"]
    name = "name" if "name" in ref else "uri"
    changes: dict[str, dict[str, Any]] = {
        "ref": {"ref": 5},
        "ref-name": {"ref": {**ref, name: {"a": 1}}},
        "argument": {"argument": [argument]},
        "argument-name": {"argument": {**argument, "name": {"a": 1}}},
        "argument-value": {"argument": {**argument, "value": {"a": 1}}},
    }
    expect_error(session.request("completion/complete", {**params, **changes[wrong]}))


@pytest.mark.requirement("completion.inputs-validated")
@pytest.mark.capability("completions")
def test_a_value_that_is_a_number_does_no_harm(server, session):
    params = accepted_params(server)
    argument = {**params["argument"], "value": 5}
    require_answer(session.request("completion/complete", {**params, "argument": argument}))


def require_working(server):
    """Skip the check if each completion of something listed fails: then those of unknown things fail too."""
    if fails_always(server):
        skip("each completion fails: see completion.listed-is-completed")


def without(members, name):
    return {key: value for key, value in members.items() if key != name}


def params_for(type):
    """Return params that refer to something unknown."""
    return {"ref": {"type": type, "name": NO_SUCH_NAME}, "argument": {"name": "a", "value": ""}}


# Valid requests


@pytest.mark.requirement("completion.context-accepted")
@pytest.mark.capability("completions")
def test_a_completion_may_have_a_context(server, session):
    params = accepted_params(server)
    with_context = {**params, "context": {"arguments": {"x": "y"}}}
    reply = require_answer(session.request("completion/complete", with_context))
    if reply.value is None and session.request("completion/complete", params).value is not None:
        raise Finding("the result of the request without context", str(reply), reply.lines)


@pytest.mark.requirement("completion.ref-resource-forms")
@pytest.mark.capability("completions")
def test_a_listed_template_can_be_completed(server):
    require_working(server)
    replies = [one for one in completions(server) if ref_type(one) == "ref/resource"]
    replies = [one for one in replies if one.value is None or is_completed(one)]
    for reply in require_some(replies, skip="no template with a variable is listed"):
        if reply.code != -32603:
            expect_result(reply)


@pytest.mark.requirement("completion.listed-is-completed")
@pytest.mark.capability("completions")
def test_listed_arguments_can_be_completed(server):
    replies = [one for one in completions(server) if one.error is not None or is_completed(one)]
    require_some(replies, skip="nothing is listed that is completed or refused")
    refused = [reply for reply in replies if reply.code == -32602 and ref_type(reply) == "ref/prompt"]
    is_single = not fails_always(server)
    for reply in refused or (() if is_single else replies):
        name = reply.request.message["params"]["argument"]["name"]
        expected = f"values for the argument {name!r}, or none"
        raise Finding(expected, str(reply), reply.lines, advisory=is_single)


@pytest.mark.requirement("completion.internal-error-code")
@pytest.mark.capability("completions")
def test_a_completion_that_fails_has_a_meaningful_code(server):
    failed = [reply for reply in completions(server) if reply.error is not None]
    for reply in require_some(failed, skip="no completion fails"):
        if is_meaningless(reply.code):
            raise Finding("error -32603, or -32602 if the request is to blame", str(reply), reply.lines)
    require_some(results_of(completions(server)), skip=NOT_COMPLETED)


def ref_type(reply):
    return reply.request.message["params"]["ref"]["type"]


def is_meaningless(code):
    """Return whether a code is 0, or in JSON-RPC's reserved range without a meaning there."""
    if not isinstance(code, int | float):
        return False
    return code == 0 or (-32768 <= code <= -32100 and code not in JSON_RPC_CODES)
