"""Requests that take several rounds (spec: basic/patterns/mrtr).

A server that needs something of its client answers with `input_required`; the client then asks again, with
the responses and the state it was given. All is tried on what may be called or fetched, and asks an able
client for something; a retry that is refused counts only if the same retry without its fault still works.
"""

from __future__ import annotations

import json

import pytest

from conformance.client.input_required import replies_in, retry_params, send_retry
from conformance.expect import expect, expect_each, expect_error, expect_none, require_answer, require_some
from conformance.protocol.jsonrpc import ABSENT, Kind, id_key, show
from conformance.protocol.methods import FEATURES
from conformance.protocol.progress import progress_in
from conformance.protocol.text import shorten
from conformance.protocol.value import Value, members
from conformance.scenarios.client_features import DECLINING, FULL_CLIENT, answers_for, run_with_client
from conformance.scenarios.completion import completion_request
from conformance.scenarios.multi_round_trip import (
    EXIT,
    MAY_ASK,
    InputRequired,
    abandoned_process,
    all_results,
    full_client_session,
    initial_params,
    input_required_replies,
    is_done,
    is_refused,
    responses_to,
    retry,
    retryable,
    send_initial,
    send_initial_again,
    still_accepted,
    tampered,
    truncated,
    without_meta,
)
from conformance.verdicts import Finding

INVALID_REQUEST, INVALID_PARAMS = -32600, -32602
ROOTS, _, ELICITATION = FEATURES
NEVER_ASKS = {
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "completion/complete",
    "subscriptions/listen",
}
NO_STATE = "nothing that asks for something has a requestState"
WRONG = 271828
PLAIN_TEXT = {"type", "title", "description"}
"""The keywords of a schema that takes any text."""
EXTRA = {"conformance-nobody-asked": {"action": "decline"}}


# How the server asks


@pytest.mark.requirement("mrtr.used-instead-of-requests")
def test_what_is_needed_is_asked_for_in_a_result(server):
    require_some(run_with_client(server, FULL_CLIENT).server_requests(), skip="nothing is asked of the client")
    asked = [each for each in server.received(Kind.REQUEST) if each.json["method"] in tuple(FEATURES)]
    expect_none(asked, "an input_required result, and no request to the client")


@pytest.mark.requirement("mrtr.allowed-methods")
def test_only_calls_gets_and_reads_ask_for_something(server, session):
    list(server.listings())
    params = completion_request(server) if server.declares("completions") else None
    if params is not None:
        require_answer(session.request("completion/complete", params))
    asking = [
        reply.value for reply in all_results(server) if reply.needs_input and reply.method in NEVER_ASKS
    ]
    expect_none(asking, f"no input_required in answer to other methods than {', '.join(MAY_ASK)}")


@pytest.mark.requirement("mrtr.at-least-one")
def test_a_result_that_asks_has_requests_or_a_state(server):
    for reply in input_required_replies(server):
        wanted, state = reply.value.get("inputRequests"), reply.value.get("requestState")
        some_of_it = [each for each in (wanted, state) if each is not None and each.json is not None]
        expect(reply.value, some_of_it != [], "inputRequests or a requestState")
        if state is None and wanted.json == {}:
            raise Finding("something in inputRequests, or a requestState", "{}", wanted.lines, advisory=True)


@pytest.mark.requirement("mrtr.request-kinds")
def test_only_roots_samples_and_elicitations_are_asked_for(server):
    wanted = members([reply.value for reply in input_required_replies(server)], "inputRequests")
    expect_each(wanted, lambda requests: isinstance(requests, dict), "an object of requests")
    requests = [each for every in wanted for each in every.each()]
    expect_each(
        requests, is_question, f"a request with one of the methods {', '.join(FEATURES)}, and its params"
    )


@pytest.mark.requirement("mrtr.keys-unique")
def test_each_request_has_a_key_of_its_own(server):
    for reply in input_required_replies(server):
        keys = keys_of(reply.line)
        repeated = sorted({key for key in keys if keys.count(key) > 1})
        if repeated:
            raise Finding(
                "each key of inputRequests once", f"{show(repeated[0])} more than once", reply.lines
            )


@pytest.mark.requirement("mrtr.state-is-string")
def test_the_state_is_a_string(server):
    states = members([reply.value for reply in input_required_replies(server)], "requestState")
    expect_each(require_some(states, skip=NO_STATE), lambda state: isinstance(state, str), "a string")


@pytest.mark.requirement("mrtr.result-type")
def test_a_result_with_requests_says_that_it_asks(server):
    run_with_client(server, FULL_CLIENT)
    results = [reply.value for reply in all_results(server) if reply.method in MAY_ASK]
    asking = [value for value in results if asks_something(value)]
    for value in require_some(asking, skip="nothing is asked of the client"):
        kind = value.get("resultType") or Value(None, "result.resultType", value.lines)
        expect(kind, kind.json == "input_required", "input_required, as there are inputRequests")


# What the server makes of a retry


