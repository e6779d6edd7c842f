"""Requests in several rounds (spec: basic/patterns/mrtr).

A server that needs something of its client answers with `input_required`; the client then sends the request
again with the responses and the state. The checks try this with all that may be called or fetched and that
requires input of a client with every capability; a refused retry counts only if the same retry without the
fault still works.
"""

from __future__ import annotations

import json

import pytest

from mcp_conformance.client.input_required import retry_params
from mcp_conformance.client.reply import results_of
from mcp_conformance.expect import (
    expect,
    expect_each,
    expect_error,
    expect_none,
    is_object,
    is_string,
    require_answer,
    require_some,
)
from mcp_conformance.protocol.jsonrpc import Kind, show
from mcp_conformance.protocol.methods import FEATURES
from mcp_conformance.protocol.text import shorten
from mcp_conformance.protocol.value import Value, members
from mcp_conformance.scenarios.client_features import FULL_CLIENT, run_with_client
from mcp_conformance.scenarios.completion import completion_request
from mcp_conformance.scenarios.multi_round_trip import (
    EXIT_SECONDS,
    INVALID_RESPONSE,
    MAY_REQUIRE_INPUT,
    abandoned_process,
    all_results,
    exits_after_retries,
    first_rounds,
    full_client_session,
    initial_params,
    input_required_replies,
    is_accepted_elicitation,
    is_done,
    is_refused,
    lines_after_input_required,
    other_arguments,
    protected_rounds,
    require_input_required,
    require_responses,
    retries_with_states,
    retry,
    retryable,
    shows_invalid_response,
    still_accepted,
    tampered,
    truncated,
    with_state,
)
from mcp_conformance.verdicts import Finding

INVALID_REQUEST, INVALID_PARAMS = -32600, -32602
ROOTS = "roots/list"
NEVER_REQUIRE_INPUT = {
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "completion/complete",
    "subscriptions/listen",
}
UNREQUESTED = {"conformance-nobody-asked": {"action": "decline"}}


# The first reply


@pytest.mark.requirement("mrtr.used-instead-of-requests")
def test_input_is_requested_in_a_result(server):
    asked = run_with_client(server, FULL_CLIENT).server_requests()
    require_some(asked, skip="the server requires no input")
    requests = [each for each in server.received(Kind.REQUEST) if each.json["method"] in tuple(FEATURES)]
    expect_none(requests, "an input_required result, and no request to the client")


@pytest.mark.requirement("mrtr.allowed-methods")
def test_only_calls_gets_and_reads_require_input(server, session):
    list(server.listings())
    params = completion_request(server) if server.declares("completions") else None
    if params is not None:
        require_answer(session.request("completion/complete", params))
    replies = [reply for reply in all_results(server) if reply.method in NEVER_REQUIRE_INPUT]
    asking = results_of(reply for reply in replies if reply.needs_input)
    expected = f"no input_required in answer to other methods than {', '.join(MAY_REQUIRE_INPUT)}"
    expect_none(asking, expected)


@pytest.mark.requirement("mrtr.at-least-one")
def test_an_input_required_result_has_requests_or_a_state(server):
    for result in results_of(input_required_replies(server)):
        requests, state = result.get("inputRequests"), result.get("requestState")
        present = [each for each in (requests, state) if each is not None and each.json is not None]
        expect(result, present != [], "inputRequests or a requestState")
        if state is None and requests is not None and requests.json == {}:
            expected = "something in inputRequests, or a requestState"
            raise Finding(expected, "{}", requests.lines, advisory=True)


@pytest.mark.requirement("mrtr.request-kinds")
def test_only_roots_sampling_and_elicitation_are_requested(server):
    found = members(results_of(input_required_replies(server)), "inputRequests")
    expect_each(found, is_object, "an object of requests")
    requests = [each for object in found for each in object.each()]
    expected = f"a request with one of the methods {', '.join(FEATURES)}, and its params"
    expect_each(requests, is_input_request, expected)


