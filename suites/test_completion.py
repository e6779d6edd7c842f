"""Completing the arguments of prompts and the variables of templates (spec: server/utilities/completion)."""

from __future__ import annotations

import pytest

from conformance.client.refusals import NO_SUCH_NAME
from conformance.expect import expect_each, expect_error, expect_result, require_answer, require_some, skip
from conformance.protocol.revisions import is_modern
from conformance.protocol.value import members
from conformance.scenarios.completion import completion_request, completion_requests
from conformance.verdicts import Blocked, Finding

JSON_RPC_CODES = (-32700, -32600, -32601, -32602, -32603)
MOST_COMPLETED = 30
NOTHING = "the server completed nothing that is listed"


# What a completion is


@pytest.mark.requirement("completion.result-shape")
def test_a_completion_has_an_array_of_strings(server):
    results = require_some(
        [reply.value for reply in completions(server) if reply.value is not None], skip=NOTHING
    )
    expect_each(results, lambda result: has(result, "completion", dict), "an object in completion")
    found = members(results, "completion")
    expect_each(found, lambda each: has(each, "values", list), "an array in values")
    expect_each([value for each in members(found, "values") for value in each.each()], is_string, "a string")


@pytest.mark.requirement("completion.values-max-100")
def test_a_completion_has_at_most_100_values(server):
    for values in require_some(
        [each for each in members(completed(server), "values") if each.is_a(list)], skip=NOTHING
    ):
        if len(values.json) > 100:
            raise Finding("at most 100 values", f"{len(values.json)} values", values.lines)


@pytest.mark.requirement("completion.total-type")
def test_a_completion_counts_in_numbers(server):
    found = completed(server)
    expect_each(members(found, "total"), is_number, "a number, or no total")
    expect_each(
        members(found, "hasMore"), lambda value: isinstance(value, bool), "true or false, or no hasMore"
    )


@pytest.mark.requirement("completion.total-consistent")
def test_the_count_of_a_completion_fits_its_values(server):
    counted = [
        each
        for each in completed(server)
        if has(each.json, "values", list) and is_number(each.json.get("total"))
    ]
    wanted = "a total no less than the values sent, and hasMore true just if it is more"
    expect_each(require_some(counted, skip="no completion says a total"), is_consistent, wanted)


def has(value, name, type):
    return isinstance(value, dict) and isinstance(value.get(name), type)


def is_string(value):
    return isinstance(value, str)


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_consistent(completion):
    sent, total = len(completion["values"]), completion["total"]
    more = completion.get("hasMore")
    return total >= sent and (not isinstance(more, bool) or more is (total > sent))


# Requests that are refused


@pytest.mark.requirement("completion.undeclared-code")
def test_a_server_that_does_not_complete_has_no_such_method(server, session):
    if server.offers.get("completions") is not None:
        skip("completions are declared")
    listed = completion_request(server)
    reply = require_answer(session.request("completion/complete", listed or unknown("ref/prompt")))
    if listed and reply.value is not None:
        skip("the server completes: that it does not declare it is another finding")
    expect_error(reply, -32601)


@pytest.mark.requirement("completion.unknown-prompt-code")
def test_the_completion_of_an_unknown_prompt_is_refused(server, session):
    completions(server)
    expect_error(session.request("completion/complete", unknown("ref/prompt")), -32602)


@pytest.mark.requirement("completion.unknown-ref-type")
def test_a_reference_of_an_unknown_type_is_refused(server, session):
    completions(server)
    expect_error(session.request("completion/complete", unknown("ref/nothing")), -32602)


@pytest.mark.requirement("completion.missing-arguments-code")
@pytest.mark.parametrize("missing", ["ref", "argument", "name", "value"])
def test_a_completion_that_lacks_a_part_is_refused(server, session, missing):
    params = working(server)
    argument = without(params["argument"], missing)
    spoilt = without({**params, "argument": argument}, missing)
    expect_error(session.request("completion/complete", spoilt), -32602)