@pytest.mark.requirement("mrtr.retry-self-contained")
def test_a_retry_may_come_after_other_requests(server):
    for asker in retryable(server):
        session = full_client_session(server)
        asked, between = send_initial_again(server, asker), send_initial_again(server, asker)
        session.drain()
        replies = [retry(server, between), retry(server, asked)]
        expect_taken(server, asker, *replies, unlike="when nothing comes in between")


@pytest.mark.requirement("mrtr.retry-self-contained")
def test_responses_that_come_with_the_first_round_do_no_harm(server):
    for asker in retryable(server):
        session = full_client_session(server)
        responses = responses_to(session, asker.rounds[0])
        require_answer(session.request(asker.method, {**initial_params(asker), "inputResponses": responses}))


@pytest.mark.requirement("mrtr.reask-missing")
def test_what_is_missing_is_asked_for_again(server):
    for asker in retryable(server):
        reply = retry(server, send_initial_again(server, asker), responses={})
        if is_refused(reply) and still_accepted(server, asker):
            expected = "the same question again, or a result that does without the answer"
            raise Finding(expected, str(reply), reply.lines, advisory=reply.error is None)


@pytest.mark.requirement("mrtr.extra-ignored")
def test_an_answer_that_nobody_asked_for_is_ignored(server):
    for asker in retryable(server):
        session = full_client_session(server)
        asked = send_initial_again(server, asker)
        reply = retry(server, asked, responses={**responses_to(session, asked), **EXTRA})
        expect_taken(server, asker, reply, unlike="without the response that nobody asked for")


@pytest.mark.requirement("mrtr.validates-responses")
def test_an_answer_of_the_wrong_shape_is_not_taken(server):
    for asker in retryable(server):
        session = full_client_session(server)
        asked = send_initial_again(server, asker)
        for responses in (dict.fromkeys(responses_to(session, asked), WRONG), None):
            reply = retry(server, asked, responses=responses)
            if is_done(reply) and (is_taken(server, asker, reply) or is_filled_in(asker, reply)):
                raise Finding("an error, or the same question again", str(reply), reply.lines)


@pytest.mark.requirement("mrtr.protocol-error-code")
def test_a_state_that_is_no_string_is_refused(server):
    for asker in require_some([asker for asker in retryable(server) if has_state(asker)], skip=NO_STATE):
        expect_error(retry(server, send_initial_again(server, asker), state=5), INVALID_PARAMS, INVALID_REQUEST)


# The state


@pytest.mark.requirement("mrtr.tampered-state")
def test_a_state_that_was_changed_is_refused(server):
    expected = "an error, as the requestState was changed"
    for asker, asked in with_state(server):
        changed, shortened = sent_with(server, asked, tampered), sent_with(server, asked, truncated)
        taken = [reply for reply in shortened if asker.is_same_continuation(reply)]
        if taken and all(map(is_refused, changed)):
            raise Finding(f"{expected}, and others are refused", str(taken[0]), taken[0].lines)
        for reply in filter(is_done, [*changed, *shortened]):
            no_harm = "unless a change can do no harm"
            raise Finding(f"{expected} ({no_harm})", str(reply), reply.lines, advisory=True)


@pytest.mark.requirement("mrtr.state-bound")
def test_a_state_is_good_for_its_own_request(server):
    known = [(asker, asked) for asker, asked in with_state(server) if is_protected(server, asked)]
    require_some(known, skip="no requestState is protected")
    pairs = [(one, other) for one in known for other in known if one[0].name != other[0].name]
    for (asker, asked), (stranger, other) in require_some(pairs, skip="only one thing has a requestState"):
        reply = retry(server, asked, state=other.result["requestState"])
        if asker.is_same_continuation(reply):
            expected = f"an error, as the requestState is that of {show(stranger.name)}"
            raise Finding(expected, str(reply), (*other.lines, *reply.lines))


@pytest.mark.requirement("mrtr.state-bound")
def test_a_state_is_good_for_its_own_arguments(server):
    known = [(asker, asked) for asker, asked in with_state(server) if is_protected(server, asked)]
    others = [(asked, other) for asker, asked in known for other in with_another_text(server, asker)]
    for asked, arguments in require_some(
        others, skip="no argument of a call with a protected state could be another"
    ):
        responses = responses_to(full_client_session(server), asked)
        params = {**retry_params(asked, responses), "arguments": arguments}
        reply = require_answer(full_client_session(server).request(asked.method, params))
        if is_done(reply):
            expected = "an error, as the requestState is that of a call with other arguments"
            raise Finding(f"{expected} (unless they do not matter)", str(reply), reply.lines, advisory=True)


# What becomes of the first round


@pytest.mark.requirement("mrtr.round-one-terminated")
def test_nothing_follows_a_question(server):
    retryable(server)
    require_some(input_required_replies(server), skip="nothing is asked of the client")
    for line in [line for session in server.sessions for line in following_questions(session)]:
        raise Finding(
            "nothing more for a request that was answered with a question", shorten(line.text), [line]
        )