@pytest.mark.requirement("mrtr.keys-unique")
def test_each_input_request_has_its_own_key(server):
    for reply in input_required_replies(server):
        keys = keys_of(reply.line)
        repeated = sorted({key for key in keys if keys.count(key) > 1})
        if repeated:
            got = f"{show(repeated[0])} more than once"
            raise Finding("each key of inputRequests once", got, reply.lines)


@pytest.mark.requirement("mrtr.state-is-string")
def test_a_request_state_is_a_string(server):
    states = members(results_of(input_required_replies(server)), "requestState")
    require_some(states, skip="no input_required result has a requestState")
    expect_each(states, is_string, "a string")


@pytest.mark.requirement("mrtr.result-type")
def test_a_result_with_input_requests_has_type_input_required(server):
    run_with_client(server, FULL_CLIENT)
    results = results_of(reply for reply in all_results(server) if reply.method in MAY_REQUIRE_INPUT)
    asking = [value for value in results if has_input_requests(value)]
    for value in require_some(asking, skip="the server requires no input"):
        kind = value.get("resultType") or Value(None, "result.resultType", value.lines)
        expect(kind, kind.json == "input_required", "input_required, as there are inputRequests")


def is_input_request(json):
    """Return whether this is a request to a client; only ``roots/list`` needs no params."""
    if not isinstance(json, dict) or json.get("method") not in list(FEATURES):
        return False
    return is_object(json.get("params", {} if json["method"] == ROOTS else None))


def has_input_requests(result):
    requests = result.get("inputRequests")
    return (
        requests is not None
        and requests.is_a(dict)
        and any(is_input_request(one.json) for one in requests.each())
    )


class Members(list):
    """The members of an object as pairs, in their order on the line."""


def keys_of(line):
    """Return the keys of the inputRequests in a result, with every repetition."""
    if not isinstance(line.message, dict):
        return []
    try:
        pairs = json.loads(line.text.lstrip("\ufeff"), object_pairs_hook=Members)
    except (ValueError, RecursionError):  # a line that only the wire reader can read
        return []
    requests = dict(dict(pairs)["result"]).get("inputRequests")
    return [key for key, _ in requests] if isinstance(requests, Members) else []


# Retries


@pytest.mark.requirement("mrtr.retry-self-contained")
def test_a_retry_may_come_after_other_requests(server):
    for one in retryable(server):
        first, second = require_input_required(server, one), require_input_required(server, one)
        full_client_session(server).drain()
        for reply in [retry(server, second), retry(server, first)]:
            expect_accepted(server, one, reply, "when nothing comes in between")


@pytest.mark.requirement("mrtr.retry-self-contained")
def test_responses_in_the_first_request_do_no_harm(server):
    for one in retryable(server):
        session = full_client_session(server)
        responses = require_responses(session, one.rounds[0])
        require_answer(session.request(one.method, {**initial_params(one), "inputResponses": responses}))


@pytest.mark.requirement("mrtr.reask-missing")
def test_a_missing_response_is_requested_again(server):
    for one in retryable(server):
        reply = retry(server, require_input_required(server, one), responses={})
        if is_refused(reply) and still_accepted(server, one):
            expected = "the same input request again, or a result without the response"
            raise Finding(expected, str(reply), reply.lines, advisory=reply.error is None)


@pytest.mark.requirement("mrtr.extra-ignored")
def test_an_unrequested_response_is_ignored(server):
    for one in retryable(server):
        first = require_input_required(server, one)
        responses = require_responses(full_client_session(server), first)
        reply = retry(server, first, responses={**responses, **UNREQUESTED})
        expect_accepted(server, one, reply, "without the unrequested response")


@pytest.mark.requirement("mrtr.validates-responses")
def test_a_response_of_the_wrong_shape_is_not_accepted(server):
    for one in retryable(server):
        first = require_input_required(server, one)
        responses = require_responses(full_client_session(server), first)
        for invalid in (dict.fromkeys(responses, INVALID_RESPONSE), None):
            reply = retry(server, first, responses=invalid)
            if is_done(reply) and is_accepted(server, one, reply):
                raise Finding("an error, or the same input request again", str(reply), reply.lines)