@pytest.mark.requirement("completion.inputs-validated")
@pytest.mark.parametrize("wrong", ["ref", "ref-name", "argument", "argument-name", "argument-value"])
def test_parts_of_the_wrong_type_are_refused(server, session, wrong):
    params = working(server)
    ref, argument = params["ref"], params["argument"]
    name = "name" if "name" in ref else "uri"
    spoilt = {
        "ref": {"ref": 5},
        "ref-name": {"ref": {**ref, name: {"a": 1}}},
        "argument": {"argument": [argument]},
        "argument-name": {"argument": {**argument, "name": {"a": 1}}},
        "argument-value": {"argument": {**argument, "value": {"a": 1}}},
    }
    expect_error(session.request("completion/complete", {**params, **spoilt[wrong]}))


@pytest.mark.requirement("completion.inputs-validated")
def test_a_value_that_is_a_number_is_survived(server, session):
    params = working(server)
    require_answer(
        session.request("completion/complete", {**params, "argument": {**params["argument"], "value": 5}})
    )


def without(members, name):
    return {key: value for key, value in members.items() if key != name}


def unknown(type):
    return {"ref": {"type": type, "name": NO_SUCH_NAME}, "argument": {"name": "a", "value": ""}}


# Requests that are not


@pytest.mark.requirement("completion.context-accepted")
def test_what_is_known_already_may_be_told(server, session):
    params = working(server)
    reply = require_answer(
        session.request("completion/complete", {**params, "context": {"arguments": {"x": "y"}}})
    )
    if reply.value is None and session.request("completion/complete", params).value is not None:
        raise Finding("what the request gives without context", str(reply), reply.lines)


@pytest.mark.requirement("completion.ref-resource-forms")
def test_a_template_is_referred_to_as_it_is_listed(server):
    replies = [reply for reply in completions(server) if asked(reply)["ref"]["type"] == "ref/resource"]
    for reply in require_some(replies, skip="no template with a variable is listed"):
        if reply.code != -32603:
            expect_result(reply)


@pytest.mark.requirement("completion.internal-error-code")
def test_a_completion_that_fails_has_a_code_that_means_something(server):
    for reply in require_some(
        [reply for reply in completions(server) if reply.error is not None], skip="no completion fails"
    ):
        if is_meaningless(reply.code):
            raise Finding("error -32603, or -32602 if the request is to blame", str(reply), reply.lines)


def is_meaningless(code):
    if not isinstance(code, int | float):
        return False
    return code == 0 or (-32768 <= code <= -32100 and code not in JSON_RPC_CODES)


# Asking


def completions(server):
    """What became of completing each argument that is listed, first from nothing, then from a first letter.

    Skips the check unless the server completes, which the first revision has no capability to say.  A request
    without an answer is blocked once, and so is a declared method that is not there, of which a check of its
    own tells in a modern revision.
    """
    if server.revision >= "2025-03-26" and not server.declares("completions"):
        skip("completions are not declared")
    replies = server.once("completions", lambda: list(ask(server)))
    if server.revision < "2025-03-26" and all(reply.value is None for reply in replies):
        skip(NOTHING)
    for reply in replies:
        if reply.fault is not None:
            reason = f"completion/complete was not answered: {reply.fault}"
            server.raise_once("completion", Blocked(reason, reply.lines, reply.fault.stderr))
    if replies and all(reply.code == -32601 for reply in replies):
        reason = f"completions are declared, but completion/complete is answered with {replies[0]}"
        if is_modern(server.revision):
            skip(f"{reason}: see discover.capabilities-true")
        blocked = Blocked(reason, replies[0].lines, requirement="lifecycle.capabilities.advertised")
        server.raise_once("completion", blocked)
    return replies


def ask(server):
    for params in list(completion_requests(server))[:MOST_COMPLETED]:
        reply = server.session.request("completion/complete", params)
        yield reply
        if reply.fault is not None:
            return
        for value in first_values(reply):
            argument = {**params["argument"], "value": value[0]}
            yield server.session.request("completion/complete", {**params, "argument": argument})


def first_values(reply):
    found = members([reply.value] if reply.value is not None else [], "completion", "values")
    return [value.json for array in found for value in array.each() if value.is_a(str) and value.json][:1]


def asked(reply):
    return reply.request.message["params"]


def completed(server):
    """The completions that came."""
    results = [reply.value for reply in completions(server) if reply.value is not None]
    return require_some([each for each in members(results, "completion") if each.is_a(dict)], skip=NOTHING)


def working(server):
    """The params of a completion that the server gave."""
    return asked(
        require_some([reply for reply in completions(server) if reply.value is not None], skip=NOTHING)[0]
    )