@pytest.mark.requirement("mrtr.round-one-terminated")
def test_no_retry_is_waited_for(server):
    left = abandoned_process(server)
    require_some(left.asked, skip="nothing asks for anything a second time")
    if left.exit_code is None and exits(server):
        got = f"a process that lives on for {EXIT:g} s or more; with its questions answered it does not"
        raise Finding("an exit when its input ends", got, left.asked[-1][1].lines)


class Members(list):
    """The members of an object as pairs, in the order they came."""


def is_question(json):
    """Whether this is a request that a client may be asked; only that for roots needs no params."""
    if not isinstance(json, dict) or json.get("method") not in list(FEATURES):
        return False
    return isinstance(json.get("params", {} if json["method"] == ROOTS else None), dict)


def asks_something(value):
    """Whether there are requests to a client in the inputRequests of a result."""
    wanted = value.get("inputRequests")
    return wanted is not None and wanted.is_a(dict) and any(is_question(each.json) for each in wanted.each())


def keys_of(line):
    """The keys of the inputRequests in a result, with those that come twice."""
    if not isinstance(line.message, dict):
        return []
    try:
        pairs = json.loads(line.text.lstrip("\ufeff"), object_pairs_hook=Members)
    except (ValueError, RecursionError):  # what only the wire reader can read
        return []
    wanted = dict(dict(pairs)["result"]).get("inputRequests")
    return [key for key, _ in wanted] if isinstance(wanted, Members) else []


def expect_taken(server, asker, *replies, unlike):
    """Raise a `Finding` if a reply is refused, and the retry of an able client still works."""
    for reply in replies:
        if is_refused(reply) and still_accepted(server, asker):
            raise Finding(f"no error, as there is none {unlike}", str(reply), reply.lines)


def has_state(asker):
    return isinstance(asker.state, str) and asker.state != ""


def with_state(server):
    """Each asker that gives a state, and a first round of it in the conversation of an able client."""
    known = require_some([asker for asker in retryable(server) if has_state(asker)], skip=NO_STATE)
    rounds = [(asker, send_initial(full_client_session(server), asker)) for asker in known]
    return require_some(
        [pair for pair in rounds if pair[1].needs_input], skip="nothing asks for anything a second time"
    )


def with_another_text(server, asker):
    """The arguments of a tool with each plain text another one."""
    tool, arguments = server.tool(asker.name), asker.params.get("arguments")
    schema = Value(tool.input_schema if tool is not None and asker.method == "tools/call" else None)
    for name, value in (arguments or {}).items():
        kinds = schema.get("properties", name) or Value({})
        if isinstance(value, str) and kinds.is_a(dict) and set(kinds.json) <= PLAIN_TEXT:
            yield {**arguments, name: f"{value} conformance"}


def sent_with(server, asked, others):
    """The replies to the right responses with other states, made of the one that was given."""
    return [retry(server, asked, state=state) for state in others(asked.result["requestState"])]


def is_protected(server, asked):
    """Whether a changed state is refused wherever it is changed."""
    return all(map(is_refused, sent_with(server, asked, tampered)))


def is_taken(server, asker, reply):
    """Whether an elicitation went on as when it is accepted, and not as when it is declined."""
    met = [InputRequired(one.rounds) for one in run_with_client(server, DECLINING).requests if len(one.rounds) > 1]
    declined = [one.rounds[1] for one in met if (one.method, one.name) == (asker.method, asker.name)]
    told = declined != [] and not any(map(asker.is_same_continuation, declined))
    return told and asker.kinds == {ELICITATION} and asker.is_same_continuation(reply)


def is_filled_in(asker, reply):
    """Whether a result has the wrong response where that for the able client had the right one."""
    right = asker.rounds[1].request.message["params"].get("inputResponses")
    given = [str(value.json) for value in Value(right).walk() if value.is_a(str, int, float)]
    expected, got = (json.dumps(without_meta(one), sort_keys=True) for one in (asker.rounds[1], reply))
    return str(WRONG) in got and any(got.replace(str(WRONG), word) == expected for word in given)


def following_questions(session):
    """The lines that answer what was answered with a question before, or tell of its progress."""
    asked = {}
    for reply in replies_in(session):
        id = id_key(reply.request.message["id"])
        if id in asked and asked[id] is reply.request:
            yield reply.line
        if reply.needs_input:
            asked[id] = reply.request
    requests = [request.message for request in asked.values()]
    late = [told for told in progress_in(session.lines) if told.late]
    yield from (told.notification.lines[0] for told in late if any(told.request is one for one in requests))


def exits(server):
    """Whether a process in which all questions were answered exits when its input ends."""
    with server.fresh(FULL_CLIENT.declares(server.revision), answers_for(server, FULL_CLIENT)) as session:
        for asker in retryable(server):
            asked = send_initial(session, asker)
            require_answer(send_retry(session, asked, responses_to(session, asked) or ABSENT))
        return session.finish(session.scaled_timeout(EXIT)) is not None