@pytest.mark.requirement("mrtr.protocol-error-code")
def test_a_state_that_is_not_a_string_is_refused(server):
    for one in with_state(server):
        reply = retry(server, require_input_required(server, one), state=5)
        expect_error(reply, INVALID_PARAMS, INVALID_REQUEST)


def is_accepted(server, one, reply):
    """Return whether a result shows that the server used an invalid response as if it were valid."""
    return is_accepted_elicitation(server, one, reply) or shows_invalid_response(one, reply)


def expect_accepted(server, one, reply, unlike):
    """Expect no refusal of a retry, if the server still accepts a valid one."""
    if is_refused(reply) and still_accepted(server, one):
        raise Finding(f"no error, as there is none {unlike}", str(reply), reply.lines)


# The state


@pytest.mark.requirement("mrtr.tampered-state")
def test_a_tampered_state_is_refused(server):
    expected = "an error, as the requestState was changed"
    for one, first in first_rounds(server):
        state = first.result["requestState"]
        changed = retries_with_states(server, first, tampered(state))
        shortened = retries_with_states(server, first, truncated(state))
        continued = [reply for reply in shortened if one.is_same_continuation(reply)]
        if continued and all(map(is_refused, changed)):
            raise Finding(f"{expected}, and others are refused", str(continued[0]), continued[0].lines)
        for reply in filter(is_done, [*changed, *shortened]):  # advisory: the change may do no harm
            raise Finding(expected, str(reply), reply.lines, advisory=True)


@pytest.mark.requirement("mrtr.state-bound")
def test_a_state_is_bound_to_its_request(server):
    rounds = require_some(protected_rounds(server), skip="no requestState is protected")
    pairs = [(*one, *other) for one in rounds for other in rounds if one[0].name != other[0].name]
    require_some(pairs, skip="only one request has a requestState")
    for one, first, other, other_first in pairs:
        reply = retry(server, first, state=other_first.result["requestState"])
        if one.is_same_continuation(reply):
            expected = f"an error, as the requestState is that of {show(other.name)}"
            raise Finding(expected, str(reply), (*other_first.lines, *reply.lines))


@pytest.mark.requirement("mrtr.state-bound")
def test_a_state_is_bound_to_its_arguments(server):
    rounds = protected_rounds(server)
    changed = [(first, arguments) for one, first in rounds for arguments in other_arguments(server, one)]
    require_some(changed, skip="no argument of a call with a protected state could be another")
    for first, arguments in changed:
        session = full_client_session(server)
        params = retry_params(first, require_responses(session, first))
        reply = require_answer(session.request(first.method, {**params, "arguments": arguments}))
        if is_done(reply):  # advisory: the arguments may not matter
            expected = "an error, as the requestState is that of a call with other arguments"
            raise Finding(expected, str(reply), reply.lines, advisory=True)


# After the first reply


@pytest.mark.requirement("mrtr.round-one-terminated")
def test_nothing_follows_an_input_required_result(server):
    retryable(server)
    require_some(input_required_replies(server), skip="the server requires no input")
    for line in [line for session in server.sessions for line in lines_after_input_required(session)]:
        expected = "nothing more for a request that was answered with input_required"
        raise Finding(expected, shorten(line.text), [line])


@pytest.mark.requirement("mrtr.round-one-terminated")
def test_a_server_exits_without_waiting_for_a_retry(server):
    process = abandoned_process(server)
    require_some(process.asked, skip="no request gets input_required a second time")
    if process.exit_code is None and exits_after_retries(server):
        seconds = f"{EXIT_SECONDS:g} s"
        got = f"a process that lives on for {seconds} or more, and exits if its input requests are answered"
        raise Finding("an exit when its input ends", got, process.asked[-1][1].lines)
